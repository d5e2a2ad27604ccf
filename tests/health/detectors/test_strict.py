"""What need not be judged: what a necessary condition rules out."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.health.detectors.signal import Rows
from rltui.health.rule import Variant
from rltui.health.rules import load_rules

VARIANTS = [v for rule in load_rules() for v in rule.variants]
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


def same_detector(variants: Iterable[Variant]) -> dict[str, list[Variant]]:
    """detector -> its variants."""
    ordered = sorted(variants, key=lambda v: v.detector.name)
    return {name: list(found) for name, found in groupby(ordered, lambda v: v.detector.name)}


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
