"""Runs functions as tasks of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rltui.core.address import AUTO
from rltui.core.errors import SourceError
from rltui.core.installation import need
from rltui.remote.ray.node_reader import ClusterError, CodeMissingError
from rltui.version import __version__

T = TypeVar("T")
R = TypeVar("R")


class TaskCluster:
    """The cluster of ``RAY_ADDRESS``, else the one that runs on this machine."""

    def __init__(self) -> None:
        """Raises UsageError where Ray is not installed, SourceError where no cluster answers."""
        need("--ray:", "ray[client]")
        from rltui.remote.ray.cluster import Cluster  # only for logdirs on other hosts

        try:
            self._cluster = Cluster(AUTO)
        except ClusterError as error:
            raise SourceError(f"--ray: {error}") from None

    @property
    def cores(self) -> int:
        """Number of cores of all nodes."""
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
