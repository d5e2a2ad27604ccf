"""What ``scripts/house.py`` counts stays within ``scripts/budget.yaml``."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.test_documentation import load_script

chosen = load_script("chosen_numbers")  # first: house imports it
house = load_script("house")
House, above, lowered = house.House, house.above, house.lowered


@pytest.fixture(scope="module")
def counted() -> Any:
    return house.count()


def test_the_house_stays_within_its_budget(counted: Any) -> None:
    assert not above(counted, house.read_budget())


def test_the_budget_names_nothing_that_is_gone(counted: Any) -> None:
    exceptions = house.read_budget()["exceptions"]
    assert isinstance(exceptions, dict)
    gone = {k: set(v or ()) - set(counted.large[k]) for k, v in exceptions.items()}
    assert not any(gone.values()), gone


def test_complexity_counts_each_way() -> None:
    text = """
def f(x):
    if x and x > 1 or x < 0:
        return [y for y in x if y]
    def g():
        while x: pass
    for _ in x:
        try: pass
        except ValueError: pass
    return 1 if x else 2
"""
    function = ast.parse(text).body[0]
    assert house.complexity(function) == 1 + 1 + 2 + 2 + 1 + 1 + 1


def test_a_lazy_import_has_its_reason_beside_it() -> None:
    text = """
import os
def f():
    import a
    import b  # heavy
    # only where ssh is used
    import c
"""
    assert house.lazy_imports(ast.parse(text), text) == [False, True, True]


def small(**changed: int) -> Any:
    return House(
        totals={"lines": 100} | changed,
        packages={"core": 100},
        shares={"blank": 10.0},
        large={"members": {"a.py:A": 25}},
    )


BUDGET = {
    "totals": {"lines": 100},
    "packages": {"core": 100},
    "shares may not fall below": {"blank": 9.5},
    "exceptions": {"members": {"a.py:A": 30, "b.py:B": 22}},
}


def test_what_is_above_is_said() -> None:
    assert not above(small(), BUDGET)
    assert above(small(lines=101), BUDGET) == ["total lines: 101, the budget is 100"]
    grown = small()
    grown.large["members"] = {"new.py:C": 21}
    assert above(grown, BUDGET) == [
        "members of new.py:C: 21, and no exception that large is listed"
    ]
    squeezed = small()
    squeezed.shares["blank"] = 9.0
    assert "save structure" in above(squeezed, BUDGET)[0]


TEXT = """\
# why: numbers fall
totals:
  lines: 100
exceptions:
  members:
    # one for each key
    a.py:A: 30
    b.py:B: 22
"""


def test_lowering_never_raises_and_keeps_reasons() -> None:
    without = TEXT.replace("    b.py:B: 22\n", "")
    assert lowered(small(lines=90), TEXT) == without.replace("100", "90").replace("30", "25")
    assert lowered(small(lines=110), TEXT) == without.replace("30", "25")


def test_chosen_numbers_are_those_of_rules_defaults_and_constants(tmp_path: Path) -> None:
    rules = tmp_path / "rltui" / "health" / "data" / "rules"
    rules.mkdir(parents=True)
    (rules / "a.yaml").write_text(
        "rules: [{variants: [{parameters: {a: 1, b: {least: 5, share: 0.1}}, watch: {x: 0},"
        " bad: {x: [-1, -2]}, hold: 3}], cases: [{watch: {x: 9}}]}]",
        encoding="utf-8",
    )
    (tmp_path / "rltui" / "health" / "a.py").write_text(
        "A = 2 * 3 + 1\ndef f(x=4, *, y=0.5, z=True):\n    return x + 7\n"
        "class C:\n    field: int = 8\n",
        encoding="utf-8",
    )
    assert set(chosen.chosen_numbers(tmp_path).values()) == {3, 5}
