"""The stable JSON documents: ``rltui.check/1``, ``rltui.snapshot/1`` and ``rltui.event/1``.

Strict JSON: a number that is not finite is null, None in Python. Version 1 only ever gains fields.
The documents are built from the declarations of their fields, which also type the API.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Sequence
from typing import Literal

from rltui.core.batch import Note, SourceInfo
from rltui.core.fault import NOT_SHOWN
from rltui.core.level import Level, worst
from rltui.core.text import Json
from rltui.facts import findings, sentences, story_words
from rltui.facts.checkpoint import checkpoint_fields
from rltui.facts.checks import check_items
from rltui.facts.reward import ceiling_of
from rltui.facts.runs import last_lines, why_unknown
from rltui.facts.story import Story, stories, story_of
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.health.model import Diagnosis, Finding
from rltui.output.json_text import fields_of, finite
from rltui.output.markdown import without_mentions
from rltui.output.text_report import event_words, verdict_words
from rltui.output.verdict_types import (
    CheckDocument,
    DiagnosisDocument,
    EndingDocument,
    FindingDocument,
    FindingReference,
    MoveDocument,
    NoteDocument,
    ProjectionDocument,
    SkippedDocument,
    SourceDocument,
    UnsureDocument,
)
from rltui.session import JudgedRun, Session
from rltui.session.event import Event, EventKind
from rltui.session.hook import Message
from rltui.session.notes import note_on

#: Last lines of the log of a run that died.
_TAIL_LINES = 20
#: The advice where nothing is wrong.
_NOTHING = "Nothing to do."
#: What a snapshot says of the meaning of a tag.
_METRIC = ("metric", "title", "category", "unit", "direction", "guessed")


class EventDocument(FindingDocument):
    """A change of the verdict on a run, or of its state."""

    schema: str
    """``rltui.event/1``: version 1 only ever gains fields."""
    run: str
    """Path of the run below its logdir, ``.`` for the logdir itself."""
    event: Literal["fired", "changed", "resolved", "finished", "crashed", "stalled", "goal"]
    """Kind of change."""
    text: str
    """The change in a line, without mentions of chat services."""
    cause: str | None
    """Cause of the finding; None where that is not known."""


def check_document(session: Session) -> Json:
    """The verdict on all runs."""
    runs = session.runs()
    return document_of(session, [run_entry(r) for r in runs], (r.verdict.level for r in runs))


def document_of(session: Session, entries: Sequence[Json], levels: Iterable[Level]) -> Json:
    """The document whose runs have these entries and levels."""
    return {
        "schema": "rltui.check/1",
        "logdirs": [str(p) for p in session.logdirs],
        "as_of": session.clock.now(),
        "level": worst(levels).word,
        "notes": [note_document(n) for n in session.reach.notes if n.level >= Level.WATCH],
        "runs": list(entries),
    }


def snapshot_document(session: Session) -> Json:
    """The verdict, and every metric of each run."""
    document = check_document(session)
    document["schema"] = "rltui.snapshot/1"
    for run, entry in zip(session.runs(), document["runs"], strict=True):
        with run.isolate_faults(NOT_SHOWN):
            entry["metrics"] = [_metric(run, tag) for tag in run.infos]
        entry["faults"] = _faults(run)
    return document


def run_entry(run: JudgedRun) -> Json:
    """The verdict on one run; one that rltui fails in is told as if it had logged nothing."""
    entry: Json = {}
    with run.isolate_faults(NOT_SHOWN):
        entry = _entry(run)
    return (entry or _entry(run.blank())) | {"faults": _faults(run)}


def _faults(run: JudgedRun) -> list[Json]:
    return [
        {"message": f"{f.what}: {f.error}", "report": str(f.report) if f.report else None}
        for f in run.faults.values()
    ]


def _entry(run: JudgedRun) -> Json:
    """The verdict on one run: the fields of ``RunVerdict`` but for the faults, which are known when
    this has been made."""
    report, known, progress = run.report, run.recognition, run.progress
    diagnosed = findings.diagnosed_in(run)
    guessed = [(tag, info.metric) for tag, info in run.infos.items() if info.guessed]

    return {
        "run": run.key.name,
        "name": run.name,
        "logdir": run.key.logdir,
        "path": str(run.data.path),
        "framework": known.framework if known else None,
        "algorithm": known.algorithm if known else None,
        "state": progress.state.value if progress else "unknown",
        "ending": _ending(run),
        "level": run.verdict.level.word,
        "mark": run.verdict.mark.mark,
        "alarms": {x.word: findings.marks(run)[x] for x in (Level.BAD, Level.WATCH)},
        "reason": why_unknown(run) or None,
        "categories": {c.value: level.word for c, level in run.verdict.categories.items()},
        "unsure": _unsure(run),
        "first_step": run.data.first_step,
        "last_step": run.data.last_step,
        "step_unit": run.step_word,
        "total_steps": progress.total_steps if progress else None,
        "last_wall_time": run.data.extent.last_wall_time,
        "restarts": len(run.points.extent.restarts),
        "reference": report.reference if report else None,
        "note": note_on(run),
        "sources": [_source(s, run.data.files.notes) for s in run.data.files.sources.values()],
        "findings": [_finding(run, f) for f in report.findings] if report else [],
        "diagnoses": [_diagnosis(story, d) for story in stories(run) for d in story.diagnoses],
        "last_good_checkpoint": checkpoint_fields(run),
        "first_movers": [
            fields_of(
                move,
                MoveDocument,
                metric=run.infos[move.tag].key or move.tag,
                setting=move.is_setting,
            )
            for move in diagnosed.moves
        ],
        "guessed": [{"tag": tag, "metric": metric.key} for tag, metric in guessed if metric],
        "suspects": story_words.suspect_facts(run, diagnosed.suspects),
        "projections": [
            fields_of(p, ProjectionDocument, earliest_step=p.earliest, latest_step=p.latest)
            for p in findings.projections(run)
        ],
        "ceiling": ceiling_of(run),
        "skipped": [fields_of(s, SkippedDocument) for s in (report.skipped if report else ())],
    }


def _unsure(run: JudgedRun) -> list[Json]:
    return [
        fields_of(judged, UnsureDocument, tag=tag, reason=sentences.no_tick(judged))
        for tag in run.infos
        if (judged := run.verdict.judgement(tag)).level is Level.UNSURE
    ]


def _source(source: SourceInfo, notes: Iterable[Note]) -> Json:
    own = [note_document(n) for n in notes if n.path == source.path]
    return fields_of(source, SourceDocument, path=str(source.path), bytes=source.size, notes=own)


def _ending(run: JudgedRun) -> Json | None:
    """How the job ended; None where that is not known."""
    ending = run.progress.exit_status if run.progress else None
    if ending is None:
        return None
    tail = last_lines(run)[-_TAIL_LINES:] if run.verdict.crash is not None else ()
    return fields_of(ending, EndingDocument, tail=tail)


def _diagnosis(story: Story, diagnosis: Diagnosis) -> Json:
    """A symptom with its findings, what to check and what to do about its story."""
    return fields_of(
        diagnosis,
        DiagnosisDocument,
        id=diagnosis.symptom.id,
        summary=story_words.summary(story, diagnosis),
        findings=[fields_of(f, FindingReference) for f in diagnosis.findings],
        check=[
            fields_of(
                item,
                CheckDocument,
                then=item.then and dict(zip(("step", "value"), item.then, strict=True)),
                question=item.check.ask,
            )
            for item in check_items(story.run, diagnosis)
        ],
        log_says=story_words.complaint_words(story),
        causes=diagnosis.symptom.causes,
        advice=story_words.action(story),
    )


def note_document(note: Note) -> Json:
    """Trouble in reading a file."""
    return fields_of(note, NoteDocument, path=str(note.path))


def event_message(event: Event) -> Message:
    """One change of the verdict, to be handed to a command or a URL. Nothing in its text is a
    mention or a link to a chat service."""
    words = without_mentions(event_words(event))
    return Message(event.identity, event_line(event, words), words)


def test_message() -> Message:
    """A message of no run that tells whether a target can be reached."""
    text = f"rltui on {platform.node()}: a test message, sent by hand; no run has changed"
    document: Json = dict.fromkeys(EventDocument.__annotations__) | {
        **dict.fromkeys(("run", "rule", "title"), "test"),
        **dict.fromkeys(("text", "summary"), text),
        "schema": "rltui.event/1",
        "event": "fired",
        "level": "watch",
        "state": "firing",
        "evidence": {},
        "advice": _NOTHING,
    }
    return Message("test", json.dumps(document), text)


def event_line(event: Event, words: str = "") -> str:
    """One change of the verdict, ``rltui.event/1``, told in ``words`` if given: one line of strict
    JSON."""
    run = event.run
    document = {
        "schema": "rltui.event/1",
        "run": run.key.name,
        "event": event.kind.value,
        "text": words or event_words(event),
        "cause": story_words.cause_words(run, event.finding) or None,
        **_finding(run, event.finding),
    }
    if not event.kind.is_of_finding:
        document["advice"] = verdict_sentence(run).action or _NOTHING
        if event.kind is not EventKind.GOAL:
            document["summary"] = verdict_words(run)
    return json.dumps(finite(document), allow_nan=False)


def _finding(run: JudgedRun, finding: Finding) -> Json:
    """One fact about one tag, with the numbers on which it rests, and the action of its story."""
    evidence = finding.evidence
    story = story_of(run, finding)
    others, peak = evidence.others, evidence.worst
    document = fields_of(
        finding,
        FindingDocument,
        evidence={
            **sentences.facts(evidence),
            **({"worst": peak.word} if peak is not None else {}),
            **({"also": ", ".join(others[:8]), "tags": len(others) + 1} if others else {}),
            **({"episodes": evidence.episodes} if evidence.episodes > 1 else {}),
            **fields_of(evidence, ("statistic", "value", "threshold", "step_first", "step_last")),
        },
        summary=sentences.summary(finding),
        advice=finding.advice if story is None else story_words.action(story),
    )

    return document | ({"error": finding.error} if finding.error else {})


def _metric(run: JudgedRun, tag: str) -> Json:
    """The meaning of a tag, its level and its newest value."""
    info, series, judgement = run.infos[tag], run.series(tag), run.verdict.judgement(tag)
    _, values = series.finite()
    last = series.last
    wall = None if last is None or math.isnan(last[1]) else last[1]

    return {
        "tag": tag,
        **fields_of(info, _METRIC, metric=info.key or None),
        "level": judgement.level.word,
        "mark": judgement.level.mark,
        "low": judgement.low,
        "high": judgement.high,
        "healthy": sentences.healthy(judgement),
        "count": series.count,
        "nonfinite": series.nonfinite,
        "last": None if last is None else {"step": last[0], "wall_time": wall, "value": last[2]},
        "min": float(values.min()) if len(values) else None,
        "max": float(values.max()) if len(values) else None,
        "mean": series.mean,
    }
