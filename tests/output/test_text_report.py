"""Text reports: colours of badges, and what chat services take for a mention."""

from __future__ import annotations

import re

import pytest

from rltui.output.markdown import without_mentions
from rltui.output.text_report import painter

REPORT = """\
✖ run (PPO, step 9): 2 bad
    ▲ entropy, since 4
      check first: KL 0 now, 1.66 at 4,608 ✖ (one spike?)
12:30:01 ✖ run: loss
✔ calm
· short
○ over, 3 to 9
✖name
"""


def test_the_badge_that_begins_a_line_has_the_colour_of_its_level() -> None:
    text = painter(True)(REPORT)
    assert re.findall(r"(.*?)\x1b\[(\d+)m(.)\x1b\[0m", text) == [
        ("", "31", "✖"),
        ("    ", "33", "▲"),
        ("12:30:01 ", "31", "✖"),
        ("", "32", "✔"),
    ]
    assert re.sub(r"\x1b\[\d+m", "", text) == REPORT


def test_without_colour_nothing_changes() -> None:
    assert painter(False)(REPORT) == REPORT


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!channel>", "‹!channel>"),
        ("<@U012AB3CD> <#C1>", "‹＠U012AB3CD> ‹#C1>"),
        ("<https://x.y|log>", "‹https://x.y|log>"),
        ("@everyone @all", "＠everyone ＠all"),
        ("kl < 0.1, <0.1, 8 @ 1", "kl < 0.1, <0.1, 8 @ 1"),
    ],
)
def test_they_are_plain_text(text: str, shown: str) -> None:
    assert without_mentions(text) == shown
