"""What need not be judged: a stricter level where the milder one rules it out, and what a necessary
condition rules out."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.detectors.registry import DETECTORS
from rltui.health.detectors.signal import Rows
from rltui.health.rule import Variant
from rltui.health.rules import load_rules

VARIANTS = [v for rule in load_rules() for v in rule.variants]
STRICT = [
    v
    for v in VARIANTS
    if len(v.levels) > 1 and v.detector.is_stricter(v.levels[Level.BAD], v.levels[Level.WATCH])
]
SCREENED = [v for v in VARIANTS if v.detector.possible is not None]


@pytest.fixture(autouse=True)
def _odd_numbers_are_quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def name_of(variants: Sequence[Variant]) -> str:
    return variants[0].detector.name


def courses(rows: int = 160) -> Iterator[FloatArray]:
    """Noise, jumps, falls and drifts of several sizes."""
    t = np.linspace(0, 1, rows)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal(rows)
        size = 10.0 ** rng.uniform(-3, 2)
        jump = np.where(t > rng.uniform(0.2, 0.9), 10.0 ** rng.uniform(-2, 2), 1.0)
        yield size * jump * np.abs(1 + 0.2 * noise)
        yield size * (1 - t * rng.uniform(0, 1.2)) + 0.05 * size * noise
        yield np.cumsum(noise) * size
        yield np.clip(0.5 + 0.2 * noise + t * rng.uniform(-1, 1), 0, 1)
        yield np.where(t > 0.5, 0.0, size)
        yield 1 + 0.001 * noise


def all_rows(variant: Variant) -> Iterator[Rows]:
    found = list(courses())
    for at, x in enumerate(found):
        others = {r: found[(7 * at + n + 1) % len(found)] for n, r in enumerate(variant.roles)}
        yield Rows(x, np.arange(len(x)), others)


def test_most_variants_have_a_stricter_level() -> None:
    assert len(STRICT) > 0.7 * sum(len(v.levels) > 1 for v in VARIANTS)


def same_detector(variants: Iterable[Variant]) -> dict[str, list[Variant]]:
    """detector -> its variants."""
    ordered = sorted(variants, key=lambda v: v.detector.name)
    return {name: list(found) for name, found in groupby(ordered, lambda v: v.detector.name)}


@pytest.mark.parametrize("variants", same_detector(STRICT).values(), ids=name_of)
def test_nothing_is_bad_where_nothing_is_worth_watching(variants: list[Variant]) -> None:
    for variant in variants:
        quiet = 0
        for rows in all_rows(variant):
            mild = variant.detector.run(rows, **variant.levels[Level.WATCH])
            if not mild.beyond.any() and not mild.silent:
                quiet += 1
                strict = variant.detector.run(rows, **variant.levels[Level.BAD])
                assert not strict.beyond.any(), variant.id
                assert not strict.silent, variant.id
        assert quiet > 0, variant.id


@pytest.mark.parametrize("variants", same_detector(SCREENED).values(), ids=name_of)
def test_nothing_is_found_where_that_is_impossible(variants: list[Variant]) -> None:
    answers: set[bool] = set()
    for variant, parameters in ((v, p) for v in variants for p in v.levels.values()):
        for rows in all_rows(variant):
            for part in (rows, _first(rows, 12), _first(rows, 1)):
                possible = variant.detector.may_find(part, parameters)
                answers.add(possible)
                if not possible:
                    answer = variant.detector.run(part, **parameters)
                    assert not answer.beyond.any(), variant.id
                    assert not answer.silent, variant.id
    assert answers == {True, False}


def _first(rows: Rows, count: int) -> Rows:
    others = {role: x[:count] for role, x in rows.others.items()}
    return Rows(rows.x[:count], rows.steps[:count], others)


@pytest.mark.parametrize(
    ("given", "than", "stricter"),
    [
        ({"high": 3.0}, {"high": 2.0}, True),
        ({"high": 2.0}, {"high": 2.0}, True),
        ({"high": 1.0}, {"high": 2.0}, False),
        ({"low": 0.1, "high": 3.0}, {"low": 0.2, "high": 2.0}, True),
        ({"low": 0.3}, {"low": 0.2}, False),
        ({"high": 3.0, "per_unit": 5}, {"high": 2.0, "per_unit": 3}, False),
        ({"high": 3.0, "absolute": True}, {"high": 2.0}, False),
        ({"high": 3.0, "per_unit": 0.0}, {"high": 2.0}, True),
        ({"high": -1.0}, {"high": -2.0}, False),
    ],
)
def test_is_stricter(given: dict[str, object], than: dict[str, object], stricter: bool) -> None:
    assert DETECTORS["outside"].is_stricter(given, than) is stricter


def test_parameters_that_are_named_exist() -> None:
    for detector in DETECTORS.values():
        assert set(detector.strict) <= set(detector.parameters)
