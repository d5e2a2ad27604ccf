"""Every metric of the catalogue is read by a rule, or it is said why none does."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from rltui.catalogue import load_catalogue
from rltui.health.rule import Variant
from rltui.health.rules import load_rules, unread_reasons, why_unread

METRICS = load_catalogue().metrics
#: Not the rule about numbers that are not finite, which reads everything, and not those that need a
#: reference run.
VARIANTS = [
    v
    for r in load_rules()
    for v in r.variants
    if not v.detector.finite_is_quiet and not v.detector.reference
]
REASONS = unread_reasons()


def reads(variant: Variant, key: str) -> bool:
    roles = [pattern for patterns in variant.roles.values() for pattern in patterns]
    return variant.reads(key) is not None or any(fnmatchcase(key, pattern) for pattern in roles)


@pytest.mark.parametrize("key", METRICS)
def test_a_metric_is_read_or_waived(key: str) -> None:
    assert any(reads(v, key) for v in VARIANTS) or why_unread(key), (
        f"{key}: name it in a rule, or in health/data/unread.yaml with a reason"
    )


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in REASONS])
def test_a_reason_is_needed(pattern: str) -> None:
    waived = [key for key in METRICS if fnmatchcase(key, pattern)]
    assert waived, "no such metric"
    assert not all(any(reads(v, key) for v in VARIANTS) for key in waived), "a rule reads it"


def test_a_metric_that_nobody_knows_has_no_reason() -> None:
    assert why_unread("no.such.metric") is None
