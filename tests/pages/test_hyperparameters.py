"""The screen of hyperparameters.

Numbers about a metric: right whatever arrives when, and no work for points that are known.
"""

from pathlib import Path

import pytest

from rltui.draw.line import line_width, plain
from rltui.draw.metric_chart import WHOLE_RUN, statistics
from rltui.draw.view import View
from rltui.facts.series_stats import extent_between
from rltui.pages.hyperparameters import HyperparametersScreen, setting_lines
from rltui.pages.metric.lines import metric_lines
from rltui.pages.run.metrics_pane import below_lines
from rltui.pages.run.tab import tab_layout
from rltui.session import JudgedRun
from rltui.sources.side_files.settings_files import FileSettings
from tests.builders import a_batch, a_block, steps
from tests.fakes import a_session, grpo_batch, grpo_tags
from tests.tui.hand import open_app, read_at_once

NESTED = {
    "actor.optim.lr": 1e-06,
    "actor.clip_ratio": 0.2,
    "rollout.n": 8.0,
    "eval_steps": 10,
    "eval_batch_size": 4,
    "eval_strategy": "no",
    "eval_on_start": False,
    "note": "a long text " * 60,
}


def a_view(run: str = "grpo", **hparams: object) -> JudgedRun:
    batch = grpo_batch(20, run=run, collapse=None)
    object.__setattr__(batch, "hparams", hparams)
    (view,) = a_session(batch).runs()
    return view


def shown(run: JudgedRun, width: int = 100, text: str = "") -> list[str]:
    lines = setting_lines(run, View(), width, text, FileSettings())
    assert all(line_width(x) <= width for x in lines)
    return [plain(x) for x in lines]


def titles(lines: list[str]) -> list[str]:
    return [x.split(" ──")[0] for x in lines if "───" in x]


def test_the_main_ones_come_first_and_groups_by_prefix() -> None:
    lines = shown(a_view(**NESTED))
    assert titles(lines) == ["Logged at step 20", "Main", "General", "actor", "rollout", "eval"]
    assert lines[4].split() == ["actor.optim.lr", "1e-6"]
    assert ["n", "8"] in [x.split() for x in lines]
    assert sum("long text" in x for x in lines) == 4
    assert any(x.endswith("…") for x in lines)


def test_the_filter_reads_names_and_values() -> None:
    run = a_view(**NESTED)
    assert [x.split()[0] for x in shown(run, text="lr") if "───" not in x and x] == [
        "actor.optim.lr",
        "optim.lr",
    ]
    assert any("eval_strategy" in x for x in shown(run, text="no"))
    assert shown(run, text="nowhere") == ["no hyperparameter matches the filter"]


def test_what_changed_at_a_restart_says_where() -> None:
    first = a_batch(grpo_tags(60), hparams={"lr": 1e-6})
    second = a_batch(
        steps(40, grpo_tags(30)), source="events.1", order=1, hparams={"lr": 1e-5, "new": 1}
    )
    (run,) = a_session(first, second).runs()
    lines = shown(run)
    assert titles(lines)[0] == "Changed at a restart"
    assert lines[1].split() == ["lr", "1e-6", "→", "1e-5", "from", "step", "40"]


async def test_files_beside_the_logs_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_at_once(monkeypatch)
    (tmp_path / "params.json").write_text('{"env": {"id": "Ant"}, "a": {"b": 1}, "x": 2}')
    batch = grpo_batch(20, run=".", collapse=None)
    object.__setattr__(batch, "hparams", {"a/b": 1, "x": 3})
    object.__setattr__(batch, "run_path", tmp_path)
    async with open_app(batch, logdirs=(tmp_path,)) as hand:
        await hand.press("H")
        assert "3 from tfevents, params.json" in hand.text
        assert "verl · GRPO" in hand.lines[0], "the header of the screen behind"
        assert "Ant" in hand.text
        assert [x.split()[1] for x in hand.lines if x.split()[:1] == ["x"]] == ["3"]


async def test_what_is_logged_is_told_anew_when_it_moves() -> None:
    rates = {"actor/lr": [1e-6, 1e-6]}
    async with open_app(a_batch(a_block(rates, steps=range(2)))) as hand:
        session = hand.app.session
        hand.app.push_screen(HyperparametersScreen(session, session.runs()[0], step=0))
        await hand.settle()
        assert "Logged at step 0" in hand.text
        assert "now 1.0e-6" not in hand.text
        await hand.feed(a_batch(a_block({"actor/lr": [5e-7]}, steps=[2])))
        assert "now 5.0e-7" in hand.text


async def test_the_key_opens_filters_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    read_at_once(monkeypatch)
    batch = grpo_batch(60, total=200)
    async with open_app(batch, grpo_batch(30, run="calm", collapse=None, total=300)) as hand:
        for keys in (["H"], ["escape", "3", "enter", "H"]):
            await hand.press(*keys)
            assert "total_training_steps" in hand.text
        await hand.press("slash", "x", "y", "enter")
        assert "no hyperparameter matches the filter" in hand.text
        await hand.press("escape")
        assert "total_training_steps" in hand.text


NAN = float("nan")


def run_of(*values: float) -> JudgedRun:
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
