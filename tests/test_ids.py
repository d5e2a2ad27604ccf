"""Ids of parametrised tests are the same in every process, and a person can read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ids import LIMIT, short_id, wrong_ids


class Unnamed:
    """A record whose text has its memory address."""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3, None),
        (True, None),
        (None, None),
        ("", "empty"),
        ("\n\t", "blank"),
        ("kl", "kl"),
        ("a line\nof a log that is long", "a line of a lo"),
        ("/usr/bin/tee -a", "tee -a"),
        (b"\xff\xfe", "blank"),
        (Path("/tmp/logs/run.log"), "run.log"),
        (10**400, "1000..."),
        ((80, 24), "80x24"),
        ((80, "a"), None),
    ],
)
def test_short_id(value: object, shown: str | None) -> None:
    assert short_id(value) == shown


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (str(Unnamed()), "a memory address"),
        ("2-/home/me/runs", "a path"),
        ("x" * LIMIT, "characters"),
    ],
)
def test_a_bad_id_is_refused(name: str, why: str) -> None:
    (message,) = wrong_ids([f"tests/test_x.py::test_y[{name}]", "tests/test_x.py::test_z"])
    assert why in message


def test_every_id_of_the_suite(request: pytest.FixtureRequest) -> None:
    """Covers what was collected: all of it in a run without arguments."""
    wrong = wrong_ids(item.nodeid for item in request.session.items)
    assert not wrong, "give ids=...:\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", ["10x1001", "0x7f", "actor/ppo_kl", "1/30", "x" * (LIMIT - 1)])
def test_other_ids_are_not(name: str) -> None:
    assert wrong_ids([f"tests/a/test_x.py::test_y[{name}]"]) == []
