"""When a run counts as stalled."""

from __future__ import annotations

import pytest

from rltui.core.yaml_document import Node, edited
from rltui.health.stalled import StallLimits, stall_rule


@pytest.mark.parametrize(
    ("interval", "pause", "quiet"),
    [(None, None, 60.0), (1.0, None, 60.0), (100.0, None, 500.0), (100.0, 600.0, 900.0)],
)
def test_a_run_may_be_silent_as_long_as_it_has_been(
    interval: float | None, pause: float | None, quiet: float
) -> None:
    limits = StallLimits(least_s=60, intervals=5, pauses=1.5, ended_after_s=86400)
    assert limits.quiet_s(interval, pause) == quiet


def test_the_explanation_shows_the_limits_of_the_document() -> None:
    def edit(root: Node) -> None:
        entry = root.table().need("limits").table().need("intervals").table()
        entry.need("value").value = 77

    assert "77" not in stall_rule().rule.meaning
    with edited(edit):
        changed = stall_rule.__wrapped__()
    assert "77 usual intervals" in changed.rule.meaning
    assert changed.limits.intervals == 77
