"""What every detector keeps, with the parameters that the shipped rules give it: it is causal, has
an answer for each row, and bears whatever the other metrics are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.detectors.registry import DETECTORS
from rltui.health.detectors.signal import Rows, Signal
from rltui.health.rule import Rule, Variant
from rltui.health.rules import load_rules
from tests.health.drawn import series

RULES = load_rules()
RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


def settings_of(rule: Rule) -> list[tuple[Variant, Level]]:
    return [(variant, level) for variant in rule.variants for level in variant.levels]


def answer(variant: Variant, level: Level, x: FloatArray, other: FloatArray | None) -> Signal:
    """``other`` plays every role; None: the run logs none of them."""
    others = {} if other is None else dict.fromkeys(variant.roles, other)
    return variant.detector.run(Rows(x, np.arange(len(x)), others), **variant.levels[level])


def columns(signal: Signal) -> list[np.ndarray]:
    found = [signal.beyond, signal.statistic, signal.threshold, *signal.facts.values()]
    found += [c for c in (signal.low, signal.high, signal.held) if c is not None]
    found += [signal.evidence()] if signal.evidence else []
    found += [flags for flags, _ in signal.notes]
    if signal.onset is not None:
        found.append(np.where(signal.beyond, signal.onset, -1))
    return [np.broadcast_to(c, signal.beyond.shape) for c in found]


@RULE
@settings(max_examples=10)
@given(x=series(), other=series(), part=st.floats(0.05, 0.95))
def test_verdict_on_a_prefix_is_the_prefix_of_the_verdict(
    rule: Rule, x: FloatArray, other: FloatArray, part: float
) -> None:
    rows, second = max(1, int(len(x) * part)), np.resize(other, len(x))
    for variant, level in settings_of(rule):
        whole = columns(answer(variant, level, x, second))
        head = columns(answer(variant, level, x[:rows], second[:rows]))
        for a, b in zip(whole, head, strict=True):
            assert a.shape == (len(x),), variant.id
            np.testing.assert_array_equal(a[:rows], b, err_msg=variant.id)


@RULE
def test_short_runs_and_roles_without_a_number_are_borne(rule: Rule) -> None:
    lengths, others = (0, 1, 2, 40), (None, np.nan, 0.0, 1.0)
    for (variant, level), n, other in product(settings_of(rule), lengths, others):
        for x in (np.zeros(n), np.ones(n), -np.ones(n), np.linspace(2.0, 1.0, n)):
            signal = answer(variant, level, x, None if other is None else np.full(n, other))
            case = f"{variant.id}, {level}, {n} rows, others {other}"
            assert all(len(c) == n for c in columns(signal)), case
            assert signal.beyond.dtype == bool, case
            assert signal.evidence is None or not np.isnan(signal.evidence()).any(), case


def test_only_detectors_that_say_so_see_what_is_not_finite() -> None:
    x = np.array([1.0, 1.0, np.nan, np.inf, -np.inf, 1.0])
    for variant, level in (setting for rule in RULES for setting in settings_of(rule)):
        if variant.detector.finite_is_quiet:
            loss = np.arange(6.0) if variant.levels[level].get("skipped") else None
            found = answer(variant, level, x, loss).beyond[2:5].any()
            assert found or answer(variant, level, x[2:], None).beyond.any(), variant.id
            assert not answer(variant, level, np.ones(5), None).beyond.any(), variant.id


#: Detectors that promise it, with parameters that have no unit.
RATIOS = [
    ("grown", {"factor": 3.0}), ("below_start", {"share": 0.3}),
    ("off_best", {"factor": 2.0}), ("off_best", {"factor": 0.5}), ("spike", {"factor": 5.0}),

    ("tied_to_length", {"correlation": 0.6, "moved": 1.5}), ("unchanged", {}),
    ("parted", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), RATIOS)
@settings(max_examples=30)
@given(x=series(), other=series(), power=st.sampled_from([-20, -3, 1, 10]))
def test_the_unit_does_not_matter(
    name: str, parameters: dict[str, float], x: FloatArray, other: FloatArray, power: int
) -> None:
    detector, scale = DETECTORS[name], 2.0**power
    second = np.resize(other, len(x))
    own, scaled = (
        detector.run(
            Rows(unit * x, np.arange(len(x)), dict.fromkeys(detector.roles, unit * second)),
            **parameters, **({"rounded": True} if name == "unchanged" else {}),
        )
        for unit in (1.0, scale)
    )  # fmt: skip
    np.testing.assert_array_equal(own.beyond, scaled.beyond)
