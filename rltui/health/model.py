"""The records of a judgement: findings with their evidence, and the report of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rltui.core.level import Level, worst
from rltui.core.record import record
from rltui.core.text import Names
from rltui.health.symptoms import Harm, Symptom

if TYPE_CHECKING:
    from rltui.core.batch import RunKey


_NO_NUMBERS: Mapping[str, float | None] = MappingProxyType({})
#: What templates of a rule may name, by name.
Numbers = dict[str, float | int | str | None]


class FindingState(str, Enum):
    """Whether a finding holds."""

    FIRING = "firing"
    RESOLVED = "resolved"


class Side(str, Enum):
    """Which limit a row is beyond."""

    HIGH = "high"
    LOW = "low"
    BOTH = "both"
    """Limits of equal size above and below zero."""


class Words(NamedTuple):
    """Templates of a rule, to be filled with :attr:`Evidence.row` and :attr:`Evidence.facts`."""

    summary: str
    short: str
    healthy: str
    healthy_short: str


@record
class Evidence:
    """Numbers that were compared."""

    statistic: str
    """Name of the number: "3-point median", "share of start", ..."""
    value: float | None
    """The statistic (None when not finite) at the newest row that is beyond while the finding
    fires, at the worst row of the episode when it is over."""
    threshold: float | None
    """Limit that the value was compared with, at that row."""
    step_first: int
    step_last: int
    """Steps that the statistic of that row covers."""
    facts: Numbers = field(default_factory=dict)
    """Thresholds per level, facts and parameters of the detector: watch, bad, start, share, ..."""
    row: dict[str, Any] = field(default_factory=dict)
    """The rows of the episode: value, limit, now, before, peak, rows, since, ... Empty when the
    finding is about the state of the run."""
    side: Side = Side.HIGH
    newest: bool = False
    """Whether that row is the newest of the run."""
    is_past: bool = False
    """Whether the newest value of the tag is not finite: what was found holds of rows before."""
    has_before: bool = False
    """Whether the run has a row before the episode."""
    latest: float | None = None
    """The newest value, when the finding fires and its peak is past."""
    notes: Names = ()
    """Templates of what the detector adds about this row."""
    worst: Level | None = None
    """Worst level of the episode."""
    others: Names = ()
    """Other tags that show the same episode."""
    episodes: int = 1
    """Episodes of this title in the whole run."""
    again: bool = False
    """Whether the finding is over but the newest row is beyond the limit again."""

    @property
    def wavers(self) -> bool:
        """Whether the rows of the episode are on and off: on average they are inside the limit."""
        beyond = self.row.get("average", 0.0) - (self.row.get("limit") or math.nan)
        return bool(beyond < 0 if self.side is Side.HIGH else beyond > 0)


class Finding(NamedTuple):
    """One episode in which a rule found something in one tag of a run."""

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
    words: Words | None
    """Templates of the rule; None when no rule made the finding."""
    advice: str
    error: str | None = None
    """Set when the rule itself failed: the run may be fine."""
    certain_step: int | None = None
    """Step at which it was certain: that it was found rests on rows up to there alone."""

    @property
    def fires(self) -> bool:
        """Whether it holds now."""
        return self.state is FindingState.FIRING

    def is_about(self, tag: str) -> bool:
        """Whether a tag shows it, alone or with others."""
        return tag == self.tag or tag in self.evidence.others


class MutedFinding(NamedTuple):
    """Names findings of any tag at any time."""

    rule: str
    title: str

    @classmethod
    def of(cls, finding: Finding) -> MutedFinding:
        """The name of a finding."""
        return cls(finding.rule, finding.title)


class Limit(NamedTuple):
    """Where a level begins for a tag: what every surface shows of a limit."""

    level: Level
    """The level beyond it; unknown for a range that is only documented."""
    low: float | None = None
    high: float | None = None
    """In units of the tag as logged; None = open, or no limit of its value."""
    shown: tuple[float | None, float | None] = (None, None)
    """(low, high) in units of the tag as people read it: the sign of its negative is turned."""
    unit: str = ""
    words: str = ""
    """Template of what it is relative to, or of what has to hold; "" if a number is missing."""
    short: str = ""
    numbers: Mapping[str, float | None] = _NO_NUMBERS
    """Numbers for the templates, in units of the metric."""
    rule: str = ""
    """Why: the rule that has it; "" for a documented range."""


@record
class Judgement:
    """The current verdict of the rules on one tag: its badge and its limits."""

    level: Level
    limits: tuple[Limit, ...] = ()
    """The mildest first, at most two: where watch and bad begin."""
    rules: Names = ()
    """Rules that judged; empty for a range that is only documented."""
    pending: bool = False
    """Ok, yet the newest row is beyond a limit: not yet certain, or spared."""
    doubt: str = ""
    """Why the badge is not ok although no rule has found anything, for people; "" for none."""
    published: Limit | None = None
    """The range that documents give, where the newest rows are outside it."""
    rows: int = 0
    """Points of the tag that it knows; there are more when the tag has grown since."""

    @property
    def low(self) -> float | None:
        """The mildest lower limit in units of the tag as logged, for the tint of the chart."""
        return self.limits[0].low if self.limits else None

    @property
    def high(self) -> float | None:
        """The mildest upper limit."""
        return self.limits[0].high if self.limits else None


class Move(NamedTuple):
    """A metric that left its usual level."""

    tag: str
    step: int
    before: float
    """Value of the row before."""
    after: float
    """Value of the row in which it had left it."""
    is_setting: bool = False
    """Whether a person or a schedule sets it: a cause, never an effect."""
    until: int | None = None
    """Step of ``after``, where that is a later one: what drifts is known to have left only then."""

    @property
    def factor(self) -> float | None:
        """``after`` as a multiple of ``before``; None where one is not above zero and finite."""
        known = 0 < self.before < math.inf and 0 < self.after < math.inf
        return self.after / self.before if known else None

    @property
    def size(self) -> float:
        """How large the move is, as the absolute logarithm of the factor (infinite without)."""
        return abs(math.log(self.factor or math.inf))


class Suspect(NamedTuple):
    """A setting that has been far from usual since before a story began."""

    tag: str
    low: float | None
    high: float | None
    """Limits that hold almost everywhere, in units of the tag as shown; one is None."""
    advice: str
    """Advice for people."""


class Diagnosis(NamedTuple):
    """A symptom of a run with the findings that show it."""

    symptom: Symptom
    level: Level
    """Worst level of its firing findings, and of those that it explains; OK when all are over."""
    findings: tuple[Finding, ...]
    """Firing first, the worst first, of these what began first; empty for a setting that jumped."""
    since_step: int | None
    until_step: int | None
    """Last step when it is over, None while it fires."""
    explained_by: str | None = None
    """Id of the symptom at the top of its story; None when it is that one."""

    @property
    def is_over(self) -> bool:
        """Whether it does not hold any more."""
        return self.until_step is not None

    @property
    def peak(self) -> Level:
        """Worst level that its own findings had, also when they are over."""
        return worst([f.evidence.worst or f.level for f in self.findings])


def lead_of(story: Sequence[Diagnosis]) -> Diagnosis:
    """Diagnosis to begin with: the cause of a story, if it holds or was no milder (what it damaged
    does not mend because it is over), else the worst that holds, of several the first."""
    top = story[0]
    lead = max((d for d in story if not d.is_over), key=lambda d: d.peak, default=top)
    is_cause = top.findings and (not top.is_over or top.peak >= lead.peak)
    return top if is_cause else lead


def harm_of(story: Sequence[Diagnosis]) -> int:
    """The greatest harm in a story that goes on, or that of what to begin with; 0 is the worst."""
    holding = (d for d in story if d.level >= Level.WATCH and not d.is_over)
    return min(list(Harm).index(d.symptom.harm) for d in (lead_of(story), *holding))


class Diagnosed(NamedTuple):
    """All that is said about the findings of a run."""

    diagnoses: tuple[Diagnosis, ...] = ()
    """Story by story, the worst first; in a story the cause first."""
    moves: tuple[Move, ...] = ()
    """First movers of the worst story, in order of time."""
    suspects: tuple[Suspect, ...] = ()
    """Settings that are the likely cause of the worst story although none of them jumped."""

    @property
    def cause(self) -> Move | None:
        """The setting whose jump began the worst story."""
        return next((m for m in self.moves if m.is_setting), None)

    @property
    def leading(self) -> Diagnosis | None:
        """Diagnosis to begin with in the worst story."""
        story = next(iter(self.stories()), None)
        return None if story is None else lead_of(story)

    @property
    def harm(self) -> float:
        """The harm of the worst story, 0 is the worst; infinite without one."""
        return min((harm_of(story) for story in self.stories()[:1]), default=math.inf)

    @property
    def blamed(self) -> dict[str, Level]:
        """Tag -> level of the worst story, for each setting that is its cause and still set so;
        empty while nothing of the story holds."""
        level = max((d.level for d in next(iter(self.stories()), [])), default=Level.OK)
        if level < Level.WATCH:
            return {}
        tags = [s.tag for s in self.suspects]
        if self.cause is not None and not self.diagnoses[0].is_over:
            tags.append(self.cause.tag)
        return dict.fromkeys(tags, level)

    def stories(self) -> list[list[Diagnosis]]:
        """The diagnoses by story, each with its cause first."""
        out: list[list[Diagnosis]] = []
        for diagnosis in self.diagnoses:
            if diagnosis.explained_by is None:
                out.append([])
            out[-1].append(diagnosis)
        return out


class Skipped(NamedTuple):
    """A rule that could not judge, and why."""

    rule: str
    title: str
    missing: Names = ()
    """Metric keys, any of which would do; empty when the reason is another one."""
    rows: int = 0
    """Rows that there are, none of which the rule can use."""
    broke: bool = False
    """Whether the rule raised an error."""


class FewRows(NamedTuple):
    """A run has fewer rows than a verdict without a finding needs."""

    rows: int
    needed: int


NOTHING_DIAGNOSED = Diagnosed()


@record
class Report:
    """The judgement of one run: the only input of badges, check and snapshot."""

    run: RunKey
    level: Level
    """Worst firing finding; when none fires, ``calm``."""
    findings: tuple[Finding, ...]
    """Firing first, then resolved; in the order of ``diagnosed``, in each story bad before watch
    and causes before their effects."""
    tags: dict[str, Judgement]
    """With the level of their story for the settings that are blamed."""
    skipped: tuple[Skipped, ...]
    judged: Names
    """Rule ids that could judge."""
    diagnosed: Diagnosed = NOTHING_DIAGNOSED
    """The findings as stories, and what moved first."""
    reference: str | None = None
    """Name of the run that it was compared with."""
    calm: Level = Level.UNKNOWN
    """Level without a finding: OK when rules judged enough rows, else UNKNOWN."""
    few_rows: FewRows | None = None
    """Set when a lack of rows is why ``calm`` is UNKNOWN."""
    muted: tuple[Finding, ...] = ()
    """Findings that the user does not want to see; they count for nothing else."""
    unblamed: Mapping[str, Judgement] = field(default_factory=dict)
    """Judgements by the rules alone of the settings that are blamed."""
    stories: Callable[[Iterable[Finding], Mapping[str, Judgement]], Diagnosed] = field(
        default=lambda *_: NOTHING_DIAGNOSED, compare=False, repr=False
    )
    """Diagnoses some of its findings, by the judgements of the tags."""

    def level_with(self, findings: Iterable[Finding]) -> Level:
        """The level that the report has with these findings."""
        return max(self.calm, worst(f.level for f in findings if f.fires))

    def firing(self) -> tuple[Finding, ...]:
        """Findings that hold now."""
        return tuple(f for f in self.findings if f.fires)
