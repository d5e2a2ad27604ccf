"""What ``scripts/house.py`` counts stays within ``scripts/budget.yaml``."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tables import cases
from tests.test_documentation import load_script

chosen = load_script("chosen_numbers")  # first: house imports it
house = load_script("house")
House, above, lowered = house.House, house.above, house.lowered


@pytest.fixture(scope="module")
def counted() -> Any:
    return house.count()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="an f-string is several tokens from 3.12")
def test_the_house_stays_within_its_budget(counted: Any) -> None:
    assert not above(counted, house.read_budget())


def test_the_budget_names_nothing_that_is_gone(counted: Any) -> None:
    exceptions = house.read_budget()["exceptions"]
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


def small(**changed: float) -> Any:
    return House(
        totals={"tokens": 100} | changed, packages={"core": 100}, large={"members": {"a.py:A": 25}}
    )


BUDGET = {
    "totals": {"tokens": 100, "tokens per code line": 10.3},
    "tokens by package": {"core": 100},
    "exceptions": {"members": {"a.py:A": 30, "b.py:B": 22}},
}


def test_what_is_above_is_said() -> None:
    assert not above(small(), BUDGET)
    assert above(small(tokens=101), BUDGET) == ["totals, tokens: 101, the budget is 100"]
    packed = small(**{"tokens per code line": 10.4})
    assert above(packed, BUDGET) == ["totals, tokens per code line: 10.4, the budget is 10.3"]
    grown = small()
    grown.packages["core"] = 101
    assert above(grown, BUDGET) == ["tokens by package, core: 101, the budget is 100"]
    large = small()
    large.large["members"] = {"new.py:C": 21}
    said = "members of new.py:C: 21, and no exception that large is listed"
    assert above(large, BUDGET) == [said]


TEXT = """\
# why: numbers fall
totals:
  tokens: 100
tokens by package:
  core: 60
  draw: 40
exceptions:
  members:
    # one for each key
    a.py:A: 30
    b.py:B: 22
"""


@cases(__file__, "a_number_rises_by_a_grant_alone")
def test_a_number_rises_by_a_grant_alone(row: str, planted: str, said: str) -> None:
    assert house.raised(TEXT, TEXT.replace(row, planted)) == [said]
    granted = TEXT.replace(row, f"{planted}  # grant: a reader of files")
    assert not house.raised(TEXT, granted)
    assert house.raised(granted, granted.replace(planted, f"{planted}0")), "a grant is used up"


def test_a_move_between_packages_is_no_rise() -> None:
    moved = TEXT.replace("core: 60", "core: 50").replace("draw: 40", "draw: 50")
    assert not house.raised(TEXT, moved)


def test_no_number_was_raised_without_a_grant() -> None:
    before = house.budget_before()
    if before is None:
        pytest.skip("the commit before is not there")
    assert not house.raised(before, house.BUDGET.read_text(encoding="utf-8"))


def test_lowering_never_raises_and_keeps_reasons() -> None:
    without = TEXT.replace("    b.py:B: 22\n", "").replace("  draw: 40\n", "").replace("30", "25")
    assert lowered(small(tokens=90), TEXT) == without.replace("100", "90")
    assert lowered(small(tokens=110), TEXT) == without
    granted = TEXT.replace("tokens: 100", "tokens: 100  # grant: so")
    assert "  tokens: 90  # grant: so\n" in lowered(small(tokens=90), granted)


def test_shapes_of_code_that_are_counted(tmp_path: Path) -> None:
    text = '''
def f(x):
    """What is left of it."""
    return _once(x)
def _once(x):
    """Half of ``x``."""
    return _twice(_twice(x))
'''
    path = tmp_path / "a.py"
    assert house.single_callers({path: text}, {path: ast.parse(text)}) == [(path, "_once")]
    assert house._without_subject(text) == 1


def test_a_module_named_in_a_string_is_an_import() -> None:
    root = house.ROOT
    lower, upper = root / "rltui" / "core" / "text.py", root / "rltui" / "draw" / "line.py"
    planted = {lower: 'LATER = "rltui.draw.line"', upper: ""}
    found = house.circles(root, planted)
    assert any({"rltui.core.text", "rltui.draw.line"} <= circle for circle in found)


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
