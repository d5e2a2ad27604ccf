"""Numbers about a metric: right whatever arrives when, and no work for points that are known."""

from __future__ import annotations

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.metrics import extent_between
from rltui.pages.metric.lines import metric_lines
from rltui.pages.metric.metric_chart import WHOLE_RUN, statistics
from rltui.pages.run.metrics_pane import below_lines
from rltui.pages.run.tab import tab_layout
from rltui.session import RunView
from tests.builders import a_batch, a_block
from tests.fakes import a_session

NAN = float("nan")


def run_of(*values: float) -> RunView:
    return a_session(a_batch(a_block({"loss": list(values)}))).runs()[0]


def test_a_part_is_cut_by_its_steps() -> None:
    known, inside = extent_between(run_of(5, 1, NAN, 9, 2).shown("loss"), 1.5, 4)
    assert (known.points, known.nonfinite, known.low, known.high) == (3, 1, (2, 1.0), (4, 9.0))
    assert inside == slice(1, 4)


def test_one_line_names_nan_and_the_steps_of_the_extremes() -> None:
    run = run_of(2.0, NAN, 9.0, 1.0, NAN, 3.0)
    layout = tab_layout("all", 110, 40, 1)
    under = "\n".join(map(plain, below_lines(run, "loss", View(), layout, layout.below)))
    metric = "\n".join(map(plain, metric_lines(run, "all", "loss", View(), WHOLE_RUN, 80, 24)))
    for text in (under, metric):
        for words in ("NaN or Inf 2", "max 9.00 at step 3", "min 1.00 at step 4"):
            assert words in text


def test_without_a_finite_value_there_are_only_counts() -> None:
    facts = statistics(run_of(NAN, NAN), "loss", View(), WHOLE_RUN)
    assert facts[1:] == [("points", "2", ""), ("NaN or Inf", "2", "")]
