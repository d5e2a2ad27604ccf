"""A report without the findings that the user muted: as if their rules had found nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rltui.core.level import Level, worst
from rltui.health.diagnoses import story_order
from rltui.health.model import MutedFinding, Report
from rltui.health.report import with_blame


def without_muted(report: Report, names: Collection[MutedFinding]) -> Report:
    """``report`` without the findings of these names; the same object where it has none.

    A tag whose alarm is muted has no tick: it is shown as not judged.
    """
    muted = tuple(f for f in report.findings if MutedFinding.of(f) in names)
    if not muted:
        return report
    kept = [f for f in report.findings if MutedFinding.of(f) not in names]
    rules = {f.rule for f in muted if f.fires}
    own = {**report.tags, **report.unblamed}
    for tag, known in own.items():
        if known.level >= Level.WATCH and rules & set(known.rules):
            left = worst(f.level for f in kept if f.fires and f.is_about(tag))
            own[tag] = replace(known, level=left)
    # what is about the state of the run is in no story
    diagnosed = report.stories([f for f in kept if f.evidence.row], own)
    return replace(
        report,
        level=report.level_with(kept),
        findings=tuple(story_order(kept, diagnosed)),
        tags=with_blame(own, diagnosed),
        diagnosed=diagnosed,
        muted=muted,
        unblamed={tag: own[tag] for tag in diagnosed.blamed},
    )
