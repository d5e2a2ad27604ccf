"""A whole screen as lines: header, tabs, body, footer. The one entry for the app.

``draw`` is a pure function of the session, the view and the size; it only changes where a list
of the view is scrolled to, and tells the session which run is looked at.
"""

from __future__ import annotations

from rltui.core.batch import Note
from rltui.core.text import clean, fit
from rltui.present.kit import numbers
from rltui.present.kit.line import (
    ACCENT,
    MUTED,
    STRONG,
    TEXT,
    Line,
    Token,
    fit_line,
    plain,
    style,
    with_ground,
)
from rltui.present.screens.findings import findings_body
from rltui.present.screens.frame_model import Body, Frame, finding_id, run_id, runs_shown
from rltui.present.screens.header import (
    TabSpot,
    footer_line,
    run_header,
    runs_header,
    tab_line,
    tab_rule,
)
from rltui.present.screens.log import tail_overlay
from rltui.present.screens.tab import tab_body
from rltui.present.screens.view import FINDINGS, View
from rltui.session import RunView, Session

__all__ = ["Frame", "draw", "finding_id", "run_id", "runs_shown"]

#: Below this many lines or cells only the name, the badges and the values are left.
_TINY_LINES, _TINY_CELLS = 10, 40


def draw(session: Session, view: View, width: int, height: int) -> Frame:
    """The screen at ``width`` x ``height`` cells: exactly ``height`` lines of ``width``."""
    run = session.views.get(view.run) if view.run else None
    if height < 5 or width < 20:
        return _tiny(session, run, view, width, height)
    if run is None and view.screen != "runs":
        frame = _waiting(session, view, width, height)
    elif view.screen == "runs" or run is None:
        frame = _runs(session, view, width, height)
    else:
        session.look_at(run)
        frame = _run(session, run, view, width, height)
    if view.overlay:
        _overlay(frame, run, view, width, height)
    ellipsis = view.glyphs.ellipsis
    if view.glyphs.ascii:
        frame.lines = [[(view.glyphs.text(t), look) for t, look in x] for x in frame.lines]
    frame.lines = [fit_line(x, width, ellipsis=ellipsis) for x in frame.lines[:height]]
    frame.lines += [fit_line([], width) for _ in range(height - len(frame.lines))]
    return frame


def _tiny(session: Session, run: RunView | None, view: View, width: int, height: int) -> Frame:
    """Too small for anything but the verdict."""
    runs = [run] if run else session.runs()
    lines = [run_header(r, view, max(width, 1), session.reading()) for r in runs[:height]]
    lines = lines or [[("waiting for logs", MUTED)]]
    lines += [[] for _ in range(height - len(lines))]
    return Frame([fit_line(x, width) for x in lines[:height]], [], {}, [])


def _waiting(session: Session, view: View, width: int, height: int) -> Frame:
    """No run yet: say so, and where rltui looks."""
    head = with_ground(fit_line([(" rltui", style(Token.ACCENT, bold=True))], width), Token.RAISED)
    names = [fit(clean(str(p)), width - 6) for p in session.logdirs]
    text: list[Line] = [[], [("  waiting for logs in", TEXT)]]
    text += [[("    ", TEXT), (n, STRONG)] for n in names[: max(1, height - 8)]]
    text += [[], [("  a run appears here as soon as its first file does", MUTED)]]
    text += [[("  ! ", style(Token.WATCH)), (_told(n), MUTED)] for n in session.troubles()[:5]]
    lines = [head, *text]
    lines += [[] for _ in range(height - 1 - len(lines))]
    return Frame([*lines[: height - 1], footer_line(view, width, "", ("help", "quit"))], [], {}, [])


def _told(note: Note) -> str:
    return f"{clean(str(note.path))}: {note.message}"


def _runs(session: Session, view: View, width: int, height: int) -> Frame:
    from rltui.present.screens.runs import runs_body

    label = ", ".join(session.labels)
    head = runs_header(session.runs(), label, view, width)
    body = runs_body(session, view, width, height - 2)
    at = f"by {view.order}"
    return _assemble([head], body, _bottom(view, body, width, at), [], height)


def _run(session: Session, run: RunView, view: View, width: int, height: int) -> Frame:
    reading = session.reading()
    head = [run_header(run, view, width, reading)]
    spots: list[TabSpot] = []
    if width >= _TINY_CELLS and height >= _TINY_LINES:
        line, spots = tab_line(run, view, width)
        head.append(line)
        if height >= 30:
            head.append(tab_rule(spots, view, width))
    room = height - len(head) - 1
    if view.screen == "metric":
        from rltui.present.screens.metric import metric_body

        body = metric_body(run, view, width, room)
    elif view.tab == FINDINGS:
        body = findings_body(run, view, width, room)
    else:
        body = tab_body(run, view, width, room)
    return _assemble(head, body, _bottom(view, body, width, _state(view)), spots, height)


def _state(view: View) -> str:
    """Axis, smoothing and pause for the right end of the footer."""
    words = []
    if view.paused:
        words.append("paused")
    if view.axis != "step":
        words.append(f"x {view.axis}")
    if view.log_y:
        words.append("log y")
    if view.outliers:
        words.append("no outliers")
    if view.smooth:
        words.append(f"smooth {numbers.short(view.smooth)}")
    return "  ".join(words)


def _bottom(view: View, body: Body, width: int, right: str) -> Line:
    """Footer, or the line that is being edited."""
    if view.editing == "command":
        line: Line = [(" :", ACCENT), (view.command, STRONG), ("█", ACCENT)]
        return with_ground(fit_line(line, width), Token.SEL)
    if view.editing == "filter" or view.filter:
        caret: Line = [("█", ACCENT)] if view.editing else []
        line = [(" /", ACCENT), (view.filter, STRONG), *caret]
        hint = f"{body.note}  " if body.note else ""
        keys = "Enter keep  Esc clear  !word without" if view.editing else "Esc clear"
        right = hint + keys
        gap = width - len(plain(line)) - len(right) - 1
        if gap > 0:
            line = [*line, (" " * gap, TEXT), (right, MUTED)]
        return with_ground(fit_line(line, width), Token.SEL)
    return footer_line(view, width, right)


def _assemble(
    head: list[Line], body: Body, bottom: Line, spots: list[TabSpot], height: int
) -> Frame:
    room = height - len(head) - 1
    lines = body.lines[:room] + [[] for _ in range(room - len(body.lines))]
    top = len(head)
    hits = {y + top: item for y, item in body.hits.items() if y < room}
    return Frame([*head, *lines, bottom], body.items, hits, spots, body.section_starts)


def _overlay(frame: Frame, run: RunView | None, view: View, width: int, height: int) -> None:
    """Dim what is behind and lay the overlay over it."""
    from rltui.present.screens.help import explain_overlay, help_overlay

    room = height - 3
    if view.overlay == "help":
        box = help_overlay(view, min(width - 4, 110), room)
    elif view.overlay == "tail":
        box = tail_overlay(run, view, width - 6, room)
    else:
        box = explain_overlay(run, view, min(width - 4, 100), room)
    inner = max((sum(len(t) for t, _ in x) for x in box), default=0)
    box_width = min(width - 2, max(inner + 4, 44))
    left = (width - box_width) // 2
    top = 1 if height < 30 else max(1, (height - len(box)) // 3)
    dim = style(Token.LINE)
    for y in range(1, height - 1):
        behind = plain(fit_line(frame.lines[y], width)) if y < len(frame.lines) else " " * width
        row = y - top
        if 0 <= row < len(box):
            inside = with_ground(
                fit_line([("  ", TEXT), *box[row]], box_width, ellipsis=view.glyphs.ellipsis),
                Token.RAISED,
            )
            frame.lines[y] = [(behind[:left], dim), *inside, (behind[left + box_width :], dim)]
        else:
            frame.lines[y] = [(behind, dim)]
    frame.hits.clear()
    frame.lines[-1] = footer_line(view, width, "")
