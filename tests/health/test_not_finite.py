"""A NaN in a tag that nobody knows is still a NaN."""

from __future__ import annotations

import math

import pytest

from rltui.catalogue.guess import unknown_tag
from rltui.catalogue.model import Recognition
from rltui.core.level import Level
from rltui.health.cases import case_run
from rltui.health.engine import Engine
from rltui.health.model import FindingState, Report
from rltui.health.rules import load_rules

NAN = math.nan
RULES = [r for r in load_rules() if r.id == "nan"]


def report(tag: str, values: list[float]) -> Report:
    import numpy as np

    run, _, recognition = case_run({tag: np.array(values)})
    return Engine(RULES).evaluate(run, {tag: unknown_tag(tag)}, recognition, 0.0)


@pytest.mark.parametrize(
    ("tag", "level"),
    [
        ("custom/score", Level.WATCH),
        ("custom/tackle_rate", Level.WATCH),
        ("my/critic_LOSS", Level.BAD),
        ("my/KL", Level.BAD),
        ("kl_mine", Level.BAD),
        ("extra/intrinsic_reward", Level.BAD),
        ("layers/12/grad_max", Level.BAD),
        ("policy2/Entropy", Level.BAD),
        ("V/value_head", Level.BAD),
    ],
)
@pytest.mark.parametrize("wrong", [NAN, math.inf])
def test_the_name_of_an_unknown_tag_decides_the_level(tag: str, level: Level, wrong: float) -> None:
    (finding,) = report(tag, [1.0] * 10 + [wrong]).findings
    assert (finding.rule, finding.tag, finding.since_step) == ("nan", tag, 11)
    assert finding.level is level


def test_all_finite_or_never_finite_is_quiet() -> None:
    assert report("custom/score", [1.0] * 10).findings == ()
    assert report("custom/score", [NAN] * 10).findings == ()


def test_a_value_that_comes_and_goes_is_not_computed_at_each_row() -> None:
    values = [1.0, NAN, 1.0, NAN, 1.0, NAN, NAN]
    found = report("custom/score", values * 3).findings
    assert all(f.state is FindingState.RESOLVED for f in found)


def test_a_rate_may_be_undefined() -> None:
    assert report("Fps (10 sec)", [1.0] * 10 + [NAN]).findings == ()


def test_finite_numbers_that_nobody_knows_are_no_verdict() -> None:
    assert report("custom/score", [1.0] * 10).level is Level.UNKNOWN


def test_every_tag_is_named_once() -> None:
    import numpy as np

    values = np.array([1.0] * 10 + [NAN])
    run, infos, known = case_run({"loss.total": values, "custom/score": values})
    infos["custom/score"] = unknown_tag("custom/score")
    assert isinstance(known, Recognition)
    (finding,) = Engine(RULES).evaluate(run, infos, known, 0.0).findings
    assert (finding.level, finding.tag) == (Level.BAD, "loss.total")
    assert finding.evidence.others == ("custom/score",)
