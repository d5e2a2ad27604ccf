"""Ids of parametrised tests are the same in every process, and a person can read them."""

import pytest

from tests.ids import LIMIT, wrong_ids


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (str(object()), "a memory address"),
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
