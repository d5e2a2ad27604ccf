"""When the rows of a console log were written: by time stamps on and around their lines, or by the
bar of the training.

A stamp may lack its zone, its year or its date, and a bar counts from its begin. Then the times are
right up to a shift, which the store finds (see :class:`rltui.core.batch.LogClock`). One log has one
kind of times: that of its first row with any. Times that contradict each other are none.
"""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import takewhile
from typing import NamedTuple

from rltui.core.batch import LogClock
from rltui.core.later import regex

_MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
#: What may stand before a time without a date, or without a year: colours, Ray's prefix, a bracket.
_FRONT = rb"^(?:\x1b\[[\d;]*m|\([^()]{0,80}pid=[^)]{0,60}\)|[\s\[(|])*"
_STAMP = regex(
    rb"(?:(?<![\d.])(?P<year>20\d\d)(?P<gap>[-/.]?)(?P<month>\d\d)(?P=gap)(?P<day>\d\d)"
    rb"(?:[T_-]|,? )"
    rb"|(?<![\d/.-])(?P<first>\d\d)[-/](?P<other>\d\d)[-/](?P<after>20\d\d|\d\d),? "
    rb"|(?<![\d/.-])(?P<head>\d\d)-(?P<tail>\d\d)[ T]"
    rb"|" + _FRONT + rb"(?P<upper>\d\d)/(?P<lower>\d\d) "
    rb"|\b(?P<of>\d\d)[ /-](?P<named>" + b"|".join(_MONTHS) + rb")[ /-](?P<then>20\d\d)[ :] ?"
    rb"|\b(?P<name>" + b"|".join(_MONTHS) + rb") +(?P<nth>\d{1,2})(?:,? (?P<late>20\d\d))?,? "
    rb"|\b[IWEFD](?P<left>\d\d)(?P<right>\d\d) |" + _FRONT + rb")"
    rb"(?P<hour>[012]\d):(?P<minute>[0-5]\d):(?P<second>[0-6]\d(?:[.,]\d{1,9})?)(?::\d{1,9})?"
    rb"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d))?(?![\d:])(?! ?<)"
)
#: The groups that hold a year, a month and a day; month and day may be the other way round.
_PARTS = (
    ("year", "after", "then", "late"),
    ("month", "first", "head", "upper", "left", "named", "name"),
    ("day", "other", "tail", "lower", "right", "of", "nth"),
)
#: What stamps stand behind, and how many bytes at most: others are part of a sentence.
_LEAD = regex(_FRONT + rb"(?:.{0,120}?CANCELLED AT )?")
_LEAD_BYTES = 24
_CLOCK = regex(rb"([012]\d:[0-5]\d):([0-6]\d(?:[.,]\d{1,9})?)")
#: Found fast in most stamps, and only there.
_QUICK = regex(rb":[0-5]\d:[0-6]\d(?! ?<)")
#: Seconds or milliseconds since the epoch, from 2014 on, before a line.
_EPOCH = regex(
    _FRONT + rb"(?:ts=|time=)?(1[4-9]\d{8}|2\d{9})(?:\.(\d{1,9})|(\d{3}))?(?=[\])]|[:,|]? )"
)
#: What is behind the steps of a bar; a pattern that begins with a digit would be slow.
_BAR = regex(rb"/([\d,]{1,18}) +\[ ?(?:(\d+):)?(\d?\d):(\d\d) ?<")
_FIGURES = b"0123456789,"
_DONE_BYTES = 18
#: Rows after which the bar is read here and there, for what lies between by its pace.
_MANY_ROWS = 1000
#: Bytes of a line in which its time is, and of the log before a row in which its stamp or bar is.
_HEAD_BYTES = 160
_NEAR_BYTES = 4096
#: Rows without any stamp after which none is looked for between rows, and how many in a row have
#: one between them before it is believed: a log tells the time of other things, too.
_MOST_BARE = 50
_STREAK = 3
#: A row so few bytes behind another one was printed with it.
_BESIDE_BYTES = 256
#: Last lines of a log that are searched for a time, and bars that are remembered.
_LAST_LINES = 8
_MOST_BARS = 8
#: Processes that write into one log disagree by less, seconds.
_JITTER_S = 60.0
#: Rows whose times fall back, at least so many and a quarter of all, show that these are none.
_LEAST_FALLS = 8
_FALLS = 0.25
_DAY_S = 86400.0
_HOUR_S = 3600.0
#: A day without a year is at most so many days after the newest one: it may be before it, too.
_HALF_YEAR = 183
_LEAP_YEARS = 8
_EPOCH_DAY = date(1970, 1, 1).toordinal()
#: See :attr:`rltui.core.batch.LogClock.unit`.
_ZONELESS = 900.0
_BAR_UNIT = 1.0
_CONTRADICTS = -1.0
Moment = tuple[float, float]
"""A time as it was printed: the unit of its shift (see :class:`LogClock`), and seconds."""


class StampReader:
    """Reads the stamps of one log."""

    def __init__(self) -> None:
        self._days: dict[tuple[bytes, ...], int] = {}
        """Year, month and day as printed -> ordinal, 0 where there is no such day."""
        self._newest = 0
        self._east: float | None = None
        """Seconds by which this machine is east of UTC at the first stamp without a zone: always
        the same, so that no hour comes twice."""
        self._form = b"\n", b"", 0, 0.0, 0.0
        """Form of the newest stamp: the bytes before and behind its time of day, where that ends,
        its unit, and the seconds at midnight."""
        self._minute = b"", 0.0
        """An hour and minute, and seconds until then."""

    def moment(self, line: bytes) -> Moment | None:
        """The time in the head of a line; None without one."""
        lead, behind, end, unit, midnight = self._form
        if line.startswith(lead) and line.startswith(behind, end):
            clock = _CLOCK.fullmatch(line, len(lead), end)
            if clock is not None:
                minute, second = clock.groups()
                if minute != self._minute[0]:
                    self._minute = minute, _seconds_of(minute[:2], minute[3:], b"0")
                return unit, midnight + (self._minute[1] + float(second.replace(b",", b".")))
        line = line.partition(b"\n")[0]
        found = _STAMP.search(line) if _QUICK.search(line) else None
        if found is None:
            epoch = _EPOCH.match(line)
            return epoch and (0.0, float(b"%b.%b" % (epoch[1], epoch[2] or epoch[3] or b"0")))

        front = _LEAD.match(line)
        if front is not None and found.start() > front.end() + _LEAD_BYTES:
            return None
        moment = self._printed(found)
        if moment is not None:
            at = found.start("hour")
            end = found.end("second")
            clock_s = _seconds_of(*found.group("hour", "minute", "second"))
            behind = line[end : found.end() + 1]
            self._form = line[:at], behind, end, moment[0], moment[1] - clock_s

        return moment

    def _printed(self, found: re.Match[bytes]) -> Moment | None:
        """The time of a stamp; None where there is no such day."""
        hour, minute, second, zone = found.group("hour", "minute", "second", "zone")
        seconds = _seconds_of(hour, minute, second)
        printed = tuple(next(filter(None, found.group(*names)), b"") for names in _PARTS)
        if printed not in self._days:
            self._days[printed] = self._day_of(*printed) if printed[1] else _EPOCH_DAY
        day = self._days[printed]
        if not day:
            return None
        self._newest = max(self._newest, day)
        seconds += (day - _EPOCH_DAY) * _DAY_S
        if zone:
            east = int(zone[1:3]) * _HOUR_S + int(zone[-2:]) * 60 if zone[:1] in b"+-" else 0.0
            return 0.0, seconds + east if zone[:1] == b"-" else seconds - east
        if self._east is None:
            offset = datetime.fromtimestamp(seconds or time.time()).astimezone().utcoffset()
            self._east = 0.0 if offset is None else offset.total_seconds()

        return _ZONELESS if printed[1] else _DAY_S, seconds - self._east

    def _day_of(self, year: bytes, month: bytes, day: bytes) -> int:
        """The ordinal of a day, 0 where there is none. Without a year it is in the one that is
        nearest to the newest day, and before there is any not in the future."""
        numbers = _MONTHS.index(month) + 1 if month in _MONTHS else int(month), int(day)
        today = date.fromtimestamp(time.time()).toordinal()
        latest = self._newest + _HALF_YEAR if self._newest else today + 1
        newest = date.fromordinal(latest).year
        years = [int(year) % 100 + 2000] if year else range(newest, newest - _LEAP_YEARS, -1)
        for known in years:
            with suppress(ValueError):
                ordinal = date(known, *sorted(numbers, key=lambda n: n > 12)).toordinal()
                if year or ordinal <= latest:
                    return ordinal

        return 0


def _seconds_of(hour: bytes, minute: bytes, second: bytes) -> float:
    return int(hour) * _HOUR_S + int(minute) * 60 + float(second.replace(b",", b"."))


class _Bar(NamedTuple):
    """A bar of tqdm or rich, as it was drawn last."""

    at: int = -1
    """Where in the log."""
    steps: float = 0.0
    """Over all passes."""
    seconds: float = 0.0
    base: float = 0.0
    """Steps and seconds of the passes before."""
    since: float = 0.0

    def drawn(self, at: int, done: int, elapsed: float) -> _Bar:
        """The bar drawn again; it begins anew where it falls back."""
        base = self.base
        since = self.since
        if base + done < self.steps or since + elapsed < self.seconds:
            base = self.steps
            since = self.seconds
        return _Bar(at, base + done, since + elapsed, base, since)


class RowClock:
    """Tells when the rows of one log were written; owned by one decoder. What it finds does not
    depend on the pieces in which the log comes."""

    def __init__(self) -> None:
        self._stamps = StampReader()
        self._text = self._older = b""
        """The piece, and the end of what came before it. Places are counted from the begin of the
        piece, or from its end after it; those before it are negative."""
        self._begin = 0
        """Where in the log that is."""
        self._prefixes: dict[int, bytes] = {}
        """Where a line begins -> what stood in front of it; in order."""
        self.line = 0, 0
        """Where the line that is read begins and ends."""
        self.silent = False
        """Whether no further row has a time."""
        self._row_ends: deque[int] = deque(maxlen=_LAST_LINES)
        """Where in the log the lines of the last rows end."""
        self._row_end = self._bar_end = 0
        """Where in the log the line of the newest row ends, and where bars have been read."""
        self._bars: dict[int, _Bar] = {}
        """By their planned steps."""
        self._total: int | None = None
        """The planned steps of the bar that times the rows."""
        self._unit: float | None = None
        self._newest = self._before = self._wall = math.nan
        """The newest time of a row, the one that was printed last, and that of the row before."""
        self._rows = self._streak = self._falls = self._since = 0
        self.paced = False
        """Whether rows wait for :meth:`fill`: the pace of a bar tells the times of many."""
        self.numbers: list[int] = []
        """Numbers of the rows that wait, and where in the piece their lines end."""
        self.ends: list[int] = []

    def piece(self, text: bytes, prefixes: Mapping[int, bytes]) -> None:
        """Begin a piece of whole lines; ``prefixes``: begin of a line -> what stood before it."""
        self._text = text
        if self._prefixes or prefixes:
            self._prefixes = {**self._prefixes, **prefixes}

    def end(self, rows: Sequence[int]) -> None:
        """End the piece: keep what rows of the next one may need. ``rows``: where the lines of its
        rows end."""
        self._row_ends.extend(self._begin + end for end in rows[-_LAST_LINES:])
        size = len(self._text)
        self._older = self._part(size - _NEAR_BYTES, size)
        near = takewhile((size - len(self._older)).__le__, reversed(self._prefixes))
        self._prefixes = {at - size: self._prefixes[at] for at in sorted(near)}
        self._text, self._begin = b"", self._begin + size
        self.line = self.line[0] - size, self.line[1] - size

    def _part(self, begin: int, end: int) -> bytes:
        """The bytes between two places, as far as they are kept."""
        if begin >= 0:
            return self._text[begin:end]
        size = len(self._older)
        return (self._older + self._text[: max(end, 0)])[max(begin + size, 0) : end + size]

    def stamp(self) -> float:
        """The time of a row that ends with the line that is read: by a stamp or bar on it, or by a
        stamp between it and the row before. NaN without any, or where rows wait for theirs."""
        if self.silent or self.paced:
            return math.nan
        return self._stamp()

    @property
    def prefix(self) -> bytes:
        """Prefix of the line that is read."""
        return self._prefixes.get(self.line[0], b"")

    def fill(self, walls: list[float], steps: Sequence[int]) -> None:
        """Set the times of the rows that wait; ``walls`` and ``steps``: those of all rows by their
        numbers."""
        numbers = self.numbers
        ends = self.ends
        now = self.line
        at = 0
        while at < len(ends):
            near = self._bar_end + _NEAR_BYTES - self._begin
            till = bisect_left(ends, near, at) if self.paced else at
            if till > at and self._fill(walls, steps, numbers[at:till], ends[at:till]):
                at = till
                continue
            # one that is near a bar which was not read
            end = ends[at]
            line = self._part(end - _NEAR_BYTES, end)
            self.line = end - len(line) + line.rfind(b"\n") + 1, end
            wall = self._stamp()
            walls[numbers[at]] = self.bar(steps[numbers[at]]) if math.isnan(wall) else wall
            at += 1
        self.line = now
        self.numbers = []
        self.ends = []

    def _fill(
        self, walls: list[float], steps: Sequence[int], numbers: list[int], ends: list[int]
    ) -> bool:
        """Set the times of rows by the bar that was read last; returns whether they are alike."""
        bar = self._bars[self._total or 0]
        total = self._total or 0
        first = numbers[0]
        behind = numbers[-1] + 1
        steps = steps[first:behind]
        lowest = min(steps)
        highest = max(steps)
        if not bar.steps or highest > total + bar.base or len(steps) > len(numbers):
            return False
        known = bar.at - self._begin + 2 * _NEAR_BYTES
        if known < ends[-1]:
            return known < ends[0]
        pace = bar.seconds / bar.steps
        oldest = self._newest - _JITTER_S
        if pace * highest < oldest:
            return True
        if pace * lowest < oldest or not self._newest > 0:
            return False
        walls[first:behind] = [pace * step for step in steps]
        self._newest = max(self._newest, pace * highest)

        return True

    def _stamp(self) -> float:
        begin, end = self.line
        lowest = self._row_end - self._begin
        self._row_end = self._begin + end
        if end <= lowest:
            return self._wall
        self._rows += 1
        if self._unit is None and self._rows > _MOST_BARE:
            self.silent = True
            return math.nan
        moment = self._moment(begin) if self._unit != _BAR_UNIT else None
        if moment is None and (self._streak or self._unit is None):
            moment = self._between(lowest, begin)
            self._since = self._since + 1 if moment is None else 0
            if begin - lowest < _BESIDE_BYTES and 0 < self._since < _STREAK:
                return self._wall
            self._streak = self._streak + 1 if moment is not None else 0
            moment = moment if self._streak > _STREAK else None
        if moment is None and self._unit in (None, _BAR_UNIT):
            moment = self._barred(begin, end)
        self._wall = math.nan if moment is None else self._settled(*moment)

        return self._wall

    def _barred(self, begin: int, end: int) -> Moment | None:
        """The time of the training's bar on a line that has one."""
        if b"<" not in self._part(begin, end):
            return None
        self._read_bars(end)
        known = {total for total, b in self._bars.items() if b.at >= self._begin + begin}
        if not known or self._total not in (None, *known):
            return None
        self._total = self._total or max(known)
        return _BAR_UNIT, self._bars[self._total].seconds

    def bar(self, step: int) -> float:
        """The time of a row of this step by the bar near the line that is read which counts the
        steps; NaN without one."""
        if self._unit not in (None, _BAR_UNIT) or self.silent:
            return math.nan
        end = self.line[1]
        self._read_bars(end)
        if self._total is not None and step > self._total + self._bars[self._total].base:
            self._total = None
        self.paced = self._total is not None and self._rows > _MANY_ROWS and not self._streak
        for total in self._bars if self._total is None else (self._total,):
            bar = self._bars[total]
            ahead = step - bar.steps
            fits = 0 <= ahead <= 1
            if total == self._total:
                fits = ahead <= 1 or self._rows > _MANY_ROWS
            if fits and bar.steps and bar.at >= self._begin + end - 2 * _NEAR_BYTES:
                self._total = total
                return self._settled(_BAR_UNIT, bar.seconds / bar.steps * step)

        return math.nan

    def clock(self) -> LogClock:
        """The clock of the rows so far, after the end of the piece."""
        newest = self._newest
        if self._unit == _BAR_UNIT:
            known = self._bars.copy(), self._bar_end
            self._read_bars(0, now=True)
            newest = self._bars[self._total].seconds if self._total else newest
            self._bars, self._bar_end = known  # the pieces decide nothing
            return LogClock(newest, _BAR_UNIT)
        begins = self._begins(-_NEAR_BYTES, 0)[-_LAST_LINES:]
        stamps = [self._moment(begin) for begin in begins]
        behind = next((n for n, moment in enumerate(reversed(stamps)) if moment is not None), -1)
        moment = stamps[-1 - behind] if behind >= 0 else None
        if moment is None or self._unit not in (None, moment[0]):
            return LogClock() if self._unit is None else LogClock(newest, self._unit)
        after = self._begin + (begins[-behind] if behind else 0)
        rows = sum(end >= after for end in self._row_ends)

        return LogClock(max(self._resolved(*moment), newest), moment[0], behind, rows)

    def _moment(self, begin: int) -> Moment | None:
        head = self._part(begin, begin + _HEAD_BYTES)
        if self._prefixes:
            head = self._prefixes.get(begin, b"") + head
        return self._stamps.moment(head)

    def _begins(self, lowest: int, end: int) -> list[int]:
        """Where the lines between two places begin, as far as they are near the second."""
        part = self._part(max(lowest, end - _NEAR_BYTES), end)
        first = end - len(part)
        begins = [first] if self._part(first - 1, first) in (b"", b"\n") and part else []
        at = part.find(b"\n") + 1
        while 0 < at < len(part):
            begins.append(first + at)
            at = part.find(b"\n", at) + 1

        return begins

    def _between(self, lowest: int, end: int) -> Moment | None:
        """The last time on the lines between two places in the text."""
        return next(filter(None, map(self._moment, reversed(self._begins(lowest, end)))), None)

    def _resolved(self, unit: float, seconds: float) -> float:
        """A time with its day, where it has none: the next one, if it falls back."""
        if unit == _DAY_S and not math.isnan(self._newest):
            seconds += self._newest // _DAY_S * _DAY_S
            seconds += _DAY_S if seconds < self._newest - _HOUR_S else 0.0
        return seconds

    def _settled(self, unit: float, seconds: float) -> float:
        """The time of a row; NaN where it is of another kind or contradicts those before."""
        if self._unit is None:
            self._unit = unit
        if unit != self._unit:
            return math.nan
        if unit == _DAY_S:
            seconds = self._resolved(unit, seconds)
        if seconds < self._newest - _JITTER_S:
            self._falls += unit != _BAR_UNIT and seconds < self._before - _JITTER_S
            if self._falls > max(_LEAST_FALLS, self._rows * _FALLS):
                self._unit = _CONTRADICTS
                self.silent = True
            self._before = seconds
            return math.nan
        self._before = seconds
        if seconds > self._newest or not self._newest > 0:
            self._newest = seconds

        return seconds

    def _read_bars(self, end: int, *, now: bool = False) -> None:
        """Read the bars up to a place in the text; those of a long log only here and there, unless
        ``now``."""
        gone = self._begin + end - self._bar_end
        many = self._rows > _MANY_ROWS
        if many and gone < _NEAR_BYTES and not now:
            return
        part = self._part(end - min(gone, _NEAR_BYTES) - _DONE_BYTES, end)
        begin = end - len(part)
        lowest = max(0, len(part) - min(gone, _NEAR_BYTES))
        self._bar_end = max(self._bar_end, self._begin + end)
        last = part.rfind(b"<", lowest)
        first = last if many else part.find(b"<", lowest)
        if last < 0:
            return
        for found in _BAR.finditer(part, max(lowest, first - _HEAD_BYTES), last + 1):
            before = part[max(0, found.start() - _DONE_BYTES) : found.start()]
            printed = before[len(before.rstrip(_FIGURES)) :], *found.groups(b"")
            done, total, hours, minutes, seconds = [
                int(number.replace(b",", b"") or 0) for number in printed
            ]
            if total in self._bars or len(self._bars) < _MOST_BARS:
                elapsed = hours * _HOUR_S + minutes * 60 + seconds
                bar = self._bars.get(total, _Bar())
                at = self._begin + begin + found.start()
                self._bars[total] = bar.drawn(at, done, elapsed)
