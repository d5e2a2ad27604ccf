"""What stands above the rows of Balance."""

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.pages.run.metrics_pane import top_lines
from rltui.session import JudgedRun
from tests.builders import a_batch, a_block
from tests.facts.test_timeline import AFTER, BEFORE, STEP
from tests.fakes import a_session


def the_run() -> JudgedRun:
    return a_session(a_batch(a_block({**STEP, **BEFORE, **AFTER}))).runs()[0]


def test_ends_mean_and_cost_are_shown() -> None:
    lines = [plain(x) for x in top_lines(the_run(), "balance", View(), 92, 30)]
    after, before, wait = lines[1:4]
    assert all(words in after for words in ("90", "125", "25 % above mean"))
    assert before.index("─") < after.index("─")
    assert "after balancing: the others wait 0.80 s per step, 8 % of 10.0 s" in wait


def test_other_tabs_and_small_screens_have_none() -> None:
    run = the_run()
    assert top_lines(run, "perf", View(), 92, 30) == []
    assert top_lines(run, "balance", View(), 92, 10) == []
    assert top_lines(run, "balance", View(), 40, 30) == []
