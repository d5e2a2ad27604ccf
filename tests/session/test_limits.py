"""Limits of what is made of several rows or runs."""

from __future__ import annotations

import numpy as np

from rltui.facts.groups import difference


def test_seven_runs_are_the_fewest_that_differ_by_more_than_chance() -> None:
    six, seven = (difference(10 + np.arange(n), np.arange(3.0)) for n in (3.0, 4.0))
    assert six is not None
    assert seven is not None
    assert not six.can_tell
    assert seven.can_tell
