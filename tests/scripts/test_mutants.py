"""What mutmut reports is read, and an unfinished run is no score."""

from __future__ import annotations

import pytest

from tests.places import ROOT
from tests.test_documentation import load_script

script = load_script("mutants")

STATS = {"total": 12, "skipped": 2, "check_was_interrupted_by_user": 0}
RESULTS = """
    rltui.core.text.x_fit__mutmut_4: survived
    rltui.core.text.x_fit__mutmut_5: timeout
    rltui.core.text.x_pad__mutmut_1: no tests
"""


def test_survivors_are_what_no_test_noticed() -> None:
    score = script.read_score(STATS, RESULTS)
    assert score.survivors == ("rltui.core.text.x_fit__mutmut_4", "rltui.core.text.x_pad__mutmut_1")
    assert (score.total, score.share) == (10, 0.8)


@pytest.mark.parametrize(
    ("stats", "results"),
    [
        ({**STATS, "total": 0}, ""),
        ({**STATS, "check_was_interrupted_by_user": 1}, ""),
        (STATS, "    rltui.core.text.x_fit__mutmut_4: not checked\n"),
    ],
    ids=["nothing", "interrupted", "half"],
)
def test_an_unfinished_run_has_no_score(stats: dict[str, int], results: str) -> None:
    with pytest.raises(ValueError, match="did not finish"):
        script.read_score(stats, results)


@pytest.mark.parametrize("name", script.MODULES)
def test_modules_and_their_tests_exist(name: str) -> None:
    module, tests = script.MODULES[name]
    assert all((ROOT / path).exists() for path in (module, *tests))
