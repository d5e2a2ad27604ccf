"""The lines of "What moved first"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.catalogue.model import Category
from rltui.present.kit import numbers
from rltui.present.kit.line import ACCENT, MUTED, STRONG, Line, column
from rltui.present.screens.findings import heading
from rltui.present.screens.metric_rows import overview_sections
from rltui.present.screens.run_cache import RunCache
from rltui.present.screens.view import View
from rltui.session import RunView

if TYPE_CHECKING:
    from rltui.health.first_movers import Move

_MOVES: RunCache[None, tuple[int | None, list[Move]]] = RunCache()


def moves_of(run: RunView) -> tuple[int | None, list[Move]]:
    """(step of the symptom, vital signs that moved around it), kept until the run changes."""
    return _MOVES.get(run, None, lambda: _moves(run))


def _moves(run: RunView) -> tuple[int | None, list[Move]]:
    if run.report is None or not run.report.findings:
        return None, []
    from rltui.health.first_movers import anchor, moved_first

    # one axis only: a step of another one says nothing of the order
    elsewhere = run.data.off_axis
    step, moves = anchor(f for f in run.report.findings if f.tag not in elsewhere), []
    if step is not None:
        tags = [r.tag for s in overview_sections(run) for r in s.rows if r.tag not in elsewhere]
        causes = frozenset(t for t in tags if run.infos[t].category is Category.HYPER)
        moves = moved_first((run.shown(t) for t in tags), step, causes)
    return step, moves


def first_mover_lines(run: RunView, view: View, width: int, height: int) -> list[Line]:
    """A section with one line per metric, at most ``height`` lines; empty when nothing moved."""
    step, moves = moves_of(run)
    if step is None or not moves or height < 2:
        return []
    glyphs = view.glyphs
    note = f"around {run.step_word} {numbers.step(step)}"
    lines = [heading("What moved first", width, view, note)]
    for rank, move in enumerate(moves[: height - 1], 1):
        title = glyphs.text(run.infos[move.tag].title)
        line: Line = [(f"{rank} ", ACCENT), column(title, 19, ellipsis=glyphs.ellipsis)]
        line.append(column(f"{run.step_word} {numbers.step(move.step)}", 13, MUTED))
        line.append((f"{numbers.aligned(move.before)} {glyphs.text('→')} ", MUTED))
        line.append((numbers.aligned(move.after) + " ", STRONG))
        if width >= 69 and move.before:
            line.append((glyphs.text(numbers.factor(move.after / move.before)), MUTED))
        lines.append(line)
    return lines


def first_mover_sentence(run: RunView, view: View) -> str:
    """ "learning rate × 200 at 30, then KL to old policy × 470"; empty when nothing moved."""
    _, moves = moves_of(run)
    words: list[str] = []
    for move in moves[:3]:
        ratio = move.after / move.before if move.before else None
        size = numbers.factor(ratio) if ratio is not None else numbers.value(move.after)
        at = f" at {numbers.step(move.step)}" if not words else ""
        words.append(f"{run.infos[move.tag].title} {size}{at}")
    return view.glyphs.text(", then ".join(words[:2]))
