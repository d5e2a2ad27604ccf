"""Whole screens: exact size, no control characters, never an error, at any size and state."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import Batch, Note, RunKey
from rltui.core.level import Level
from rltui.core.text import cell_width, clean
from rltui.present.kit.line import plain
from rltui.present.screens.frame import Frame, draw, finding_id
from rltui.present.screens.view import FINDINGS, TABS, View
from rltui.session import Session
from tests.builders import LOGDIR, START, a_batch, a_block, steps
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock, grpo_tags

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

_NAN, _INF = float("nan"), float("inf")


def check_frame(frame: Frame, width: int, height: int) -> None:
    assert len(frame.lines) == height
    for y, line in enumerate(frame.lines):
        text = plain(line)
        assert cell_width(text) == width, (y, text)
        unsafe = [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
        assert not unsafe, (y, text)
    assert all(0 <= y < height for y in frame.hits)


# -- any store -----------------------------------------------------------------------------

values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, _NAN, _INF, -_INF, 1e300, 1e-300, 5e-324, 1.7e308]),
    st.none(),
)
known_tags = st.sampled_from(
    [
        "actor/entropy",
        "actor/ppo_kl",
        "critic/score/mean",
        "critic/score/max",
        "critic/score/min",
        "response_length/mean",
        "timing_s/gen",
        "timing_s/step",
        "val-core/gsm8k/acc/mean@1",
        "train/loss",
        "rollout/ep_rew_mean",
        "rewards/margins",
    ]
)
tags = st.one_of(
    known_tags, st.sampled_from([clean(t) for t in ODD_TAGS]), st.text(max_size=9).map(clean)
)
columns = st.dictionaries(tags, st.lists(values, max_size=12), max_size=5)
run_names = st.one_of(st.just("."), st.sampled_from([clean(t) for t in ODD_TAGS if t]))
first_steps = st.sampled_from([0, 1, -5, 1 << 40, 10_000])


@st.composite
def batches(draw_: Any) -> list[Batch]:
    names = draw_(st.lists(run_names, max_size=3))
    found = []
    for order, name in enumerate(names):
        content = draw_(columns)
        walls = None
        rows = max((len(v) for v in content.values()), default=0)
        if draw_(st.booleans()):
            walls = [_NAN] * rows
        block = a_block(content, first=draw_(first_steps), walls=walls)
        more = draw_(st.booleans())
        notes = (Note(LOGDIR / "x", 3, Level.WATCH, "torn"),) if draw_(st.booleans()) else ()
        found.append(
            a_batch(
                block, run=name, source=f"{name}/e.{order}", order=order, more=more, notes=notes
            )
        )
    return found


@st.composite
def views(draw_: Any, session: Session) -> View:
    keys = list(session.views)
    screen = draw_(st.sampled_from(["list", "metric", "runs"]))
    run = draw_(st.sampled_from([None, RunKey(9, "gone"), *keys, *keys]))
    tab = draw_(st.sampled_from(TABS)).id
    view = View(
        screen=screen,
        run=run,
        tab=tab,
        filter=draw_(st.sampled_from(["", "", "", "loss", "!loss", "zzz", "!"])),
        editing=draw_(st.sampled_from(["", "", "filter", "command"])),
        command=draw_(st.sampled_from(["", "tab actor"])),
        overlay=draw_(st.sampled_from(["", "", "help", "explain"])),
        overlay_offset=draw_(st.sampled_from([0, 3, 999])),
        order=draw_(st.sampled_from(["verdict", "name", "newest"])),
        axis=draw_(st.sampled_from(["step", "time"])),
        smooth=draw_(st.sampled_from([0.0, 0.6, 0.98])),
        log_y=draw_(st.booleans()),
        outliers=draw_(st.booleans()),
        crosshair=draw_(st.sampled_from([None, 0, 3, -7, 1 << 50])),
        window=draw_(st.sampled_from([None, (1.0, 3.0), (0.0, 1e9)])),
        message=draw_(st.sampled_from(["", "copied"])),
        marker=draw_(st.sampled_from(["braille", "block", "ascii"])),
    )
    here = session.views.get(run) if run else None
    if here is not None and here.infos:
        view.cursor[tab] = draw_(st.sampled_from([*here.infos, "no such tag"]))
        view.moved = draw_(st.sampled_from([set(), {tab}]))
        if here.report is not None and here.report.findings:
            view.cursor[FINDINGS] = finding_id(here.report.findings[0])
    return view


@given(st.data())
def test_any_screen_fits_at_any_size(data: st.DataObject) -> None:
    session = a_session(*data.draw(batches()))
    for _ in range(3):
        view = data.draw(views(session))
        width = data.draw(st.one_of(st.integers(1, 60), st.integers(1, 220)))
        height = data.draw(st.one_of(st.integers(1, 12), st.integers(1, 60)))
        check_frame(draw(session, view, width, height), width, height)


@settings(max_examples=30)
@given(st.data())
def test_a_rich_run_fits_at_any_size(data: st.DataObject) -> None:
    session = rich_session()
    view = data.draw(views(session))
    width, height = data.draw(st.integers(1, 220)), data.draw(st.integers(1, 60))
    check_frame(draw(session, view, width, height), width, height)


# -- a rich run at fixed sizes -------------------------------------------------------------

_RICH: list[Session] = []


def rich_session() -> Session:
    """Several runs; made once, frames only read it."""
    if not _RICH:
        _RICH.append(
            a_session(
                grpo_batch(60, total=200),
                grpo_batch(30, run="calm", collapse=None),
                a_batch(
                    {clean(t): [1.0, _NAN, _INF, 2.0] for t in ODD_TAGS},
                    run=clean("odd\x1b[31m/[b]run"),
                    source="odd",
                ),
                a_batch(run="empty", source="empty/events.0"),
                clock=grpo_clock(),
            )
        )
    return _RICH[0]


SIZES = ((20, 5), (80, 24), (120, 36), (160, 45), (200, 50), (400, 120), (40, 10), (59, 12))


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("marker", ["braille", "block", "ascii"])
def test_every_tab_of_every_run_at_the_usual_sizes(size: tuple[int, int], marker: str) -> None:
    session = rich_session()
    width, height = size
    for key in session.views:
        for tab in TABS:
            for screen in ("list", "metric"):
                view = View(screen=screen, run=key, tab=tab.id, marker=marker)
                check_frame(draw(session, view, width, height), width, height)
                check_frame(draw(session, view, width, height), width, height)
    check_frame(draw(session, View(screen="runs", marker=marker), width, height), width, height)


@pytest.mark.parametrize("screen", ["list", "metric"])
def test_the_ascii_marker_uses_ascii_only(screen: str) -> None:
    session = a_session(
        grpo_batch(60, total=200), grpo_batch(30, run="calm", collapse=None), clock=grpo_clock()
    )
    key = next(iter(session.views))
    seen = set()
    for tab in TABS:
        for overlay in ("", "help", "explain"):
            view = View(screen=screen, run=key, tab=tab.id, marker="ascii", overlay=overlay)
            view.cursor[tab.id] = "actor/entropy"
            for size in ((80, 24), (160, 45)):
                seen |= {c for x in draw(session, view, *size).lines for c in plain(x)}
    assert {c for c in seen if not c.isascii()} == set()


def test_drawing_changes_nothing_the_second_time() -> None:
    session = rich_session()
    for key in session.views:
        for tab in TABS:
            view = View(run=key, tab=tab.id)
            first = draw(session, view, 120, 36)
            assert draw(session, view, 120, 36).lines == first.lines


# -- what is on screen ---------------------------------------------------------------------


def text_of(frame: Frame) -> str:
    return "\n".join(plain(line) for line in frame.lines)


def test_without_runs_it_says_where_it_looks() -> None:
    reader = FakeReader()
    reader.notes = (Note(LOGDIR, None, Level.WATCH, "cannot be read: Permission denied"),)
    text = text_of(draw(a_session(reader=reader), View(), 80, 24))
    assert "waiting for logs" in text
    assert str(LOGDIR) in text
    assert "Permission denied" in text


def test_no_verdict_before_the_run_is_read_to_its_end() -> None:
    session = a_session(grpo_batch(60, more=True), clock=grpo_clock())
    key = next(iter(session.views))
    for tab in ("overview", "findings", "actor"):
        text = text_of(draw(session, View(run=key, tab=tab), 120, 36))
        assert "reading" in text.splitlines()[0]
        assert "entropy collapse" not in text
        assert "✖" not in text


def test_the_overview_opens_on_what_is_bad() -> None:
    session = a_session(grpo_batch(60), clock=grpo_clock())
    view = View(run=next(iter(session.views)))
    draw(session, view, 80, 24)
    assert view.cursor["overview"] == "actor/entropy"


def test_unknown_tags_are_on_screen_under_all_and_other() -> None:
    session = a_session(grpo_batch(60), clock=grpo_clock())
    key = next(iter(session.views))
    assert "own metric" in text_of(draw(session, View(run=key, tab="other"), 80, 24))
    frame = draw(session, View(run=key, tab="all"), 80, 120)
    assert set(frame.items) == set(session.views[key].infos)


def test_nan_is_told_in_words() -> None:
    session = a_session(a_batch({"actor/entropy": [1.0, 0.9, 0.8, _NAN]}))
    text = text_of(draw(session, View(run=next(iter(session.views))), 80, 24))
    assert "NaN" in text


def test_sections_show_the_level_of_their_worst_row() -> None:
    session = a_session(grpo_batch(60), clock=grpo_clock())
    text = text_of(draw(session, View(run=next(iter(session.views))), 80, 24))
    stable = next(x for x in text.splitlines() if "Is it stable?" in x)
    assert stable.rstrip().endswith("✖")


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200])
def test_help_names_every_key_of_the_screen(width: int) -> None:
    from rltui.present.screens.keys import keys_for

    session = a_session(grpo_batch(60), clock=grpo_clock())
    key = next(iter(session.views))
    for screen, tab in (
        ("list", "actor"),
        ("list", "findings"),
        ("metric", "actor"),
        ("runs", "actor"),
    ):
        view = View(run=key, tab=tab, screen=screen, overlay="help")
        text = text_of(draw(session, view, width, 60))
        for entry in keys_for(view.key_screen):
            assert f"{entry.shown} " in text, (screen, entry.action)
            assert entry.words[: width // 6] in text, (screen, entry.action)


def test_wall_times_only_when_the_log_has_them() -> None:
    block = a_block({"actor/entropy": [1.0, 0.9, 0.8]}, walls=[_NAN] * 3)
    session = a_session(a_batch(block))
    run = next(iter(session.views))
    line = text_of(draw(session, View(run=run), 160, 45)).splitlines()[0]
    assert "ETA" not in line
    assert session.views[run].data.last_wall_time is None
    assert session.views[run].data.files.modified == START


def test_a_value_of_one_old_point_says_from_which_step_it_is() -> None:
    tags = {**grpo_tags(60), "val-core/gsm8k/acc/mean@8": [0.5]}
    session = a_session(a_batch(steps(1, tags)))
    (run,) = session.runs()
    lines = [plain(x) for x in draw(session, View(run=run.key, screen="list"), 160, 45).lines]
    assert any("gsm8k" in line and "at 1 " in line for line in lines)
