"""Runs side by side: numbers in one unit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rltui.draw.view import View
from rltui.facts.comparison import Comparison
from rltui.facts.x_axis import Axis
from rltui.output.plot import PlotOptions, plot_text
from rltui.pages.comparison.lines import Curves
from rltui.session import RunView
from tests.builders import Values, a_batch
from tests.fakes import a_session

#: prime-rl logs MFU in per cent, verl as a share.
PRIME = {"mismatch_kl/all/mean": [0.01] * 20, "optim/lr": [1e-6] * 20}
VERL = {"actor/pg_clipfrac_lower": [0.0] * 20, "actor/ppo_kl": [0.01] * 20}


def in_two_units() -> list[RunView]:
    """The second run is the better one: 0.309 is more than 29.39 %."""
    logs: dict[str, dict[str, Values]] = {
        "prime_s1": {**PRIME, "perf/mfu": [29.39] * 20},
        "verl_s2": {**VERL, "perf/mfu/actor": [0.309] * 20},
    }
    batches = [a_batch(tags, run=r, source=f"{r}/events.0") for r, tags in logs.items()]
    return a_session(*batches).runs()


def of_mfu(runs: list[RunView]) -> Comparison:
    return Comparison(runs, tag=(runs[0], "perf/mfu"))


def test_values_are_in_the_unit_of_the_column() -> None:
    comparison = of_mfu(in_two_units())
    mfu, (prime, verl) = comparison.columns[0], comparison.rows
    assert mfu.info.unit == "%"
    assert comparison.value(prime, mfu) == pytest.approx(29.39)
    assert comparison.value(verl, mfu) == pytest.approx(30.9)
    assert comparison.best(mfu) == comparison.value(verl, mfu)
    assert comparison.ordered("metric", mfu) == [verl, prime]


def test_means_of_groups_and_the_chart_are_in_the_same_unit() -> None:
    runs = in_two_units()
    comparison = of_mfu(runs)
    mfu, verl = comparison.columns[0], comparison.rows[1]
    assert comparison.numbers_of(verl, mfu).tolist() == pytest.approx([30.9])
    curve = Curves(comparison).of(verl, mfu, Axis(), View())
    assert curve is not None
    assert float(curve.y[0]) == pytest.approx(30.9)


@pytest.mark.parametrize(("known", "highest"), [(True, "30.9┤"), (False, "20┤")])
def test_a_plot_of_runs_has_one_unit(known: bool, highest: str) -> None:
    """A tag that means something else in another run is drawn as it is."""
    logs = {"a": [29.39] * 20, "b": [0.309] * 20}
    batches = [
        a_batch({**PRIME, "perf/mfu": values}, run=name, source=f"{name}/events.0")
        for name, values in logs.items()
    ]
    first, second = a_session(*batches).runs()
    info = second.infos["perf/mfu"]
    share = replace(info, unit="", scale=1.0, metric=info.metric if known else None)
    second.infos = {**second.infos, "perf/mfu": share}
    assert highest in plot_text([first, second], "perf/mfu", PlotOptions(60, 13))


def test_what_is_the_same_in_all_runs_comes_last() -> None:
    logs = {
        name: {
            "critic/score/mean": [0.1] * 20,
            "critic/score/std": [1.0] * 20,
            "actor/entropy": [0.5] * 20,
            "actor/ppo_kl": [kl] * 20,
        }
        for name, kl in (("a", 0.1), ("b", 0.2))
    }
    runs = a_session(*(a_batch(t, run=r, source=f"{r}/e") for r, t in logs.items())).runs()
    tags = [next(iter(c.tags.values())) for c in Comparison(runs).columns]
    assert tags[:2] == ["critic/score/mean", "actor/ppo_kl"]
    assert len(tags) > 2
