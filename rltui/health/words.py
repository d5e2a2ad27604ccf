"""Fills the templates of rules with numbers. No expressions, no eval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from string import Formatter

#: What may stand after the colon of a field: share as percent, whole number.
SPECS = ("", "%", "d")
#: Thousands, as on the screens.
_SUFFIXES = ("", "k", "M", "G", "T")


def fields_of(template: str) -> list[tuple[str, str]]:
    """The (field, spec) pairs of a template. Raises ValueError on broken braces."""
    return [
        (name, spec or "")
        for _, name, spec, conversion in Formatter().parse(template)
        if name is not None and not _refuse(conversion)
    ]


def _refuse(conversion: str | None) -> bool:
    if conversion:
        raise ValueError("conversions (!r) are not allowed")
    return False


def fill(template: str, values: Mapping[str, float | int | str | None]) -> str:
    """``template`` with its fields replaced; a field without a value shows as ``–``."""
    out = []
    for literal, name, spec, _ in Formatter().parse(template):
        out.append(literal)
        if name is not None:
            out.append(_shown(values.get(name), spec or ""))
    return "".join(out)


def _shown(value: float | int | str | None, spec: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if spec == "%":
        return f"{number(100 * value)} %"
    if spec == "d" or isinstance(value, int):
        return whole(value)
    return number(value)


def whole(value: float) -> str:
    """A step or a count: ``60,416``; from a million on ``1.58M``, never with an exponent."""
    if not math.isfinite(value):
        return number(value)
    if abs(value) < 999_999.5:
        return f"{round(value):,}"
    exponent = int(f"{value:.2e}".partition("e")[2])
    group, digits = divmod(exponent, 3)
    if group >= len(_SUFFIXES):
        return number(value)
    return f"{value / 10.0 ** (3 * group):.{2 - digits}f}{_SUFFIXES[group]}"


def number(value: float) -> str:
    """Three significant digits, compact: 0.176, 2.46, 972, 1.0e-6."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 9.995e-4 or size >= 9.995e4:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    if size >= 99.95:
        return f"{value:.0f}"
    return f"{value:.3g}"
