"""The stable JSON documents: ``rltui.check/1`` and ``rltui.snapshot/1``.

Strict JSON: a number that is not finite is null. Version 1 only ever gains fields.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rltui.core.batch import Note, SourceInfo
from rltui.core.fault import NOT_SHOWN
from rltui.core.level import Level, worst
from rltui.facts import sentences
from rltui.facts.checks import CheckItem, check_items
from rltui.facts.findings import (
    cause_words,
    ending_diagnosis,
    marks,
    next_step_of,
    projections,
    summary_of,
)
from rltui.facts.runs import last_lines, why_unknown
from rltui.health.crash import ExitStatus
from rltui.health.model import Diagnosis, Evidence, Finding, Move
from rltui.health.projection import Projection
from rltui.output.markdown import without_mentions
from rltui.output.text_report import event_words
from rltui.session import RunView, Session
from rltui.session.event import Event
from rltui.session.hook import Message

Json = dict[str, Any]

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")

#: Last lines of the log of a run that died.
_TAIL_LINES = 20


def dump(document: Json) -> str:
    """The document as indented strict JSON in ASCII with a final newline."""
    import orjson  # only for this output

    try:
        fast = orjson.dumps(document, _plain, orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a surrogate of a file name, an integer of more than 64 bits
        fast = b""
    if fast:
        return fast.decode() if fast.isascii() else _NOT_ASCII.sub(_escaped, fast.decode())
    import json  # only for this output

    return json.dumps(_finite(document), indent=2, allow_nan=False) + "\n"


def _escaped(found: re.Match[str]) -> str:
    """A character as JSON writes it in ASCII: by its code units in UTF-16."""
    units = found.group().encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _plain(value: object) -> object:
    """What orjson does not know: a number of numpy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)


def _finite(value: Any) -> Any:
    """``value`` with every non-finite float replaced by None and numpy numbers made plain."""
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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
        with run.walled(NOT_SHOWN):
            entry["metrics"] = [_metric(run, tag) for tag in run.infos]
        entry["faults"] = _faults(run)
    return document


def run_entry(run: RunView) -> Json:
    """The verdict on one run; one that rltui fails in is told as if it had logged nothing."""
    entry: Json = {}
    with run.walled(NOT_SHOWN):
        entry = _entry(run)
    return (entry or _entry(run.blank())) | {"faults": _faults(run)}


def _faults(run: RunView) -> list[Json]:
    return [
        {"message": f"{f.what}: {f.error}", "report": str(f.report) if f.report else None}
        for f in run.faults.values()
    ]


def _entry(run: RunView) -> Json:
    """The verdict on one run."""
    report, known, progress = run.report, run.recognition, run.progress
    return {
        "run": run.key.name,
        "logdir": run.key.logdir,
        "path": str(run.data.path),
        "framework": known.framework if known else None,
        "algorithm": known.algorithm if known else None,
        "state": progress.state.value if progress else "unknown",
        "ending": _ending(run, progress.exit_status) if progress else None,
        "level": run.verdict.level.word,
        "alarms": {x.word: marks(run)[x] for x in (Level.BAD, Level.WATCH)},
        "reason": why_unknown(run) or None,
        "categories": {k: v.word for k, v in report.categories.items()} if report else {},
        "first_step": run.data.first_step,
        "last_step": run.data.last_step,
        "step_unit": run.step_word,
        "total_steps": progress.total_steps if progress else None,
        "last_wall_time": run.data.extent.last_wall_time,
        "restarts": len(run.points.extent.restarts),
        "reference": run.report.reference if run.report else None,
        "sources": [_source(s, run.data.files.notes) for s in run.data.files.sources.values()],
        "findings": [_finding(f) for f in report.findings] if report else [],
        "diagnoses": [_diagnosis(run, d) for d in _diagnoses(run)],
        "first_movers": [_move(run, m) for m in report.diagnosed.moves] if report else [],
        "guessed": [
            {"tag": tag, "metric": info.metric.key}
            for tag, info in run.infos.items()
            if info.guessed and info.metric
        ],
        "suspects": [
            {"tag": s.tag, "low": s.low, "high": s.high}
            for s in (report.diagnosed.suspects if report else ())
        ],
        "projections": [_projection(p) for p in projections(run)],
        "skipped": [
            {"rule": s.rule, "missing": list(s.missing)} for s in (report.skipped if report else ())
        ],
    }


def _diagnoses(run: RunView) -> list[Diagnosis]:
    ending = ending_diagnosis(run)
    found = run.report.diagnosed.diagnoses if run.report else ()
    return [*([ending] if ending is not None else []), *found]


def _diagnosis(run: RunView, diagnosis: Diagnosis) -> Json:
    """A symptom with its findings, what to check and what to do."""
    symptom = diagnosis.symptom
    return {
        "id": symptom.id,
        "level": diagnosis.level.word,
        "summary": summary_of(run, diagnosis),
        "explained_by": diagnosis.explained_by,
        "since_step": diagnosis.since_step,
        "until_step": diagnosis.until_step,
        "findings": [
            {"rule": f.rule, "tag": f.tag, "since_step": f.since_step} for f in diagnosis.findings
        ],
        "check": [_check(item) for item in check_items(run, diagnosis)],
        "causes": symptom.causes,
        "advice": next_step_of(run, diagnosis),
    }


def _check(item: CheckItem) -> Json:
    return {
        "metric": item.metric,
        "tag": item.tag,
        "level": item.level.word,
        "value": item.value,
        "step": item.step,
        "then": None if item.then is None else dict(zip(("step", "value"), item.then, strict=True)),
        "first": item.first,
        "question": item.check.ask,
        "hint": item.hint,
    }


def _move(run: RunView, move: Move) -> Json:
    metric = run.infos[move.tag].metric
    return {
        "metric": metric.key if metric else move.tag,
        "tag": move.tag,
        "step": move.step,
        "before": move.before,
        "after": move.after,
        "factor": move.factor,
        "setting": move.is_setting,
    }


def _projection(projection: Projection) -> Json:
    return {
        "tag": projection.tag,
        "limit": projection.limit,
        "earliest_step": projection.earliest,
        "latest_step": projection.latest,
    }


def _ending(run: RunView, ending: ExitStatus | None) -> Json | None:
    """How the job ended; None where that is not known."""
    if ending is None:
        return None
    return {
        "kind": ending.kind.value,
        "reason": ending.reason,
        "after": list(ending.after),
        "line": ending.line,
        "advice": ending.advice,
        "tail": list(last_lines(run))[-_TAIL_LINES:] if run.verdict.crash is not None else [],
    }


def _source(source: SourceInfo, notes: list[Note]) -> Json:
    return {
        "path": str(source.path),
        "format": source.format,
        "bytes": source.size,
        "records": source.records,
        "notes": [note_document(n) for n in notes if n.path == source.path],
    }


def note_document(note: Note) -> Json:
    """Trouble in reading a file."""
    return {
        "path": str(note.path),
        "offset": note.offset,
        "level": note.level.word,
        "message": note.message,
    }


def event_message(event: Event) -> Message:
    """One change of the verdict, to be handed to a command or a URL. Nothing in its text is a
    mention or a link to a chat service."""
    words = without_mentions(event_words(event))
    return Message(event.identity, _event_line(event, words), words)


def event_line(event: Event) -> str:
    """One change of the verdict, ``rltui.event/1``: one line of strict JSON."""
    return _event_line(event, event_words(event))


def _event_line(event: Event, words: str) -> str:
    import json  # only for this output

    document = {
        "schema": "rltui.event/1",
        "run": event.run.key.name,
        "event": event.kind.value,
        "text": words,
        "cause": cause_words(event.run, event.finding) or None,
        **_finding(event.finding),
    }
    return json.dumps(_finite(document), allow_nan=False)


def _finding(finding: Finding) -> Json:
    """One fact about one tag, with its evidence."""
    return {
        "rule": finding.rule,
        "title": finding.title,
        "level": finding.level.word,
        "state": finding.state.value,
        "metric": finding.metric,
        "tag": finding.tag,
        "since_step": finding.since_step,
        "since_wall_time": finding.since_wall_time,
        "until_step": finding.until_step,
        "evidence": _evidence(finding.evidence),
        "summary": sentences.summary(finding),
        "advice": finding.advice,
        **({"error": finding.error} if finding.error else {}),
    }


def _evidence(evidence: Evidence) -> Json:
    """The numbers on which a finding rests."""
    others, worst = evidence.others, evidence.worst
    return {
        **sentences.facts(evidence),
        **({"worst": worst.word} if worst is not None else {}),
        **({"also": ", ".join(others[:8]), "tags": len(others) + 1} if others else {}),
        **({"episodes": evidence.episodes} if evidence.episodes > 1 else {}),
        "statistic": evidence.statistic,
        "value": evidence.value,
        "threshold": evidence.threshold,
        "step_first": evidence.step_first,
        "step_last": evidence.step_last,
    }


def _metric(run: RunView, tag: str) -> Json:
    """The meaning of a tag, its level and its newest value."""
    info, series = run.infos[tag], run.series(tag)
    _, values = series.finite()
    last = series.last
    wall = None if last is None or math.isnan(last[1]) else last[1]

    return {
        "tag": tag,
        "metric": info.metric.key if info.metric else None,
        "title": info.title,
        "category": info.category.value,
        "unit": info.unit,
        "direction": info.direction.value,
        "guessed": info.guessed,
        "level": run.verdict.tag_level(tag).word,
        "count": series.count,
        "nonfinite": series.nonfinite,
        "last": None if last is None else {"step": last[0], "wall_time": wall, "value": last[2]},
        "min": float(values.min()) if len(values) else None,
        "max": float(values.max()) if len(values) else None,
        "mean": series.mean,
    }
