"""A simulated cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remote.ray.simulated_cluster import SimulatedCluster
from tests.remote.ray.watcher import log


@pytest.fixture
def cluster(tmp_path: Path) -> SimulatedCluster:
    """Two nodes, each with runs of its own: one name is the same."""
    for node, runs in (("n1", ("a", "b")), ("n2", ("a", "c"))):
        for run in runs:
            log(tmp_path / node, run, 10)
    return SimulatedCluster({n: tmp_path / n for n in ("n1", "n2")})
