"""The only formatter of numbers: values, changes, durations, ages, steps.

Every number on a screen, in a report or on an axis goes through here, so that the same
number looks the same everywhere and can be found again in the log. All functions take any
float (NaN, infinite, denormal, -0.0, numpy scalars) and None, and never raise.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from typing import SupportsFloat

#: Shown for a value that was never logged.
MISSING = "–"
#: Cells of an aligned value: before the decimal point, and from the point on.
BEFORE = 5
AFTER = 5
ALIGNED_WIDTH = BEFORE + AFTER

_SUFFIXES = ("", "k", "M", "G", "T")
_MINUTE = 60
_HOUR = 3600
_DAY = 86400
#: Days of a year.
_YEAR = 365.25


def _finite(x: SupportsFloat | None) -> float | str:
    """``x`` as a float without negative zero; for None, NaN and infinity the word, which integers
    beyond the range have, too."""
    if x is None:
        return MISSING
    try:
        number = float(x) + 0.0
    except OverflowError:
        number = math.inf if x > 0 else -math.inf  # type: ignore[operator]
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Inf" if number > 0 else "-Inf"


def value(x: SupportsFloat | None) -> str:
    """A value as logged: three significant digits, at most ten cells. Negative ones have an SI
    suffix from 1,000 on, to leave room for the sign.

    >>> [value(v) for v in (0.7, 48, 2650, 12345, 0.0013, 1.3e-4, -1234)]
    ['0.700', '48.0', '2,650', '12.3k', '0.0013', '1.3e-4', '-1.23k']
    """
    number = _finite(x)
    if isinstance(number, str):
        return number
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    a = abs(number)
    exponent = _exponent(a)
    if exponent < -3:
        text = _scientific(a)
        return sign + ("0.0010" if text == "1.0e-3" else text)

    if exponent < -1:
        return f"{sign}{a:.4f}"
    if exponent < 3:
        return f"{sign}{a:.{2 - exponent if exponent >= 0 else 3}f}"

    return f"{a:,.0f}" if not sign and a < 9999.5 else sign + _si(a)


def on_scale(x: float, size: float) -> float:
    """``x``, or 0 when it is no more than the rounding error of numbers as large as ``size``."""
    return 0.0 if abs(x) < 1e-12 * size else x


def _exponent(a: float) -> int:
    """The decimal exponent after rounding to three significant digits."""
    return int(f"{a:.2e}".partition("e")[2])


def _si(a: float) -> str:
    """Three significant digits with an SI suffix."""
    group, digits = divmod(_exponent(a), 3)
    if group >= len(_SUFFIXES):
        return _scientific(a)
    return f"{a / 10.0 ** (3 * group):.{2 - digits}f}{_SUFFIXES[group]}"


def _scientific(a: float, digits: int = 1) -> str:
    """``digits`` decimals and the shortest exponent: 1.3e-4, 1.2e15."""
    mantissa, _, power = f"{a:.{digits}e}".partition("e")
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
    ['0.5', '2.46', '1234', '3.62G', '1.0e-6', 'NaN']
    """
    number = _finite(x)
    if isinstance(number, str):
        return number
    sign = "-" if number < 0 else ""
    a = abs(number)
    if a >= 9.995e4:
        return sign + _si(a)
    if 0 < a < 9.995e-4:
        return sign + _scientific(a)

    return f"{number:.0f}" if a >= 99.95 else f"{number:.3g}"


def change(old: SupportsFloat | None, new: SupportsFloat | None) -> str:
    """How far ``new`` is from ``old``; the arrow is the sign. Empty when it did not change.

    >>> change(0.4468, 0.428)
    '↓ 0.0188'
    """
    before = _finite(old)
    after = _finite(new)
    if isinstance(before, str) or isinstance(after, str) or before == after:
        return ""
    return f"{'↑' if after > before else '↓'} {value(abs(after - before))}"


def signed(difference: float) -> str:
    """A difference with its sign: "+ 0.0188"; a dash where it is not finite."""
    if not math.isfinite(difference):
        return MISSING
    return f"{'+' if difference > 0 else '-'} {value(abs(difference))}" if difference else "0"


def factor(ratio: SupportsFloat | None) -> str:
    """A ratio in two significant digits: ``× 7.6``, ``× 470``, ``× 0.07``; at most 9 cells."""
    number = _finite(ratio)
    if isinstance(number, str):
        return number if number == MISSING else f"× {number}"
    sign = "-" if number < 0 else ""
    digits = _two_digits(abs(number))
    return f"× {sign}{digits}"


def _two_digits(a: float) -> str:
    if a == 0:
        return "0"
    exponent = int(f"{a:.1e}".partition("e")[2])
    if not -3 <= exponent <= 5:
        return _scientific(a)
    if exponent < 1:
        return f"{a:.{1 if exponent == 0 else 2 if exponent > -3 else 3}f}"
    rounded = round(a, 1 - exponent)
    if exponent < 4:
        return f"{rounded:,.0f}"
    group, digits = divmod(exponent, 3)

    return f"{rounded / 10.0 ** (3 * group):.{1 if digits == 0 else 0}f}{_SUFFIXES[group]}"


def percent(fraction: SupportsFloat | None, *, whole: bool = False) -> str:
    """A share that rltui derived: ``80 %``, ``0.04 %``; at most 9 cells.

    Below 1 % two digits, or with ``whole`` (shares of a step) ``< 1 %``. 100 % is shown only for
    what is complete.
    """
    number = _finite(fraction)
    if isinstance(number, str):
        return number
    share = abs(number) * 100.0
    sign = "-" if number < 0 else ""
    if whole and 0 < share < 0.995:
        return "> -1 %" if sign else "< 1 %"
    if share < 0.995:
        text = f"{share:.2f}" if share >= 0.01 else _two_digits(share)
    elif share < 9999.5:
        text = "99" if 99 < share < 100 else f"{share:,.0f}"
    else:
        text = value(share)

    return f"{sign}{text} %"


def duration(seconds: SupportsFloat | None, tenths: bool = False) -> str:
    """A length of time in at most two units and six cells: ``58 s``, ``2m24s``, ``2d04h``.

    ``tenths`` keeps the fraction of what lasts less than a minute (``17.4 s``, ``0.26 s``,
    ``26 ms``). A negative length, which comes from clocks that disagree, counts as 0.
    """
    number = _finite(seconds)
    if isinstance(number, str):
        return MISSING
    number = max(0.0, number)
    if tenths and 0 < number < 59.95:
        if number < 0.0995:
            return f"{number * 1000:.0f} ms" if number >= 0.0005 else "< 1 ms"
        return f"{number:.2f} s" if number < 0.995 else f"{number:.1f} s"

    whole = int(number + 0.5)
    days, rest = divmod(whole, _DAY)
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02d}s" if whole >= _MINUTE else f"{whole} s"
    if days >= 100:
        return f"{days}d" if days < 100_000 else "> 270y"
    hours = rest // _HOUR
    return f"{days}d{hours:02d}h" if days else f"{hours}h{rest % _HOUR // _MINUTE:02d}m"


def age(seconds: SupportsFloat | None) -> str:
    """How long ago, in one unit: ``4 s``, ``41 m``, ``3 h``, ``12 d``, ``8 y``. Rounds down."""
    number = _finite(seconds)
    if isinstance(number, str):
        return MISSING
    number = max(0.0, number)
    for unit, size, limit in (("s", 1, _MINUTE), ("m", _MINUTE, _HOUR), ("h", _HOUR, _DAY)):
        if number < limit:
            return f"{int(number // size)} {unit}"
    days = int(min(number // _DAY, 999_999))
    return f"{days} d" if days < 2 * _YEAR else f"{int(days / _YEAR)} y"


def step_range(first: SupportsFloat | None, last: SupportsFloat | None) -> str:
    """Two steps: ``30 to 31``; ``at 30`` where both are the same."""
    begin = step(first)
    end = step(last)
    return f"at {begin}" if begin == end else f"{begin} to {end}"


def step(n: SupportsFloat | None) -> str:
    """A step or a count: ``60,416``; from a million on SI (``1.23M``)."""
    number = _finite(n)
    if isinstance(number, str):
        return number
    if abs(number) < 999_999.5:
        return f"{number:,.0f}" if number == round(number) else value(number)
    return ("-" if number < 0 else "") + _si(abs(number))


def exact(n: int) -> str:
    """A count of bytes or an offset in a file, to the last digit: ``1,234,567``."""
    return f"{n:,}"


def clock(when: SupportsFloat | None) -> str:
    """Local time of day, ``14:03:22``."""
    number = _finite(when)
    if isinstance(number, str):
        return MISSING
    try:
        return time.strftime("%H:%M:%S", time.localtime(number))
    except (OverflowError, OSError, ValueError):
        return MISSING


def ticks(values: Sequence[float], step: float) -> list[str]:
    """Labels of one axis in one format: same decimals, same suffix; zero is ``0``."""
    biggest = max((abs(v) for v in values), default=0.0)
    if biggest == 0 or not math.isfinite(biggest):
        return [value(v) for v in values]
    if biggest < 1.001e-3 or biggest >= 1e15:
        mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
        digits = math.ceil(math.log10(biggest / step) - 1e-9) + _decimals(mantissa)
        texts = [_scientific(v, min(4, max(0, digits))) for v in values]
        texts = [re.sub(r"(\.\d*?)0+e", r"\1e", text).replace(".e", "e") for text in texts]
    else:
        group = 0 if biggest < 10_000 else min(4, int(math.log10(biggest) + 1e-9) // 3)
        places = _decimals(step / 10.0 ** (3 * group))
        if places > 2 and group and biggest < 1e9:
            group = 0
            places = _decimals(step)
        texts = [f"{v / 10.0 ** (3 * group):,.{places}f}{_SUFFIXES[group]}" for v in values]

    return [t if abs(v) > step * 1e-6 else "0" for t, v in zip(texts, values, strict=True)]


def _decimals(step: float) -> int:
    """Decimals that show multiples of ``step`` exactly; at most 9."""
    return next((d for d in range(9) if abs(round(step, d) - step) <= step * 1e-6), 9)
