"""``w``: the screen as a picture or text, the data of its chart as CSV, a report of its run as HTML
or Markdown, in a file of the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from rltui.core.errors import UsageError
from rltui.core.text import clean
from rltui.files.disk import check_target, target_file
from rltui.output.html_report import html_report
from rltui.output.markdown import snapshot_markdown, written
from rltui.output.points import CSV_HEAD, csv_lines, export_rows
from rltui.output.svg import Cells, ground_of, svg
from rltui.session import JudgedRun, Session
from rltui.tui.shell import ShellApp

#: Ending of a file -> what is written.
_ENDINGS = {
    ".svg": "picture",
    ".txt": "text",
    ".csv": "data",
    ".html": "report",
    ".md": "Markdown",
    ".tex": "LaTeX",
}
#: Characters that may need quoting in the name of a file.
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def write_screen(
    shell: ShellApp[Any],
    rows: Sequence[Sequence[Segment]],
    target: str,
    data: tuple[JudgedRun, str] | None,
    about: tuple[Session, JudgedRun | None] | None,
    text: str,
    *,
    over: bool,
) -> Path:
    """Write what the ending of ``target`` says; returns the path of the file.

    ``rows``: the screen; ``data``: the run and the tag of the chart on it; ``about``: the run that
    a report is about, None for all; ``text``: what the screen copies: a table is written in place
    of data and of a report in Markdown. ``over``: replace an existing file. Raises UsageError.
    """
    if not target:
        raise UsageError(
            "w NAME.svg, .txt or .csv (screen, data), .html or .md (report), .tex (table)"
        )
    path = Path(target)
    if path.suffix not in _ENDINGS:
        raise UsageError(f"{target}: name a file that ends in {', '.join(_ENDINGS)}")
    path = check_target(path, _directories(shell.logdirs))
    if path.exists() and not over:
        raise UsageError(f"{clean(str(path))} exists: another name, or w! to replace it")
    with target_file(path) as file:
        for part in _content(shell, rows, path.suffix, data, about, text):
            file.write(part)

    return path


def is_table(text: str) -> bool:
    """Whether the text that a screen copies has several lines of cells parted by tabs."""
    return "\t" in text.partition("\n")[2]


def default_name(words: Iterable[str], logdirs: Sequence[Path] = ()) -> str:
    """A file name of some words, for a picture: in the working directory, or at home when that is
    a log directory."""
    name = "-".join(x for w in words if (x := _ODD.sub("-", w).strip("-.")))
    name = f"{name or 'rltui'}.svg"
    try:
        check_target(Path(name), _directories(logdirs))
    except UsageError:
        return f"~/{name}"
    return name


def offered_names(name: str, data: bool, report: bool, text: str) -> dict[str, str]:
    """Commands that write a file -> what that is: ``name`` with each ending for which there is
    something to write. ``text``: see :func:`write_screen`."""
    table = is_table(text)
    there = {".csv": data or table, ".html": report, ".md": report or table, ".tex": table}
    stem = name.removesuffix(".svg")
    return {f"w {stem}{e}": word for e, word in _ENDINGS.items() if there.get(e, True)}


def _directories(logdirs: Iterable[Path]) -> list[Path]:
    """The directories of logs: of a file the one that it lies in."""
    return [p.parent if p.is_file() else p for p in logdirs]


def _content(
    shell: ShellApp[Any],
    rows: Sequence[Sequence[Segment]],
    ending: str,
    data: tuple[JudgedRun, str] | None,
    about: tuple[Session, JudgedRun | None] | None,
    text: str,
) -> Iterable[bytes]:
    if ending == ".tex" or (ending in (".csv", ".md") and is_table(text)):
        yield written(text, ending).encode("utf-8", "backslashreplace")
        return
    if ending in (".html", ".md"):
        if about is None:
            raise UsageError("no run here to report on")
        report = html_report if ending == ".html" else snapshot_markdown
        yield report(*about).encode("utf-8", "backslashreplace")
        return
    if ending == ".csv":
        if data is None:
            raise UsageError("no chart here whose data can be written")
        run, tag = data
        yield CSV_HEAD
        yield from csv_lines(export_rows([(run.key.name, run)], {tag: None}))
        return
    if not rows:
        raise UsageError("this screen cannot be written")
    if ending == ".txt":
        lines = ("".join(s.text for s in row).rstrip() for row in rows)
        yield ("\n".join(lines).rstrip() + "\n").encode("utf-8", "backslashreplace")
        return
    fg, bg = ground_of(shell.tokens)
    cells = [[_cells(s, fg, bg) for s in row if not s.control] for row in rows]
    yield svg(cells, shell.size.width, bg, shell.title).encode()


def _cells(segment: Segment, fg: str, bg: str) -> Cells:
    look = segment.style or Style.null()
    front = _hex(look.color, fg)
    back = _hex(look.bgcolor, bg)
    if look.reverse:
        front, back = back, front
    return Cells(segment.text, front, back, bool(look.bold), bool(look.underline))


def _hex(colour: Color | None, default: str) -> str:
    if colour is None or colour.is_default:
        return default
    return colour.get_truecolor().hex
