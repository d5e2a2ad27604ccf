"""Lines of a console log: prefixes, escapes, numbers, and the last ones as a terminal shows."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial
from operator import itemgetter

from rltui.core.batch import LogTail, Phase
from rltui.core.later import regex
from rltui.core.text import clean_bytes

#: Escape sequences of terminals: CSI, OSC, and the short ones (ECMA-48).
ANSI = regex(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[()][0-9A-Za-z]|[@-Z\\^_=>78])"
)
#: Ray's prefix of each line: ``(TaskRunner pid=7)`` or ``(Worker pid=7, ip=10.0.0.1)``.
_RAY = regex(rb"\([^()]{0,80}pid=\d+(?:, ip=[0-9a-fA-F.:]+)?\) ?")
#: Ray's suffix of a line that several workers printed.
_REPEATED = regex(rb"\[repeated \d{1,9}x across cluster\]")
#: A number as Python, C and numpy print it.
NUMBER = (
    rb"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
    rb"|nan|NaN|inf|Inf|infinity|Infinity)"
)
#: The same with a letter for thousands, millions or billions: ``2.37K``.
QUANTITY = NUMBER + rb"(?:[kKMG](?![\w%/]))?"
_SCALES = {b"k": 1e3, b"K": 1e3, b"M": 1e6, b"G": 1e9}
#: Thousands in groups, ``1,020`` or ``23_700``: no part of a list or a name.
_GROUPED = regex(
    rb"(?<![\w.,\[(])[-+]?\d{1,3}(?:,\d{3}(?!\d))+(?!,?\d)|(?<![\w.,])[-+]?\d{1,3}(?:_\d{3})+(?!\w)"
)
#: Found fast; the fractions of a clock are no thousands.
_PARTED = regex(rb"[,_]\d")
_MAY_BE_GROUPED = regex(rb"[,_](?<!:\d\d.)\d\d\d(?!\d)")
#: A comma that can only be that of a fraction, and one between any two digits.
_FRACTION = regex(rb"(?<![\w.,\[(])[-+]?(?:0,\d|\d{1,9},(?!\d{3}(?!\d))\d)\d*(?![\d,.]\d|:)")
_COMMA = regex(rb"(?<=\d),(?=\d)")
_POINT = regex(rb"\d\.\d")
#: A number as a library prints its own: ``np.float64(0.5)``, ``tensor([0.5], device='cuda:0')``.
_CALLED = regex(
    rb"(?<![\w.])(?:[a-z]{2,5}\.)?(?:Device|b|u)?(?:[Tt]ensor|[Aa]rray|float|int|bool_?|Decimal)\d*"
    rb"\([\['\"]?\s*(" + NUMBER + rb")[\]'\"]?,?(?: ?\w+=[^(),]*(?:\([^()]*\))?,?)*\)"
    rb"|<tf\.[^<>]{0,80}?numpy=(" + NUMBER + rb")>"
)
#: A number alone in brackets behind a name.
_BRACKETED = regex(rb"\[(?:(?<=[\w:=] \[)|(?<=[:=]\[))\s{0,8}(" + NUMBER + rb"),?\s?\]")
#: A spread behind a number.
_SPREAD = regex(rb"(?<=[\d.]) ?(?:\xc2\xb1|\+/?-) ?" + NUMBER)
#: ``('loss', 0.5)``, and what stands around the names and numbers of a printed dict.
_COUPLE = regex(rb"\(['\"]([^'\"]{1,60})['\"], ")
_QUOTED = regex(rb"(['\"])([\w./@%+-][\w ./@%+-]{0,60})\1")
_LEADERS = regex(rb" ?\.{4,} ?")
#: Where a message comes from, as rich writes it at the end.
_SOURCE = regex(rb"\s\s\S{1,80}\.py:\d+$")
_SOURCE_BYTES = 100
#: Names between slashes with as many numbers: ``Loss(P/V): 0.5/0.2``, ``mean/max kl 0.5/0.9``.
_SEVERAL = regex(
    rb"(?:(\w+)\(([^()/\s]+(?:/[^()/\s]+)+)\)"
    rb"|(?<![\w/])(\w{1,20}(?:/\w{1,20})+)( [A-Za-z_][\w ]{0,40}?))"
    rb"[:=]? ?(" + NUMBER + rb"(?:/" + NUMBER + rb")+)(?=$|[\s,;|)\]}])"
)
_MAY_BE_SEVERAL = regex(rb"[\d.nNfy]/[-+.\dnNiI]")
#: What lines end with that part blocks, and how they are found.
RULE_ENDS = (b"-----", b"=====", b"*****", b"#####")
RULES = tuple(end + b"\n" for end in RULE_ENDS)
_RULE = regex(rb"(?:[-=*#_+~ |]|\xe2[\x94\x95][\x80-\xbf])+")


def plain(line: bytes) -> bytes:
    """The line without escape sequences, Ray's prefix and suffix, and surrounding blanks."""
    if b"\x1b" in line:
        line = ANSI.sub(b"", line)
    line = line.strip()
    if line.startswith(b"("):
        ray = _RAY.match(line)
        if ray:
            line = line[ray.end() :].lstrip()
    if line.endswith((b")", b"]")) and b" across cluster]" in line:
        repeated = _REPEATED.search(line)
        line = line[: repeated.start()].rstrip() if repeated else line

    return line


def is_rule(line: bytes) -> bool:
    """Whether a line has only dashes, their kin and frames."""
    return _RULE.fullmatch(line) is not None


def ungrouped(line: bytes) -> bytes:
    """The line with thousands written without separators, and fractions with a point."""
    if _PARTED.search(line) is None:
        return line
    if b"," in line and _POINT.search(line) is None and _FRACTION.search(line):
        line = _COMMA.sub(b".", line)
    if _MAY_BE_GROUPED.search(line) is None:
        return line
    return _GROUPED.sub(lambda found: found[0].replace(b",", b"").replace(b"_", b""), line)


def simplified(line: bytes) -> bytes:
    """The line with plain numbers and names: ``tensor(0.5, device='cuda:0')``, ``[0.5]``,
    ``0.5 ± 0.1`` and ``'0.5'`` are ``0.5``, and several numbers of one name are several pairs."""
    line = ungrouped(line)
    special = line.translate(None, _ORDINARY)
    for simplify in _simplifiers(special) if special else ():
        line = simplify(line)
    if b"...." in line:
        line = _LEADERS.sub(b": ", line)
    if line[-1:].isdigit() and b".py:" in line[-_SOURCE_BYTES:]:
        line = _SOURCE.sub(b"", line)

    return line


@lru_cache(maxsize=1024)
def _simplifiers(special: bytes) -> tuple[Callable[[bytes], bytes], ...]:
    """Functions that simplify a line with these bytes, in order."""
    return tuple(one for marks, one in _SIMPLIFIERS if any(mark in special for mark in marks))


def _unquoted(line: bytes) -> bytes:
    line = _QUOTED.sub(itemgetter(2), line)
    return line[:1] + line[1:].replace(b"{", b" ").replace(b"}", b" ")


def _several(line: bytes) -> bytes:
    return _SEVERAL.sub(_apart, line) if _MAY_BE_SEVERAL.search(line) else line


def _apart(found: re.Match[bytes]) -> bytes:
    """A pair for each of several numbers."""
    name, inner, outer, about, numbers = found.groups(b"")
    names = (inner or outer).split(b"/")
    values = numbers.split(b"/")
    if len(names) != len(values):
        return found[0]
    titles = [name + b"(" + one + b")" if name else one + about for one in names]
    return b", ".join(map(b": ".join, zip(titles, values, strict=True)))


#: Bytes of a line that is not plain, and what simplifies it. Functions take the place of what is
#: found, since a text with groups in it costs more than a search.
_SIMPLIFIERS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\xc2\xef", lambda x: x.replace(b"\xc2\xa0", b" ").replace(b"\xef\xbc\x9a", b": ")),
    (b"(<", partial(_CALLED.sub, lambda found: found[1] or found[2])),
    (b"(", partial(_COUPLE.sub, lambda found: found[1] + b": ")),
    (b"'\"", _unquoted),
    (b"\xc2+", partial(_SPREAD.sub, b"")),
    (b"[", partial(_BRACKETED.sub, itemgetter(1))),
    (b">", lambda line: line.replace(b" -> ", b": ")),
    (b"/", _several),
)
_ORDINARY = bytes(set(range(256)) - set(b"".join(marks for marks, _ in _SIMPLIFIERS)))


def number(text: bytes) -> float | None:
    """A printed number, also as ``np.float64(0.5)`` or in quotes; None for anything else."""
    try:
        return float(text)
    except ValueError:
        pass
    text = text.strip(b" '\"")
    found = _CALLED.fullmatch(text)
    if found:
        text = found[1] or found[2]
    if b"_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def quantity(text: bytes) -> float:
    """Convert a match of :data:`QUANTITY` to a number; raises ValueError for anything else."""
    scale = _SCALES.get(text[-1:])
    return float(text) if scale is None else round(float(text[:-1]) * scale, 6)


def amount(text: bytes) -> float | None:
    """A number as :func:`number` reads it, or a quantity; None for anything else."""
    found = number(text)
    if found is None and text[-1:] in _SCALES:
        found = number(text[:-1])
        return None if found is None else quantity(b"%r" % found + text[-1:])
    return found


def whole(text: bytes) -> int | None:
    """A step of at most 15 digits, also as ``2.37K``; None for anything else."""
    value = amount(text) if text[:1].isdigit() and len(text) < 16 else None
    if value is None or not value.is_integer() or value >= 1e15:
        return None
    return int(value) if text.isdigit() or text[-1:] in _SCALES else None


_PRINTED = rb"(" + QUANTITY + rb")(?:/(\d{1,15}))?(?:[a-zA-Z%][a-zA-Z%/]{0,11})?"
#: What may stand behind a pair among other text.
_PAIR_END = rb"\.?(?=$|[\s,;|)\]}])"
#: Pairs anywhere in a text: with a sign between name and number, and with blanks.
SIGNED = regex(
    rb"(?<![\w=/])([A-Za-z_\x80-\xff][\w/.@%()#\x80-\xff-]{0,60}"
    rb"(?: [A-Za-z_(][\w/.@%()#-]{0,60}){0,4}?)\s?[:=]\s{0,20}" + _PRINTED + _PAIR_END
)
_BLANKS = regex(
    rb"(?<![\w])([A-Za-z_][\w/.@%()-]{0,60}(?: [A-Za-z_][\w/.@%()-]{0,60}){0,2})[ \t]{1,12}"
    + _PRINTED
    + _PAIR_END
)
#: A field between bars, whose name may have any number of words; a mark may stand behind it.
_BARRED = regex(
    rb"\|\s*([A-Za-z_][^|:=]{0,80}?)(?:\s*[:=]\s*|\s+)" + _PRINTED + rb"[\s!*\x80-\xff]*(?=\||$)"
)


def printed_pairs(text: bytes) -> list[re.Match[bytes]]:
    """Pairs of a text that may have anything besides, with name, number and total as groups: the
    fields between two bars or more, where all are pairs, with those before the first; those with a
    colon or ``=``; or else those with blanks."""
    if text.count(b"|") > 1:
        head, *parts = text.split(b"|")
        count = sum(map(bool, map(bytes.strip, parts)))
        fields = list(_BARRED.finditer(text)) if count > 1 else []
        if fields and len(fields) == count:
            return [*SIGNED.finditer(head), *fields]
    return list(SIGNED.finditer(text)) or list(_BLANKS.finditer(text))


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
_ATOM = regex(
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
_BAR = regex("(?:│|\\|) ?".encode())
#: Lines after which a log without any prefix is no longer searched.
_SETTLED = 400
#: Parts of a prefix: a rank before a time before a level ...
_MOST_PARTS = 4
#: Lines kept, and characters of each.
MAX_LINES = 200
MAX_CHARS = 500
#: Bytes kept of the end of a line: a progress bar may fill megabytes.
LINE_BYTES = 1 << 13
_OVERWRITES = 32
#: Erases the rest of the line, or all of it.
_ERASE = regex(rb"\x1b\[[02]?K")


class LinePrefix:
    """Takes off the lines of one log what a collector of logs put before them: a time, a rank, the
    name of a container.

    ``kubectl logs --timestamps``, docker and docker compose, journald and syslog, Slurm's
    ``--label``, torchrun, Python's ``logging``, loguru and glog. A prefix is recognised line by
    line, so that it does not matter which lines have one or where a piece of the log ends. Metrics
    never stand before such a mark: a time alone, without date and level, may be one, and is left.
    """

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

    def split(self, line: bytes) -> tuple[bytes, int]:
        """The rank before the next line (empty for none), and the length of the prefix."""
        rank = b""
        at = 0
        timed = False
        for _ in range(0 if self.is_absent or not line else _MOST_PARTS):
            found = _ATOM.match(line, at) or _ATOM.fullmatch(line + b" ", at)
            if found is None:
                break
            rank = rank or found["rank"] or found["bracketed"] or found["task"] or b""
            at = min(found.end(), len(line))
            timed = timed or found["zoned"] is not None

        if timed and self._barred:
            bar = _BAR.match(line, at)
            at = bar.end() if bar else at
            self._barred = bar is not None or not line[at:].strip()
        self._any = self._any or at > 0
        self._lines += bool(line.strip())

        return rank, at


class TerminalTail:
    """Keeps the last lines. It gets every byte, but only works on the end of each piece."""

    def __init__(self) -> None:
        self._raw: deque[bytes] = deque(maxlen=MAX_LINES)
        """Finished lines that have not been rendered yet."""
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._rest = b""
        """The end of the unfinished line."""
        self._count = 0
        """Finished lines so far."""
        self._row_line = -1
        """Line number of the newest row."""

    def feed(self, data: bytes, row_end: int | None) -> None:
        """Add the next bytes; ``row_end``: where the newest row among them ends, negative when
        that is before their beginning."""
        if row_end is not None:
            self._row_line = self._count + data.count(b"\n", 0, max(0, row_end))
        end = data.rfind(b"\n")
        if end < 0:
            self._rest = (self._rest + data)[-LINE_BYTES:]
            return

        self._count += data.count(b"\n")
        start = end
        wanted = MAX_LINES
        while wanted and start >= 0:
            start = data.rfind(b"\n", 0, start)
            wanted -= 1
        lines = data[start + 1 : end].split(b"\n")
        if start < 0:
            lines[0] = self._rest + lines[0]
        self._raw.extend(line[-LINE_BYTES:] for line in lines)
        self._rest = data[end + 1 :][-LINE_BYTES:]

    def tail(self, phase: Phase | None = None, lasted_s: float = 0.0) -> LogTail:
        """The current state, with what the training is doing since its row, and for how long."""
        self._lines.extend(shown(line) for line in self._raw)
        self._raw.clear()
        last = shown(self._rest)
        lines = (*self._lines, last) if last else tuple(self._lines)
        after = self._count - 1 - self._row_line + bool(last)
        lines = lines[-MAX_LINES:]

        return LogTail(lines, max(0, min(len(lines), after)), phase, lasted_s)


def shown(line: bytes) -> str:
    """Text that a terminal shows of a line after all of it was printed."""
    seen = b""
    for part in line[-LINE_BYTES:].rstrip(b"\r").split(b"\r")[-_OVERWRITES:]:
        over = ANSI.sub(b"", part) if b"\x1b" in part else part
        if not seen or _ERASE.search(part):
            seen = over
        elif seen.isascii() and over.isascii():
            seen = over + seen[len(over) :]
        else:  # a shorter text overwrites the beginning, character by character
            length = len(over.decode("utf-8", "surrogateescape"))
            rest = seen.decode("utf-8", "surrogateescape")[length:]
            seen = over + rest.encode("utf-8", "surrogateescape")

    text = clean_bytes(seen[: 4 * MAX_CHARS].rstrip().replace(b"\t", b"    "))

    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"
