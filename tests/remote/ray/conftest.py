"""A simulated cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import append_rows
from tests.remote.ray.simulated_cluster import Rig, SimulatedCluster, helper_threads


def log(root: Path, run: str, rows: int, first: int = 0) -> None:
    """Append rows to the log of a run of a node."""
    append_rows(root / "runs" / run / "metrics.jsonl", rows, first)


@pytest.fixture
def cluster(tmp_path: Path) -> SimulatedCluster:
    """Two nodes, each with runs of its own: one name is the same."""
    for node, runs in (("n1", ("a", "b")), ("n2", ("a", "c"))):
        for run in runs:
            log(tmp_path / node, run, 10)
    return SimulatedCluster({n: tmp_path / n for n in ("n1", "n2")})


@pytest.fixture
def rig(cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    with helper_threads(cluster, monkeypatch) as found:
        yield found
