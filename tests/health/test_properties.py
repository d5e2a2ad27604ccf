"""What holds for every verdict, whatever the values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import Batch, RunKey, SourceInfo
from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Level
from rltui.health.cases import case_run, parse_series
from rltui.health.engine import Engine
from rltui.health.model import Report
from rltui.store import RunData, Store
from tests.blocks import make_block
from tests.builders import LOGDIR, a_batch, a_source, steps
from tests.health.drawn import RULES, Logged, logged

#: Clear failures of 120 rows: what must be found whatever is left out.
SICK = {
    "entropy_collapse": {"entropy": "3.8~0.1x60 0.05~0.01x60"},
    "length_collapse": {"response_length.mean": "400~20x60 4~1x60"},
    "truncation_high": {"response_length.clip_ratio": "0.01~0.01x60 0.9~0.05x60"},
    "clipfrac_high": {"clipfrac.policy": "0.05~0.02x60 0.6~0.05x60"},
    "kl_blowup": {"kl.old_new": "0.01~0.005x60 2~0.5x60"},
    "zero_std_groups": {"reward.zero_std_frac": "0.1~0.1x60 0.95~0.03x60"},
    "throughput_drop": {"time.step": "1~0.1x60 12~1x60"},
    "reward_drop": {"reward.mean": "0.1..0.9x60 0.1~0.02x60"},
    "critic_failing": {"explained_variance": "-0.05~0.04x120"},
    "reward_flat_no_learning": {"kl.old_new": "1e-8~1e-9x120", "entropy": "0.69x120"},
}


#: The same metrics of a healthy run: what must stay quiet.
WELL = {
    "entropy": "3.8..2.5x120",
    "response_length.mean": "400..500x120",
    "response_length.clip_ratio": "0.01~0.01x120",
    "clipfrac.policy": "0.05~0.02x120",
    "kl.old_new": "0.01~0.002x120",
    "reward.zero_std_frac": "0.1~0.05x120",
    "reward.mean": "0.1..0.9x120",
    "time.step": "1~0.1x120",
    "explained_variance": "0.2..0.9x120",
}


def engine(only: str = "") -> Engine:
    return Engine([r for r in RULES if only in ("", r.id)])


def judge(series: dict[str, FloatArray], only: str = "") -> Report:
    return engine(only).evaluate(*case_run(series), 0.0)


def _values(only: str) -> dict[str, FloatArray]:
    return {key: parse_series(text) for key, text in SICK[only].items()}


@pytest.mark.parametrize("rule", SICK)
def test_a_clear_failure_is_found_however_rarely_it_is_logged(rule: str) -> None:
    for every, offset in ((2, 0), (2, 1), (3, 0), (3, 2), (6, 0), (10, 3)):
        thin = {key: x[offset::every] for key, x in _values(rule).items()}
        if rule == "reward_drop" and every >= 6:
            continue  # whether ten rows down are a fall or a slow swing is not known yet
        assert [f.rule for f in judge(thin, rule).findings][:1] == [rule], (every, offset)


@pytest.mark.parametrize("rule", SICK)
def test_a_finding_appears_soon_and_stays(rule: str) -> None:
    values = _values(rule)
    seen = [
        bool(judge({k: x[:rows] for k, x in values.items()}, rule).firing())
        for rows in range(40, 121, 4)
    ]
    first = seen.index(True)
    assert all(seen[first:])
    assert first <= 7, "within a tenth of the run after it is visible"


Verdict = list[tuple[str, Level, int]]


def relogged(rule: str, order: IntArray, steps: IntArray) -> Verdict:
    """What one rule says of its failure, and from which of its rows on, where the log has the rows
    ``order`` at other steps."""
    run, infos, recognition = case_run(_values(rule))
    other = RunData(run.key, run.path)
    for tag in run.tags:
        _, walls, x = run.series(tag).points
        block = make_block([tag], steps[order], walls[order], x[order].reshape(-1, 1))
        source = SourceInfo(run.path, "case", 0, 0, 0, 0, 0.0)
        other.apply(Batch(run.key, run.path, source, (block,)))
    found = engine(rule).evaluate(other, infos, recognition, 0.0).findings
    at = {int(step): row for row, step in enumerate(steps)}
    return [(f.title, f.level, at.get(f.since_step or 0, -1)) for f in found]


ROWS = np.arange(120)


@pytest.mark.parametrize("rule", SICK)
@settings(max_examples=10)
@given(factor=st.sampled_from([1, 10, 2048]), at=st.integers(1, 119), gap=st.integers(0, 10**6))
def test_steps_in_other_units_and_gaps_in_them_change_nothing(
    rule: str, factor: int, at: int, gap: int
) -> None:
    steps = (ROWS + 1) * factor + np.where(at <= ROWS, gap, 0)
    assert relogged(rule, ROWS, steps) == relogged(rule, ROWS, ROWS + 1) != []


@pytest.mark.parametrize("rule", SICK)
@settings(max_examples=10)
@given(at=st.integers(10, 119), back=st.integers(3, 9))
def test_a_run_resumed_from_a_checkpoint_is_judged_as_one(rule: str, at: int, back: int) -> None:
    again = np.concatenate([ROWS[:at], ROWS[at - back :]])
    assert relogged(rule, again, ROWS + 1) == relogged(rule, ROWS, ROWS + 1)


#: Courses of a reward, and what is logged beside them.
COURSES = ["-30..40x60 5x60", "0.1..1x60 1x60", "0.95~0.03x120", "0.1..0.9x60 0.1~0.02x60", "0x120"]
BESIDE = {"entropy": "3.8..0.01x60 0.01x60", "reward.zero_std_frac": "0.95x120",
          "val.accuracy": "0.3..0.5x40 0.5~0.01x80"}  # fmt: skip


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("factor", [1 / 64, 10.0, 1000.0])
@pytest.mark.parametrize("key", ["reward.mean", "episode_return.mean", "val.reward.mean"])
def test_the_unit_of_a_reward_changes_no_verdict(course: str, factor: float, key: str) -> None:
    beside = {name: parse_series(text) for name, text in BESIDE.items()}
    own, scaled = (judge({**beside, key: unit * parse_series(course)}) for unit in (1.0, factor))
    assert [(f.rule, f.level) for f in own.findings] == [(f.rule, f.level) for f in scaled.findings]


#: Failures that begin in the middle: what comes before may be any healthy run.
BEGINS = [rule for rule in SICK if set(SICK[rule]) <= set(WELL) and "x120" not in str(SICK[rule])]


@pytest.mark.parametrize("rule", BEGINS)
@settings(max_examples=10)
@given(start=st.integers(12, 120), rows=st.integers(20, 60), seed=st.integers(0, 99))
def test_a_sick_end_is_found_after_any_healthy_start(
    rule: str, start: int, rows: int, seed: int
) -> None:
    (key,) = SICK[rule]
    healthy = parse_series(WELL[key])[:start]
    sick = parse_series(SICK[rule][key])[60 : 60 + rows]
    values = noisy({key: np.concatenate([healthy, sick])}, seed, 0.02)
    assert judge(values, rule).firing()
    assert judge({key: values[key][:start]}, rule).findings == ()


@pytest.mark.parametrize("rule", SICK)
def test_means_of_several_rows_say_the_same(rule: str) -> None:
    for rows in (2, 3):
        means = {k: x.reshape(-1, rows).mean(axis=1) for k, x in _values(rule).items()}
        assert [f.rule for f in judge(means, rule).findings][:1] == [rule], rows


def noisy(values: dict[str, FloatArray], seed: int, share: float = 0.05) -> dict[str, FloatArray]:
    rng = np.random.default_rng(seed)
    return {k: x * (1 + share * rng.standard_normal(len(x))) for k, x in values.items()}


@pytest.mark.parametrize("rule", SICK)
def test_noise_hides_no_clear_failure(rule: str) -> None:
    before = judge(_values(rule), rule).findings[0]
    found = [judge(noisy(_values(rule), seed), rule).findings for seed in range(20)]
    hidden = sum(not f or f[0].state is not before.state for f in found)
    # noise on an entropy that stands still is a movement: one of them may count as learning
    assert hidden <= ("entropy" in SICK[rule] and len(SICK[rule]) > 1)


def test_noise_makes_no_healthy_run_sick() -> None:
    values = {key: parse_series(text) for key, text in WELL.items()}
    for seed in range(20):
        report = judge(noisy(values, seed))
        assert [f.rule for f in report.findings] == [], seed
        assert report.level is Level.OK


def batch(values: Logged, first: int, last: int, log: str = "tfevents") -> Batch:
    """The rows from ``first`` up to ``last`` (counted from 0) of one log."""
    block = steps(first + 1, {k: x[first:last].tolist() for k, x in values.items()})
    return a_batch(block, run="case", source=a_source(f"train.{log}", format=log))


@settings(max_examples=40)
@given(
    values=logged(), cuts=st.sets(st.integers(1, 119), max_size=8), back=st.sampled_from([0, 0, 7])
)
def test_read_in_pieces_it_is_judged_as_at_once(values: Logged, cuts: set[int], back: int) -> None:
    """At every length, too, and where each piece begins with rows that were written before."""
    _, infos, recognition = case_run(values)
    read, grown, judging = [], RunData(RunKey(0, "case"), LOGDIR), Engine(RULES)
    ends = [*sorted(cuts), 120]
    for first, last in zip([0, *ends], ends, strict=False):
        read.append(batch(values, max(0, first - back), last))
        grown.apply(read[-1])
        whole = RunData(RunKey(0, "case"), LOGDIR)
        list(map(whole.apply, read))
        found = judging.evaluate(grown, infos, recognition, 0.0)
        assert repr(found) == repr(Engine(RULES).evaluate(whole, infos, recognition, 0.0))


@settings(max_examples=25)
@given(values=logged(), part=st.integers(20, 120))
def test_a_second_log_of_the_same_run_changes_nothing(values: Logged, part: int) -> None:
    """Event file and JSONL of one training: the same points, one of them maybe behind."""
    _, infos, recognition = case_run(values)
    store, reports = Store(), []
    for rows, log in ((120, "tfevents"), (part, "jsonl")):
        store.apply(batch(values, 0, rows, log))
        (run,) = store.runs.values()
        reports.append(Engine(RULES).evaluate(run, infos, recognition, 0.0))
    assert len(run.files.sources) == 2
    assert repr(reports[0]) == repr(reports[1])
