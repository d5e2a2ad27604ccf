"""Values that are not finite, or stand still."""

import pytest

from tests.health.detectors.said import Number, first_row, signal

LEAST: dict[str, Number] = {"most": 1e-6}


@pytest.mark.parametrize(
    ("name", "given", "text", "roles", "expected"),
    [
        ("non_finite", {}, "1x9 nan", {}, 9),
        ("non_finite", {}, "1x9 inf 1x3", {}, "over"),
        ("non_finite", {}, "nanx3", {}, 0),
        # a third time is again and again, until it stays away for long
        ("non_finite", {}, "1x9 nan 1x9 nan 1x9", {}, "over"),
        ("non_finite", {}, "1x9 nan 1x9 nan 1x9 nan 1x29", {}, 29),
        ("non_finite", {}, "1x9 nan 1x9 nan 1x9 nan 1x31", {}, "over"),
        ("non_finite", {}, "1x9", {}, None),
        ("non_finite", {"after_finite": True}, "nanx3", {}, None),
        ("non_finite", {"after_finite": True}, "nanx3 1x3 nan", {}, 6),
        ("non_finite", {"lasts": True}, "1x3 nan", {}, 3),
        ("non_finite", {"lasts": True}, "1x3 nan 1 nan 1 nanx9", {}, "over"),
        ("non_finite", {"lasts": True}, "1x900 nan 1 nan 1 nan 1x9", {}, 904),
        ("never_above", {}, "0x19", {}, 0),
        ("never_above", {}, "0x17", {}, None),
        ("never_above", {}, "0x40 -0.1 0x99", {}, "over"),
        ("never_above", {"limit": 0.5}, "-0.4x40", {}, 0),
        ("unchanged", {"most": 0.0, "after": True}, "0.1x9 0x60", {}, 9),
        ("unchanged", {"most": 0.0, "after": True}, "0x60", {}, None),
        ("unchanged", {}, "0.123456..0.5x9 0.693147x21", {}, 10),
        ("unchanged", {}, "0.693147x9 0.6931x9", {}, None),
        ("unchanged", {}, "0.69x90", {}, None),
        ("unchanged", {"rounded": True}, "0.69x21", {}, 1),
        ("unchanged", {"rounded": True}, "0.69x40 0.68x1", {}, "over"),
        ("unchanged", {"rounded": True}, "0.69x40", {"gradient": "0x40"}, 1),
        ("unchanged", {"rounded": True}, "0.69x40", {"gradient": "1x40"}, None),
        ("unchanged", {"rounded": True}, "0.69x40", {"gradient": "nanx40"}, None),
        ("unchanged", LEAST, "1e-8~1e-9x40", {}, 0),
        ("unchanged", LEAST, "1e-3~1e-4x40", {}, None),
        ("unchanged", LEAST, "1e-3x40", {}, None),
    ],
)  # fmt: skip
def test_what_is_found_and_from_which_row_on(
    name: str, given: dict[str, Number], text: str, roles: dict[str, str], expected: object
) -> None:
    assert first_row(name, text, roles, **given) == expected


def test_what_never_was_above_a_limit_was_not_from_the_start() -> None:
    found = signal("never_above", "0x40", {"reward": "0..1x12 0.5x28"})
    assert not found.beyond[11]  # a reward that rises says that something moves
    assert found.beyond[-1]
    assert found.onset is not None
    assert found.onset[-1] == 0


@pytest.mark.parametrize("given", [{"after_finite": True}, {"lasts": True}])
def test_what_was_never_finite_has_no_verdict(given: dict[str, Number]) -> None:
    assert signal("non_finite", "nanx9", {}, **given).silent
    assert not signal("non_finite", "nanx9 1", {}, **given).silent
    assert not signal("non_finite", "nanx9", {}).silent


def test_rows_of_one_value_are_counted() -> None:
    found = signal("unchanged", "0.5x3 0.7x4 0.9", {}, rounded=True)
    assert found.facts["count"].tolist() == [1, 2, 3, 1, 2, 3, 4, 1]
    assert signal("non_finite", "1 nan 1 inf", {}).facts["count"].tolist() == [0, 1, 1, 2]
