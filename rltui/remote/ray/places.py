"""What the session's process knows of the places on a cluster: names, offsets, trouble."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from rltui.core.address import RAY, RemotePath
from rltui.core.batch import Batch, Note, RunKey
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.files.trouble import READABLE
from rltui.remote.ray.message import (
    NodeTrouble,
    Offsets,
    Placed,
    PlaceNews,
    PlaceState,
    Standing,
    unpacked,
)
from rltui.remote.ray.place import Place
from rltui.sources.follow.log_search import Choose

#: Name of the output of a worker, by its id, job and process id: too long to be read.
_WORKER = re.compile(r"\bworker-([0-9a-f]{4})[0-9a-f]{52}-([0-9a-f]{8})-(\d+)")
_KEPT = "what was read of it is kept"


@dataclass(slots=True)
class _Known:
    """A place, its state and how far its files came."""

    place: Place
    label: str
    root: RemotePath
    offsets: Offsets = field(default_factory=dict)
    state: PlaceState = field(default_factory=PlaceState)
    runs: set[str] = field(default_factory=set)
    """Names of all runs that were ever there."""
    trouble: str = ""

    def key(self, name: str) -> RunKey:
        """The session's key of a run."""
        own, rest = name in (".", "") or name.startswith(".#"), _WORKER.sub(r"worker-\3-\1", name)
        front = "/".join(clean(x) for x in (self.label, self.place.inside.strip("/")) if x)
        if own and front:
            return RunKey(self.place.logdir, front + rest[1:])
        return RunKey(self.place.logdir, f"{front}/{rest}" if front else rest)

    def path(self, path: Path) -> RemotePath:
        """A path of the node, as people see it."""
        return self.root.joinpath(*path.parts[1:])

    def note(self, note: Note) -> Note:
        """A note of the node."""
        return replace(note, path=self.path(note.path))


class Places:
    """Turns the messages of the driver into batches and notes. Does no I/O; used by one thread,
    read by others."""

    def __init__(self, authority: str, choose: Choose | None) -> None:
        self._authority = authority
        self._choose = choose
        self._known: list[_Known] = []
        self._nodes: dict[str, Note] = {}
        self._keys: frozenset[RunKey] = frozenset()
        self._wanted: frozenset[RunKey] = frozenset()

    @property
    def known(self) -> tuple[tuple[Place, str, Offsets], ...]:
        """For a driver that begins: the places in the order of their numbers."""
        return tuple((k.place, k.label, dict(k.offsets)) for k in self._known)

    def take(self, message: object) -> list[Batch]:
        """What a message says, as batches with the session's keys and paths."""
        if isinstance(message, PlaceNews):
            return self._take_news(message)
        if isinstance(message, Placed):
            label = f"{message.label}:" if message.label else ""
            root = RemotePath(f"{RAY}:", self._authority, *([label] if label else []))
            self._known.append(_Known(message.place, message.label, root))
        elif isinstance(message, Standing):
            return self._take_standing(message)
        elif isinstance(message, NodeTrouble):
            self._take_trouble(message)
        return []

    def _take_news(self, news: PlaceNews) -> list[Batch]:
        known = self._known[news.place]
        if news.state is not None:
            known.state = news.state
            known.runs.update(news.state.runs)
            self._name_runs()
        if not news.batches:
            return []
        known.offsets.update(news.offsets)
        found = (self._outer(known, batch) for batch in unpacked(news.batches))
        return [batch for batch in found if self._is_wanted(batch.run)]

    def _outer(self, known: _Known, batch: Batch) -> Batch:
        source = replace(batch.source, path=known.path(batch.source.path))
        return replace(
            batch,
            run=known.key(batch.run.name),
            run_path=known.path(batch.run_path),
            source=source,
            notes=tuple(map(known.note, batch.notes)),
        )

    def _name_runs(self) -> None:
        keys = frozenset(k.key(name) for k in self._known for name in k.runs)
        if keys != self._keys:
            self._keys = keys
            self._wanted = keys if self._choose is None else frozenset(self._choose(keys))

    def _is_wanted(self, key: RunKey) -> bool:
        return key in self._wanted

    # -- trouble ------------------------------------------------------------------------------

    def _take_standing(self, standing: Standing) -> list[Batch]:
        known = self._known[standing.place]
        before, known.trouble = known.trouble, standing.trouble
        if standing.trouble:
            return list(self._noted(known, Level.WATCH, f"{standing.trouble}; {_KEPT}"))
        return list(self._noted(known, Level.OK, READABLE)) if before else []

    def lost(self, why: str) -> list[Batch]:
        """The cluster is lost: nobody reads any place."""
        found: list[Batch] = []
        for number, known in enumerate(self._known):
            if not known.trouble:
                found += self._take_standing(Standing(number, "", why))
        return found

    def _noted(self, known: _Known, level: Level, message: str) -> Iterator[Batch]:
        """A note on each run of a place, which is complete as it is while nobody reads it."""
        noted: set[str] = set()
        for (name, path), offset in known.offsets.items():
            if not self._is_wanted(known.key(name)):
                continue
            notes = () if name in noted else (Note(path, None, level, message),)
            noted.add(name)
            if not (notes or offset.more):
                continue
            more = offset.more and level is Level.OK
            yield self._outer(known, replace(offset, notes=notes, more=more))

    def _take_trouble(self, message: NodeTrouble) -> None:
        node = clean(message.node)
        path = RemotePath(f"{RAY}:", self._authority, f"{node}:")
        if message.trouble:
            self._nodes[node] = Note(path, None, Level.WATCH, clean(message.trouble))
        elif node in self._nodes:
            self._nodes[node] = Note(path, None, Level.OK, READABLE)

    # -- state --------------------------------------------------------------------------------

    @property
    def failures(self) -> list[str]:
        """Why places that the command line names cannot be read."""
        return [k.state.failure for k in self._known if k.state.failure and not k.place.inside]

    @property
    def logdirs(self) -> set[int]:
        """Numbers of the logdirs that some node has."""
        return {k.place.logdir for k in self._known}

    @property
    def unread(self) -> set[int]:
        """Numbers of the logdirs that no node reads any more."""
        return self.logdirs - {k.place.logdir for k in self._known if not k.trouble}

    @property
    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes known)."""
        each = [k.state.progress for k in self._known]
        return sum(read for read, _ in each), sum(known for _, known in each)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Trouble with nodes and directories."""
        found = [k.note(n) for k in self._known for n in k.state.notes]
        for known in self._known:
            text = known.trouble or ("" if known.place.inside else known.state.failure)
            if text:
                found.append(Note(known.path(known.place.path), None, Level.WATCH, clean(text)))
        return (*self._nodes.values(), *found)

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read."""
        return tuple(k.note(n) for k in self._known for n in k.state.unclaimed)

    @property
    def run_count(self) -> int:
        """Runs that were found and are to be read."""
        return len(self._keys & self._wanted)
