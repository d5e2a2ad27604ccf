"""The only formatter of numbers: values, changes, durations, ages, steps.

Every number on a screen, in a report or on an axis goes through here, so that the same
number looks the same everywhere and can be found again in the log. All functions take any
float (NaN, infinite, denormal, -0.0, numpy scalars) and None, and never raise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import SupportsFloat

#: Shown for a value that was never logged.
MISSING = "–"
#: Cells of an aligned value: before the decimal point, and from the point on.
BEFORE, AFTER = 5, 5
ALIGNED_WIDTH = BEFORE + AFTER

_SUFFIXES = ("", "k", "M", "G", "T")
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
#: Days of a year.
_YEAR = 365.25


def _number(x: SupportsFloat | None) -> float | None:
    """``x`` as a float without negative zero; integers beyond the range become infinite."""
    if x is None:
        return None
    try:
        return float(x) + 0.0
    except OverflowError:
        return math.inf if x > 0 else -math.inf  # type: ignore[operator]


def _special(x: float | None) -> str | None:
    """The word for None, NaN and infinity; None for a finite number."""
    if x is None:
        return MISSING
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "Inf" if x > 0 else "-Inf"
    return None


def value(x: SupportsFloat | None) -> str:
    """A value as logged: three significant digits, at most ten cells.

    >>> [value(v) for v in (0.7, 48, 2650, 12345, 0.0013, 1.3e-4, -1234)]
    ['0.700', '48.0', '2,650', '12.3k', '0.0013', '1.3e-4', '-1.23k']
    """
    number = _number(x)
    word = _special(number)
    if word is not None or number is None:
        return word or MISSING
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    return sign + _positive(abs(number), comma=number > 0)


def on_scale(x: float, size: float) -> float:
    """``x``, or 0 when it is no more than the rounding error of numbers as large as ``size``."""
    return 0.0 if abs(x) < 1e-12 * size else x


def _positive(a: float, *, comma: bool) -> str:
    """A finite number above zero. ``comma`` False: SI from 1,000 on, to leave room for a sign."""
    exponent = _exponent(a)
    if exponent < -3:
        text = _scientific(a)
        return "0.0010" if text == "1.0e-3" else text
    if exponent < -1:
        return f"{a:.4f}"
    if exponent < 3:
        return f"{a:.{2 - exponent if exponent >= 0 else 3}f}"
    if comma and a < 9999.5:
        return f"{a:,.0f}"
    return _si(a, exponent)


def _exponent(a: float) -> int:
    """The decimal exponent after rounding to three significant digits."""
    return int(f"{a:.2e}".partition("e")[2])


def _si(a: float, exponent: int) -> str:
    """Three significant digits with an SI suffix; ``exponent`` is that of the rounded number."""
    group, digits = divmod(exponent, 3)
    if group >= len(_SUFFIXES):
        return _scientific(a)
    return f"{a / 10.0 ** (3 * group):.{2 - digits}f}{_SUFFIXES[group]}"


def _scientific(a: float) -> str:
    """Two significant digits and the shortest exponent: 1.3e-4, 1.2e15."""
    mantissa, _, power = f"{a:.1e}".partition("e")
    return f"{mantissa}e{int(power)}"


def aligned(x: SupportsFloat | None) -> str:
    """:func:`value` in exactly ten cells with the decimal point at the sixth.

    Integers, NaN and the dash of a missing value end before the point. An exponent form
    that is too long is right-aligned over the whole field.
    """
    text = value(x)
    if text[-1] in "Nnf–":
        return text.rjust(BEFORE).ljust(ALIGNED_WIDTH)
    head = len(text) - len(text.lstrip("-0123456789,"))
    if head > BEFORE or len(text) - head > AFTER:
        return text.rjust(ALIGNED_WIDTH)

    return text[:head].rjust(BEFORE) + text[head:].ljust(AFTER)


def short(x: SupportsFloat | None) -> str:
    """:func:`value` without trailing zeros, for limits and sizes: 0.08, 2.5, 14, 1.0e-6."""
    text = value(x)
    if "." not in text or "e" in text:
        return text
    digits = text.rstrip("kMGT")
    return digits.rstrip("0").rstrip(".") + text[len(digits) :]


def plain(x: SupportsFloat) -> str:
    """A number in a sentence: three significant digits, no separators; from 100,000 on SI.

    >>> [plain(v) for v in (0.5, 2.4567, 1234.5, 3.62e9, 1e-6, math.nan)]
    ['0.5', '2.46', '1234', '3.62G', '1.0e-6', 'nan']
    """
    number = _number(x)
    if number is None or not math.isfinite(number):
        return str(number)
    size = abs(number)
    if size == 0:
        return "0"
    sign = "-" if number < 0 else ""
    if size >= 9.995e4:
        return sign + _si(size, _exponent(size))
    if size < 9.995e-4:
        return sign + _scientific(size)

    return f"{number:.0f}" if size >= 99.95 else f"{number:.3g}"


def change(
    old: SupportsFloat | None, new: SupportsFloat | None, *, up: str = "↑", down: str = "↓"
) -> str:
    """How far ``new`` is from ``old``; the arrow is the sign. Empty when it did not change.

    >>> change(0.4468, 0.428)
    '↓ 0.0188'
    """
    before, after = _number(old), _number(new)
    if before is None or after is None or not (math.isfinite(before) and math.isfinite(after)):
        return ""
    if before == after:
        return ""
    return f"{up if after > before else down} {value(abs(after - before))}"


def factor(ratio: SupportsFloat | None, *, times: str = "×") -> str:
    """A ratio in two significant digits: ``× 7.6``, ``× 470``, ``× 0.07``; at most 9 cells."""
    number = _number(ratio)
    word = _special(number)
    if word is not None or number is None:
        return f"{times} {word}" if word != MISSING else MISSING
    return f"{times} {_factor_body(number)}"


def _factor_body(number: float) -> str:
    a = abs(number)
    sign = "-" if number < 0 else ""
    if a == 0:
        return "0"
    exponent = int(f"{a:.1e}".partition("e")[2])
    if exponent < -3 or exponent > 5:
        return sign + _scientific(a)
    if exponent < -2:
        return f"{sign}{a:.3f}"
    if exponent < 1:
        return f"{sign}{a:.2f}" if exponent < 0 else f"{sign}{a:.1f}"
    rounded = round(a, 1 - exponent)
    if exponent < 4:
        return f"{sign}{rounded:,.0f}"
    group, digits = divmod(exponent, 3)

    return f"{sign}{rounded / 10.0 ** (3 * group):.{1 if digits == 0 else 0}f}{_SUFFIXES[group]}"


def percent(fraction: SupportsFloat | None, *, whole: bool = False) -> str:
    """A share that rltui derived: ``80 %``, ``0.04 %``; at most 9 cells.

    Below 1 % two digits, or with ``whole`` (shares of a step) ``< 1 %``. 100 % is shown only for
    what is complete.
    """
    number = _number(fraction)
    word = _special(number)
    if word is not None or number is None:
        return word or MISSING
    share, sign = abs(number) * 100.0, "-" if number < 0 else ""
    if whole and 0 < share < 0.995:
        return "> -1 %" if sign else "< 1 %"

    return f"{sign}{_percent_body(share)} %"


def _percent_body(share: float) -> str:
    """A non-negative share, given in percent."""
    if 0.01 <= share < 0.995:
        return f"{share:.2f}"
    if share < 0.995:
        return _factor_body(share)
    if 99 < share < 100:
        return "99"
    return f"{share:,.0f}" if share < 9999.5 else value(share)


def duration(seconds: SupportsFloat | None, tenths: bool = False) -> str:
    """A length of time in at most two units and six cells: ``58 s``, ``2m24s``, ``2d04h``.

    ``tenths`` keeps the fraction of what lasts less than a minute (``17.4 s``, ``0.26 s``,
    ``26 ms``). A negative length, which comes from clocks that disagree, counts as 0.
    """
    number = _number(seconds)
    if number is None or not math.isfinite(number):
        return MISSING
    number = max(0.0, number)
    if tenths and 0 < number < 59.95:
        return _fraction_of_minute(number)
    whole = int(number + 0.5)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02d}s"

    return _hours_and_days(whole)


def _hours_and_days(seconds: int) -> str:
    if seconds < _DAY:
        return f"{seconds // _HOUR}h{seconds % _HOUR // _MINUTE:02d}m"
    days, rest = divmod(seconds, _DAY)
    if days < 100:
        return f"{days}d{rest // _HOUR:02d}h"
    return f"{days}d" if days < 100_000 else "> 270y"


def _fraction_of_minute(seconds: float) -> str:
    if seconds < 0.0005:
        return "< 1 ms"
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 0.995 else f"{seconds:.1f} s"


def age(seconds: SupportsFloat | None) -> str:
    """How long ago, in one unit: ``4 s``, ``41 m``, ``3 h``, ``12 d``, ``8 y``. Rounds down."""
    number = _number(seconds)
    if number is None or not math.isfinite(number):
        return MISSING
    number = max(0.0, number)
    for unit, size, limit in (("s", 1, _MINUTE), ("m", _MINUTE, _HOUR), ("h", _HOUR, _DAY)):
        if number < limit:
            return f"{int(number // size)} {unit}"
    days = int(min(number // _DAY, 999_999))
    return f"{days} d" if days < 2 * _YEAR else f"{int(days / _YEAR)} y"


def step_range(first: SupportsFloat | None, last: SupportsFloat | None) -> str:
    """Two steps: ``30 to 31``; ``at 30`` where both are the same."""
    begin, end = step(first), step(last)
    return f"at {begin}" if begin == end else f"{begin} to {end}"


def step(n: SupportsFloat | None) -> str:
    """A step or a count: ``60,416``; from a million on SI (``1.23M``)."""
    number = _number(n)
    word = _special(number)
    if word is not None or number is None:
        return word or MISSING
    if abs(number) < 999_999.5:
        return f"{number:,.0f}" if number == round(number) else value(number)
    sign = "-" if number < 0 else ""
    return sign + _si(abs(number), _exponent(abs(number)))


def exact(n: int) -> str:
    """A count of bytes or an offset in a file, to the last digit: ``1,234,567``."""
    return f"{n:,}"


def clock(when: SupportsFloat | None, now: float | None = None) -> str:
    """Local time of day, ``14:03:22``, or the date when that is not the day of ``now``."""
    number = _number(when)
    if number is None or not math.isfinite(number):
        return MISSING
    try:
        moment = time.localtime(number)
        today = time.localtime(now) if now is not None else moment
    except (OverflowError, OSError, ValueError):
        return MISSING
    if moment[:3] == today[:3]:
        return time.strftime("%H:%M:%S", moment)
    if moment[0] == today[0]:
        return time.strftime("%m-%d %H:%M", moment)

    return f"{moment[0]:04d}-{moment[1]:02d}-{moment[2]:02d}"


def ticks(values: Sequence[float], step: float) -> list[str]:
    """Labels of one axis in one format: same decimals, same suffix; zero is ``0``."""
    biggest = max((abs(v) for v in values), default=0.0)
    if biggest == 0 or not math.isfinite(biggest):
        return [value(v) for v in values]
    if biggest < 1.001e-3 or biggest >= 1e15:
        digits = math.ceil(math.log10(biggest / step) - 1e-9) + _decimals(_mantissa(step))
        digits = min(4, max(0, digits))
        return [_short_exponent(v, digits) if abs(v) > step * 1e-6 else "0" for v in values]
    group = 0 if biggest < 10_000 else min(4, int(math.log10(biggest) + 1e-9) // 3)
    unit = 10.0 ** (3 * group)
    places = _decimals(step / unit)
    if places > 2 and group and biggest < 1e9:
        group, unit, places = 0, 1.0, _decimals(step)
    suffix = _SUFFIXES[group]

    return [f"{v / unit:,.{places}f}{suffix}" if abs(v) > step * 1e-6 else "0" for v in values]


def _decimals(step: float) -> int:
    """Decimals that show multiples of ``step`` exactly; at most 9."""
    return next((d for d in range(9) if abs(round(step, d) - step) <= step * 1e-6), 9)


def _mantissa(x: float) -> float:
    return x / 10.0 ** math.floor(math.log10(x) + 1e-9)


def _short_exponent(x: float, digits: int) -> str:
    mantissa, _, power = f"{x:.{digits}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(power)}"
