"""By how much the clock of a node is ahead, from calls that take their time."""

from __future__ import annotations

import random
import re

from rltui.remote.ray.driver import ClockOffset
from rltui.remote.ray.message import NodeFacts
from tests.remote.ray.simulated_cluster import SimulatedCluster
from tests.remote.ray.watcher import FOUND, watching


def test_the_bounds_hold_whatever_delays_a_call() -> None:
    chance, ahead, now = random.Random(1), 33.0, 1.7e9
    clock = ClockOffset()
    before = clock.ahead_s
    for _ in range(50):
        there, took, back = (chance.expovariate(1 / 5) for _ in range(3))
        begun = now + there
        clock.measured(now, begun + took + back, (begun + ahead, begun + took + ahead))
        least, most = clock.ahead_s
        assert least <= ahead <= most
        assert before[0] <= least <= most <= before[1]
        before, now = clock.ahead_s, now + 10
    assert before[1] - before[0] < 2


def test_a_clock_that_is_set_is_measured_anew() -> None:
    clock = ClockOffset()
    clock.measured(100.0, 101.0, (200.2, 200.5))
    clock.measured(110.0, 111.0, (110.2, 110.5))
    assert clock.ahead_s == (110.5 - 111.0, 110.2 - 110.0)
    known = clock.ahead_s
    clock.measured(120.0, 121.0, (120.5, 180.0))  # set during the call
    assert clock.ahead_s == known


def test_a_node_whose_clock_is_wrong_is_noted_by_its_first_turn(cluster: SimulatedCluster) -> None:
    cluster.ahead = {"n2": -3600.0}
    with watching(cluster) as watcher:
        (note,) = watcher.places.notes
        assert re.fullmatch(r"the clock of n2 is 3(599|600) s behind the one here", note.message)
        watcher.until(FOUND)
        facts = [m for m in watcher.messages if isinstance(m, NodeFacts)]
    assert {m.node.name for m in facts} == {"n1", "n2"}
