"""The records that screens are handed around in, and the ids of what they list."""

from __future__ import annotations

from dataclasses import dataclass, field

from rltui.core.batch import RunKey
from rltui.core.level import Level
from rltui.health.model import Finding
from rltui.present.kit.line import Line
from rltui.present.screens.header import TabSpot
from rltui.present.screens.metric_rows import words_match
from rltui.present.screens.view import View
from rltui.session import RunView, Session


@dataclass(slots=True)
class Body:
    """What stands between the tabs and the footer."""

    lines: list[Line]
    items: list[str] = field(default_factory=list)
    """Ids that the cursor can reach, in order."""
    hits: dict[int, str] = field(default_factory=dict)
    """Line of the body -> id, for the mouse."""
    section_starts: list[int] = field(default_factory=list)
    """Indices into ``items`` at which sections begin."""
    note: str = ""
    """What a filter left: "4 of 22"."""


@dataclass(slots=True)
class Frame:
    """A whole screen."""

    lines: list[Line]
    items: list[str]
    hits: dict[int, str]
    tabs: list[TabSpot]
    section_starts: list[int] = field(default_factory=list)


def finding_id(finding: Finding) -> str:
    """Names a finding within a run, the same as long as its episode lives."""
    return f"{finding.rule}|{finding.tag}|{finding.since_step}"


def run_id(key: RunKey) -> str:
    """Names a run in cursors."""
    return f"{key.logdir}:{key.name}"


def runs_shown(session: Session, view: View) -> list[RunView]:
    """The runs after filter and order."""
    runs = [r for r in session.runs() if words_match(_hay(r), view.filter)]
    if view.order == "name":
        return sorted(runs, key=lambda r: r.key)
    if view.order == "newest":
        return sorted(runs, key=lambda r: (-(r.data.files.modified or 0.0), r.key))
    return sorted(runs, key=_by_verdict)


def _hay(run: RunView) -> str:
    known, progress = run.recognition, run.progress
    words = [run.name, run.verdict.level.word]
    if known is not None:
        words += [known.framework, known.title, known.algorithm or ""]
    if progress is not None:
        words.append(progress.state.value)
    return " ".join(words)


def _by_verdict(run: RunView) -> tuple[int, int, RunKey]:
    order = {Level.BAD: 0, Level.WATCH: 1, Level.OK: 2, Level.UNKNOWN: 3}
    firing = len(run.report.firing()) if run.report else 0
    return order[run.verdict.level], -firing, run.key
