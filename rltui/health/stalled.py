"""When a run that stopped writing counts as stalled or stopped: ``data/stalled.yaml``."""

from __future__ import annotations

import math
import re
from typing import Annotated, NamedTuple

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.core.template import fill
from rltui.core.yaml_document import Node, read_each
from rltui.core.yaml_record import Keyed, Limit, shipped_record
from rltui.health.rule import Rule, read_level


class StallLimits(NamedTuple):
    """How long a run may be silent; seconds, except for the multiples."""

    least_s: Limit
    intervals: Limit
    pauses: Limit
    unpaced_s: Limit
    ended_after_s: Limit

    def quiet_s(self, interval_s: float | None, pause_s: float | None) -> float:
        """Seconds without a write after which a run is not live, by its usual interval and its
        second longest pause; a guess without an interval."""
        if interval_s is None:
            return self.unpaced_s
        return max(self.least_s, self.intervals * interval_s, self.pauses * (pause_s or 0.0))


_Level = Annotated[Level, Keyed(read=read_level)]


class StoppedRule(NamedTuple):
    """Says that a run ended without a word before its planned steps."""

    id: str
    title: str
    level: _Level
    meaning: str
    advice: str


class WarnsRule(NamedTuple):
    """Says that a log warns again and again of what is learned from."""

    id: str
    title: str
    level: _Level
    meaning: str
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
        said = self.subjects.search(lower) and self.says.search(lower)
        return bool(said) and not self.unlike.search(lower)


class StallRule(NamedTuple):
    """The document; see there for the meaning of each field."""

    id: str
    title: str
    level: _Level
    limits: StallLimits
    advice: str
    meaning: str
    """Template with the limits as fields."""
    stopped: StoppedRule
    """For a run that will not go on."""
    warns: WarnsRule
    """For one whose log says what is wrong."""

    @property
    def rule(self) -> Rule:
        """For lists of rules. It reads times, not rows, so it has no variant."""
        limits = self.limits
        shown = limits._asdict() | {"hours": limits.ended_after_s / 3600}
        meaning = fill(
            self.meaning, lambda name, spec: f"{shown[name]:.0f}" if spec else f"{shown[name]:g}"
        )
        return Rule(self.id, self.title, Category.PROGRESS, meaning, ())

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them, for lists of rules."""
        others = (self.stopped, self.warns)
        return self.rule, *(Rule(r.id, r.title, Category.PROGRESS, r.meaning, ()) for r in others)


def stall_rule() -> StallRule:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(StallRule, "health", "data", "stalled.yaml")


def with_override(node: Node | None) -> StallRule:
    """The rule with the limits that a configuration changes; None: as shipped.

    Raises DocumentError for a limit that there is not, and for one that is not finite and above 0.
    """
    known = stall_rule()
    if node is None:
        return known
    given = node.table().named(known.limits._fields, f"rule {known.id} has no limit")

    def read(_: str, value: Node) -> float:
        if not 0 < value.number() < math.inf:
            value.fail("must be above 0, and finite")
        return value.number()

    return known._replace(limits=known.limits._replace(**read_each(given.items(), read)))
