"""The records of a judgement: findings with evidence, and the report of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from rltui.core.batch import RunKey
from rltui.core.level import Level


class FindingState(str, Enum):
    """Life of a finding; pending ones are never shown."""

    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers that were compared. ``present`` turns them into words."""

    statistic: str
    """What was computed: "3-point median", "share of start", ..."""
    value: float | None
    """The statistic (None when not finite) at the newest row that is beyond while the finding
    fires, at the worst row of the episode when it is over."""
    threshold: float | None
    """What the value was compared with, at that row."""
    step_first: int
    step_last: int
    """Steps that the statistic of that row covers."""
    extra: dict[str, float | int | str | None] = field(default_factory=dict)
    """Further numbers that the words of the rule name: before, after, start, now, count, ..."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One episode in which a rule spoke about one tag of a run."""

    rule: str
    title: str
    level: Level
    state: FindingState
    metric: str | None
    tag: str | None
    since_step: int | None
    """First step of the episode, not the step at which the rule became sure."""
    since_wall_time: float | None
    until_step: int | None
    evidence: Evidence
    summary: str
    """One sentence with the evidence filled in, no newline."""
    short: str
    """The same in at most about 45 cells, for narrow screens."""
    advice: str
    limit: float | None = None
    """The limit in units of the metric at the row of the evidence, to draw in its chart."""
    error: str | None = None
    """Set when the rule itself broke: the rule is ill, not the run."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rules say of one tag now: its badge and its healthy range in words."""

    level: Level
    healthy: str
    """The watch limit in words, at most 16 cells: "≤ 0.08", "≥ 30 % of start"; "" if none."""
    healthy_short: str
    """The same in at most 12 cells with numbers: "≥ 1.15"."""
    low: float | None
    high: float | None
    """The watch limits in units of the tag as logged, for the tint of the chart; None = open."""
    rules: tuple[str, ...] = ()
    pending: bool = False
    """Ok, yet the newest row is beyond a limit: not for long enough, or spared."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not judge, and the metric keys that it lacks."""

    rule: str
    title: str
    missing: tuple[str, ...]
    """Metric keys, any of which would do; empty when another ``reason`` is given."""
    reason: str = ""
    """In words, where it is not a missing metric: "6 of 20 rows"."""


@dataclass(frozen=True, slots=True)
class Report:
    """The judgement of one run: the only input of badges, check and snapshot."""

    run: RunKey
    level: Level
    """Worst firing finding; OK when rules judged and none fires; UNKNOWN when none could judge."""
    categories: dict[str, Level]
    """Level per Category value, of the categories that the run has."""
    findings: tuple[Finding, ...]
    """Firing first (bad before watch, newest first), then resolved."""
    tags: dict[str, Judgement]
    skipped: tuple[Skipped, ...]
    judged: tuple[str, ...]
    """Rule ids that could judge."""
    as_of: float

    def firing(self) -> tuple[Finding, ...]:
        """Findings that hold now."""
        return tuple(f for f in self.findings if f.state is FindingState.FIRING)

    def resolved(self) -> tuple[Finding, ...]:
        """Findings that are over."""
        return tuple(f for f in self.findings if f.state is FindingState.RESOLVED)
