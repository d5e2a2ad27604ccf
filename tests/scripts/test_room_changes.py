"""Changes of room are counted where control goes in and where it comes back."""

from __future__ import annotations

import importlib
import sys
from types import FunctionType, ModuleType

import pytest

from tests.test_documentation import load_script

room_changes = load_script("room_changes")


def function(module: str, source: str, **known: object) -> FunctionType:
    """A function that belongs to ``module``."""
    place = ModuleType(module).__dict__ | known
    exec(source, place)
    made = place["work"]
    assert isinstance(made, FunctionType)
    return made


@pytest.mark.parametrize(
    ("by", "only", "changes"),
    [
        ("package", (), 4),  # the plain function between belongs to its caller
        ("module", (), 6),
        ("top", (), 4),
        ("package", ("rltui.store",), 0),
        ("package", ("rltui.store", "rltui.health"), 4),
    ],
)
def test_a_call_counts_twice(by: str, only: tuple[str, ...], changes: int) -> None:
    inner = function("rltui.store.run", "def work(): pass")
    plain = function("json", "def work(): inner()", inner=inner)
    rule = function("rltui.health.rule", "def work(): inner(); plain()", inner=inner, plain=plain)
    engine = function("rltui.health.engine", "def work(): rule()", rule=rule)
    counted = room_changes.Counted(room_changes.Rooms(by, only))
    counted.active = True
    sys.setprofile(counted)
    try:
        engine()
    finally:
        sys.setprofile(None)
    assert sum(c.total() for c in counted.changes.values()) == changes


def test_each_stage_begins_with_a_function_that_is_there() -> None:
    for module, name in room_changes.STAGES:
        found = importlib.import_module(module)
        classes = [value for value in vars(found).values() if isinstance(value, type)]
        assert any(name in vars(owner) for owner in (found, *classes)), (module, name)
