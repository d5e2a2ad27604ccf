"""A few whole screens of the real app, as text and once with their colours.

``RLTUI_GOLDEN=write`` writes them anew: then read them.

A run that breaks while it is watched: how soon the screen names the cause, and whether a tick
contradicts it.
"""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rltui.core.batch import Batch
from rltui.core.level import Direction
from rltui.demo.course import Course
from rltui.demo.scenario import SCENARIOS
from rltui.demo.verl_tags import Row, step_row, validation_row
from rltui.facts.metrics import overview_sections
from rltui.facts.series_stats import trend_of
from tests.builders import START, a_batch, a_block, a_source
from tests.clock import ManualClock
from tests.fakes import grpo_batch
from tests.tables import table
from tests.tui.hand import Hand, open_app

GOLDEN = Path(__file__).parent / "golden"
#: Read when the module is imported: a fixture hides the settings of the person who runs it.
WRITE = os.environ.get("RLTUI_GOLDEN") == "write"

#: Name -> keys from the Overview.
SCREENS = table(__file__)["screens"]
STYLED = ("overview-120x36", "actor-80x24", "findings-80x24", "metric-80x24", "runs-120x36",
          "help-80x24", "filter-80x24")  # fmt: skip


def check(path: Path, text: str) -> None:
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCREENS)
async def test_a_screen_reads_and_is_coloured_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.tui.shell.depth_of", lambda system, no_color: "truecolor")
    width, height = name.rpartition("-")[2].split("x")
    runs = (grpo_batch(60, total=200), grpo_batch(30, run="calm", collapse=None))
    async with open_app(*runs, size=(int(width), int(height))) as hand:
        hand.app.pump.age()  # now, not when the machine finds time for it
        await hand.settle()
        await hand.press("enter", *SCREENS[name])
        strips = hand.strips
    check(
        GOLDEN / f"{name}.txt", "".join("".join(s.text for s in x).rstrip() + "\n" for x in strips)
    )
    looks = []
    for number, strip in enumerate(strips):
        for segment in strip:
            if segment.text.strip() or (segment.style and segment.style.bgcolor):
                look = str(segment.style).replace("not bold", "").replace("not underline", "")
                look = " ".join(look.replace("not dim", "").replace("not reverse", "").split())
                looks.append(f"{number:2} {segment.text.strip()[:30]!r} {look}\n")
    if name in STYLED:
        check(GOLDEN / f"{name}.styles", "".join(looks))


#: As in ``rltui demo``: steps of the run, and steps before the screen opens.
_TOTAL, _HISTORY = 400, 120
_WAY = {Direction.UP: 1, Direction.DOWN: -1}


def rows_of(scenario: str) -> Iterator[tuple[int, Row]]:
    """What the demo writes, step by step."""
    course, rng = Course(SCENARIOS[scenario], 7, _TOTAL), np.random.default_rng([7, 2])
    for step in range(_TOTAL + 1):
        state = course.at(step)
        yield step, step_row(state, rng) if step else validation_row(state, rng)


def batch_of(rows: list[tuple[int, Row]]) -> Batch:
    """Rows that come a second apart."""
    tags = list(dict.fromkeys(t for _, row in rows for t in row))
    columns = {t: [row.get(t) for _, row in rows] for t in tags}
    steps = [step for step, _ in rows]
    walls = [START + step for step in steps]
    source = a_source("demo/events.0", modified=walls[-1], records=steps[-1] + 1)
    return a_batch(a_block(columns, steps=steps, walls=walls), run="demo", source=source)


def contradicted(hand: Hand) -> list[str]:
    """Rows with a tick whose newest value is not finite or outside the range beside it, or has
    no range and goes the wrong way by a fifth of all that it ever moved."""
    run, found = hand.run.run, []
    for row in (r for s in overview_sections(run) for r in s.rows):
        limits = run.verdict.judgement(row.tag).limits
        low, high = limits[0].shown if limits else (None, None)
        value = math.nan if row.value is None else row.value
        inside = (low is None or value >= low) and (high is None or value <= high)
        known = run.shown(row.tag).values
        trend = (trend_of(run, run.shown(row.tag)) or 0.0) * _WAY.get(row.info.direction, 0)
        falls = low is None and high is None and trend < -0.2 * float(np.ptp(known))
        if badge_of(hand, row.title) == "✔" and (falls or not (math.isfinite(value) and inside)):
            found.append(f"{row.title} {value}")
    return found


def badge_of(hand: Hand, title: str) -> str:
    """What stands before a title on the screen; "" for a row that is not on it."""
    pattern = re.compile(rf"^[ ▌](\S) {re.escape(title)}  ")
    return next((found[1] for x in hand.lines if (found := pattern.match(x))), "")


@pytest.mark.parametrize(
    ("scenario", "first"),
    # while the gradient explosion is at watch, the NaN that it caused is worse
    [
        ("kl-blowup", ("learning rate × 100",)),
        ("nan", ("numbers are not", "the gradient explodes")),
    ],
)
async def test_the_cause_or_the_worst_stands_first_two_seconds_after_the_onset(
    scenario: str, first: tuple[str, ...]
) -> None:
    onset = SCENARIOS[scenario].onset_of(_TOTAL)
    assert onset == _HISTORY
    rows, clock = list(rows_of(scenario)), ManualClock(START + _HISTORY)
    async with open_app(batch_of(rows[: _HISTORY + 1]), size=(80, 24), clock=clock) as hand:
        ticks = 0
        for step, row in rows[_HISTORY + 1 : _HISTORY + 31]:
            clock.advance(1)
            hand.reader.feed(batch_of([(step, row)]))
            await hand.settle()
            hand.app.pump.pull()
            await hand.settle()
            ticks += sum(x[1:2] == "✔" for x in hand.lines)
            assert contradicted(hand) == [], step
            if step >= onset + 2:
                assert hand.lines[1].partition(": ")[2].startswith(first), step
                assert any(x.startswith(" Do: ") for x in hand.lines[:5])
            assert hand.cursor == "val-core/openai/gsm8k/acc/mean@4"
        assert hand.lines[1].startswith(" ✖ BAD"), "the run no longer gets better"
        assert ticks > 50, "rows with ticks were read"
