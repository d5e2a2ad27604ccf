"""Names in a narrow column."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.text import cell_width
from rltui.draw.prose import distinct
from tests.tables import cases

WORDS = st.sampled_from(["grpo", "qwen2.5-7b", "lr1e-6", "seed", "final", "tiny_verl", "1", "2"])
NAMES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map("-".join), min_size=1, max_size=12)


@cases(__file__, "what_differs_stays")
def test_what_differs_stays(names: list[str], width: int, shown: list[str]) -> None:
    assert [*distinct(tuple(names), width)] == shown


@given(NAMES, st.integers(8, 40))
def test_names_fit_and_stay_apart(names: list[str], width: int) -> None:
    shown = distinct(tuple(names), width)
    assert all(cell_width(x) <= width for x in shown)
    for name, text in zip(names, shown, strict=True):
        assert text == name or "…" in text


@pytest.mark.parametrize("width", [7, 10, 13, 16])
def test_titles_of_one_tab_stay_apart_in_a_narrow_column(width: int) -> None:
    kinds = [f"{a} {b}@{n}{c}" for a in ("acc", "reward") for b in ("best", "worst", "maj")
             for n in (2, 4) for c in ("", ", std")]  # fmt: skip
    names = (*(f"gsm8k {k}" for k in kinds), *(f"math_dapo {k}" for k in kinds), "step time")
    shown = distinct(names, width)
    assert len(set(shown)) == len(names)
    assert all(cell_width(x) <= width for x in shown)


def test_no_ellipsis_follows_another() -> None:
    words = ("val", "math_dapo val", "reward", "reward maj. x", "maj.", "maj. gsm8k worst@4 std")
    names = tuple(f"math_dapo {w} reward worst" for w in words)
    for width in range(4, 24):
        assert not [n for n in distinct(names, width) if "……" in n], width
