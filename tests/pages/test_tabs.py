"""The line of tabs: whole names, the active one and the bad ones at any width.

Line 1 of the list of runs: what has room, and what goes first.
"""

from collections import Counter

import pytest

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.draw.line import line_width, plain
from rltui.draw.view import View
from rltui.facts.metrics import TAB_BY_ID, TABS, UNTABBED, tab_named, tab_sections, tabs_of
from rltui.facts.runs import RunCounts
from rltui.pages.run.header import runs_header
from rltui.pages.run.tab import tab_line
from rltui.session import JudgedRun
from tests.fakes import a_session, grpo_batch, grpo_clock


@pytest.fixture(scope="module")
def run() -> JudgedRun:
    return a_session(grpo_batch(60, total=200), clock=grpo_clock()).runs()[0]


@pytest.mark.parametrize("width", [24, 40, 60, 79, 80, 95, 110, 120, 150, 200])
def test_names_are_whole_and_the_active_tab_is_there(run: JudgedRun, width: int) -> None:
    for active in tabs_of(run):
        line, spots = tab_line(run, active.id, View(), width)
        text = plain(line)
        assert line_width(line) == width
        assert active.id in [s.id for s in spots]
        for spot in spots:
            tab, shown = TAB_BY_ID[spot.id], text[spot.start : spot.end].split()
            names = (tab.title, tab.medium, tab.short)
            assert shown[bool(tab.key)].partition("(")[0].rstrip("✖✔▲") in names, text
        assert text.rstrip().endswith("…") == (len(spots) < len(tabs_of(run)))
        assert width < 50 or "all" in {s.id for s in spots}


def test_tabs_and_the_rows_of_actor_stand_in_the_order_of_the_glossary(run: JudgedRun) -> None:
    order = [t.category for t in TABS if t.category]
    assert order == [c for c in Category if c not in UNTABBED]
    named = ("length", "preference", "reward_model", "turns", "timing", "rollout", "perf")
    assert [c.value for c in order][3:10] == [*named]
    assert [t.key for t in TABS if t.key] == [*"1234567890"]
    (section,) = tab_sections(run, "actor")
    keys = [r.info.metric.key for r in section.rows if r.info.metric]
    signs = ("loss.", "grad_norm.", "entropy", "kl.", "clipfrac.", "lr.")
    firsts = [next(n for n, key in enumerate(keys) if key.startswith(sign)) for sign in signs]
    assert firsts == sorted(firsts)


def test_a_tab_is_found_by_its_name_and_by_the_word_of_json(run: JudgedRun) -> None:
    assert {tab_named(run, name)[0] for name in ("agents", "turns")} == {TAB_BY_ID["turns"]}
    assert {tab_named(run, name)[0] for name in ("all", "progress")} == {TAB_BY_ID["all"]}
    assert tab_named(run, "progess") == (None, "; did you mean progress?")


STATES = Counter(live=1, stalled=2, crashed=3, cancelled=4, finished=15, stopped=33)
COUNTS = RunCounts(58, 58, STATES, Counter({Level.BAD: 7, Level.WATCH: 9}), 58)


def header(width: int, label: str = "runs") -> str:
    return plain(runs_header(COUNTS, label, View(), width))


def test_a_wide_screen_counts_every_state() -> None:
    assert "1 live  2 stalled  3 crashed  33 stopped  4 cancelled  15 finished" in header(120)


def test_what_is_over_goes_before_what_is_live() -> None:
    line = header(80)
    assert "1 live  2 stalled  3 crashed  …" in line
    assert "cancelled" not in line
    assert "ended" not in line


def test_many_logdirs_leave_room_for_what_is_live() -> None:
    line = header(80, ", ".join(f"gpu-{i:02}:experiments" for i in range(9)))
    assert "1 live  3 crashed" in line
    assert line.startswith(" gpu-00")


@pytest.mark.parametrize(
    ("read", "judged", "badge"), [(22, 22, False), (58, 22, False), (58, 58, True)]
)
def test_runs_are_called_ok_when_all_were_judged(read: int, judged: int, badge: bool) -> None:
    counts = RunCounts(58, read, STATES, Counter({Level.OK: judged}), judged)
    line = plain(runs_header(counts, "many", View(), 120))
    assert line.rstrip().endswith("✔ ok") is badge
