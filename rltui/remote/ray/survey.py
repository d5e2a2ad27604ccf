"""Facts about a cluster and the logs on its nodes, for people; and tasks that run there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeVar

from rltui.core.address import AUTO
from rltui.core.errors import SourceError, UsageError
from rltui.core.installation import to_add
from rltui.core.text import clean
from rltui.remote.ray.messages import ClusterError, CodeMissingError, Looked, NodeFacts, Searched
from rltui.remote.ray.roots import LogRoots
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
    """Directories and files that it sees, whichever node reads them."""
    runs: int = 0
    """Runs that were found by its reader."""
    files: int = 0
    size: int = 0
    """Bytes of these files."""
    memory_bytes: int = 0
    """Resident in its reader's process."""
    trouble: str = ""


class ClusterFacts(NamedTuple):
    """A cluster after one search."""

    address: str
    version: str
    """Of Ray."""
    hosts: tuple[HostFacts, ...]
    runs: tuple[RunFiles, ...]
    unreadable: tuple[Path, ...]
    """Logs for which the user of a node has no permission."""
    received: int
    """Bytes received from the driver."""


def cluster_facts(roots: LogRoots, looked: Looked, received: int) -> ClusterFacts:
    """Sum up what the nodes reported. ``received``: bytes received from the driver."""
    runs: list[RunFiles] = []
    unreadable: list[Path] = []
    for root in roots.roots:
        here, found = root.paths, root.searched or Searched(0)
        unreadable += map(here.translated, found.unreadable)
        for run in found.runs:
            files = tuple(f._replace(path=here.translated(f.path)) for f in run.files)
            runs.append(RunFiles(here.key(run.key), here.translated(run.path), files))

    nodes = sorted(roots.nodes.values(), key=lambda facts: (facts.node.name, facts.node.id))
    names = Counter(facts.node.name for facts in nodes)
    hosts = [_host(facts, roots, alone=names[facts.node.name] == 1) for facts in nodes]
    for name, trouble in sorted(roots.trouble.items()):
        if trouble and name not in names:
            hosts.append(HostFacts(clean(name), reader=False, trouble=clean(trouble)))

    return ClusterFacts(
        address=looked.address,
        version=looked.version,
        hosts=tuple(hosts),
        runs=tuple(sorted(runs, key=lambda run: run.key)),
        unreadable=tuple(unreadable),
        received=received,
    )


def _host(facts: NodeFacts, roots: LogRoots, *, alone: bool) -> HostFacts:
    """Facts about a node; ``alone``: no other node has its name."""
    node = facts.node
    own = [p for p in roots.roots if p.node == node.id]
    late = [str(p.root.path) for p in own if p.searched is None]
    runs = [run for p in own if p.searched for run in p.searched.runs]
    sizes = [file.size for run in runs for file in run.files]
    trouble = clean(roots.trouble.get(node.name, ""))
    unfinished = f"the search of {clean(late[0])} has not ended" if late else ""
    return HostFacts(
        name=clean(node.name if alone else f"{node.name}-{node.id[:6]}"),
        reader=not trouble,
        places=facts.roots,
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
        """Yield results as they arrive; each is removed from ``left``."""
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
