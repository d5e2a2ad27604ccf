"""What to say of a file that the user names and no format reads: what it holds, what was tried."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rltui.core.address import is_remote
from rltui.files.disk import opened
from rltui.formats import HEAD_BYTES
from rltui.formats.figure_lines import NO_ROWS, figure_lines
from rltui.sources.discovery.tree import EmptyLogError, LogdirError

#: Bytes whose lines are counted, and of one piece of them.
_MOST_BYTES, _MOST_REMOTE_BYTES, _PIECE = 64 << 20, 1 << 20, 1 << 20


def not_understood(path: Path, tried: Iterable[tuple[str, str]]) -> LogdirError:
    """The error for a file; ``tried``: names of formats, the likeliest first, and what each of
    them lacks, or ``""``. Raises OSError."""
    found = _content(path)
    if not found:
        return EmptyLogError(path)
    with opened(path) as read:
        figures = figure_lines(read(HEAD_BYTES, 0))
    tried = list(tried)
    if figures is not None and not any("became no rows" in lacks for _, lacks in tried):
        found = f"{found}; {figures.lost(NO_ROWS)}"
    names = [f"{name} ({lacks})" if lacks else name for name, lacks in tried]
    return LogdirError(path, f"{found}; formats tried: {', '.join(names)}")


def _content(path: Path) -> str:
    """What a file holds, for people; empty when it holds nothing."""
    lines, size, ended, blank = 0, 0, True, True
    most = _MOST_REMOTE_BYTES if is_remote(path) else _MOST_BYTES
    with opened(path) as read:
        while size < most and (piece := read(_PIECE, size)):
            if b"\0" in piece:
                return "holds bytes that are no text"
            blank = blank and not piece.strip()
            lines, size, ended = lines + piece.count(b"\n"), size + len(piece), piece[-1:] == b"\n"
        more = "more than " if size >= most and read(1, size) else ""
    lines += not ended
    if blank:
        return ""
    word = "line" if lines == 1 else "lines"
    return f"{more}{lines:,} {word} of text, no row with a step and numbers was recognised"
