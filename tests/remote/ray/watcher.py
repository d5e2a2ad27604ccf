"""The session's side of a driver on a simulated cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from rltui.core.batch import Batch
from rltui.remote.ray.driver import Driver
from rltui.remote.ray.message import Again, ClusterError, Opening, Reads, Reread, Task
from rltui.remote.ray.places import Places
from rltui.remote.ray.reader import Pieces, Rereads
from rltui.sources.follow.log_search import Choose
from rltui.store import Store
from rltui.version import __version__
from tests.remote.ray.simulated_cluster import SimulatedCluster

READS = Reads(("/runs",), __version__, 0.01, 0.02, 0.05, None, False, False, None)


def log(root: Path, run: str, rows: int, first: int = 0) -> None:
    """Append rows to the log of a run."""
    directory = root / "runs" / run
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "metrics.jsonl").open("a") as file:
        file.writelines(f'{{"step": {s}, "loss": {s}.5}}\n' for s in range(first, first + rows))


class Watcher:
    """The session's side: a store that is filled by the messages of a driver."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        *,
        task: Task = Task.FOLLOW,
        choose: Choose | None = None,
    ) -> None:
        self.cluster = cluster
        self.task = task
        self.reads = replace(READS, chooses=choose is not None)
        self.places = Places("auto", choose)
        self.rereads = Rereads(self._ask, self.places.outer, self._await_piece)
        self.store = Store()
        self.messages: list[object] = []
        self.batches: list[Batch] = []
        self.driver = self.start()

    def start(self) -> Driver:
        """A new driver, which goes on where the last one ended."""
        for _ in range(20):
            opening = Opening("auto", self.reads, self.places.known)
            self.driver = Driver(opening, self.cluster, self.take, self.cluster.clock)  # type: ignore[arg-type]
            with suppress(ClusterError):  # every actor died
                self.driver.look()
                break
        self.driver.begin(self.task)
        return self.driver

    def take(self, message: object) -> None:
        self.messages.append(message)
        if isinstance(message, Reread):
            self.rereads.take(message)
        for batch in self.places.take(message):
            self.batches.append(batch)
            self.store.apply(batch)
        for answer in self.places.answers():
            self.driver.take(answer)

    def _ask(self, again: Again) -> None:
        self.driver.take(again)

    def _await_piece(self, pieces: Pieces) -> None:
        end = time.monotonic() + 20
        while not pieces.ready and time.monotonic() < end:
            self.driver.step()

    @property
    def counts(self) -> dict[str, int]:
        """Points of each run."""
        return {k.name: r.series("loss").count for k, r in self.store.runs.items()}

    def until(self, wanted: dict[str, int]) -> None:
        """Go on until the runs have these numbers of points."""
        end = time.monotonic() + 20
        while self.counts != wanted and time.monotonic() < end:
            self.driver.step()
        assert self.counts == wanted

    def until_ended(self) -> None:
        end = time.monotonic() + 20
        while not self.driver.ended and time.monotonic() < end:
            self.driver.step()
        assert self.driver.ended


@contextmanager
def watching(
    cluster: SimulatedCluster, *, task: Task = Task.FOLLOW, choose: Choose | None = None
) -> Iterator[Watcher]:
    try:
        yield Watcher(cluster, task=task, choose=choose)
    finally:
        cluster.close()


FOUND = {"n1/a": 10, "n1/b": 10, "n2/a": 10, "n2/c": 10}
