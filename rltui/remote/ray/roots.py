"""The state of each root of logs on a cluster, in the session's process, with its connection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue

from rltui.core.address import RAY, RemotePath
from rltui.core.batch import Batch, Note, RunKey, Sources
from rltui.core.errors import SourceError, UnreachableError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.files.trouble import READABLE
from rltui.remote.conversation import Conversation, Event, Paths, StreamError, clock_note
from rltui.remote.ray import messages
from rltui.remote.rereading import ReadFiles
from rltui.remote.wire.framing import Kind
from rltui.remote.wire.messages import Again, Found, Read, State
from rltui.sources.options import ReaderOptions

#: Name of the output of a worker, by its id, job and process id: too long to be read.
_WORKER = re.compile(r"\bworker-([0-9a-f]{4})[0-9a-f]{52}-([0-9a-f]{8})-(\d+)")
#: Seconds to wait for a node that has been asked something.
_PATIENCE_S = 60.0
#: How often a root is opened again when files are read once.
_MOST_FAILURES = 3
_KEPT = "what was read of it is kept"
UNREACHABLE = "the cluster cannot be reached"


class RootPaths(Paths):
    """Paths of a root: local paths and run names begin with the name of its node."""

    def __init__(self, authority: str, root: messages.LogRoot, label: str) -> None:
        """``label``: the name of the node; empty where none owns the root."""
        super().__init__()
        self.label = label
        self._root = RemotePath(f"{RAY}:", authority, *([f"{label}:"] if label else []))
        self._logdir = root.logdir
        self._front = "/".join(clean(x) for x in (label, root.inside.strip("/")) if x)

    def translated(self, path: Path) -> RemotePath:
        """The address of a path of the node."""
        return self._root.joinpath(*path.parts[1:])

    def there(self, path: Path) -> Path:
        """The path on the node that an address means."""
        return Path("/", *path.parts[len(self._root.parts) :])

    def key(self, key: RunKey) -> RunKey:
        front, name = self._front, key.name
        rest = _WORKER.sub(r"worker-\3-\1", name)
        if front and (name in (".", "") or name.startswith(".#")):
            return RunKey(self._logdir, front + rest[1:])
        return RunKey(self._logdir, f"{front}/{rest}" if front else rest)


class Channel:
    """A :class:`~rltui.remote.conversation.Transport` that the driver carries."""

    def __init__(self, number: int, root: int, send: Callable[[object], bool]) -> None:
        """``send`` passes a message to the driver; returns False where none runs."""
        self.number = number
        self._root = root
        self._send = send
        self._opens = True
        self.came: SimpleQueue[messages.FromNode | messages.ChannelLost] = SimpleQueue()
        """What :meth:`receive` returns or raises next."""

    def send(self, data: bytes) -> None:
        """Send all bytes. If the driver is lost, :meth:`receive` says so."""
        if not self._send(messages.ToNode(self._root, self.number, data, self._opens)):
            self.came.put(messages.ChannelLost(self.number, UNREACHABLE))
        self._opens = False

    def receive(self) -> bytes:
        """The bytes that come next. Raises StreamError."""
        try:
            news = self.came.get(timeout=_PATIENCE_S)
        except Empty:
            raise StreamError("its node does not answer") from None
        if isinstance(news, messages.ChannelLost):
            raise StreamError(news.why)
        if news.ended:
            self.came.put(messages.ChannelLost(self.number, "its reader ended"))
        return news.data

    def close(self) -> None:
        """Wake a waiting :meth:`receive`; the node ends an idle channel by itself."""
        self.came.put(messages.ChannelLost(self.number, "the reader was stopped"))

    def release(self) -> None:
        """Do nothing: no resource is held."""


@dataclass(slots=True)
class RootState:
    """A root, the conversation about it, and how far its files have been read."""

    root: messages.LogRoot
    paths: RootPaths
    talk: Conversation | None = None
    channel: int = 0
    """Number of the conversation's channel."""
    far: State = field(default_factory=State)
    """Newest state that the node sent."""
    files: ReadFiles = field(default_factory=ReadFiles)
    found: tuple[RunKey, ...] | None = None
    """Runs of the newest search, None before it."""
    runs: set[RunKey] = field(default_factory=set)
    """The session's keys of all runs that were ever there."""
    asked: bool = False
    """Whether the node waits for a choice among ``found``."""
    chosen: list[int] = field(default_factory=list)
    node: str = ""
    """Id of the node that is to read it; empty for none."""
    searched: messages.Searched | None = None
    """Result of a :class:`Search` request."""
    trouble: str = ""
    """Why no node reads it."""
    failure: str = ""
    """Why its node cannot read it."""
    failures: int = 0
    ended: bool = False
    """Whether all has been read, where files are read once."""

    @property
    def wrong(self) -> str:
        """Why it is not read; empty when it is."""
        return self.trouble or self.failure


class LogRoots:
    """Turns the messages of the driver into batches and notes. Used by one thread, read by
    others."""

    def __init__(
        self, authority: str, options: ReaderOptions, send: Callable[[object], bool]
    ) -> None:
        """``send`` passes a message to the driver; returns False where none runs."""
        self._authority = authority
        self._options = options
        self._send = send
        self.roots: list[RootState] = []
        """In the order of their numbers."""
        self._numbers = count(1)
        self._rereads: dict[int, Channel] = {}
        self.nodes: dict[str, messages.NodeFacts] = {}
        """By their ids."""
        self.trouble: dict[str, str] = {}
        """Node name -> what is wrong with it; empty once it is fine again."""
        self._keys: frozenset[RunKey] = frozenset()
        self._wanted: frozenset[RunKey] = frozenset()
        self._complete = False
        """Whether all roots have been searched: names of runs depend on all of them."""
        self._task: Read | None = None
        """How to read; None before :meth:`begin`."""

    @property
    def known(self) -> tuple[tuple[messages.LogRoot, str], ...]:
        """(root, label) in the order of their numbers, for a new driver."""
        return tuple((p.root, p.paths.label) for p in self.roots)

    def begin(self, *, follow: bool) -> None:
        """Begin to read every root; ``follow``: go on at the end of its files."""
        self._task = Read(follow)
        for number, root in enumerate(self.roots):
            if root.node and root.talk is None:
                self._open(number, root)

    @property
    def ended(self) -> bool:
        """Whether every root has been read to its end, or cannot be read."""
        return all(p.ended or p.wrong for p in self.roots)

    # -- what the driver says -----------------------------------------------------------------

    def receive(self, message: object) -> Iterable[Batch]:
        """Handle a message of the driver; returns batches with the session's keys and paths, all of
        which must be consumed."""
        if isinstance(message, messages.FromNode):
            return self._heard(message)
        if isinstance(message, messages.ChannelLost):
            self._lose(message)
        elif isinstance(message, messages.NewRoot):
            paths = RootPaths(self._authority, message.root, message.label)
            self.roots.append(RootState(message.root, paths))
        elif isinstance(message, messages.Assigned):
            return self._assign(message)
        elif isinstance(message, messages.NodeTrouble):
            if message.trouble or message.node in self.trouble:
                self.trouble[message.node] = message.trouble
        elif isinstance(message, messages.Searched):
            root, far = self.roots[message.root], message.state
            notes, unclaimed = map(root.paths.notes, (far.notes or (), far.unclaimed or ()))
            root.far, root.failure = State(None, None, notes, unclaimed), message.failure
            root.searched = message
        elif isinstance(message, messages.NodeFacts):
            self.nodes[message.node.id] = message
        elif isinstance(message, messages.Alive):
            self._choose(whatever=True)

        return []

    def _assign(self, assigned: messages.Assigned) -> list[Batch]:
        root = self.roots[assigned.root]
        before, root.trouble = root.trouble, assigned.trouble
        root.node = assigned.node
        root.talk = None
        self._choose()
        if assigned.trouble:
            return list(self._noted(root, Level.WATCH, f"{assigned.trouble}; {_KEPT}"))
        if self._task is not None:
            self._open(assigned.root, root)
        return list(self._noted(root, Level.OK, READABLE)) if before else []

    def _open(self, number: int, root: RootState) -> None:
        """Begin a conversation about a root, which resumes where its files have been read to."""
        channel = Channel(next(self._numbers), number, self._send)
        root.channel = channel.number
        root.talk = Conversation(channel, 1, self._options, lambda _: root.paths, root.far)
        root.talk.request(root.files.known, chooses=self._options.choose is not None)

    def _heard(self, news: messages.FromNode) -> Iterator[Batch]:
        """Decode the bytes of a channel into batches of the runs that are wanted."""
        waiting = self._rereads.get(news.channel)
        if waiting is not None:
            waiting.came.put(news)
            return
        root = next((p for p in self.roots if p.channel == news.channel and p.talk), None)
        if root is None or root.talk is None:
            return
        failure = "its reader ended" if news.ended else ""
        try:
            for event in root.talk.feed(news.data):
                if not isinstance(event, Batch):
                    self._note(root, event)
                    continue
                batch = root.paths.batch(event)
                root.files.note(event, batch.source.path)
                if self._wants(batch.run):
                    yield batch
            root.far = root.talk.state
        except (StreamError, SourceError) as error:
            failure = str(error)
        if failure and not root.ended:
            root.talk, root.failure = None, failure
            self._choose()
            if self._follows:
                self._send(messages.Failed(self.roots.index(root)))

    def _note(self, root: RootState, event: Event) -> None:
        """Handle an event that is no batch."""
        if isinstance(event, Found):
            root.found, root.asked = event.runs, True
            root.runs.update(map(root.paths.key, event.runs))
            self._choose()
        elif event is Kind.SCANNED and root.talk is not None and self._task is not None:
            root.failure = ""
            root.talk.send(self._task)
        elif event is Kind.END:
            root.ended = True

    def _wants(self, key: RunKey) -> bool:
        return self._options.choose is None or key in self._wanted

    @property
    def _follows(self) -> bool:
        return self._task is not None and self._task.follow

    def _lose(self, lost: messages.ChannelLost) -> None:
        """An actor has ended: another one goes on, unless files are read once and it failed too
        often."""
        if (waiting := self._rereads.get(lost.channel)) is not None:
            waiting.came.put(lost)
        for root in self.roots:
            if root.channel == lost.channel and root.talk is not None:
                root.talk = None
                root.failures += 1
                if root.failures > _MOST_FAILURES and not self._follows:
                    root.trouble = lost.why

    def lost(self, why: str) -> list[Batch]:
        """The cluster is lost: mark all roots as unread; returns batches with notes."""
        found: list[Batch] = []
        for channel in self._rereads.copy().values():
            channel.came.put(messages.ChannelLost(channel.number, why))
        for number, root in enumerate(self.roots):
            if not root.trouble:
                found += self._assign(messages.Assigned(number, "", why))
        return found

    def _noted(self, root: RootState, level: Level, message: str) -> Iterator[Batch]:
        """Batches with a note for each run of a root. While no node reads it, its runs count as
        complete."""
        noted: set[RunKey] = set()
        for batch in root.files.known:
            if not self._wants(root.paths.key(batch.run)):
                continue
            path = batch.source.path
            notes = () if batch.run in noted else (Note(path, None, level, message),)
            noted.add(batch.run)
            if notes or batch.more:
                more = batch.more and level is Level.OK
                yield root.paths.batch(replace(batch, notes=notes, more=more))

    def _choose(self, *, whatever: bool = False) -> None:
        """Once all roots have been searched, or any has if ``whatever``: choose the runs to read
        and tell the nodes."""
        choose = self._options.choose
        if not self._complete:
            searched = [p.found is not None for p in self.roots if not p.wrong]
            self._complete = any(searched) if whatever else all(searched)
        if choose is None or not self._complete:
            return
        keys = frozenset(key for p in self.roots for key in p.runs)
        if keys != self._keys:
            self._keys, self._wanted = keys, frozenset(choose(keys))
        self._tell_chosen()

    def _tell_chosen(self) -> None:
        for root in self.roots:
            wanted = map(root.paths.key, root.found or ())
            chosen = [n for n, key in enumerate(wanted) if key in self._wanted]
            told = root.found is None or not (root.asked or chosen != root.chosen)
            if root.talk is not None and not told:
                root.asked, root.chosen = False, chosen
                root.talk.choose(chosen)

    # -- reading again ------------------------------------------------------------------------

    def wanted(self, sources: Sources, generations: Iterable[int]) -> tuple[int, Again] | None:
        """The number of the root that has these files of a run, and the request that reads them
        again; None where that would not return what was read before. Raises UnreachableError while
        no node reads the root."""
        generations = tuple(generations)
        for number, root in enumerate(self.roots):
            wanted = root.files.wanted(sources, generations, root.paths)
            if wanted is not None and root.wrong:
                raise UnreachableError(root.wrong)
            if wanted is not None:
                return number, wanted
        return None

    def connected(self, number: int) -> Conversation:
        """Another conversation about a root, after a search. Raises StreamError, SourceError."""
        root = self.roots[number]
        channel = Channel(next(self._numbers), number, self._send)
        self._rereads[channel.number] = channel
        options = replace(self._options, choose=None)
        talk = Conversation(channel, 1, options, lambda _: root.paths)
        talk.search(root.files.known)
        return talk

    # -- state --------------------------------------------------------------------------------

    @property
    def failures(self) -> list[str]:
        """Why roots that the command line names cannot be read."""
        return [p.failure for p in self.roots if p.failure and not p.root.inside]

    @property
    def logdirs(self) -> set[int]:
        """Numbers of the logdirs that some node has."""
        return {p.root.logdir for p in self.roots}

    @property
    def unread(self) -> set[int]:
        """Numbers of the logdirs that no node reads any more."""
        return self.logdirs - {p.root.logdir for p in self.roots if not p.trouble}

    @property
    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known)."""
        each = [p.far.progress or (0, 0) for p in self.roots]
        return sum(read for read, _ in each), sum(known for _, known in each)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble with nodes and directories."""
        found: list[Note] = []
        for node, text in self.trouble.copy().items():  # another thread takes messages
            level = Level.WATCH if text else Level.OK
            found.append(Note(self._path_of(node), None, level, clean(text) or READABLE))
        for facts in self.nodes.copy().values():
            node = facts.node.name
            if not self.trouble.get(node):
                found += clock_note(self._path_of(node), clean(node), *facts.clock_offset_s)
        for root in self.roots:
            found += root.far.notes or ()
        for root in self.roots:
            text = root.trouble or ("" if root.root.inside else root.failure)
            if text:
                path = root.paths.translated(root.root.path)
                found.append(Note(path, None, Level.WATCH, clean(text)))
        return tuple(found)

    def _path_of(self, node: str) -> Path:
        return RemotePath(f"{RAY}:", self._authority, f"{clean(node)}:")

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read."""
        shown = (p for p in self.roots if not p.root.prefix)
        return tuple(note for root in shown for note in root.far.unclaimed or ())

    @property
    def run_count(self) -> int:
        """Runs that were found and are to be read."""
        return sum(p.far.run_count or 0 for p in self.roots)
