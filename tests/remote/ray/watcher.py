"""The session's side of a driver on a simulated cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from rltui.core.batch import Batch, RunKey
from rltui.remote import ReaderOptions
from rltui.remote.ray.driver import Driver
from rltui.remote.ray.messages import ClusterError, Opening, Wanted
from rltui.remote.ray.roots import LogRoots
from rltui.remote.rereading import Rereading
from rltui.sources.options import Choose, Intervals
from rltui.store import RunData, Store
from rltui.version import __version__
from tests.builders import append_rows
from tests.remote.ray.simulated_cluster import SimulatedCluster

READS = Wanted(("/runs",), __version__)
FAST = Intervals(0.01, 0.02, 0.05)
FOUND = {"n1/a": 10, "n1/b": 10, "n2/a": 10, "n2/c": 10}
_PATIENCE_S = 20.0


def log(root: Path, run: str, rows: int, first: int = 0) -> None:
    """Append rows to the log of a run."""
    append_rows(root / "runs" / run / "metrics.jsonl", rows, first)


class Watcher:
    """The session's side: a store that is filled by the messages of a driver."""

    def __init__(self, cluster: SimulatedCluster, follow: bool, choose: Choose | None) -> None:
        self.cluster = cluster
        self._follow = follow
        self.roots = LogRoots("auto", ReaderOptions(choose=choose, watch=FAST), self._send)
        self.store = Store()
        self.messages: list[object] = []
        self.batches: list[Batch] = []
        self.driver = self.start()

    def start(self) -> Driver:
        """A new driver, which goes on where the last one ended."""
        for _ in range(20):
            opening = Opening("auto", READS, self.roots.known)
            self.driver = Driver(opening, self.cluster, self.receive, self.cluster.clock)  # type: ignore[arg-type]
            with suppress(ClusterError):  # every actor died
                self.driver.look()
                break
        self.roots.begin(follow=self._follow)
        return self.driver

    def end(self) -> None:
        """End the driver."""
        self.driver.close()
        self._apply(self.roots.lost("the cluster cannot be reached"))

    def receive(self, message: object) -> None:
        self.messages.append(message)
        self._apply(self.roots.receive(message))

    def _apply(self, batches: object) -> None:
        for batch in batches:  # type: ignore[attr-defined]
            self.batches.append(batch)
            self.store.apply(batch)

    def _send(self, message: object) -> bool:
        self.driver.receive(message)
        return True

    def run(self, name: str) -> RunData:
        return self.store.runs[RunKey(0, name)]

    def again(self, name: str) -> Iterator[Batch]:
        """What was read of a run, once more."""
        found = self.roots.wanted(self.run(name).files.sources, ())
        assert found is not None
        number, wanted = found
        connect = partial(self.roots.connected, number)
        batches = Rereading(connect, lambda: None, self.cluster.clock).read(wanted)
        while True:
            self.until_true(lambda: batches.ready)
            try:
                yield next(batches)
            except StopIteration:
                return

    def reload(self, name: str) -> None:
        """Unload a run, and load it again from its node."""
        run = self.run(name)
        if not run.unloaded:
            run.unload(())
        for _ in run.load(self.again(name)):
            pass

    @property
    def counts(self) -> dict[str, int]:
        """Points of each run."""
        return {k.name: r.series("loss").count for k, r in self.store.runs.items()}

    def until_true(self, done: Callable[[], object]) -> None:
        """Go on until this is so."""
        end = time.monotonic() + _PATIENCE_S
        while not done() and time.monotonic() < end:
            self.driver.step()
        assert done()

    def until(self, wanted: dict[str, int]) -> None:
        """Go on until the runs have these numbers of points."""
        end = time.monotonic() + _PATIENCE_S
        while self.counts != wanted and time.monotonic() < end:
            self.driver.step()
        assert self.counts == wanted

    def until_ended(self) -> None:
        self.until_true(lambda: self.roots.ended)


@contextmanager
def watching(
    cluster: SimulatedCluster, *, follow: bool = True, choose: Choose | None = None
) -> Iterator[Watcher]:
    try:
        yield Watcher(cluster, follow, choose)
    finally:
        cluster.close()
