"""What a cluster consists of and what lies on its nodes, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from rltui.core.address import AUTO, RemotePath
from rltui.core.errors import SourceError, UsageError
from rltui.core.installation import to_add
from rltui.core.text import clean
from rltui.remote.ray.message import (
    ClusterError,
    CodeMissingError,
    Looked,
    NodeFacts,
    NodeTrouble,
    Placed,
    PlaceNews,
    PlaceState,
    Standing,
)
from rltui.remote.ray.place import Place
from rltui.remote.ray.places import key_of, root_of
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
class _Searched:
    """A place and what was found in it."""

    place: Place
    label: str
    reader: str = ""
    state: PlaceState = field(default_factory=PlaceState)
    found: tuple[RunFiles, ...] = ()
    unreadable: tuple[Path, ...] = ()


class Survey:
    """Collects what the driver says during a search."""

    def __init__(self, authority: str) -> None:
        """``authority``: of the address on the command line."""
        self._authority = authority
        self._looked = Looked()
        self._places: list[_Searched] = []
        self._nodes: dict[str, NodeFacts] = {}
        self._trouble: dict[str, str] = {}

    def take(self, message: object) -> None:
        """Note what concerns it."""
        if isinstance(message, Looked):
            self._looked = message
        elif isinstance(message, Placed):
            self._places.append(_Searched(message.place, message.label))
        elif isinstance(message, Standing):
            self._places[message.place].reader = message.node
        elif isinstance(message, NodeFacts):
            self._nodes[message.node.id] = message
        elif isinstance(message, NodeTrouble):
            self._trouble[message.node] = message.trouble
        elif isinstance(message, PlaceNews):
            self._take_news(message)

    def _take_news(self, news: PlaceNews) -> None:
        searched = self._places[news.place]
        searched.state = news.state or searched.state
        searched.found = news.found or searched.found
        searched.unreadable = news.unreadable or searched.unreadable

    def facts(self, received: int) -> ClusterFacts:
        """All of it. ``received``: bytes that came here."""
        runs = tuple(sorted((r for s in self._places for r in self._runs(s)), key=lambda r: r.key))
        unreadable = tuple(self._path(s, path) for s in self._places for path in s.unreadable)
        address = self._looked.address or self._authority
        hosts = tuple(self._hosts())
        return ClusterFacts(address, self._looked.version, hosts, runs, unreadable, received)

    def _hosts(self) -> Iterator[HostFacts]:
        nodes = sorted(self._nodes.values(), key=lambda f: (f.node.name, f.node.id))
        names = Counter(f.node.name for f in nodes)
        for facts in nodes:
            node = facts.node
            own = [s for s in self._places if s.reader == node.id]
            runs = [run for searched in own for run in searched.found]
            sizes = [file.size for run in runs for file in run.files]
            yield HostFacts(
                name=clean(node.name if names[node.name] == 1 else f"{node.name}-{node.id[:6]}"),
                reader=not self._trouble.get(node.name),
                places=facts.places,
                runs=len(runs),
                files=len(sizes),
                size=sum(sizes),
                memory_bytes=facts.memory_bytes,
                trouble=clean(self._trouble.get(node.name, "")) or _unfinished(own),
            )
        for name, trouble in sorted(self._trouble.items()):
            if trouble and name not in names:
                yield HostFacts(clean(name), reader=False, trouble=clean(trouble))

    def _runs(self, searched: _Searched) -> Iterator[RunFiles]:
        for run in searched.found:
            files = tuple(replace(f, path=self._path(searched, f.path)) for f in run.files)
            key = key_of(searched.place, searched.label, run.key.name)
            yield RunFiles(key, self._path(searched, run.path), files)

    def _path(self, searched: _Searched, path: Path) -> RemotePath:
        return root_of(self._authority, searched.label).joinpath(*path.parts[1:])


def _unfinished(places: Iterable[_Searched]) -> str:
    late = [str(s.place.path) for s in places if not s.state.ended]
    return f"the search of {clean(late[0])} has not ended" if late else ""


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
