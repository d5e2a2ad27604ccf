"""Writing over part of a finished line of a chart."""

from __future__ import annotations

from rltui.draw.line import Line, Style, style


def spliced(line: Line, column: int, text: str, look: Style, *, blank_only: bool = False) -> Line:
    """``line``, whose characters are all one cell wide, with ``text`` at ``column``; with
    ``blank_only`` unchanged where a character stands there already."""
    out: Line = []
    at, end = 0, column + len(text)
    for part, own in line:
        before = part[: max(0, column - at)]
        after = part[max(0, end - at) :]
        covered = part[len(before) : len(part) - len(after)]
        if covered and blank_only and covered.strip(" "):
            return line
        if before:
            out.append((before, own))
        if at <= column < at + len(part):
            out.append((text, look if own.bg is None or look.reverse else _on(look, own)))
        if after:
            out.append((after, own))
        at += len(part)
    return out


def _on(look: Style, ground: Style) -> Style:
    """A look on the ground of another."""
    return style(look.fg, bg=ground.bg, bold=look.bold, underline=look.underline)
