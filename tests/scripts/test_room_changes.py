"""Changes of room are counted where control goes in and where it comes back."""

import importlib

from tests.test_documentation import load_script

room_changes = load_script("room_changes")


def test_each_stage_begins_with_a_function_that_is_there() -> None:
    for module, name in room_changes.STAGES:
        found = importlib.import_module(module)
        classes = [value for value in vars(found).values() if isinstance(value, type)]
        assert any(name in vars(owner) for owner in (found, *classes)), (module, name)
