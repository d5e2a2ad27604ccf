"""When a run that stopped writing counts as stalled: ``data/stalled.yaml``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.core.shipped import shipped
from rltui.core.template import fill, read_template
from rltui.core.yaml_document import read_document
from rltui.health.limits import read_limits
from rltui.health.rule import Rule


@dataclass(frozen=True, slots=True)
class StallLimits:
    """How long a run may be silent; seconds, but for the multiples."""

    least_s: float
    intervals: float
    pauses: float
    ended_after_s: float

    def quiet_s(self, interval_s: float | None, pause_s: float | None) -> float:
        """Seconds without a write after which a run is not live, by its usual interval and its
        second longest pause."""
        return max(
            self.least_s, self.intervals * (interval_s or 0.0), self.pauses * (pause_s or 0.0)
        )


@dataclass(frozen=True, slots=True)
class StallRule:
    """The document; see there for the meaning of each field."""

    rule: Rule
    """For lists of rules. It reads times, not rows, so it has no variant."""
    level: Level
    limits: StallLimits
    advice: str


@cache
def stall_rule() -> StallRule:
    """Reads the shipped document once. Raises DocumentError."""
    table = read_document(shipped("health", "data", "stalled.yaml")).table()
    table.need("schema").integer()
    limits = read_limits(table.need("limits"), StallLimits)
    shown = asdict(limits) | {"hours": limits.ended_after_s / 3600}
    meaning = fill(
        read_template(table.need("meaning"), shown, ("d",)),
        lambda name, spec: f"{shown[name]:.0f}" if spec else f"{shown[name]:g}",
    )
    levels = {level.word: level for level in (Level.WATCH, Level.BAD)}
    found = StallRule(
        Rule(table.need("id").text(), table.need("title").text(), Category.PROGRESS, meaning, ()),
        levels[table.need("level").choice(levels)],
        limits,
        table.need("advice").text(),
    )
    table.finish()
    return found
