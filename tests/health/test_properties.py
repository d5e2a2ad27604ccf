"""What holds for every verdict, whatever the values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import Batch, SourceInfo
from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.cases import case_run, parse_series
from rltui.health.detectors.signal import Rows
from rltui.health.detectors.trend import rank_trend
from rltui.health.engine import Engine
from rltui.health.model import Finding, Report
from rltui.health.rules import load_rules
from rltui.store import RunData
from tests.blocks import make_block

RULES = load_rules()
#: Detectors whose statistic is wrong when it is low; that of all others when it is high.
LOW = {"below_start", "faded", "motionless", "no_gain", "stuck_score"}
#: Detectors whose limits are on both sides, or none.
EITHER = {"outside", "non_finite"}

#: Clear sicknesses of 120 rows: what must be found whatever is left out.
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


def judge(series: dict[str, FloatArray], only: str = "") -> Report:
    rules = [r for r in RULES if only in ("", r.id)]
    return Engine(rules).evaluate(*case_run(series), 0.0)


def _values(only: str) -> dict[str, FloatArray]:
    return {key: parse_series(text) for key, text in SICK[only].items()}


@pytest.mark.parametrize("rule", SICK)
@pytest.mark.parametrize(("every", "offset"), [(2, 0), (2, 1), (3, 0), (3, 2), (6, 0), (10, 3)])
def test_a_clear_sickness_is_found_however_rarely_it_is_logged(
    rule: str, every: int, offset: int
) -> None:
    thin = {key: x[offset::every] for key, x in _values(rule).items()}
    assert [f.rule for f in judge(thin, rule).findings][:1] == [rule]


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


@pytest.mark.parametrize("rule", SICK)
@pytest.mark.parametrize("factor", [10, 2048])
def test_a_factor_on_the_steps_changes_nothing(rule: str, factor: int) -> None:
    def judged(by: int) -> list[tuple[str, Level, int]]:
        run, infos, recognition = case_run(_values(rule))
        scaled = RunData(run.key, run.path)
        for tag in run.tags:
            series = run.series(tag)
            steps, walls, x = series.points
            block = make_block([tag], steps * by, walls, x.reshape(-1, 1))
            source = SourceInfo(run.path, "case", 0, 0, 0, 0, 0.0)
            scaled.apply(Batch(run.key, run.path, source, (block,)))
        report = Engine([r for r in RULES if r.id == rule]).evaluate(
            scaled, infos, recognition, 0.0
        )
        return [(f.title, f.level, (f.since_step or 0) // by) for f in report.findings]

    assert judged(1) == judged(factor) != []


@pytest.mark.parametrize("rule", ["reward_drop", "reward_flat_no_learning"])
@pytest.mark.parametrize(("scale", "shift"), [(100.0, 0.0), (0.01, 0.0), (1.0, -50.0), (7.0, 30.0)])
@pytest.mark.parametrize(
    "text", ["0.1..0.9x60 0.2~0.02x60", "0.3~0.1x200", "0.9~0.1x40 0.5~0.1x30 0.1~0.05x40"]
)
def test_scale_and_shift_of_a_reward_change_nothing(
    rule: str, scale: float, shift: float, text: str
) -> None:
    values = parse_series(text.replace("0.9..0.1~0.05x100", "0.9..0.1x100"))
    found = [
        [
            (f.title, f.level, f.state, f.since_step)
            for f in judge({"reward.mean": x}, rule).findings
        ]
        for x in (values, values * scale + shift)
    ]
    assert found[0] == found[1]


_LEVELS = st.sampled_from([0.0, 1e-9, 1e-3, 0.02, 0.1, 0.3, 0.9, 1.0, 2.0, 30.0, -0.5, -20.0])
_STRETCH = st.tuples(_LEVELS, st.integers(1, 40), st.sampled_from([0.0, 0.01, 0.5]))
_KEYS = (
    "entropy", "kl.old_new", "grad_norm.actor", "explained_variance", "loss.value",
    "reward.mean", "response_length.mean", "response_length.clip_ratio", "time.step", "val.loss",
    "val.accuracy", "clipfrac.policy", "reward.std", "kl.policy_ref",
)  # fmt: skip


@st.composite
def _series(draw: st.DrawFn) -> FloatArray:
    parts = draw(st.lists(_STRETCH, min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    return np.concatenate([v + s * abs(v) * rng.standard_normal(n) for v, n, s in parts])


def _detector(finding: Finding) -> str:
    rule = next(r for r in RULES if r.id == finding.rule)
    return next(
        v.detector.name
        for v in rule.variants
        if v.title == finding.title and finding.words is v.words
    )


@settings(max_examples=60)
@given(x=_series(), second=_series())
def test_the_evidence_is_never_inside_its_own_limit(x: FloatArray, second: FloatArray) -> None:
    half = len(_KEYS) // 2
    y = np.resize(second, len(x))
    report = judge({**dict.fromkeys(_KEYS[:half], x), **dict.fromkeys(_KEYS[half:], y)})
    for finding in report.findings:
        value, threshold = finding.evidence.value, finding.evidence.threshold
        name = _detector(finding)
        if value is None or threshold is None or name in EITHER:
            continue
        beyond = value <= threshold if name in LOW else value >= threshold
        assert beyond, f"{finding.rule} {finding.title}: {value} against {threshold}"


@settings(max_examples=40)
@given(x=_series(), part=st.floats(0.2, 1.0))
def test_what_a_prefix_reports_began_there_in_the_whole_run_too(x: FloatArray, part: float) -> None:
    rows = max(1, int(part * len(x)))
    keys = ("entropy", "clipfrac.policy", "explained_variance")
    alone = judge(dict.fromkeys(keys, x[:rows]))
    grown = Engine(RULES)
    for count in (rows, len(x)):
        run, infos, recognition = case_run(dict.fromkeys(keys, x[:count]))
        if count == rows:
            assert repr(grown.evaluate(run, infos, recognition, 0.0)) == repr(alone)
    assert repr(grown.evaluate(run, infos, recognition, 0.0)) == repr(judge(dict.fromkeys(keys, x)))


@given(seed=st.integers(0, 50), rows=st.integers(8, 90))
def test_rank_trend_counts_pairs(seed: int, rows: int) -> None:
    x = np.random.default_rng(seed).integers(0, 9, rows).astype(np.float64)
    pairs = sum(float(np.sign(x[j] - x[i])) for i in range(rows) for j in range(i + 1, rows))
    spread = (rows * (rows - 1) * (2 * rows + 5) / 18) ** 0.5
    assert rank_trend(x) == pytest.approx(pairs / spread)
    assert rank_trend(-x) == pytest.approx(-rank_trend(x))


def test_rows_without_a_trend_are_seldom_called_falling() -> None:
    variants = [v for r in RULES for v in r.variants if v.detector.name in ("fallen", "declining")]
    rng = np.random.default_rng(3)
    for variant in variants:
        wrong = sum(
            bool(
                variant.detector.run(
                    Rows(rng.standard_normal(120), np.arange(120)), **variant.levels[Level.WATCH]
                ).beyond.any()
            )
            for _ in range(50)
        )
        assert wrong <= 3, variant.id
