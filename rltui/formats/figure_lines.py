"""Lines that look like those of a training although they became no rows: which, and how many.

A file of which nothing is read, or little, must say so where somebody looks. Here is what makes
such a file: names of figures that nobody sets (losses, rewards) with numbers, the same ones again
and again; and what rltui itself wrote, results that lie among the logs and are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from rltui.core.text import clean_bytes, fit
from rltui.formats.words import words

#: Why lines with figures became no rows, where no format knows more.
NO_ROWS = "no step in them, or no known form"
#: Occurrences of one name from which on it is the figure of a course, not a result.
_COURSE = 3
#: Values that are looked at, bytes of a name before one, cells of a line that are quoted.
_MOST, _NAME, _QUOTED = 2000, 60, 60
#: A number behind what parts it from a name.
_VALUE = re.compile(
    rb"(?:[:=|>]|\xe2\x94[\x82\x83])[ \t]*[-+]?(?:\d|\.\d|nan\b|inf\b)"
    rb"|(?<=[\w)])[ \t]+[-+]?\d*\.\d",
    re.IGNORECASE,
)
#: What parts a name from those before it, and from the numbers before it.
_BEFORE = re.compile(rb"[^\n,;|:={}\[\]\x80-\xff]*$")
_NUMBER = re.compile(rb".*(?:^|[ \t])[-+]?[\d.][\w.%/+-]*[ \t]", re.DOTALL)
_TEXT = rb'"(?:[^"\\]|\\.)*"'
_ROW = rb'\{"run":%s,"tag":%s,"step":-?\d+,"wall_time":[^,]+,"value":' % (_TEXT, _TEXT)
#: (first bytes, what they are of); the columns of an export are those of ``CSV_HEAD`` in
#: ``rltui.output.points``, and the keys of its JSON lines.
_SIGNS = (
    (re.compile(rb'\{\s*"schema":\s*"rltui\.\w+/\d+"'), "a document of rltui"),
    (re.compile(rb"# HELP rltui_\w+ "), "a page of metrics of rltui"),
    (re.compile(rb"run,tag,step,wall_time,value,superseded\r?\n"), "an export of rltui"),
    (re.compile(_ROW), "an export of rltui"),
)


class FigureLines(NamedTuple):
    """Lines with figures."""

    lines: int
    number: int
    """Of the first, from 1."""
    offset: int
    """Of the first, in bytes."""
    text: str
    """The first, clean and short."""

    def lost(self, why: str, *, where: bool = True) -> str:
        """What to say of them where they became no rows; ``where``: with the first one's number."""
        lines = "1 line looks" if self.lines == 1 else f"{self.lines:,} lines look"
        first = f"line {self.number}: " if where else "one: "
        return f"{lines} like metrics and became no rows ({why}), first {first}{self.text}"


def figure_lines(text: bytes, known: Iterable[str] = ()) -> FigureLines | None:
    """The lines with figures that come again and again in a piece of a log; None without any.
    ``known``: tags that have rows, whose names do not count."""
    names, begins = Counter[bytes](), dict[int, None]()
    tags = {_letters(tag.encode()) for tag in known}
    counts: dict[bytes, bool] = {}
    """Name -> whether it is that of a figure that has no rows."""
    for found in islice(_VALUE.finditer(text), _MOST):
        at = found.start()
        before = _BEFORE.search(text, max(0, at - _NAME), at)
        name = _NUMBER.sub(b"", before[0]) if before is not None else b""
        name = name.strip(b" \t\"'*-").lower()
        if name not in counts:
            counts[name] = words().outcomes.search(name) is not None and not any(
                _letters(name) in tag for tag in tags
            )
        if counts[name]:
            names[name] += 1
            begins[text.rfind(b"\n", 0, at) + 1] = None

    if not names or names.most_common(1)[0][1] < _COURSE:
        return None
    offset = next(iter(begins))
    line = text[offset : offset + 8 * _QUOTED].partition(b"\n")[0].strip()
    number = text.count(b"\n", 0, offset) + 1
    return FigureLines(len(begins), number, offset, fit(clean_bytes(line), _QUOTED))


def _letters(name: bytes) -> bytes:
    return re.sub(rb"[^a-z0-9]+", b"", name.lower())


def own_output(head: bytes) -> str:
    """What a file with these first bytes is, for people; empty if rltui did not write it."""
    return next((f"is {what}, not a log" for sign, what in _SIGNS if sign.match(head)), "")
