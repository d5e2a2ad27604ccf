"""What the cursor is on as plain text, for the clipboard."""

from __future__ import annotations

import math

from rltui.facts import sentences
from rltui.health.model import Finding
from rltui.session import RunView


def run_text(run: RunView) -> str:
    """A run: name, level and path."""
    return f"{run.name}\t{run.verdict.level.word}\t{run.data.path}"


def finding_text(run: RunView, finding: Finding) -> str:
    """A finding in one line."""
    return f"{run.name}: {finding.title} ({finding.rule}): {sentences.summary(finding)}"


def metric_text(run: RunView, tag: str, at: int | None = None) -> str:
    """The newest value of ``tag`` with full precision, or that at the step ``at``."""
    series = run.series(tag)
    point = series.last
    if at is not None:
        for step, wall, value in zip(
            series.steps.tolist(), series.wall_times.tolist(), series.values.tolist(), strict=True
        ):
            if step == at:
                point = (step, wall, value)
    if point is None:
        return f"{run.name}\t{tag}"
    step, wall, value = point
    when = "" if math.isnan(wall) else f"\t{wall:.3f}"
    return f"{run.name}\t{tag}\t{run.step_word} {step}\t{value!r}{when}"
