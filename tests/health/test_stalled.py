"""When a run counts as stalled."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.errors import DocumentError
from rltui.core.yaml_document import Node, edited, parse_document
from rltui.health.stalled import StallLimits, stall_rule, with_override


@pytest.mark.parametrize(
    ("interval", "pause", "quiet"),
    [(None, None, 60.0), (1.0, None, 60.0), (100.0, None, 500.0), (100.0, 600.0, 900.0)],
)
def test_a_run_may_be_silent_as_long_as_it_has_been(
    interval: float | None, pause: float | None, quiet: float
) -> None:
    limits = StallLimits(least_s=60, intervals=5, pauses=1.5, recent=20, ended_after_s=86400)
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


def an_override(text: str) -> Node:
    return parse_document(text, Path("config.yaml"))


def test_a_configuration_changes_the_limits_and_their_explanation() -> None:
    changed = with_override(an_override("{least_s: 900, intervals: 33}"))
    assert changed.limits.quiet_s(1.0, None) == 900
    assert changed.limits.quiet_s(100.0, None) == 3300
    assert "900 s, 33 usual intervals" in changed.rule.meaning
    assert stall_rule().limits.least_s == 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{leest_s: 900}", "rule stalled has no limit 'leest_s'; did you mean 'least_s'"),
        ("{least_s: 0}", "must be above 0"),
        ("{least_s: soon}", "number"),
        ("{least_s: .inf}", "must be above 0, and finite"),
        ("{least_s: .nan}", "must be above 0, and finite"),
        ("{recent: 0.5}", "must be above 1"),
    ],
    ids=["name", "zero", "word", "infinite", "nan", "recent"],
)
def test_a_wrong_limit_is_an_error_with_its_place(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=r"config\.yaml:1:") as error:
        with_override(an_override(text))
    assert message in str(error.value)
