"""A report without the findings that the user muted: as if their rules had found nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rltui.core.level import Level, worst
from rltui.health.diagnoses import story_order
from rltui.health.model import (
    Diagnosed,
    Diagnosis,
    Finding,
    Judgement,
    MutedFinding,
    Report,
)
from rltui.health.report import with_blame


def without_muted(report: Report, names: Collection[MutedFinding]) -> Report:
    """``report`` without the findings of these names; the same object where it has none.

    A tag whose alarm is muted has no tick: it is shown as not judged.
    """
    muted = tuple(f for f in report.findings if MutedFinding.of(f) in names)
    if not muted:
        return report
    kept = tuple(f for f in report.findings if MutedFinding.of(f) not in names)
    firing = [f for f in kept if f.fires]
    own = {**report.tags, **report.unblamed}
    own = _tags(own, firing, [f for f in muted if f.fires])
    diagnosed = _diagnosed(report.diagnosed, names)
    tags = with_blame(own, diagnosed)
    return replace(
        report,
        level=report.level_with(kept),
        findings=tuple(story_order(kept, diagnosed)),
        tags=tags,
        diagnosed=diagnosed,
        muted=muted,
        unblamed={tag: own[tag] for tag in diagnosed.blamed},
    )


def _tags(
    tags: Mapping[str, Judgement], firing: Collection[Finding], muted: Collection[Finding]
) -> dict[str, Judgement]:
    rules, out = {f.rule for f in muted}, dict(tags)
    for tag, known in tags.items():
        if known.level >= Level.WATCH and rules & set(known.rules):
            left = worst(f.level for f in firing if f.is_about(tag))
            out[tag] = replace(known, level=left)
    return out


def _diagnosed(diagnosed: Diagnosed, names: Collection[MutedFinding]) -> Diagnosed:
    left: list[Diagnosis] = []
    for diagnosis in diagnosed.diagnoses:
        findings = tuple(f for f in diagnosis.findings if MutedFinding.of(f) not in names)
        firing = worst(f.level for f in findings if f.fires)
        if findings:
            left.append(diagnosis._replace(findings=findings, level=max(firing, Level.OK)))
        elif not diagnosis.findings:  # a setting that jumped: it is there for what it explains
            left.append(diagnosis._replace(level=Level.OK))
    explained = {d.explained_by for d in left}
    left = [d for d in left if d.findings or d.symptom.id in explained]
    ids = {d.symptom.id for d in left}
    by_cause = [
        d._replace(explained_by=d.explained_by if d.explained_by in ids else None) for d in left
    ]
    own = [[d, *(e for e in by_cause if e.explained_by == d.symptom.id)] for d in by_cause]
    levelled = [story[0]._replace(level=worst(d.level for d in story)) for story in own]
    return _in_order(diagnosed, levelled)


def _in_order(full: Diagnosed, left: Sequence[Diagnosis]) -> Diagnosed:
    """Sort the diagnoses that are left, the worst story first; with the cause of ``full`` where
    that story leads."""
    stories = sorted(Diagnosed(tuple(left)).stories(), key=lambda s: -max(d.level for d in s))
    found = Diagnosed(tuple(d for story in stories for d in story))
    before, now = full.leading, found.leading
    if before is None or now is None or max(d.level for d in stories[0]) < Level.WATCH:
        return found
    if found.diagnoses[0].symptom.id != full.diagnoses[0].symptom.id:
        return found
    same = before.symptom.id == now.symptom.id and now.level >= Level.WATCH
    return full._replace(diagnoses=found.diagnoses, suspects=full.suspects if same else ())
