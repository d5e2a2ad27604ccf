"""The fields of the JSON documents, in their order: ``rltui.check/1`` and ``rltui.event/1``.

The documents are built from these declarations, and the API types its results with them. Version 1
only ever gains fields. A number that is not finite is None.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, TypedDict

from rltui.core.level import Level

LevelWord = Literal["ok", "watch", "bad", "unknown"]


def fields_of(source: object, form: type | tuple[str, ...], **given: object) -> dict[str, Any]:
    """A document with the fields of ``form``: those of ``given``, the others from the attributes of
    ``source``; levels and other enumerations as their words."""
    document: dict[str, Any] = {}
    for name in form if isinstance(form, tuple) else form.__annotations__:
        value = given[name] if name in given else getattr(source, name)
        if isinstance(value, Enum):
            value = value.word if isinstance(value, Level) else value.value
        document[name] = value
    return document


class NoteDocument(TypedDict):
    """Trouble in reading a file."""

    path: str
    offset: int | None
    """Byte position, None for the file as a whole."""
    level: LevelWord
    message: str


class SourceDocument(TypedDict):
    """A log of a run."""

    path: str
    format: str
    bytes: int
    records: int
    notes: list[NoteDocument]


class FindingDocument(TypedDict):
    """A rule that fires, or fired."""

    rule: str
    title: str
    level: LevelWord
    state: Literal["firing", "resolved"]
    metric: str | None
    tag: str | None
    since_step: int | None
    since_wall_time: float | None
    until_step: int | None
    evidence: dict[str, Any]
    """``statistic``, ``value``, ``threshold``, ``step_first``, ``step_last``, and more by rule."""
    summary: str
    advice: str


class EventDocument(FindingDocument):
    """A change of the verdict on a run."""

    schema: str
    run: str
    event: Literal["fired", "changed", "resolved"]
    text: str
    cause: str | None


class FindingReference(TypedDict):
    """Names a finding of the same run."""

    rule: str
    tag: str | None
    since_step: int | None


class CheckDocument(TypedDict):
    """Something to look at because of a diagnosis."""

    metric: str | None
    tag: str | None
    level: LevelWord
    value: float | None
    step: int | None
    then: dict[str, float] | None
    """``step`` and ``value`` when the diagnosis began."""
    first: bool
    question: str
    hint: str


class DiagnosisDocument(TypedDict):
    """What several findings mean together."""

    id: str
    level: LevelWord
    summary: str
    explained_by: str | None
    since_step: int | None
    until_step: int | None
    findings: list[FindingReference]
    check: list[CheckDocument]
    causes: str
    advice: str


class MoveDocument(TypedDict):
    """A metric that moved before the first finding."""

    metric: str
    tag: str
    step: int
    before: float
    after: float
    factor: float | None
    setting: bool


class SuspectDocument(TypedDict):
    """A value that is unusual at this algorithm."""

    tag: str
    low: float | None
    high: float | None


class GuessDocument(TypedDict):
    """A tag whose name the catalogue does not know, and the metric that it is taken for."""

    tag: str
    metric: str


class ProjectionDocument(TypedDict):
    """When a metric will cross a limit if it goes on like this."""

    tag: str
    limit: float
    earliest_step: int | None
    latest_step: int | None


class EndingDocument(TypedDict):
    """Why a training ended before its end."""

    kind: str
    reason: str
    after: list[str]
    line: str
    advice: str
    tail: list[str]


class SkippedDocument(TypedDict):
    """A rule that could not judge."""

    rule: str
    missing: list[str]


class FaultDocument(TypedDict):
    """What rltui itself failed in, for a run."""

    message: str
    report: str | None
    """The file with the traceback."""


class RunVerdict(TypedDict):
    """The verdict on one run."""

    run: str
    """Path below its logdir, ``.`` for the logdir itself."""
    logdir: int
    path: str
    framework: str | None
    algorithm: str | None
    state: Literal["live", "stalled", "finished", "stopped", "crashed", "unknown"]
    ending: EndingDocument | None
    level: LevelWord
    alarms: dict[str, int]
    reason: str | None
    """Why there is no verdict."""
    categories: dict[str, LevelWord]
    first_step: int | None
    last_step: int | None
    step_unit: str
    total_steps: int | None
    last_wall_time: float | None
    restarts: int
    reference: str | None
    sources: list[SourceDocument]
    findings: list[FindingDocument]
    diagnoses: list[DiagnosisDocument]
    first_movers: list[MoveDocument]
    guessed: list[GuessDocument]
    suspects: list[SuspectDocument]
    projections: list[ProjectionDocument]
    skipped: list[SkippedDocument]
    faults: list[FaultDocument]
