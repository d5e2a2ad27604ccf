"""Judges runs by rules written in YAML. No metric name and no threshold in code.

``data/rules.yaml`` holds the rules; the detectors are pure functions in
:mod:`rltui.health.detectors`. :func:`load_rules` reads the rules, :class:`Engine` applies them and
returns a :class:`~rltui.health.model.Report`; :func:`run_cases` runs the examples that the rules
contain.

The names below are imported when they are first used: a screen needs the records of
:mod:`rltui.health.model` at once, a verdict only after the first paint.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rltui.health.engine import Engine
    from rltui.health.rule_cases import run_cases
    from rltui.health.rules import load_rules

__all__ = ["Engine", "load_rules", "run_cases"]

_HOMES = {"Engine": "engine", "load_rules": "rules", "run_cases": "rule_cases"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
