"""Runs grouped by what they share. What screens keep of a run is dropped when the run changes."""

from dataclasses import replace

import numpy as np
import pytest

from rltui.facts.cache import RunSeriesCache, kept
from rltui.facts.groups import Sweep, folded_name
from rltui.session import JudgedRun
from tests.builders import a_batch, steps
from tests.fakes import FakeReader, a_session, grpo_tags
from tests.tables import cases


def runs_of(*names: str, **parameters: list[object]) -> list[JudgedRun]:
    """Runs of these names; ``parameters`` have one value for each."""
    batches = [
        a_batch(
            {"loss": [1.0]},
            run=name,
            source=f"{name}/events.0",
            hparams={key: values[n] for key, values in parameters.items()},
        )
        for n, name in enumerate(names)
    ]
    return sorted(a_session(*batches).runs(), key=lambda r: names.index(r.key.name))


@cases(__file__, "a_seed_is_folded_out_of_a_name")
def test_a_seed_is_folded_out_of_a_name(name: str, folded: str) -> None:
    assert folded_name(name) == folded


def test_runs_are_grouped_by_name_first() -> None:
    runs = runs_of("a_s1", "b_s1", "a_s2", "b_s2", lr=[1e-4, 1e-5, 1e-4, 1e-5])
    by_name, by_lr = Sweep(runs).groupings
    assert [(g.name, [r.name for r in g.runs]) for g in by_name.groups] == [
        ("a_s*", ["a_s1", "a_s2"]),
        ("b_s*", ["b_s1", "b_s2"]),
    ]
    assert [g.name for g in by_lr.groups] == ["lr 0.0001", "lr 1e-5"]
    assert (by_name.title, by_lr.title) == ("name", "lr")


def test_what_says_where_and_when_is_no_setting() -> None:
    runs = runs_of(
        "x", "y", "z", seed=[1, 1, 2], output_dir=["/a", "/a", "/b"], run_name=["p", "p", "q"]
    )
    assert not Sweep(runs).settings
    assert Sweep(runs).groupings == []


def test_a_run_without_the_hyperparameter_is_a_group_of_its_own() -> None:
    runs = runs_of("x", "y", "z", beta=[0.1, 0.1, None])
    (found,) = Sweep(runs).groupings
    assert [(g.name, len(g.runs)) for g in found.groups] == [
        ("beta 0.1", 2),
        ("beta not logged", 1),
    ]
    few = runs_of("x", "y", "z", beta=[0.1, None, None])
    assert Sweep(few).groupings == [], "what hardly any run has says nothing of the others"


@cases(__file__, "runs_are_not_grouped_by_their_length", "name")
def test_runs_are_not_grouped_by_their_length(name: str) -> None:
    sweep = Sweep(runs_of("x", "y", "z", **{name: [100, 100, 200]}))
    assert [*sweep.settings] == [name]
    assert sweep.groupings == []


@pytest.mark.parametrize("name", ["n_steps", "num_envs", "warmup_steps", "ppo_epochs"])
def test_settings_of_an_update_group_runs(name: str) -> None:
    assert len(Sweep(runs_of("x", "y", "z", **{name: [100, 100, 200]})).groupings) == 1


def test_runs_of_two_algorithms_are_never_in_one_group() -> None:
    ppo = {t: [0.1] * 20 for t in ("critic/vf_loss", "actor/ppo_kl", "critic/score/mean")}
    logs = {"a_s1": grpo_tags(20), "a_s2": grpo_tags(20), "a_s3": ppo, "a_s4": ppo}
    runs = a_session(
        *(a_batch(steps(1, tags), run=r, source=f"{r}/events.0") for r, tags in logs.items())
    ).runs()
    (found,) = Sweep(runs).groupings
    names = sorted(sorted(r.name for r in g.runs) for g in found.groups)
    assert names == [["a_s1", "a_s2"], ["a_s3", "a_s4"]]
    assert len({g.name for g in found.groups}) == 2


def test_a_value_that_two_algorithms_share_names_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rltui.facts.groups._algorithm_of", lambda run: "AB"[run.name in "aceg"])
    (found,) = Sweep(runs_of(*"abcdefgh", lr=[1] * 4 + [2] * 4)).groupings
    assert {g.values[0] for g in found.groups} == {"1 (A)", "1 (B)", "2 (A)", "2 (B)"}


def test_runs_that_differ_in_everything_are_not_grouped() -> None:
    assert Sweep(runs_of("one", "two", lr=[1, 2])).groupings == []
    assert Sweep([]).groupings == []


def test_text_of_a_log_is_clean() -> None:
    runs = runs_of("x", "y", "z", **{"opt\x1b[31m": ["a\x1b", "a\x1b", "b"]})
    (found,) = Sweep(runs).groupings
    assert not any("\x1b" in text for text in (found.title, *(g.name for g in found.groups)))


def test_one_value_in_several_forms_is_one_group() -> None:
    """The hparams plugin knows only floats of four bytes, CleanRL's table only texts."""
    short = float(np.float32(3e-4))
    runs = runs_of("x", "y", "z", "w", lr=[3e-4, "0.0003", short, 1e-3], kl=[True, "True", 1.0, 1])
    sweep = Sweep(runs)
    assert [*sweep.settings] == ["lr"]
    (found,) = sweep.groupings
    assert [(g.name, len(g.runs)) for g in found.groups] == [("lr 0.0003", 3), ("lr 0.001", 1)]


def test_a_sweep_holds_until_a_run_or_a_hyperparameter_is_another() -> None:
    runs = runs_of("x", "y", lr=[1e-4, 1e-5])
    sweep = Sweep(runs)
    again = a_batch(run="y", source="y/events.0", hparams={"lr": 1e-5})
    runs[1].hyperparameters.add(again)
    assert sweep.holds_for(runs)
    assert not sweep.holds_for(runs[:1])
    runs[1].hyperparameters.add(replace(again, hparams={"lr": 1e-4}))
    assert not sweep.holds_for(runs)
    assert not Sweep(runs).settings


def test_values_are_kept_until_the_run_changes() -> None:
    reader = FakeReader()
    session = a_session(a_batch({"loss": [3, 2]}), reader=reader)
    (run,) = session.runs()
    made: list[str] = []

    def get(key: str) -> int:
        return kept(run, key, lambda: made.append(key) or len(made))  # type: ignore[func-returns-value]

    assert [get("a"), get("b"), get("a")] == [1, 2, 1]
    reader.feed(a_batch({"loss": [3, 2, 1]}, replaced=True))
    session.drain()
    assert [get("a"), get("a")] == [3, 3]


def test_each_run_has_a_series_cache_of_its_own() -> None:
    session = a_session(a_batch({"a": [1]}, run="x"), a_batch({"a": [1]}, run="y", source="e"))
    kept_series: RunSeriesCache[str] = RunSeriesCache()
    x, y = session.runs()
    assert kept_series.of(x) is kept_series.of(x)
    assert kept_series.of(x) is not kept_series.of(y)
