"""What the session's process knows of the places on a cluster: names, offsets, trouble."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rltui.core.address import RAY, RemotePath
from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.core.errors import UnreachableError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.files.trouble import READABLE
from rltui.formats import ALL_FORMATS
from rltui.remote.ray.message import (
    Again,
    Alive,
    Chosen,
    NodeFacts,
    NodeTrouble,
    Offsets,
    Placed,
    PlaceNews,
    PlaceState,
    Standing,
    unpacked,
)
from rltui.remote.ray.place import Place
from rltui.sources.follow.schedule import Choose

#: Name of the output of a worker, by its id, job and process id: too long to be read.
_WORKER = re.compile(r"\bworker-([0-9a-f]{4})[0-9a-f]{52}-([0-9a-f]{8})-(\d+)")
#: Logs that can be read again; stores of trackers cannot.
_FILES = frozenset(f.name for f in ALL_FORMATS)
#: Seconds by which the clocks of a node and of this machine may differ.
_SKEW_S = 60.0
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
    files: dict[Path, tuple[str, Path]] = field(default_factory=dict)
    """Run and path on the node, by the path that people see."""
    chosen: tuple[str, ...] = ()
    """Runs that its reader was told to read."""
    answered: int = 0
    """The newest question that was answered."""

    def key(self, name: str) -> RunKey:
        """The session's key of a run."""
        return key_of(self.place, self.label, name)

    def path(self, path: Path) -> RemotePath:
        """A path of the node, as people see it."""
        return self.root.joinpath(*path.parts[1:])

    def note(self, note: Note) -> Note:
        """A note of the node."""
        return replace(note, path=self.path(note.path))


def key_of(place: Place, label: str, name: str) -> RunKey:
    """The session's key of a run of a place; ``name`` is that on the node."""
    own, rest = name in (".", "") or name.startswith(".#"), _WORKER.sub(r"worker-\3-\1", name)
    front = "/".join(clean(x) for x in (label, place.inside.strip("/")) if x)
    if own and front:
        return RunKey(place.logdir, front + rest[1:])
    return RunKey(place.logdir, f"{front}/{rest}" if front else rest)


def root_of(authority: str, label: str) -> RemotePath:
    """What the paths of a node begin with, as people see them."""
    return RemotePath(f"{RAY}:", authority, *([f"{label}:"] if label else []))


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
        self._complete = choose is None
        """Whether the runs of all places were known once: names depend on all of them."""
        self._asked = False
        """Whether some node may have to be told what to read."""
        self._clocks: dict[str, NodeFacts] = {}

    @property
    def known(self) -> tuple[tuple[Place, str, Offsets], ...]:
        """For a driver that begins: the places in the order of their numbers."""
        return tuple((k.place, k.label, dict(k.offsets)) for k in self._known)

    def take(self, message: object) -> list[Batch]:
        """What a message says, as batches with the session's keys and paths."""
        if isinstance(message, PlaceNews):
            return self._take_news(message)
        if isinstance(message, Placed):
            root = root_of(self._authority, message.label)
            self._known.append(_Known(message.place, message.label, root))
        elif isinstance(message, Standing):
            return self._take_standing(message)
        elif isinstance(message, NodeTrouble):
            self._take_trouble(message)
        elif isinstance(message, NodeFacts):
            self._clocks[clean(message.node.name)] = message
        elif isinstance(message, Alive):
            self._name_runs(whatever=True)
        return []

    def answers(self) -> list[Chosen]:
        """What nodes are to be told since the last call: the runs that they are to read."""
        if not (self._complete and self._asked):
            return []
        self._asked = False
        return list(self._answers())

    def _answers(self) -> Iterator[Chosen]:
        for number, known in enumerate(self._known):
            asked = known.state.question if known.state.question != known.answered else 0
            chosen = tuple(n for n in known.state.runs if self._is_wanted(known.key(n)))
            if not asked and chosen == known.chosen:
                continue
            known.chosen, known.answered = chosen, asked or known.answered
            if self._choose is not None:
                yield Chosen(number, chosen, asked)

    def _take_news(self, news: PlaceNews) -> list[Batch]:
        known = self._known[news.place]
        if news.state is not None:
            before, known.state = known.state, news.state
            self._asked |= news.state.question != before.question
            if news.state.runs != before.runs or not self._complete:
                known.runs.update(news.state.runs)
                self._name_runs()
        if not news.batches:
            return []
        known.offsets.update(news.offsets)
        known.files.update({known.path(path): (run, path) for run, path in news.offsets})
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

    def _name_runs(self, *, whatever: bool = False) -> None:
        """Choose what to read, as soon as no search of a node is awaited, or ``whatever``."""
        searched = [k.state.searched for k in self._known if not (k.trouble or k.state.failure)]
        if not (self._complete or (any(searched) if whatever else all(searched))):
            return
        self._complete = self._asked = True
        keys = frozenset(k.key(name) for k in self._known for name in k.runs)
        if keys != self._keys:
            self._keys = keys
            self._wanted = keys if self._choose is None else frozenset(self._choose(keys))

    def _is_wanted(self, key: RunKey) -> bool:
        return key in self._wanted

    # -- reading again ------------------------------------------------------------------------

    def requests(self, sources: Mapping[Path, SourceInfo]) -> list[Again] | None:
        """What nodes are to be asked to read these files again; None where that cannot give what
        was read before. Raises UnreachableError where nobody can be asked now."""
        found: dict[tuple[int, str], dict[Path, SourceInfo]] = {}
        for path, source in sources.items():
            number = next((n for n, k in enumerate(self._known) if path in k.files), None)
            if number is None or source.format not in _FILES:
                return None
            known = self._known[number]
            run, there = known.files[path]
            offset = known.offsets[run, there]
            if offset.gone or offset.generation:
                return None
            if known.trouble or known.state.failure:
                raise UnreachableError(known.trouble or known.state.failure)
            found.setdefault((number, run), {})[there] = replace(source, path=there)
        return [Again(0, number, run, files) for (number, run), files in found.items()]

    def outer(self, number: int, batches: bytes) -> Iterator[Batch]:
        """Batches of a place, with the session's keys and paths."""
        return (self._outer(self._known[number], batch) for batch in unpacked(batches))

    # -- trouble ------------------------------------------------------------------------------

    def _take_standing(self, standing: Standing) -> list[Batch]:
        known = self._known[standing.place]
        before, known.trouble = known.trouble, standing.trouble
        self._name_runs()
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
        if message.trouble:
            self._clocks.pop(node, None)
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
        return (*self._nodes.values(), *self._clock_notes(), *found)

    def _clock_notes(self) -> Iterator[Note]:
        """Nodes whose clock certainly differs from the one here."""
        for node, facts in tuple(self._clocks.items()):  # another thread takes messages
            least, most = facts.ahead_s
            if least < _SKEW_S and most > -_SKEW_S:
                continue
            side, seconds = ("ahead of", least) if least > 0 else ("behind", -most)
            text = f"the clock of {node} is {seconds:.0f} s {side} the one here"
            path = RemotePath(f"{RAY}:", self._authority, f"{node}:")
            yield Note(path, None, Level.WATCH, text)

    @property
    def unclaimed(self) -> tuple[Note, ...]:
        """Files that look like logs and are not read."""
        return tuple(k.note(n) for k in self._known for n in k.state.unclaimed)

    @property
    def run_count(self) -> int:
        """Runs that were found and are to be read."""
        return len(self._keys & self._wanted)
