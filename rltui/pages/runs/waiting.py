"""What stands on the screen before there is a run, or when there is room for nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from rltui.core.address import AUTO, RAY, SSH, RemotePath
from rltui.core.batch import Note
from rltui.core.errors import did_you_mean
from rltui.core.level import Level
from rltui.core.text import clean, fit
from rltui.draw.line import MUTED, STRONG, TEXT, Line
from rltui.draw.prose import note_lines, wrap
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.pages.run.header import run_header
from rltui.session import RunView
from rltui.session.session import Search

#: Hosts that are named while their search is under way.
_MOST_SEARCHES = 8
NONE_AWAITED: Mapping[Path, Path | None] = MappingProxyType({})


def waiting_lines(
    logdirs: Sequence[Path],
    expected: int,
    troubles: Sequence[Note],
    width: int,
    height: int,
    unmatched: str = "",
    searching: Sequence[Search] = (),
    awaited: Mapping[Path, Path | None] = NONE_AWAITED,
) -> list[Line]:
    """No run yet: whether the ``expected`` ones are being read or none was found, where rltui
    searches, and what is in the way; ``unmatched`` says that runs were found, but not those that
    were chosen; ``searching``: logdirs of which nothing is known yet; ``awaited``: those that do
    not exist yet, with what is there under nearly the same name."""
    troubles = [note for note in troubles if note.path not in awaited]
    if searching and not expected:
        lines = [[], *([("  ", TEXT), *line] for line in search_lines(searching, width - 3))]
        return [*lines, *_trouble_lines(troubles, width)][:height]
    names = [fit(clean(str(p)), width - 6) for p in logdirs]
    runs = "1 run" if expected == 1 else f"{numbers.step(expected)} runs"
    nothing = "no log could be read in" if troubles else "waiting for logs in"
    doing = f"reading {runs} in" if expected else nothing
    said = wrap(unmatched, max(1, width - 4)) if unmatched else []
    lines = [[], *([(f"  {x}", TEXT)] for x in [*said, doing])]
    for name, path in zip(names[: max(1, height - 7)], logdirs, strict=False):
        lines.append([("    ", TEXT), (name, STRONG)])
        if path in awaited:
            lines.append([(f"      {absent_words(awaited[path])}", MUTED)])
    if not expected:
        there = "a log can be read" if troubles else "its first file does"
        lines += [[], [(f"  a run appears here as soon as {there}", MUTED)]]
    return [*lines, *_trouble_lines(troubles, width)][:height]


def absent_words(similar: Path | None) -> str:
    """What is said of a logdir that does not exist; ``similar``: what does."""
    return f"does not exist yet{did_you_mean(None if similar is None else clean(str(similar)))}"


def search_lines(searching: Sequence[Search], width: int, most: int = _MOST_SEARCHES) -> list[Line]:
    """What the first searches are waiting for, one line for each host: "connecting to node7 for
    3 s"; the last of ``most`` lines counts the others."""
    waits = {_search_words(search): search.seconds for search in searching}
    shown = [*waits.items()]
    if len(shown) > most:
        shown, rest = shown[: most - 1], len(shown) - most + 1
        shown.append((f"and searching {rest} others", waits.popitem()[1]))
    lines = []
    for words, seconds in shown:
        lasts = f" for {numbers.duration(seconds)}" if seconds >= 1 else ""
        lines.append([(fit(words, width - len(lasts)), TEXT), (lasts, MUTED)])
    return lines


def _search_words(search: Search) -> str:
    """What one search does."""
    path = search.logdir
    verb = "connecting to" if search.connecting else "searching"
    if isinstance(path, RemotePath) and path.scheme == RAY:
        where = "" if path.authority == AUTO else f" at {clean(path.authority)}"
        return f"{verb} the Ray cluster{where}"
    if isinstance(path, RemotePath) and path.scheme == SSH and search.connecting:
        return f"{verb} {clean(path.authority)}"
    return f"{verb} {clean(str(path))}"


def _trouble_lines(troubles: Sequence[Note], width: int) -> list[Line]:
    """What is in the way."""
    lines: list[Line] = []
    failed = [n for n in troubles if n.level >= Level.WATCH]
    refused = [n for n in troubles if n.level < Level.WATCH]
    for title, notes in (("trouble reading", failed), ("not understood as a log", refused)):
        if notes:
            lines += [[], [(f"  {title}", TEXT)], *note_lines(notes, width)]
    return lines


def tiny_lines(
    runs: Sequence[RunView], reading: float | None, view: View, width: int, height: int
) -> list[Line]:
    """Too small for anything but the verdicts."""
    lines = [run_header(r, view, max(width, 1), reading) for r in runs[:height]]
    return lines or [[("waiting for logs", MUTED)]]
