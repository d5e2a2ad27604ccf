"""Conditions of the user that send a message when a run first meets them: ``hooks.goals``."""

from __future__ import annotations

from functools import partial

from rltui.config import Config
from rltui.facts.gate import Condition, Known, Others, judge, read_condition
from rltui.session import JudgedRun
from rltui.session.run import Goals


def open_goals(config: Config) -> Goals:
    """The goals of a configuration. Raises DocumentError."""
    known = Known.of(config)
    found = {}
    for node in config.hooks.goals:
        condition = read_condition(node, known)
        if condition.parts["off"] or condition.parts["runs"]:
            node.complain("a goal is compared with numbers, not with other runs")
        found[condition.text] = partial(met_words, condition)
    return found


def met_words(condition: Condition, run: JudgedRun) -> str:
    """Describe how a run meets a condition; "" where it does not, or is not asked."""
    outcome = judge(condition, run, Others())
    return outcome.words if outcome.met and not outcome.skipped else ""
