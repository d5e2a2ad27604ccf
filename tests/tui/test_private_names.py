"""No widget redefines a private method of Textual by accident: at the lowest version, too."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

from textual.message_pump import MessagePump

import rltui.tui

#: What is replaced on purpose: writing differences, searching commands, painting once.
ON_PURPOSE = {("CellDiffApp", "_display"), ("CommandSearch", "_refresh_command_list")}
ONCE = {("OnceScreen", "_compositor_refresh"), ("OnceScreen", "_refresh_layout")}


def classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(rltui.tui.__path__, "rltui.tui."):
        found = inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        yield from (c for _, c in found if c.__module__ == module.name)


def test_no_private_method_of_textual_is_redefined() -> None:
    found = {
        (ours.__name__, name)
        for ours in filter(lambda c: issubclass(c, MessagePump), classes())
        for name, member in vars(ours).items()
        if name.startswith("_") and not name.startswith("__") and inspect.isfunction(member)
        for base in ours.__mro__[1:]
        if base.__module__.startswith("textual.") and name in vars(base)
    }
    assert found == ON_PURPOSE | ONCE
