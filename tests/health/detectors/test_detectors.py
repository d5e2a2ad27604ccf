"""What each detector finds, and from which row on: the table of ``detectors.yaml``."""

from typing import Any

import pytest

from tests.health.detectors.said import first_row
from tests.tables import table

CASES = table(__file__)


@pytest.mark.parametrize("name", CASES)
def test_what_is_found_and_from_which_row_on(name: str) -> None:
    wrong: list[tuple[dict[str, Any], str, dict[str, str], object]] = []
    for case in CASES[name]:
        for text, expected, *roles in case["series"]:
            others = roles[0] if roles else {}
            found = first_row(name, text, others, **case["given"])
            if found != expected:
                wrong.append((case["given"], text, others, found))
    assert wrong == []
