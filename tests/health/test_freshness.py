"""What a live row costs: which answers hold, judging in several calls; when a run is stalled."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rltui.catalogue.model import TagInfo
from rltui.core.errors import DocumentError
from rltui.core.level import Level
from rltui.core.yaml_document import Node, parse_document
from rltui.health.columns import since_thrown_back
from rltui.health.engine import Engine
from rltui.health.freshness import PATIENCE_S, SHORT_ROWS
from rltui.health.reference import Alignment, Reference
from rltui.health.rule import Rule
from rltui.health.stalled import StallLimits, stall_rule, with_override
from rltui.store import RunData
from rltui.store.series import Series
from tests.builders import a_batch, a_run, steps
from tests.health.test_engine import RECOGNITION, RULES, case_info, case_run, only
from tests.tables import cases

LONG = 30_000
PATIENCE = PATIENCE_S * LONG / 10_000


def noise(rows: int, middle: float = 0.1) -> list[float]:
    return (middle + 0.01 * np.random.default_rng(rows).standard_normal(rows)).tolist()


class Live:
    """A run of one tag that is judged by one rule, and how often it is."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        rows: int,
        rule: str = "margin_collapse",
        key: str = "dpo.margin",
        middle: float = 0.1,
    ) -> None:
        self.run = a_run({key: noise(rows, middle)})
        self.infos = {key: replace(case_info(key), tag=key)}
        self.key = key
        self.judged = 0
        self.engine = Engine(only(rule))
        from rltui.health import engine

        judge = engine.judge

        def counted(*arguments: object) -> object:
            self.judged += 1
            return judge(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(engine, "judge", counted)
        self.at(0.0)
        self.judged = 0

    def append(self, values: list[float]) -> None:
        first = self.run.series(self.key).count + 1
        self.run.apply(a_batch(steps(first, {self.key: values})))

    def at(self, now: float) -> Level:
        return self.engine.evaluate(self.run, self.infos, RECOGNITION, now).level


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Live]:
    return lambda rows: Live(monkeypatch, rows)


class TestWhenALongTagIsJudged:
    @pytest.mark.parametrize(
        ("rows", "new", "now", "judged"),
        [
            (LONG, [0.1] * 9, 1.0, False),
            (LONG, [0.1] * 9, PATIENCE + 1.0, True),
            (LONG, [0.1] * 9, math.inf, True),
            (LONG, [0.1] * 9, -5.0, True),
            (LONG, [0.1] * 70, 1.0, True),
            (SHORT_ROWS - 1, [0.1], 0.1, True),
            (LONG, [0.9], 0.1, True),
        ],
        ids=["usual", "not for ever", "last row", "clock back", "many rows", "short", "news"],
    )
    def test_usual_rows_wait(
        self, live: Callable[[int], Live], rows: int, new: list[float], now: float, judged: bool
    ) -> None:
        run = live(rows)
        run.append(new)
        run.at(now)
        assert (run.judged > 0) is judged
        assert run.engine.waiting(run.run.key) is not judged

    def test_a_jump_is_news_until_it_is_judged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An event: what is none must last for a share of the run."""
        run = Live(monkeypatch, LONG, "kl_blowup", "kl.old_new", 0.02)
        found = []
        for _ in range(9):
            run.append([0.9])
            found.append(run.at(0.1))
        assert found[-1] is Level.BAD
        whole = Engine(only("kl_blowup"))
        assert whole.evaluate(run.run, run.infos, RECOGNITION, 0.0).level is found[-1]

    def test_rows_between_others_do_not_wait(self, live: Callable[[int], Live]) -> None:
        run = live(LONG)
        run.run.apply(a_batch(steps(100, {run.key: [0.1] * 9})))
        run.at(0.1)
        assert run.judged > 0

    def test_news_of_the_tag_that_it_is_compared_with(self) -> None:
        roles = {"x": noise(LONG), "other": noise(LONG)}
        variant = next(v for r in RULES for v in r.variants if v.roles and not v.detector.reference)
        (rule,) = [r for r in RULES if variant in r.variants]
        key, role = variant.metrics[0], next(iter(variant.roles.values()))[0]
        run = a_run({key: roles["x"], role: roles["other"]})
        infos = {k: replace(case_info(k), tag=k) for k in (key, role)}
        engine = Engine([replace(rule, variants=(variant._replace(when=type(variant.when)()),))])
        engine.evaluate(run, infos, RECOGNITION, 0.0)
        run.apply(a_batch(steps(LONG + 1, {key: [0.1], role: [5.0]})))
        engine.evaluate(run, infos, RECOGNITION, 0.1)
        assert not engine.waiting(run.key)


class TestSeveralCalls:
    @pytest.fixture
    def case(self) -> tuple[RunData, dict[str, TagInfo]]:
        values = {k: np.array(noise(60)) for k in ("entropy", "clipfrac.policy", "kl.old_new")}
        run, infos, _ = case_run(values)
        return run, dict(infos)

    def rules(self) -> list[Rule]:
        return only("entropy_collapse", "clipfrac_high", "kl_blowup")

    def test_end_with_the_same_report(self, case: tuple[RunData, dict[str, TagInfo]]) -> None:
        run, infos = case
        engine, calls, report = Engine(self.rules()), 0, None
        while report is None:
            report = engine.advance(run, infos, RECOGNITION, 0.0, lambda: True)
            calls += 1
        assert calls >= 3
        assert report == Engine(self.rules()).evaluate(run, infos, RECOGNITION, 0.0)

    def test_nothing_is_judged_twice(self, case: tuple[RunData, dict[str, TagInfo]]) -> None:
        run, infos = case
        engine = Engine(self.rules())
        while engine.advance(run, infos, RECOGNITION, 0.0, lambda: True) is None:
            pass
        again = engine.advance(run, infos, RECOGNITION, 0.0, lambda: True)
        assert again is engine.evaluate(run, infos, RECOGNITION, 0.0)

    def test_a_new_reference_is_judged_in_several_calls(
        self, case: tuple[RunData, dict[str, TagInfo]]
    ) -> None:
        run, infos = case
        other, other_infos, _ = case_run(
            {k: np.array(noise(60, 0.4)) for k in ("entropy", "clipfrac.policy", "kl.old_new")}
        )
        engine = Engine(only("off_reference"))
        engine.evaluate(run, infos, RECOGNITION, 0.0)
        engine.compare(Reference(other, dict(other_infos), "good", Alignment.STEP, ()))
        assert engine.advance(run, infos, RECOGNITION, 0.0, lambda: True) is None
        assert engine.evaluate(run, infos, RECOGNITION, 0.0).reference == "good"


# -- from which row on values are judged by what was won before ----------------------------


def resumed(before: list[float], *parts: tuple[int, list[float]]) -> Series:
    run = a_run({"reward": before}, *(steps(first, {"reward": rows}) for first, rows in parts))
    return run.series("reward")


def rising(first: float, rows: int) -> list[float]:
    return [first + 0.01 * i + 0.002 * (i % 3) for i in range(rows)]


def test_a_restart_that_goes_on_from_the_same_values_keeps_the_past() -> None:
    series = resumed(rising(0.1, 100), (80, rising(0.89, 60)))
    assert len(series.restarts)
    assert since_thrown_back(series) is series


@pytest.mark.parametrize("level", [-5.0, 9.0])
def test_a_restart_at_another_level_begins_anew(level: float) -> None:
    series = resumed(rising(0.1, 100), (80, rising(level, 60)))
    judged = since_thrown_back(series)
    assert judged.steps.tolist() == list(range(80, 140))
    assert judged.values[0] == pytest.approx(level)


def test_the_last_of_several_counts() -> None:
    series = resumed(rising(0.1, 100), (80, rising(-5, 60)), (120, rising(-4.6, 60)))
    assert since_thrown_back(series).steps[0] == 80


def test_a_few_rows_behind_a_restart_show_nothing() -> None:
    series = resumed(rising(0.1, 100), (80, [-5.0] * 4))
    assert since_thrown_back(series) is series


@pytest.mark.parametrize(
    ("interval", "pause", "quiet"),
    [(None, None, 3600.0), (1.0, None, 60.0), (100.0, None, 500.0), (100.0, 600.0, 900.0)],
)
def test_a_run_may_be_silent_as_long_as_it_has_been(
    interval: float | None, pause: float | None, quiet: float
) -> None:
    limits = StallLimits(least_s=60, intervals=5, pauses=1.5, unpaced_s=3600, ended_after_s=86400)
    assert limits.quiet_s(interval, pause) == quiet


def test_the_explanation_shows_the_limits_of_the_document() -> None:
    assert "77" not in stall_rule().rule.meaning
    limits = stall_rule().limits._replace(intervals=77)
    assert "77 usual intervals" in stall_rule()._replace(limits=limits).rule.meaning


def an_override(text: str) -> Node:
    return parse_document(text, Path("config.yaml"))


def test_a_configuration_changes_the_limits_and_their_explanation() -> None:
    changed = with_override(an_override("{least_s: 900, intervals: 33}"))
    assert changed.limits.quiet_s(1.0, None) == 900
    assert changed.limits.quiet_s(100.0, None) == 3300
    assert "900 s, 33 usual intervals" in changed.rule.meaning
    assert stall_rule().limits.least_s == 60


@cases(__file__, "test_a_wrong_limit_is_an_error_with_its_place")
def test_a_wrong_limit_is_an_error_with_its_place(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=r"config\.yaml:1:") as error:
        with_override(an_override(text))
    assert message in str(error.value)
