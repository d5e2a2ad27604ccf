"""Reads logdirs on all nodes of a cluster, each directory on one of the nodes that see it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rltui.core.batch import Batch, Note, RunKey, Sources
from rltui.core.errors import SourceError, UnreachableError
from rltui.core.level import Level
from rltui.core.record import record
from rltui.core.text import clean
from rltui.files.trouble import READABLE
from rltui.remote.ray.node_reader import LogRoot
from rltui.remote.ray.nodes import NODES_S, Nodes
from rltui.remote.stream_client import Conversation, Paths
from rltui.remote.stream_reader import StreamReader
from rltui.sources.follow.resume import HandedOver
from rltui.sources.follow.threaded_reader import BatchQueue, ReaderState, ThreadedReader
from rltui.sources.options import ReaderOptions

_MISSING = "no node of the cluster has this path"
#: Nodes that are searched at once.
_TOGETHER = 32
#: Seconds for which a search, or a choice among the runs, waits for a node that says nothing.
_CHOICE_S = 5.0


@record
class NodeRoot:
    """A root that a node reads."""

    root: LogRoot
    label: str
    """First part of names and paths of its runs; empty where no node owns it."""

    @property
    def front(self) -> str:
        """First parts of the names of its runs."""
        return "/".join(clean(part) for part in (self.label, self.root.inside.strip("/")) if part)


class NodePaths(Paths):
    """Names of one node as the cluster's reader has them: they begin with the name of the node."""

    def __init__(self, roots: Sequence[NodeRoot]) -> None:
        super().__init__()
        self._roots = tuple(roots)

    def translated(self, path: Path) -> Path:
        """``/NODE:/...`` for a path of the node."""
        own = (r for r in self._roots if r.root.path == path or r.root.path in path.parents)
        label = next(own, self._roots[0]).label
        return Path("/", f"{label}:", *path.parts[1:]) if label else path

    def there(self, path: Path) -> Path:
        labels = {f"{root.label}:" for root in self._roots if root.label}
        return Path("/", *path.parts[2:]) if path.parts[1] in labels else path

    def key(self, key: RunKey) -> RunKey:
        root = self._roots[key.logdir]
        name = key.name
        front = root.front
        if front and (name in (".", "") or name.startswith(".#")):
            return RunKey(root.root.logdir, front + name[1:])
        return RunKey(root.root.logdir, f"{front}/{name}" if front else name)

    def key_there(self, key: RunKey, path: Path) -> RunKey | None:
        """The node's key of a run, of which one file is known; None for a run of no root of it."""
        for number, root in enumerate(self._roots):
            place = self.translated(root.root.path)
            front = root.front
            name = key.name
            if key.logdir != root.root.logdir or not (place == path or place in path.parents):
                continue
            if front and not name.startswith(front):
                continue
            rest = name[len(front) :]
            own = rest.removeprefix("/") if not front or rest.startswith("/") else f".{rest}"
            return RunKey(number, own)
        return None

    def known(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Batches of files of the node, with its own names."""
        for batch in batches:
            key = self.key_there(batch.run, batch.source.path)
            if key is not None:
                source = batch.source._replace(path=self.there(batch.source.path))
                yield replace(batch, run=key, source=source, run_path=self.there(batch.run_path))


class NodeStream(StreamReader):
    """Reads the roots of one node. It begins without a search: the node may be away."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._alone = threading.RLock()

    def _prepare(self) -> None:
        return

    def _connected(self) -> Conversation:
        """Connection after a search; waits for one under way. Raises as the method above."""
        with self._alone:
            return super()._connected()


class ClusterReader(ThreadedReader):
    """Reads the logdirs of a cluster. The streams of its nodes are its own readers."""

    def __init__(
        self, nodes: Nodes, logdirs: Sequence[Path], options: ReaderOptions, known: HandedOver
    ) -> None:
        """``known``: by an earlier reader, from where this one goes on."""
        super().__init__(BatchQueue(), "rltui-cluster")
        self._nodes = nodes
        self._logdirs = tuple(logdirs)
        self._options = options
        self._known = known
        self._readers: dict[str, StreamReader] = {}
        """By the label of the node."""
        self._roots: dict[str, tuple[NodeRoot, ...]] = {}
        """Roots of each reader."""
        self._owners: dict[tuple[int, str, str], NodeRoot] = {}
        """All roots, with the node that gave its name to their runs."""
        self._reads: dict[tuple[int, str, str], str] = {}
        """The label of the node that reads a root."""
        self._trouble: dict[str, str] = {}
        """Label -> what is wrong with a node; empty once it is fine again."""
        self._choice = Choice(options)
        self._came = threading.Event()
        self._follows = False

    # -- who reads what -----------------------------------------------------------------------

    def _renew(self) -> None:
        """Have each root read by one node that sees it. Raises ClusterError."""
        self._nodes.look()
        states = dict(self._nodes.states)  # other connections look, too
        for label, state in states.items():
            if state.trouble or label in self._trouble:
                self._trouble[label] = state.trouble
            for key, root in state.roots.items():
                found = NodeRoot(root, "" if root.shared else label)
                self._owners.setdefault(key, found)
                self._reads.setdefault(key, label)
        wanted: dict[str, list[NodeRoot]] = {}
        for key, owner in self._owners.items():
            reads = self._reads[key]
            if states[reads].trouble:
                able = (n for n, s in states.items() if key in s.roots and not s.trouble)
                reads = self._reads[key] = next(able, reads)
            root = states[reads].roots.get(key, owner.root)
            wanted.setdefault(reads, []).append(NodeRoot(root, owner.label))
        for label in self._readers.keys() - wanted.keys():
            self._drop(label)
        for label, roots in wanted.items():
            if self._roots.get(label) != tuple(roots):
                self._drop(label)
                self._open(label, tuple(roots))

    @property
    def _open_readers(self) -> list[StreamReader]:
        """A copy, for threads in which the readers do not change."""
        return list(self._readers.values())

    def _open(self, label: str, roots: tuple[NodeRoot, ...]) -> None:
        paths = NodePaths(roots)
        at = [root.root for root in roots]
        options = replace(self._options, partial=True, waits=True)
        if self._options.choose is not None:
            self._choice.expect(label)
            options = replace(options, choose=partial(self._choice.of, label))
        reader = NodeStream(
            [paths.translated(root.path) for root in at],
            options,
            label,
            partial(self._nodes.connected, label, at),
            lambda _: paths,
        )
        reader.resume(paths.known(self._known), paths)
        reader.on_batch = self._came.set
        self._readers[label] = reader
        self._roots[label] = roots
        if self._follows:
            reader.start()

    def _drop(self, label: str) -> None:
        reader = self._readers.pop(label, None)
        self._choice.forget(label)
        if reader is not None:
            reader.stop()

    # -- once ---------------------------------------------------------------------------------

    def scan(self) -> None:
        """Search every node. Raises ClusterError, and SourceError where no node has a logdir,
        unless nodes have another one and that is enough."""
        self._renew()
        missing = self._missing
        if missing and not (self._options.waits and len(missing) < len(self._logdirs)):
            raise SourceError(f"{missing[0]}: {_MISSING}")
        pool = ThreadPoolExecutor(_TOGETHER)
        left = {pool.submit(self._search, *found) for found in self._readers.items()}
        pool.shutdown(wait=False)
        ended = left
        while left and ended:  # a node that hangs is waited for until the others have ended
            ended, left = wait(left, _CHOICE_S, FIRST_COMPLETED)

    def _search(self, label: str, reader: StreamReader) -> None:
        try:
            reader.scan()
        except SourceError:
            self._choice.forget(label)

    @property
    def _missing(self) -> list[Path]:
        there = {owner.root.logdir for owner in list(self._owners.values())}
        return [path for number, path in enumerate(self._logdirs) if number not in there]

    def read_all(self) -> Iterator[Batch]:
        """Read every file of every node to its end, all nodes at once."""
        self._queue.open()
        readers = self._open_readers
        with ThreadPoolExecutor(max(1, len(readers))) as pool:
            try:
                ends = [pool.submit(self._queue_all, reader) for reader in readers]
                while not all(end.done() for end in ends):
                    self._queue.wait(0.1)
                    yield from self._queue.drain()
                for end in ends:
                    end.result()
                yield from self._queue.drain(max_batches=1 << 30)
            finally:
                self._queue.close()  # else threads wait for room after the caller has left

    def _queue_all(self, reader: StreamReader) -> None:
        try:
            for batch in reader.read_all():
                if not self._queue.put(batch):
                    return
        except UnreachableError:
            return  # the state of the reader says so

    # -- live ---------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self._follows = True
        for reader in self._open_readers:
            reader.start()

    def _follow(self) -> None:
        look_at = 0.0
        clock = self._options.clock
        while not self._stopping.is_set():
            if clock.monotonic() >= look_at:
                self._renew()
                look_at = clock.monotonic() + NODES_S
            self._came.clear()
            for reader in self._open_readers:
                for batch in reader.drain():
                    self._known.note(batch)
                    if not self._queue.put(batch):
                        return
            self._came.wait(NODES_S)

    def _interrupt(self) -> None:
        self._came.set()
        self._choice.stop()
        with ThreadPoolExecutor(_TOGETHER) as pool:
            list(pool.map(self._drop, list(self._readers)))

    # -- once more ----------------------------------------------------------------------------

    def read_again(
        self,
        key: RunKey,
        sources: Sources,
        generations: Iterable[int],
        finished: Collection[Path] = (),
    ) -> Iterator[Batch] | None:
        generations = tuple(generations)
        for reader in self._open_readers:
            found = reader.read_again(key, sources, generations, finished)
            if found is not None:
                return found
        return None

    # -- state --------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        return False

    def progress(self) -> tuple[int, int]:
        each = [reader.progress() for reader in self._open_readers]
        return sum(read for read, _ in each), sum(known for _, known in each)

    @property
    def state(self) -> ReaderState:
        states = [reader.state for reader in self._open_readers]
        notes = [Note(path, None, Level.WATCH, _MISSING) for path in self._missing]
        for label in self._trouble.keys() - self._readers.keys():
            text = self._trouble[label]
            level = Level.WATCH if text else Level.OK
            notes.append(Note(Path(f"/{label}:"), None, level, clean(text) or READABLE))
        for state in states:
            notes += state.notes
        return ReaderState(
            notes=tuple(notes),
            unclaimed=tuple(note for state in states for note in state.unclaimed),
            run_count=sum(state.run_count for state in states),
        )


class Choice:
    """Chooses among the runs of all nodes at once, because names depend on all of them."""

    def __init__(self, options: ReaderOptions) -> None:
        self._choose = options.choose
        self._lock = threading.Condition()
        self._keys: dict[str, frozenset[RunKey] | None] = {}
        """Runs by node; None until it has said which it has."""
        self._asked: frozenset[RunKey] = frozenset()
        self._wanted: frozenset[RunKey] = frozenset()
        self._stopped = False

    def expect(self, label: str) -> None:
        """A node will say which runs it has."""
        with self._lock:
            self._keys.setdefault(label, None)

    def forget(self, label: str) -> None:
        """Wait for a node no longer."""
        with self._lock:
            if self._keys.get(label, ()) is None:
                del self._keys[label]
            self._lock.notify_all()

    def stop(self) -> None:
        """Wait for nobody."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()

    def of(self, label: str, keys: Collection[RunKey]) -> Collection[RunKey]:
        """Choose among the runs of a node."""
        assert self._choose is not None
        with self._lock:
            self._keys[label] = frozenset(keys)
            self._lock.notify_all()
            said = -1
            while said != (said := self._said()):
                self._lock.wait_for(lambda: self._complete or self._said() != said, _CHOICE_S)
            found = frozenset(key for own in self._keys.values() for key in own or ())
            if found != self._asked:
                self._asked, self._wanted = found, frozenset(self._choose(sorted(found)))
            return self._wanted & frozenset(keys)

    def _said(self) -> int:
        """How many nodes have said which runs they have."""
        return sum(own is not None for own in self._keys.values())

    @property
    def _complete(self) -> bool:
        return self._stopped or None not in self._keys.values()
