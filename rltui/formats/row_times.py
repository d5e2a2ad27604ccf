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
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import NamedTuple

from rltui.core.batch import LogClock

_MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
#: What may stand before a time without a date, or without a year: colours, Ray's prefix, a bracket.
_FRONT = rb"^(?:\x1b\[[\d;]*m|\([^()]{0,80}pid=[^)]{0,60}\)|[\s\[(|])*"
_STAMP = re.compile(
    rb"(?:(?<![\d.])(?P<year>20\d\d)(?P<gap>[-/.]?)(?P<month>\d\d)(?P=gap)(?P<day>\d\d)"
    rb"(?:[T_-]|,? )"
    rb"|(?<![\d/.-])(?P<first>\d\d)[-/](?P<second>\d\d)[-/](?P<after>20\d\d|\d\d),? "
    rb"|(?<![\d/.-])(?P<head>\d\d)-(?P<tail>\d\d)[ T]"
    rb"|" + _FRONT + rb"(?P<upper>\d\d)/(?P<lower>\d\d) "
    rb"|\b(?P<of>\d\d)[ /-](?P<named>" + b"|".join(_MONTHS) + rb")[ /-](?P<then>20\d\d)[ :] ?"
    rb"|\b(?P<name>" + b"|".join(_MONTHS) + rb") +(?P<nth>\d{1,2})(?:,? (?P<late>20\d\d))?,? "
    rb"|\b[IWEFD](?P<left>\d\d)(?P<right>\d\d) |" + _FRONT + rb")"
    rb"(?P<hour>[012]\d):(?P<minute>[0-5]\d):(?P<whole>[0-6]\d)(?:[.,:](?P<part>\d{1,9}))?"
    rb"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d))?(?![\d:])(?! ?<)"
)
#: Found fast in most stamps, and only there.
_QUICK = re.compile(rb"\d:[0-5]\d:[0-6]\d")
#: Seconds or milliseconds since the epoch, from 2014 on, before a line.
_EPOCH = re.compile(
    _FRONT + rb"(?:ts=|time=)?(1[4-9]\d{8}|2\d{9})(?:\.(\d{1,9})|(\d{3}))?(?=[\])]|[:,|]? )"
)
_BAR = re.compile(rb"([\d,]{1,18})/([\d,]{1,18}) +\[ ?(?:(\d+):)?(\d?\d):(\d\d) ?<")
#: Bytes of a line in which its time is, and of the log before a row in which its stamp or bar is.
_HEAD_BYTES, _NEAR_BYTES = 160, 4096
#: Rows without any stamp after which none is looked for between rows, and how many in a row have
#: one between them before it is believed: a log tells the time of other things, too.
_MOST_BARE, _STREAK = 50, 3
#: Bars that are remembered.
_MOST_BARS = 8
#: A row so few bytes behind another one was printed with it.
_BESIDE_BYTES = 256
#: Processes that write into one log disagree by less, seconds.
_JITTER_S = 60.0
#: Rows in a row whose times fall back after which the clock was set; and rows that fall back, at
#: least so many and a quarter of all, which show that it is none.
_SET, _LEAST_FALLS = 3, 8
_DAY_S, _HOUR_S = 86400.0, 3600.0
_EPOCH_DAY = date(1970, 1, 1).toordinal()
#: See :attr:`rltui.core.batch.LogClock.unit`.
_ZONELESS, _BAR_UNIT, _CONTRADICTS = 900.0, 1.0, -1.0
Moment = tuple[float, float]
"""A time as it was printed: the unit of its shift, and seconds."""


class StampReader:
    """Reads the stamps of one log."""

    def __init__(self) -> None:
        self._days: dict[tuple[bytes, ...], int] = {}
        """Year, month and day as printed -> ordinal, 0 where there is no such day."""
        self._newest = 0
        self._east = 0.0
        """Seconds by which this machine is east of UTC at the first stamp without a zone: always
        the same, so that no hour comes twice."""

    def moment(self, line: bytes) -> Moment | None:
        """The time in the head of a line; None without one."""
        found = _STAMP.search(line) if _QUICK.search(line) else None
        if found is None:
            epoch = _EPOCH.match(line)
            return epoch and (0.0, float(b"%b.%b" % (epoch[1], epoch[2] or epoch[3] or b"0")))

        hour, minute, whole, part, zone = found.group("hour", "minute", "whole", "part", "zone")
        seconds = int(hour) * _HOUR_S + int(minute) * 60 + float(b"%b.%b" % (whole, part or b"0"))
        printed = (
            _first(found, "year", "after", "then", "late"),
            _first(found, "month", "first", "head", "upper", "left", "named", "name"),
            _first(found, "day", "second", "tail", "lower", "right", "of", "nth"),
        )
        day = _EPOCH_DAY
        if printed[1]:
            if printed not in self._days:
                self._days[printed] = self._day_of(*printed)
            day = self._days[printed]
            self._newest = max(self._newest, day)
        seconds += (day - _EPOCH_DAY) * _DAY_S
        if not day:
            return None
        if zone:
            return 0.0, seconds - _east_of(zone)
        if not self._east:
            offset = datetime.fromordinal(self._newest or _today()).astimezone().utcoffset()
            self._east = 0.0 if offset is None else offset.total_seconds()

        return _ZONELESS if printed[1] else _DAY_S, seconds - self._east

    def _day_of(self, year: bytes, month: bytes, day: bytes) -> int:
        """The ordinal of a day, 0 where there is none. Without a year it is in the one that is
        nearest to the newest day, and before there is any not in the future."""
        numbers = _MONTHS.index(month) + 1 if month in _MONTHS else int(month), int(day)
        latest = self._newest + 183 if self._newest else _today() + 1
        newest = date.fromordinal(latest).year
        for known in (int(year) % 100 + 2000,) if year else range(newest, newest - 8, -1):
            with suppress(ValueError):
                ordinal = date(known, *sorted(numbers, key=lambda n: n > 12)).toordinal()
                if year or ordinal <= latest:
                    return ordinal
        return 0


def _first(found: re.Match[bytes], *names: str) -> bytes:
    return next(filter(None, found.group(*names)), b"")


def _east_of(zone: bytes) -> float:
    """Seconds east of UTC."""
    if zone[:1] not in b"+-":
        return 0.0
    return float(zone[:1] + b"1") * (int(zone[1:3]) * _HOUR_S + int(zone[-2:]) * 60)


def _today() -> int:
    return date.fromtimestamp(time.time()).toordinal()


class RowClock:
    """Tells when the rows of one log were written; owned by one decoder. What it finds does not
    depend on the pieces in which the log comes."""

    def __init__(self) -> None:
        self._stamps = StampReader()
        self._text = b""
        """The last piece, behind the end of those before it."""
        self._begin = self._lead = 0
        """Where that text begins in the log, and where the piece begins in it."""
        self._prefixes: dict[int, bytes] = {}
        """Where in the text a line begins -> what stood in front of it."""
        self._line = 0, 0
        """Where in the text the line that is read begins and ends."""
        self._row_end = self._bar_end = 0
        """Where in the log the line of the newest row ends, and where bars have been read."""
        self._bars: dict[bytes, _Bar] = {}
        """By their planned steps."""
        self._total: bytes | None = None
        """The planned steps of the bar that times the rows."""
        self._passed = 0.0, 0.0
        """Steps and seconds of this bar at the row before."""
        self._unit: float | None = None
        self._newest = self._wall = math.nan
        """The newest time of a row, and that of the row before."""
        self._rows = self._streak = self._falls = self._fallen = 0

    def piece(self, text: bytes, prefixes: Mapping[int, bytes]) -> None:
        """Begin a piece of whole lines; ``prefixes``: begin of a line -> what stood before it."""
        before = len(self._text)
        kept = self._text[-_NEAR_BYTES:]
        self._lead = len(kept)
        gone = before - self._lead
        self._text, self._begin = kept + text, self._begin + gone
        known = {at - gone: prefix for at, prefix in self._prefixes.items() if at >= gone}
        self._prefixes = known | {self._lead + at: prefix for at, prefix in prefixes.items()}

    def line(self, begin: int, end: int) -> None:
        """Turn to a line of the piece."""
        self._line = self._lead + begin, self._lead + end

    def stamp(self) -> float:
        """The time of a row that ends with the line that is read: by a stamp or bar on it, or by a
        stamp between it and the row before. NaN without any."""
        begin, end = self._line
        lowest, self._row_end = self._row_end - self._begin, self._begin + end
        if end <= lowest:
            return self._wall
        self._rows += 1
        moment = self._moment(begin)
        if moment is None and (self._streak or self._rows < _MOST_BARE):
            moment = self._between(max(lowest, begin - _NEAR_BYTES, 0), begin)
            if moment is None and begin - lowest < _BESIDE_BYTES:
                return self._wall
            self._streak = self._streak + 1 if moment is not None else 0
            moment = moment if self._streak > _STREAK else None
        if moment is None and (bar := self._own_bar(begin)) is not None:
            moment = _BAR_UNIT, bar.seconds
        self._wall = math.nan if moment is None else self._settled(*moment)

        return self._wall

    def bar(self, step: int) -> float:
        """The time of a row of this step by the bar that counts the steps, near the line that is
        read; NaN without one."""
        if self._unit not in (None, _BAR_UNIT):
            return math.nan
        self._read_bars(self._line[1])
        (before, began), far = self._passed, self._begin + self._line[1] - _NEAR_BYTES
        for total, bar in self._bars.items():
            ahead = step - bar.steps
            counts = ahead <= max(1.0, step - before) and step <= bar.base + float(total)
            if not counts or bar.at < far or self._total not in (None, total):
                continue
            if bar.steps <= before or step < before:
                return bar.seconds if not ahead else math.nan
            seconds = began + (bar.seconds - began) / (bar.steps - before) * (step - before)
            self._total = total
            self._passed = (bar.steps, bar.seconds) if ahead > 0 else (step, seconds)
            return self._settled(_BAR_UNIT, seconds)

        return math.nan

    def clock(self) -> LogClock:
        """The clock of the rows so far, after the end of the piece."""
        if self._unit is None or math.isnan(self._newest):
            return LogClock()
        end, newest, ends = len(self._text), self._newest, False
        if self._unit == _BAR_UNIT:
            self._read_bars(end)
            newest = max(newest, self._bars[self._total].seconds) if self._total else newest
        else:
            moment = self._between(max(0, end - _NEAR_BYTES), end)
            last = self._moment(self._text.rfind(b"\n", 0, end - 1) + 1)
            if moment is not None and moment[0] == self._unit:
                newest, ends = max(newest, self._resolved(*moment)), last is not None

        return LogClock(newest, self._unit, ends)

    def _moment(self, begin: int) -> Moment | None:
        head = self._text[begin : begin + _HEAD_BYTES].partition(b"\n")[0]
        return self._stamps.moment(self._prefixes.get(begin, b"") + head)

    def _between(self, lowest: int, end: int) -> Moment | None:
        """The last time on the lines between two places in the text."""
        moment = None
        while moment is None and end > lowest:
            end = self._text.rfind(b"\n", 0, end - 1) + 1
            moment = self._moment(end) if end >= lowest else None
        return moment

    def _resolved(self, unit: float, seconds: float) -> float:
        """A time with its day, where it has none: the next one, if it falls back."""
        if unit == _DAY_S and not math.isnan(self._newest):
            seconds += self._newest // _DAY_S * _DAY_S
            seconds += _DAY_S if seconds < self._newest - _HOUR_S else 0.0
        return seconds

    def _settled(self, unit: float, seconds: float) -> float:
        """The time of a row; NaN where it is of another kind or contradicts those before."""
        self._unit = unit if self._unit is None else self._unit
        if unit != self._unit:
            return math.nan
        seconds = self._resolved(unit, seconds)
        if seconds < self._newest - _JITTER_S:
            self._falls, self._fallen = self._falls + 1, self._fallen + 1
            if self._falls > max(_LEAST_FALLS, self._rows / 4):
                self._unit = _CONTRADICTS
            if self._fallen < _SET or unit == _BAR_UNIT:
                return math.nan
            self._newest = seconds
        self._fallen = 0
        self._newest = max(seconds, seconds if math.isnan(self._newest) else self._newest)

        return seconds

    def _own_bar(self, begin: int) -> _Bar | None:
        """The bar on the line that is read."""
        self._read_bars(self._line[1])
        for total, bar in self._bars.items():
            if bar.at >= self._begin + begin and self._total in (None, total):
                self._total = total
                return bar
        return None

    def _read_bars(self, end: int) -> None:
        begin = max(self._bar_end - self._begin, end - _NEAR_BYTES, 0)
        self._bar_end = max(self._bar_end, self._begin + end)
        if self._text.find(b"<", begin, end) < 0:
            return
        for found in _BAR.finditer(self._text, begin, end):
            done, total = (number.replace(b",", b"") for number in found.group(1, 2))
            hours, minutes, seconds = (int(part or 0) for part in found.groups()[2:])
            bar = self._bars.get(total, _Bar())
            at = self._begin + found.start()
            if total in self._bars or len(self._bars) < _MOST_BARS:
                elapsed = hours * _HOUR_S + minutes * 60 + seconds
                self._bars[total] = bar.moved(at, int(done or 0), elapsed)


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

    def moved(self, at: int, done: int, elapsed: float) -> _Bar:
        """The bar drawn again; it begins anew where it falls back."""
        base, since = self.base, self.since
        if base + done < self.steps or since + elapsed < self.seconds:
            base, since = self.steps, self.seconds
        return _Bar(at, base + done, since + elapsed, base, since)
