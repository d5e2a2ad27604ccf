"""The row at the cursor as plain text, for the clipboard."""

from __future__ import annotations

import math

from rltui.present.kit import sentences
from rltui.present.screens.frame_model import finding_id, run_id, runs_shown
from rltui.present.screens.view import FINDINGS, View
from rltui.session import RunView, Session


def row_text(session: Session, view: View) -> str:
    """What is at the cursor, as one or a few lines with full precision; "" for nothing."""
    if view.screen == "runs":
        for shown in runs_shown(session, view):
            if run_id(shown.key) == view.cursor.get("runs"):
                return f"{shown.name}\t{shown.verdict.level.word}\t{shown.data.path}"
        return ""
    run = session.views.get(view.run) if view.run else None
    if run is None:
        return ""
    if view.tab == FINDINGS and view.screen == "list":
        findings = run.report.findings if run.report else ()
        for finding in findings:
            if finding_id(finding) == view.cursor.get(FINDINGS):
                return f"{run.name}: {finding.title} ({finding.rule}): {sentences.summary(finding)}"
        return ""
    return _metric_text(run, view)


def _metric_text(run: RunView, view: View) -> str:
    tag = view.cursor.get(view.tab)
    if tag is None or tag not in run.infos:
        return ""
    series = run.series(tag)
    point = series.last
    if view.crosshair is not None and view.screen == "metric":
        for step, wall, value in zip(
            series.steps.tolist(), series.wall_times.tolist(), series.values.tolist(), strict=True
        ):
            if step == view.crosshair:
                point = (step, wall, value)
    if point is None:
        return f"{run.name}\t{tag}"
    step, wall, value = point
    when = "" if math.isnan(wall) else f"\t{wall:.3f}"
    return f"{run.name}\t{tag}\tstep {step}\t{value!r}{when}"
