"""All runs in one short line, for a status bar: ``rltui check --format line``."""

from __future__ import annotations

from collections import Counter

from rltui.core.level import Level
from rltui.core.text import clean, fit
from rltui.draw.glyph import glyph_set
from rltui.facts import numbers
from rltui.facts.findings import cause_of, change_words
from rltui.facts.runs import by_verdict, exit_words
from rltui.session import RunView, Session

#: Cells of the line.
WIDTH = 80
_GLYPHS = glyph_set("braille")


def status_line(session: Session) -> str:
    """At most :data:`WIDTH` cells: how many runs are how well, and what to look at first."""
    runs = session.runs()
    if not runs:
        return "rltui: no runs"
    worst = min(runs, key=by_verdict)
    if len(runs) == 1:
        return fit(f"{_GLYPHS.badge(worst.verdict.level)} {_words(worst)}", WIDTH)
    counts = Counter(r.verdict.level for r in runs)
    badges = [f"{_GLYPHS.badge(x)} {counts[x]}" for x in sorted(Level, reverse=True) if counts[x]]
    head = " ".join(badges)
    return fit(f"{head}  {_words(worst)}" if worst.verdict.level >= Level.WATCH else head, WIDTH)


def _words(run: RunView) -> str:
    """Name, step and what is the matter."""
    step = "" if run.data.last_step is None else f" {numbers.step(run.data.last_step)}"
    total = run.progress.total_steps if run.progress else None
    if step and total:
        step += f"/{numbers.step(total)}"
    what = _matter(run)
    return clean(f"{run.name}{step}{': ' if what else ''}{what}")


def _matter(run: RunView) -> str:
    if run.verdict.crash is not None:
        return exit_words(run.verdict.crash)
    if (cause := cause_of(run)) is not None:
        return f"{run.infos[cause.tag].title} {change_words(cause)}"
    firing = run.report.worst(2) if run.report else ()
    return ", ".join(finding.title for finding in firing)
