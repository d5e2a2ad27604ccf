"""Values that are not finite, or stand still."""

import pytest

from tests.health.detectors.said import Number, signal


@pytest.mark.parametrize("given", [{"after_finite": True}, {"lasts": True}])
def test_what_was_never_finite_has_no_verdict(given: dict[str, Number]) -> None:
    assert signal("non_finite", "nanx9", {}, **given).silent
    assert not signal("non_finite", "nanx9 1", {}, **given).silent
    assert not signal("non_finite", "nanx9", {}).silent


def test_rows_of_one_value_are_counted() -> None:
    found = signal("unchanged", "0.5x3 0.7x4 0.9", {}, rounded=True)
    assert found.facts["count"].tolist() == [1, 2, 3, 1, 2, 3, 4, 1]
    assert signal("non_finite", "1 nan 1 inf", {}).facts["count"].tolist() == [0, 1, 1, 2]
