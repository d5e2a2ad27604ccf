"""Types of what ``rltui.check/1`` says of a run, which also type the API. Docstrings of the fields
are descriptions of its schema."""

from __future__ import annotations

from typing import Literal, TypedDict

from rltui.core.text import Json

LevelWord = Literal["ok", "watch", "bad", "unknown"]
MarkWord = Literal["ok", "unsure", "watch", "bad", "unknown"]


class NoteDocument(TypedDict):
    """Trouble in reading a file."""

    path: str
    """File, or directory."""
    offset: int | None
    """Byte position, None for the file as a whole."""
    level: LevelWord
    """How bad it is."""
    message: str
    """Trouble in words."""


class SourceDocument(TypedDict):
    """A log of a run."""

    path: str
    """Path of the file."""
    format: str
    """How it is read: jsonl, tfevents, console, ..."""
    bytes: int
    """Its size, as far as it was read."""
    records: int
    """Rows or records that were read."""
    notes: list[NoteDocument]
    """Trouble in reading it."""


class FindingDocument(TypedDict):
    """A rule that fires, or fired."""

    rule: str
    """Id of the rule; ``crashed`` for the end of a run."""
    title: str
    """Name for people."""
    level: LevelWord
    """Level at which it fires, or fired."""
    state: Literal["firing", "resolved"]
    """Whether it holds now."""
    metric: str | None
    """Metric of the catalogue that shows it; None for the run as a whole."""
    tag: str | None
    """Name in the log that shows it; None for the run as a whole."""
    since_step: int | None
    """Onset; None for a finding that holds for the whole run."""
    certain_step: int | None
    """Step at which it was certain."""
    since_wall_time: float | None
    """Time of the onset, seconds since the epoch; None where it is not known."""
    until_step: int | None
    """Last step at which it held; None while it fires."""
    evidence: Json
    """``statistic``, ``value``, ``threshold``, ``step_first``, ``step_last``, and more by rule."""
    summary: str
    """The finding in a sentence, with numbers; of an event about a whole run, its verdict."""
    advice: str
    """Next step of its story, as on screen, or of its rule; "Nothing to do." for a healthy run."""


class FindingReference(TypedDict):
    """Names a finding of the same run."""

    rule: str
    """Id of the rule."""
    tag: str | None
    """Tag that shows it; None for the run as a whole."""
    since_step: int | None
    """Onset; None for a finding that holds for the whole run."""


class CheckDocument(TypedDict):
    """Something to look at because of a diagnosis."""

    metric: str | None
    """Metric to look at."""
    tag: str | None
    """Its name in the log; None where it is not logged."""
    level: LevelWord
    """Worst level that it had while the diagnosis held."""
    value: float | None
    """Its newest value, in units of the log."""
    step: int | None
    """Step of that value."""
    then: dict[str, float | None] | None
    """``step`` and ``value`` when the diagnosis began."""
    first: bool
    """Whether to look at it first."""
    question: str
    """Question to answer."""
    hint: str
    """Why it stands out: "usually ≤ 0.02"; "" where it does not."""


class DiagnosisDocument(TypedDict):
    """Diagnosis: the common meaning of several findings."""

    id: str
    """Id of the symptom."""
    level: LevelWord
    """Level of its worst finding."""
    summary: str
    """The symptom in a sentence."""
    explained_by: str | None
    """Id of the symptom that brought it about; None for the first of its story."""
    since_step: int | None
    """Onset; None for one that holds for the whole run."""
    until_step: int | None
    """Last step at which it held; None while it does."""
    findings: list[FindingReference]
    """Findings that show it."""
    check: list[CheckDocument]
    """Metrics to look at, in order."""
    log_says: str
    """Complaint that the console log repeats; "" for none."""
    causes: str
    """Usual causes."""
    advice: str
    """Next step for its story."""


class MoveDocument(TypedDict):
    """A metric that moved before the first finding."""

    metric: str
    """Metric of the catalogue, or the tag; in a brief its title."""
    tag: str
    """Its name in the log."""
    step: int
    """Step at which it left its usual level."""
    before: float | None
    """Value of the row before; None where it is not finite."""
    after: float | None
    """Value of the row in which it had left it; None where it is not finite."""
    factor: float | None
    """``after`` as a multiple of ``before``; None where one is not above 0."""
    setting: bool
    """Whether a person or a schedule sets it: a cause, never an effect."""


class SuspectDocument(TypedDict):
    """A setting that is far from usual at this algorithm."""

    tag: str
    """Its name in the log."""
    metric: str
    """Metric of the catalogue, or the tag."""
    value: float | None
    """Newest value, in units of the screen, as its range."""
    low: float | None
    """Lower end of its usual range; None where it is open."""
    high: float | None
    """Upper end of its usual range; None where it is open."""


class GuessDocument(TypedDict):
    """A tag whose name the catalogue does not know, and the metric that it is taken for."""

    tag: str
    """Its name in the log."""
    metric: str
    """Metric of the catalogue that it is taken for."""


class ProjectionDocument(TypedDict):
    """When a metric will cross a limit if it goes on like this."""

    tag: str
    """Its name in the log."""
    limit: float
    """Limit that it is heading for, in units of the log."""
    earliest_step: int | None
    """First step at which it may cross it."""
    latest_step: int | None
    """Step by which it crosses it; None where that is open."""


class EndingDocument(TypedDict):
    """Why a training ended before its end."""

    kind: str
    """How it ended: finished, crashed or cancelled."""
    reason: str
    """Why, in a few words."""
    after: list[str]
    """Later reasons, the oldest first."""
    line: str
    """Line of the log that shows it; "" where only the exit code does."""
    advice: str
    """Next step."""
    tail: list[str]
    """Last lines of the log of a run that died."""


class UnsureDocument(TypedDict):
    """A tag whose newest rows speak against a tick, not yet with enough evidence for a finding."""

    tag: str
    """Its name in the log."""
    low: float | None
    """Lower end of its range, in units of the log; None where it is open or not known."""
    high: float | None
    """Its range, in units of the log; None where it is open or none is known."""
    reason: str
    """Why it has no tick."""


class SkippedDocument(TypedDict):
    """A rule that could not judge."""

    rule: str
    """Id of the rule."""
    missing: list[str]
    """Metrics that it lacks, any of which would do; empty for another reason."""


class FaultDocument(TypedDict):
    """Failure of rltui itself in a run."""

    message: str
    """Failure and its reason."""
    report: str | None
    """The file with the traceback."""


class RunVerdict(TypedDict):
    """The verdict on one run."""

    run: str
    """Path below its logdir, ``.`` for the logdir itself."""
    name: str
    """Name for people."""
    logdir: int
    """Place of its LOGDIR in ``logdirs``."""
    path: str
    """Path of its log or directory."""
    framework: str | None
    """Id of the framework that wrote the log; None where it is not known."""
    algorithm: str | None
    """PPO, GRPO, DPO, ...; None where it is not known."""
    state: Literal["live", "stalled", "finished", "stopped", "crashed", "unknown"]
    """State by its files; ``stopped``: nothing writes it, and the log does not say how it ended."""
    ending: EndingDocument | None
    """How the job ended; None where that is not known."""
    level: LevelWord
    """The verdict: the worst of its findings, or of how it ended."""
    mark: MarkWord
    """The badge: the level, but unsure instead of ok while one of the tags is."""
    alarms: dict[str, int]
    """Number of findings that fire, by level."""
    reason: str | None
    """Why there is no verdict."""
    categories: dict[str, LevelWord]
    """The worst level of the tags of each; unknown while one of them is not yet sure."""
    unsure: list[UnsureDocument]
    """Tags whose newest rows speak against a tick."""
    first_step: int | None
    """First step that was logged."""
    last_step: int | None
    """Newest step that was logged."""
    step_unit: str
    """Word for a step: step, row, iteration, ..."""
    total_steps: int | None
    """Planned steps; None where no log has them."""
    last_wall_time: float | None
    """Time of the newest row, seconds since the epoch; None where no log has times."""
    restarts: int
    """How often it was resumed."""
    reference: str | None
    """Good run that it is compared with; None without one."""
    note: str
    """Note of the user on the run; "" for none."""
    sources: list[SourceDocument]
    """Its logs."""
    findings: list[FindingDocument]
    """Rules that fire, and those that did."""
    diagnoses: list[DiagnosisDocument]
    """Common meaning of its findings, by story, causes before effects."""
    last_good_checkpoint: dict[str, float | None] | None
    """``step``, ``steps_since``, ``gpus``, ``gpu_hours``."""
    first_movers: list[MoveDocument]
    """Metrics that moved before the first finding, in order of time."""
    guessed: list[GuessDocument]
    """Tags whose metric was guessed from the name."""
    suspects: list[SuspectDocument]
    """Settings that are the likely cause of its worst story."""
    projections: list[ProjectionDocument]
    """Metrics that are heading for a limit."""
    ceiling: dict[str, object] | None
    """Ceiling that the entropy leaves to the reward: ``tag``, ``value``, ``error``, ``fit``."""
    skipped: list[SkippedDocument]
    """Rules that could not judge."""
    faults: list[FaultDocument]
    """Failures of rltui itself."""
