"""Limits of what is made of several rows or runs."""

from __future__ import annotations

import numpy as np

from rltui.facts.groups import difference
from rltui.session.limits import group_limits, stage_limits


def test_the_shipped_limits_fit_together() -> None:
    stages = stage_limits()
    assert stages.smooth <= stages.recent
    assert stages.smooth <= stages.usual
    assert 0.5 < stages.occasional < 1 < stages.as_usual < stages.slower
    assert 0 < group_limits().last_share < 1


def test_seven_runs_are_the_fewest_that_differ_by_more_than_chance() -> None:
    six, seven = (difference(10 + np.arange(n), np.arange(3.0)) for n in (3.0, 4.0))
    assert six is not None
    assert seven is not None
    assert not six.can_tell
    assert seven.can_tell
