"""What a cluster consists of and what lies on its nodes, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from rltui.core.address import AUTO
from rltui.core.errors import SourceError, UsageError
from rltui.core.installation import to_add
from rltui.core.text import clean
from rltui.remote.ray.message import (
    Assigned,
    ClusterError,
    CodeMissingError,
    Looked,
    NodeFacts,
    NodeTrouble,
    Place,
    Placed,
    Searched,
)
from rltui.remote.ray.places import PlacePaths
from rltui.sources.discovery.run_files import RunFiles
from rltui.version import __version__

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """One node."""

    name: str
    reader: bool
    """Whether a reader runs there."""
    places: int = 0
    """Directories and files that it has, whoever reads them."""
    runs: int = 0
    """Runs that were found by its reader."""
    files: int = 0
    size: int = 0
    """Bytes of these files."""
    memory_bytes: int = 0
    """Resident in its reader's process."""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster after one search."""

    address: str
    version: str
    """Of Ray."""
    hosts: tuple[HostFacts, ...]
    runs: tuple[RunFiles, ...]
    unreadable: tuple[Path, ...]
    """Logs for which the user of a node has no permission."""
    received: int
    """Bytes that were sent here for it."""


@dataclass(slots=True)
class _PlaceFacts:
    """A place and what was found in it."""

    place: Place
    paths: PlacePaths
    reader: str = ""
    searched: Searched | None = None


class Survey:
    """Collects what the driver says during a search."""

    def __init__(self, authority: str) -> None:
        """``authority``: of the address on the command line."""
        self._authority = authority
        self._looked = Looked()
        self._places: list[_PlaceFacts] = []
        self._nodes: dict[str, NodeFacts] = {}
        self._trouble: dict[str, str] = {}

    def note(self, message: object) -> None:
        """Keep what concerns it."""
        if isinstance(message, Looked):
            self._looked = message
        elif isinstance(message, Placed):
            paths = PlacePaths(self._authority, message.place, message.label)
            self._places.append(_PlaceFacts(message.place, paths))
        elif isinstance(message, Assigned):
            self._places[message.place].reader = message.node
        elif isinstance(message, NodeFacts):
            self._nodes[message.node.id] = message
        elif isinstance(message, NodeTrouble):
            self._trouble[message.node] = message.trouble
        elif isinstance(message, Searched):
            self._places[message.place].searched = message

    @property
    def complete(self) -> bool:
        """Whether no search is awaited."""
        return all(p.searched or not p.reader for p in self._places)

    def facts(self, received: int) -> ClusterFacts:
        """All of it. ``received``: bytes that came here."""
        runs: list[RunFiles] = []
        unreadable: list[Path] = []
        for place in self._places:
            here, found = place.paths, place.searched or Searched(0)
            unreadable += map(here.translated, found.unreadable)
            for run in found.runs:
                files = tuple(replace(f, path=here.translated(f.path)) for f in run.files)
                runs.append(RunFiles(here.key(run.key), here.translated(run.path), files))
        address = self._looked.address or self._authority
        return ClusterFacts(
            address=address,
            version=self._looked.version,
            hosts=tuple(self._hosts()),
            runs=tuple(sorted(runs, key=lambda run: run.key)),
            unreadable=tuple(unreadable),
            received=received,
        )

    def _hosts(self) -> Iterator[HostFacts]:
        nodes = sorted(self._nodes.values(), key=lambda f: (f.node.name, f.node.id))
        names = Counter(f.node.name for f in nodes)
        for facts in nodes:
            node = facts.node
            alone = names[node.name] == 1
            yield self._host(facts, node.name if alone else f"{node.name}-{node.id[:6]}")
        for name, trouble in sorted(self._trouble.items()):
            if trouble and name not in names:
                yield HostFacts(clean(name), reader=False, trouble=clean(trouble))

    def _host(self, facts: NodeFacts, name: str) -> HostFacts:
        own = [p for p in self._places if p.reader == facts.node.id]
        late = [str(p.place.path) for p in own if p.searched is None]
        runs = [run for p in own if p.searched for run in p.searched.runs]
        sizes = [file.size for run in runs for file in run.files]
        trouble = clean(self._trouble.get(facts.node.name, ""))
        unfinished = f"the search of {clean(late[0])} has not ended" if late else ""
        return HostFacts(
            name=clean(name),
            reader=not trouble,
            places=facts.places,
            runs=len(runs),
            files=len(sizes),
            size=sum(sizes),
            memory_bytes=facts.memory_bytes,
            trouble=trouble or unfinished,
        )


class TaskCluster:
    """The cluster of ``RAY_ADDRESS``, else the one that runs on this machine."""

    def __init__(self) -> None:
        """Raises UsageError where Ray is not installed, SourceError where no cluster answers."""
        if find_spec("ray") is None:
            raise UsageError(f"--ray: needs ray: {to_add('ray[client]')}")
        from rltui.remote.ray.cluster import Cluster  # only for logdirs on other hosts

        try:
            self._cluster = Cluster(AUTO)
        except ClusterError as error:
            raise SourceError(f"--ray: {error}") from None

    @property
    def cores(self) -> int:
        """Of all nodes."""
        return self._cluster.cores()

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        """The results, in the order in which they come. Raises SourceError with the reason when a
        task fails for good."""
        left = dict(enumerate(items))
        try:
            try:
                yield from self._results(function, left)
            except CodeMissingError:
                if not self._cluster.ship_code():
                    raise
                yield from self._results(function, left)
        except ClusterError as error:
            raise SourceError(f"--ray: {error}") from None

    def _results(self, function: Callable[[T], R], left: dict[int, T]) -> Iterator[R]:
        """The results of what is left, which is taken away from there."""
        call = self._cluster.function(_checked_call)
        waiting = {call.remote(__version__, function, item): n for n, item in left.items()}
        while waiting:
            for done in self._cluster.wait(list(waiting), 1.0):
                result: R = self._cluster.result(done)
                del left[waiting.pop(done)]
                yield result

    def close(self) -> None:
        """Disconnect; tasks under way are cancelled."""
        self._cluster.close()


def _checked_call(version: str, function: Callable[[T], R], item: T) -> R:
    """The body of a task."""
    if version != __version__:
        raise ImportError(f"version {__version__} of rltui is there, not {version}")
    return function(item)
