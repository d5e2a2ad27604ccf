"""When a run that stopped writing counts as stalled or stopped: ``data/stalled.yaml``."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from typing import Annotated, NamedTuple, TypeVar

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.core.yaml_document import Node, Table, fill, read_each, read_template, shipped_table
from rltui.core.yaml_record import Keyed, record_of
from rltui.health.limits import limits_of
from rltui.health.rule import Rule, read_level


class StallLimits(NamedTuple):
    """How long a run may be silent; seconds, except for the multiples."""

    least_s: float
    intervals: float
    pauses: float
    unpaced_s: float
    ended_after_s: float

    def quiet_s(self, interval_s: float | None, pause_s: float | None) -> float:
        """Seconds without a write after which a run is not live, by its usual interval and its
        second longest pause; a guess without an interval."""
        if interval_s is None:
            return self.unpaced_s
        return max(self.least_s, self.intervals * interval_s, self.pauses * (pause_s or 0.0))


T = TypeVar("T")
_Level = Annotated[Level, Keyed(read=read_level)]


class StoppedRule(NamedTuple):
    """Says that a run ended without a word before its planned steps."""

    rule: Rule
    level: _Level
    advice: str


class WarnsRule(NamedTuple):
    """Says that a log warns again and again of what is learned from."""

    rule: Rule
    level: _Level
    advice: str
    least: int
    """Times that it must be said."""
    summary: str
    """Template with the fields ``said`` and ``times``."""
    subjects: re.Pattern[str]
    says: re.Pattern[str]
    unlike: re.Pattern[str]

    def fits(self, text: str) -> bool:
        """Whether a warning is about the training, and says that something is wrong with it."""
        lower = text.lower()
        return all(p.search(lower) for p in (self.subjects, self.says)) and not (
            self.unlike.search(lower)
        )


class StallRule(NamedTuple):
    """The document; see there for the meaning of each field."""

    rule: Rule
    """For lists of rules. It reads times, not rows, so it has no variant."""
    level: _Level
    limits: StallLimits
    advice: str
    meaning: str
    """Template of the rule's meaning, with the limits as fields."""
    stopped: StoppedRule
    """For a run that will not go on."""
    warns: WarnsRule
    """For one whose log says what is wrong."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them, for lists of rules."""
        return self.rule, self.stopped.rule, self.warns.rule


@cache
def stall_rule() -> StallRule:
    """Reads the shipped document once. Raises DocumentError."""
    table = shipped_table("health", "data", "stalled.yaml")
    limits = limits_of(StallLimits)(table.need("limits"))
    template = read_template(table.need("meaning"), _shown(limits), ("d",))
    given = {
        "limits": limits,
        "meaning": template,
        "stopped": _own(table.need("stopped").table(), StoppedRule),
        "warns": _own(table.need("warns").table(), WarnsRule),
    }
    found = record_of(table, StallRule, rule=_rule(table), **given)
    table.finish()
    return _explained(found)


def _rule(table: Table, meaning: str = "") -> Rule:
    return Rule(table.need("id").text(), table.need("title").text(), Category.PROGRESS, meaning, ())


def _own(table: Table, kind: type[T]) -> T:
    """A rule beside that for a run that is stalled."""
    found = record_of(table, kind, rule=_rule(table, table.need("meaning").text()))
    table.finish()
    return found


def with_override(node: Node | None) -> StallRule:
    """The rule with the limits that a configuration changes; None: as shipped.

    Raises DocumentError for a limit that there is not, and for one that is not finite and above 0.
    """
    known = stall_rule()
    if node is None:
        return known
    given = node.table().named(known.limits._fields, f"rule {known.rule.id} has no limit")
    changed = read_each(given.items(), lambda _, value: _above_0(value))
    return _explained(known._replace(limits=known.limits._replace(**changed)))


def _above_0(node: Node) -> float:
    if not 0 < node.number() < math.inf:
        node.fail("must be above 0, and finite")
    return node.number()


def _explained(known: StallRule) -> StallRule:
    shown = _shown(known.limits)
    meaning = fill(
        known.meaning, lambda name, spec: f"{shown[name]:.0f}" if spec else f"{shown[name]:g}"
    )
    return known._replace(rule=replace(known.rule, meaning=meaning))


def _shown(limits: StallLimits) -> dict[str, float]:
    return limits._asdict() | {"hours": limits.ended_after_s / 3600}
