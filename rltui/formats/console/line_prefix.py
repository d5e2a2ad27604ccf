"""What a collector of logs puts before every line: a time, a rank, the name of a container.

``kubectl logs --timestamps``, docker and docker compose, journald and syslog, Slurm's ``--label``,
torchrun, Python's ``logging``, loguru and glog. A prefix is recognised line by line, so that it
does not matter which lines have one or where a piece of the log ends. Metrics never stand before
such a mark: a time alone, without a date or a level, may be one, and is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLOCK = rb"\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?"
_LEVEL = rb"(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|SUCCESS|FATAL|TRACE)"
_COLOUR = rb"(?:\x1b\[[\d;]*m)*"
#: Where a message comes from: ``trainer.core:``, ``[train.py:12]``, ``app:fit:12 -``.
_ORIGIN = (
    rb"(?:(?:root|__main__|[\w.-]+\.[\w.-]+:\d+|[\w.-]+:[\w<>.]+:\d+|[\w-]+(?:\.[\w-]+)+)"
    rb"(?:: | - |\] )(?![-+.]?\d|nan|inf)|\[[\w./ :-]{1,80}:\d+\]:? )"
)
#: The level of a message, and what the usual formats write beside it.
_LEVELLED = (
    rb"(?:(?: ?-? ?\[?[\w./<>-]{1,60}(?::\d+)?\]?(?: -)?){0,2}?"
    rb"[ ,:-]{0,4}[\[(]?"
    + _LEVEL
    + rb"[\])]?(?: {0,8}(?::|-))?(?: |$)"
    + _COLOUR
    + rb"| \| "
    + _LEVEL
    + rb" *\| )"
    + _ORIGIN
    + rb"?"
)
#: Host and program, as syslog and journald write them.
_PROGRAM = rb" [\w.-]{1,64} [\w@./\\-]{1,64}"
_UNIT = _PROGRAM + rb"\[\d+\]: ?"
_DATED = (
    rb"(?:\d{4}[-/.]\d\d[-/.]\d\d[ _]|\d{8}-|\d\d[-/]\d\d(?:[-/]\d{2,4})? )"
    + _CLOCK
    + rb"(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
)
_ATOM = re.compile(
    rb"\s{0,4}" + _COLOUR + rb"(?:"
    # a machine's time with its zone, of kubectl, docker and journald; CRI adds the stream
    rb"(?P<zoned>\d{4}-\d\d-\d\dT" + _CLOCK + rb"(?:Z|[+-]\d\d:?\d\d))"
    rb"(?:" + _UNIT + rb"| (?:stdout|stderr) [FP] |" + _LEVELLED + rb"| )"
    rb"|\[" + _DATED + rb"\](?:" + _LEVELLED + rb"|:? ?)"
    rb"|\[?" + _LEVEL + rb"[ :]+" + _DATED + rb"\]:? ?"
    rb"|" + _DATED + rb"(?:" + _UNIT + rb"|" + _LEVELLED + rb"|:? ?-? (?![|,\s-]))"
    rb"|\d{4}-\d\d-\d\dT" + _CLOCK + rb"(?:" + _LEVELLED + rb"| (?![|,\s]))"
    rb"|\[?"
    + _CLOCK
    + rb"\]?"
    + _LEVELLED
    + rb"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d "
    + _CLOCK
    + _PROGRAM
    + rb"(?:\[\d+\])?: ?"
    + rb"|[IWEF]\d{4} "
    + _CLOCK
    + rb" +\d+ [\w./-]+:\d+\] "
    rb"|" + _LEVEL + rb":[\w.]{1,60}:(?! {0,2}[-+.]?\d+(?!\d|%\|))"
    rb"|\[pod/[^\]\s]{1,200}\] ?"
    rb"|(?!(?i:step|epoch|iter|episode|update|batch))[a-z][\w.-]{0,60}-\d{1,4} {0,40} \|"
    + _COLOUR
    + rb" ?"
    rb"|\[?(?:rank|default|node|worker)[ _-]?(?P<rank>\d{1,5})\]?: ?"
    rb"|\[(?P<bracketed>\d{1,4})\]: ?"
    rb"|(?P<task>\d{1,4}): "
    rb")" + _COLOUR
)
#: A bar between the prefix and the line, where all lines have one.
_BAR = re.compile("(?:│|\\|) ?".encode())
#: Lines after which a log without any prefix is no longer searched.
_SETTLED = 400
#: Parts of a prefix: a rank before a time before a level ...
_MOST_PARTS = 4

Prefixed = tuple[bytes, bytes, bytes]
"""Rank, prefix and line, with its end."""


class LinePrefix:
    """Takes the prefix off the lines of one log."""

    def __init__(self) -> None:
        self._lines = 0
        """Lines with text so far, as long as none has a prefix."""
        self._any = False
        self._barred = True
        """Whether a bar followed the time in all lines so far."""

    @property
    def is_absent(self) -> bool:
        """Whether it is certain that lines have no prefix."""
        return not self._any and self._lines >= _SETTLED

    def lines(self, text: bytes) -> Iterator[Prefixed]:
        """The lines of ``text``, which ends with the end of a line."""
        for line in text.split(b"\n")[:-1]:
            rank, at = self._split(line) if line and not self.is_absent else (b"", 0)
            self._lines += bool(line.strip())
            yield rank, line[:at], line[at:] + b"\n"

    def _split(self, line: bytes) -> tuple[bytes, int]:
        rank, at, timed = b"", 0, False
        for _ in range(_MOST_PARTS):
            found = _ATOM.match(line, at) or _ATOM.fullmatch(line + b" ", at)
            if found is None:
                break
            rank = rank or found["rank"] or found["bracketed"] or found["task"] or b""
            at = min(found.end(), len(line))
            timed = timed or found["zoned"] is not None
        if timed and self._barred:
            bar = _BAR.match(line, at)
            self._barred = bar is not None or not line[at:].strip()
            at = bar.end() if bar else at
        self._any = self._any or at > 0
        return rank, at
