"""What screens are made of: no control characters, never an error, at any size and state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import Batch, Note
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.draw.metric_chart import Zoom
from rltui.draw.view import View
from rltui.facts.metrics import TABS
from rltui.session import Session
from tests.builders import LOGDIR, a_batch, a_block
from tests.fakes import a_session, grpo_batch, grpo_clock
from tests.pages.parts import assert_harmless, parts_of_run, parts_of_runs, parts_of_session

#: Tags that try to do harm, as they arrive: through the same cleaning as in the decoders.
ODD_TAGS = (
    "[red]x[/red]",
    "\x1b[31mred\x1b[0m",
    "a\nb\tc\r",
    "../../etc/passwd",
    "loss 🔥🚀",
    "損失/平均",
    "\u202egnp.exe",
    "e\u0301\u0301\u0301",
    "x" * 10_240,
    "",
    " ",
    "\\x1b",
    "\x9b31m",
    "👩‍👩‍👧",
    "\x07bell",
)
KNOWN_TAGS = (
    "actor/entropy", "actor/ppo_kl", "critic/score/mean", "critic/score/max", "critic/score/min",
    "response_length/mean", "timing_s/gen", "timing_s/step", "val-core/gsm8k/acc/mean@1",
    "train/loss", "rollout/ep_rew_mean", "rewards/margins",
)  # fmt: skip
_NAN, _INF = float("nan"), float("inf")

values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, _NAN, _INF, -_INF, 1e300, 1e-300, 5e-324, 1.7e308]),
    st.none(),
)
tags = st.one_of(
    st.sampled_from(KNOWN_TAGS),
    st.sampled_from([clean(t) for t in ODD_TAGS]),
    st.text(max_size=9).map(clean),
)
columns = st.dictionaries(tags, st.lists(values, max_size=12), max_size=5)
run_names = st.one_of(st.just("."), st.sampled_from([clean(t) for t in ODD_TAGS if t]))
first_steps = st.sampled_from([0, 1, -5, 1 << 40, 10_000])
views = st.builds(
    View()._replace,
    axis=st.sampled_from(["step", "relative", "wall", "tokens"]),
    smooth=st.sampled_from([0.0, 0.6, 0.98]),
    log_y=st.booleans(),
    outliers=st.booleans(),
    marker=st.sampled_from(["braille", "block", "ascii"]),
)
zooms = st.builds(
    Zoom,
    crosshair=st.sampled_from([None, 0, 3, -7, 1 << 50]),
    window=st.sampled_from([None, (1.0, 3.0), (0.0, 1e9)]),
)
widths = st.one_of(st.integers(20, 60), st.integers(20, 220))
heights = st.one_of(st.integers(1, 12), st.integers(1, 60))


@st.composite
def batches(draw: Any) -> list[Batch]:
    found = []
    for order, name in enumerate(draw(st.lists(run_names, max_size=3))):
        content = draw(columns)
        rows = max((len(v) for v in content.values()), default=0)
        walls = [_NAN] * rows if draw(st.booleans()) else None
        block = a_block(content, first=draw(first_steps), walls=walls)
        notes = (Note(LOGDIR / "x", 3, Level.WATCH, "torn"),) if draw(st.booleans()) else ()
        source, more = f"{name}/e.{order}", draw(st.booleans())
        found.append(a_batch(block, run=name, source=source, order=order, more=more, notes=notes))
    return found


@given(st.data())
def test_whatever_is_logged_fits_and_is_harmless(data: st.DataObject) -> None:
    session = a_session(*data.draw(batches()))
    view, width, height = data.draw(views), data.draw(widths), data.draw(heights)
    tab = data.draw(st.sampled_from(TABS)).id
    text = data.draw(st.sampled_from(["", "", "loss", "!loss", "zzz", "!"]))
    zoom = data.draw(zooms)
    for run in session.runs():
        for lines in parts_of_run(run, tab, view, width, height, text=text, zoom=zoom):
            assert_harmless(lines, width, view)
    for lines in parts_of_runs(session, view, width):
        assert_harmless(lines, width, view)


_RICH: list[Session] = []


def rich_session() -> Session:
    """Several runs; made once, drawing only reads it."""
    if not _RICH:
        odd = {clean(t): [1.0, _NAN, _INF, 2.0] for t in ODD_TAGS}
        _RICH.append(
            a_session(
                grpo_batch(60, total=200),
                grpo_batch(30, run="calm", collapse=None),
                a_batch(odd, run=clean("odd\x1b[31m/[b]run"), source="odd"),
                a_batch(run="empty", source="empty/events.0"),
                clock=grpo_clock(),
            )
        )
    return _RICH[0]


@settings(max_examples=40)
@given(view=views, width=widths, height=heights, zoom=zooms, tab=st.sampled_from(TABS))
def test_a_rich_run_fits_at_any_size(
    view: View, width: int, height: int, zoom: Zoom, tab: Any
) -> None:
    for run in rich_session().runs():
        for lines in parts_of_run(run, tab.id, view, width, height, zoom=zoom):
            assert_harmless(lines, width, view)


@pytest.mark.parametrize("marker", ["braille", "ascii"])
def test_every_tab_of_every_run_at_the_usual_sizes(marker: str) -> None:
    session, view = rich_session(), View(marker=marker)
    for width, height in ((20, 5), (80, 24), (400, 120)):
        for lines in parts_of_session(session, view, width, height):
            assert_harmless(lines, width, view)
