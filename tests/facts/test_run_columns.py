"""Columns of the list of runs, and conditions on them."""

import math

import pytest

from rltui.core.batch import Batch
from rltui.facts.run_columns import column_names, column_of, names_in
from rltui.facts.runs import runs_matching
from rltui.session import JudgedRun
from tests.builders import a_batch, a_block, a_source
from tests.fakes import a_session
from tests.tables import cases


def a_run(name: str, values: list[float], **hparams: object) -> Batch:
    columns = {"critic/rewards/mean": values, "actor/grad_norm": [-v for v in values]}
    batch = a_batch(a_block(columns), run=name, source=a_source(f"{name}/log"))
    object.__setattr__(batch, "hparams", hparams)
    return batch


def runs_of(*batches: Batch) -> list[JudgedRun]:
    return a_session(*batches).runs()


RUNS = (
    a_run("a", [0.1, 0.5, 0.3, math.nan, 0.2], **{"optim.lr": 1e-05, "opt": "adam"}),
    a_run("b", [0.1, 0.2, 0.9], **{"optim.lr": "3e-5", "opt": "sgd"}),
    a_run("c", [0.4, 0.4, 0.4, 0.4]),
)


@cases(__file__, "a_column_is_a_number_of_a_metric_or_a_hyperparameter")
def test_a_column_is_a_number_of_a_metric_or_a_hyperparameter(
    text: str, values: list[object]
) -> None:
    found = [column_of(text).value(run) for run in runs_of(*RUNS)]
    for have, wanted in zip(found, values, strict=True):
        assert have == (pytest.approx(wanted, nan_ok=True) if type(wanted) is float else wanted)


@cases(__file__, "conditions_filter_runs")
def test_conditions_filter_runs(text: str, names: str) -> None:
    assert "".join(r.key.name for r in runs_matching(runs_of(*RUNS), text)) == names


def test_the_best_come_first_and_those_without_a_value_last() -> None:
    runs = runs_of(*RUNS)

    def names(text: str, *, reverse: bool = False) -> str:
        order = column_of(text).ordered(runs, reverse)
        return "".join(runs[n].key.name for n in order)

    assert names("reward.best") == "bac"
    assert names("reward.best", reverse=True) == "cab"
    assert names("lr") == "abc"
    assert names("lr", reverse=True) == "bac"
    assert names("opt", reverse=True) == "bac"
    assert names("reward@4") == "cab", "neither NaN nor nothing is a number"


def test_a_column_follows_the_run() -> None:
    session = a_session(RUNS[0])
    (run,) = session.runs()
    column = column_of("reward.best")
    assert column.value(run) == 0.5
    more = a_block({"critic/rewards/mean": [0.7]}, steps=[6])
    session.reader.queue.append(a_batch(more, run="a", source=a_source("a/log")))  # type: ignore[attr-defined]
    session.read_all()
    assert column.value(run) == pytest.approx(0.7)


def test_names_are_offered_metrics_first() -> None:
    names = names_in(runs_of(*RUNS))
    assert {"reward.mean", "lr"} <= set(names)
    assert names.index("reward.mean") < names.index("lr")
    assert column_names(" lr, reward.best,lr\x1b[31m lr") == ("lr", "reward.best", "lr\\x1b[31m")
