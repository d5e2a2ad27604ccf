"""Limits that are no parameters of a rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.errors import DocumentError
from rltui.core.yaml_document import parse_document
from rltui.health.limits import SettingLimits, limits_of, movement

GIVEN = dict.fromkeys(SettingLimits._fields, "{value: 2, source: why}")


def read(**changed: str) -> SettingLimits:
    text = "\n".join(f"{name}: {entry}" for name, entry in (GIVEN | changed).items() if entry)
    return limits_of(SettingLimits)(parse_document(text, Path("limits.yaml")))


def test_every_limit_has_a_number_of_its_type() -> None:
    found = read(factor="{value: 2.5, source: why}")
    assert (found.rows_before, found.factor) == (2, 2.5)
    assert [type(getattr(found, name)) for name in ("rows_before", "factor")] == [int, float]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("", "key 'factor' is missing"),
        ("{value: 2}", "key 'source' is missing"),
        ("{source: why}", "key 'value' is missing"),
        ("{value: 2, source: ' '}", "the reason is missing"),
        ("{value: two, source: why}", "expected a number"),
        ("{value: 2, source: why, sourcee: why}", "unknown key 'sourcee'"),
    ],
    ids=["absent", "no reason", "no value", "empty reason", "text", "unknown"],
)
def test_a_limit_without_number_or_reason_is_refused(entry: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read(factor=entry)


def test_rows_are_whole_numbers() -> None:
    with pytest.raises(DocumentError, match="a whole number"):
        read(rows_before="{value: 2.5, source: why}")


def test_the_shipped_limits_fit_together() -> None:
    limits = movement()
    assert limits.moved.usual_least <= limits.moved.usual_rows
    assert limits.trend.band_low < 0.5 < limits.trend.band_high
    assert limits.trend.least_rows <= limits.trend.blocks
