"""Life of findings, badges, what is skipped, what is remembered."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rltui.catalogue.model import Range, Recognition, Scenario, TagInfo
from rltui.core.level import Level
from rltui.facts import sentences
from rltui.health import engine as engine_module
from rltui.health.cases import case_info, case_run, parse_series
from rltui.health.engine import Engine
from rltui.health.model import Finding, FindingState, Report
from rltui.health.reference import Alignment, Reference
from rltui.health.rule import Rule, Variant
from rltui.health.rules import load_rules
from rltui.store import RunData
from rltui.store.series import Derived
from tests.builders import START, a_batch, a_block, a_run, steps

RULES = load_rules()
RECOGNITION = Recognition("generic", "", None, Scenario("llm-rl", "", (), (), ()), ())


def only(*ids: str) -> list[Rule]:
    return [r for r in RULES if r.id in ids]


def judge(rules: list[Rule] | None = None, scenario: str = "llm-rl", **series: str) -> Report:
    """``entropy="3.8x30"``; double underscore is a dot."""
    values = {key.replace("__", "."): parse_series(text) for key, text in series.items()}
    run, infos, recognition = case_run(values, scenario=scenario)
    return Engine(RULES if rules is None else rules).evaluate(run, infos, recognition, 5.0)


def judgements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(rule, tag) of what is judged from now on, in order."""
    judged: list[tuple[str, str]] = []
    real = engine_module.judge

    def counted(rule: Rule, variant: Variant, info: TagInfo, *rest: object) -> object:
        judged.append((rule.id, info.tag))
        return real(rule, variant, info, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(engine_module, "judge", counted)
    return judged


def sole(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


class TestLife:
    def test_pending_is_not_shown(self) -> None:
        report = judge(only("entropy_collapse"), entropy="3.8x30 0.1x1")
        assert report.findings == ()
        assert report.level is Level.OK

    def test_fires_once_certain_and_reports_since_the_first_row(self) -> None:
        finding = sole(judge(only("entropy_collapse"), entropy="3.8x30 0.1x6"))
        assert finding.state is FindingState.FIRING
        assert finding.level is Level.BAD
        assert finding.since_step == 31
        assert finding.until_step is None
        assert finding.since_wall_time == 31.0

    def test_is_over_after_rows_inside(self) -> None:
        text = "3.8x30 0.1x10 3.8x"
        assert sole(judge(only("entropy_collapse"), entropy=text + "2")).until_step is None
        over = sole(judge(only("entropy_collapse"), entropy=text + "12"))
        assert over.state is FindingState.RESOLVED
        assert over.until_step is not None
        assert 40 <= over.until_step <= 43
        assert judge(only("entropy_collapse"), entropy=text + "12").level is Level.OK

    def test_a_firing_finding_sinks_to_watch_and_remembers_the_worst(self) -> None:
        finding = sole(judge(only("clipfrac_high"), clipfrac__policy="0.05x20 0.5x10 0.24x60"))
        assert finding.level is Level.WATCH
        assert finding.state is FindingState.FIRING
        assert finding.evidence.worst is Level.BAD

    def test_evidence(self) -> None:
        finding = sole(judge(only("kl_blowup"), kl__old_new="0.01x30 5.6x3"))
        assert finding.evidence.value == pytest.approx(5.6)
        assert finding.evidence.threshold == 0.2
        assert (finding.since_step, finding.certain_step) == (31, 31)  # an event, far beyond
        assert finding.evidence.step_first == finding.evidence.step_last == 33
        assert finding.evidence.row["limit"] == 0.2
        assert finding.metric == "kl.old_new"
        assert finding.tag == "kl.old_new"
        assert "0.01 → 5.6" in sentences.summary(finding)

    def test_many_episodes_are_few_findings(self) -> None:
        report = judge(only("kl_blowup"), kl__old_new=" ".join(["0.01x20 0.4x3"] * 8) + " 0.01x20")
        assert len(report.findings) == 4  # the three newest of equal ones, and the first
        assert all(f.evidence.episodes == 8 for f in report.findings)
        assert {f.state for f in report.findings} == {FindingState.RESOLVED}

    def test_the_first_episode_is_listed_however_mild(self) -> None:
        text = "0.01x20 0.25x3 " + " ".join(["0.01x20 0.9x6"] * 5) + " 0.01x20"
        report = judge(only("kl_blowup"), kl__old_new=text)
        assert min(f.since_step or 0 for f in report.findings) == 21
        assert len(report.findings) == 4

    def test_order_is_firing_then_over_bad_before_watch(self) -> None:
        report = judge(
            entropy="3.8x60 0.1x20",
            clipfrac__policy="0.05x20 0.5x20 0.01x40",
            time__step="1x40 3x40",
        )
        seen = [(f.rule, f.state.value, f.level) for f in report.findings]
        assert seen == [
            ("entropy_collapse", "firing", Level.BAD),
            ("throughput_drop", "firing", Level.WATCH),
            ("clipfrac_high", "resolved", Level.BAD),
        ]


class TestNan:
    def test_one_finding_for_many_tags(self) -> None:
        report = judge(
            only("nan"), loss__policy="1x9 nanx3", grad_norm__actor="1x8 nanx4", entropy="1x12"
        )
        finding = sole(report)
        assert finding.tag == "grad_norm.actor"
        assert finding.since_step == 9
        assert finding.evidence.others == ("loss.policy",)
        assert report.tags["loss.policy"].level is Level.BAD
        assert "entropy" not in report.tags, "a finite number is no praise"

    def test_a_missing_row_is_not_a_nan(self) -> None:
        run = a_run({"loss": [1.0, None, 2.0, None, 3.0]})
        infos = {"loss": replace(case_info("loss.total"), tag="loss")}
        assert Engine(only("nan")).evaluate(run, infos, RECOGNITION, 0.0).findings == ()

    def test_other_rules_judge_what_is_finite(self) -> None:
        report = judge(only("clipfrac_high"), clipfrac__policy="0.5x5 nanx3 0.5x5")
        assert sole(report).since_step == 1

    def test_what_was_never_a_number_is_told(self) -> None:
        report = judge(**{k.replace(".", "__"): "nanx30" for k in ("entropy", "kl.old_new")})
        assert [(f.title, f.level) for f in report.findings] == [("NaN in every row", Level.WATCH)]


class TestBadges:
    def test_ok_gives_the_limit(self) -> None:
        tag = judge(clipfrac__policy="0.05x20").tags["clipfrac.policy"]
        assert tag.level is Level.OK
        assert sentences.healthy(tag) == "≤ 0.2"
        assert (tag.low, tag.high) == (None, 0.2)
        assert "clipfrac_high" in tag.rules

    def test_sign_and_scale_apply_before_judging(self) -> None:
        run = a_run({"train/entropy_loss": [-0.69] * 30 + [-0.001] * 10})
        info = replace(case_info("entropy"), tag="train/entropy_loss", sign=-1.0)
        infos = {"train/entropy_loss": info}
        report = Engine(only("entropy_collapse")).evaluate(run, infos, RECOGNITION, 0.0)
        tag = report.tags["train/entropy_loss"]
        assert tag.level is Level.BAD
        assert sentences.healthy_short(tag) == "≥ 0.145"
        assert tag.high == pytest.approx(-0.1449)
        assert tag.low is None

    @pytest.mark.parametrize(("value", "level"), [(0.5, Level.UNKNOWN), (9.0, Level.UNSURE)])
    def test_documented_range_without_a_rule_gives_no_tick(
        self, value: float, level: Level
    ) -> None:
        run = a_run({"x": [value] * 5})
        info = replace(case_info("x"), healthy=Range(0.0, 1.0))
        report = Engine(RULES).evaluate(run, {"x": info}, RECOGNITION, 0.0)
        assert report.tags["x"].level is level
        assert sentences.healthy(report.tags["x"]) == "0 to 1"
        assert report.level is Level.UNKNOWN

    def test_pending_until_it_has_held(self) -> None:
        tags = judge(only("entropy_collapse"), entropy="3.8x30 0.1x1").tags
        assert (tags["entropy"].level, tags["entropy"].pending) == (Level.UNSURE, True)
        assert not judge(only("entropy_collapse"), entropy="3.8x30").tags["entropy"].pending
        firing = judge(only("entropy_collapse"), entropy="3.8x30 0.1x9").tags["entropy"]
        assert (firing.level, firing.pending) == (Level.BAD, False)

    def test_pending_when_the_newest_value_is_outside_what_is_shown(self) -> None:
        tag = judge(clipfrac__policy="0.05x20 0.9x1").tags["clipfrac.policy"]
        assert (tag.level, sentences.healthy(tag), tag.pending) == (Level.UNSURE, "≤ 0.2", True)

    def test_level_is_unknown_without_rules(self) -> None:
        report = judge([], entropy="3.8x30")
        assert report.level is Level.UNKNOWN
        assert report.judged == ()


class TestSkipped:
    def test_names_the_missing_metrics(self) -> None:
        report = judge(only("entropy_collapse", "clipfrac_high"), clipfrac__policy="0.1x9")
        assert report.judged == ("clipfrac_high",)
        (skipped,) = report.skipped
        assert skipped.rule == "entropy_collapse"
        assert skipped.missing == ("entropy", "entropy.seq_nll")

    def test_rows_without_a_number_are_a_reason(self) -> None:
        report = judge(only("critic_failing"), explained_variance="nanx6")
        (skipped,) = report.skipped
        assert (skipped.missing, skipped.rows) == ((), 6)
        assert report.level is Level.UNKNOWN

    def test_a_rule_that_makes_no_sense_is_not_mentioned(self) -> None:
        report = judge(only("entropy_collapse"), scenario="sft", entropy="3.8x30 0.1x20")
        assert report.skipped == ()
        assert report.judged == ()
        assert report.findings == ()

    def test_unlogged(self) -> None:
        series = {"entropy": "1.4..-0.7x60", "action_std": "1..0.1x60"}
        values = {k: parse_series(t) for k, t in series.items()}
        report = Engine(only("entropy_collapse")).evaluate(*case_run(values), 0.0)
        assert report.findings == ()
        assert report.judged == ()


class TestMemory:
    def test_nothing_new_costs_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run, infos, recognition = case_run({"entropy": parse_series("3.8x30 0.1x9")})
        engine = Engine(RULES)
        first = engine.evaluate(run, infos, recognition, 1.0)
        monkeypatch.setattr("rltui.health.engine.judge", None)
        again = engine.evaluate(run, infos, recognition, 2.0)
        assert again is first

    def test_only_changed_tags_are_judged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = a_run({"entropy": [3.0] * 20, "clip": [0.1] * 20})
        infos = {
            "entropy": case_info("entropy"),
            "clip": replace(case_info("clipfrac.policy"), tag="clip"),
        }
        engine = Engine(only("entropy_collapse", "clipfrac_high"))
        engine.evaluate(run, infos, RECOGNITION, 0.0)
        judged: list[str] = []
        monkeypatch.setattr(
            "rltui.health.engine.judge", lambda rule, variant, info, *rest: judged.append(info.tag)
        )
        run.apply(a_batch(steps(21, {"clip": [0.5] * 9})))
        engine.evaluate(run, infos, RECOGNITION, 0.0)
        assert judged == ["clip"]

    def test_new_meanings_are_noticed(self) -> None:
        run, infos, recognition = case_run({"x": np.array([3.8] * 30 + [0.1] * 9)})
        engine = Engine(RULES)
        assert engine.evaluate(run, infos, recognition, 0.0).findings == ()
        meant = {"x": replace(case_info("entropy"), tag="x")}
        assert engine.evaluate(run, meant, recognition, 0.0).findings != ()

    def test_new_tags_are_noticed(self) -> None:
        run = a_run({"entropy": [3.0] * 20})
        infos: dict[str, TagInfo] = {"entropy": case_info("entropy")}
        engine = Engine(RULES)
        engine.evaluate(run, infos, RECOGNITION, 0.0)
        run.apply(a_batch({"clip": [0.5] * 20}))
        infos["clip"] = replace(case_info("clipfrac.policy"), tag="clip")
        report = engine.evaluate(run, infos, RECOGNITION, 0.0)
        assert "clipfrac_high" in report.judged

    def test_a_tag_that_comes_later_is_compared_with(self) -> None:
        variant = next(v for r in RULES for v in r.variants if v.roles and not v.detector.reference)
        key, role = variant.metrics[0], next(iter(variant.roles.values()))[0]
        run = a_run({key: [3.0] * 30})
        infos = {key: replace(case_info(key), tag=key)}
        engine = Engine(RULES)
        engine.evaluate(run, infos, RECOGNITION, 0.0)
        run.apply(a_batch({role: [0.5] * 30}))
        infos = {**infos, role: replace(case_info(role), tag=role)}
        found = engine.evaluate(run, infos, RECOGNITION, 1.0)
        assert found == Engine(RULES).evaluate(run, infos, RECOGNITION, 1.0)

    def test_a_run_that_began_anew_under_its_name_is_another_run(self) -> None:
        engine = Engine(RULES)
        infos = {"entropy": case_info("entropy")}
        sick = a_run({"entropy": [3.0] * 20 + [0.01] * 20})
        assert engine.evaluate(sick, infos, RECOGNITION, 0.0).level is Level.BAD
        well = a_run({"entropy": [3.0] * 40})
        assert engine.evaluate(well, infos, RECOGNITION, 0.0).level is Level.OK

    def test_superseded_rows_are_not_judged(self) -> None:
        run = a_run({"entropy": [3.0] * 20 + [0.01] * 20}, steps(21, {"entropy": [3.0] * 25}))
        report = Engine(RULES).evaluate(run, {"entropy": case_info("entropy")}, RECOGNITION, START)
        assert report.findings == ()

    def test_nan_never_waits(self) -> None:
        run = a_run({"loss": [0.01] * 30_000})
        infos = {"loss": replace(case_info("loss.policy"), tag="loss")}
        engine = Engine(only("nan"))
        engine.evaluate(run, infos, RECOGNITION, 0.0)
        run.apply(a_batch(steps(30_001, {"loss": [float("nan")]})))
        assert engine.evaluate(run, infos, RECOGNITION, 0.1).level is Level.BAD
        assert not engine.waiting(run.key)

    def test_a_run_that_was_never_judged_does_not_wait(self) -> None:
        assert not Engine(RULES).waiting(a_run({"x": [1.0]}).key)

    def test_few_plans_are_kept(self) -> None:
        engine = Engine(only("clipfrac_high"))
        for number in range(40):
            run = a_run({f"clip{number}": [0.5] * 20})
            infos = {f"clip{number}": replace(case_info("clipfrac.policy"), tag=f"clip{number}")}
            assert engine.evaluate(run, infos, RECOGNITION, 0.0).level is Level.BAD
        assert len(engine._plans) == 32

    def test_a_plan_serves_all_runs_of_a_sweep(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = Engine(RULES)
        infos = {"entropy": case_info("entropy"), "x": replace(case_info("x"), metric=None)}
        engine.evaluate(a_run({"entropy": [3.0] * 20}), infos, RECOGNITION, 0.0)
        monkeypatch.setattr("rltui.health.engine.make_plan", None)
        sick = a_run({"entropy": [3.0] * 20 + [0.01] * 20})
        assert engine.evaluate(sick, dict(infos), RECOGNITION, 0.0).level is Level.BAD

    def test_a_plan_is_of_one_kind_of_training(self) -> None:
        engine = Engine(only("entropy_collapse"))
        infos = {"entropy": case_info("entropy")}
        values = {"entropy": [3.0] * 20 + [0.01] * 20}
        assert engine.evaluate(a_run(values), infos, RECOGNITION, 0.0).level is Level.BAD
        other = RECOGNITION._replace(scenario=RECOGNITION.scenario._replace(id="sft"))
        assert engine.evaluate(a_run(values), infos, other, 0.0).level is Level.UNKNOWN

    def test_another_kind_of_training_is_noticed(self) -> None:
        engine = Engine(only("entropy_collapse"))
        infos = {"entropy": case_info("entropy")}
        run = a_run({"entropy": [3.0] * 20 + [0.01] * 20})
        assert engine.evaluate(run, infos, RECOGNITION, 0.0).level is Level.BAD
        other = RECOGNITION._replace(scenario=RECOGNITION.scenario._replace(id="sft"))
        assert engine.evaluate(run, infos, other, 0.0).findings == ()

    def test_answers_outlive_new_tags(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those for tags that mean the same; another meaning is judged again."""
        run = a_run({"a": [0.5] * 20, "b": [0.5] * 20})
        clip = case_info("clipfrac.policy")
        infos = {"a": replace(clip, tag="a"), "b": replace(clip, tag="b")}
        engine = Engine(only("clipfrac_high"))
        before = engine.evaluate(run, infos, RECOGNITION, 0.0)
        run.apply(a_batch({"c": [0.5] * 20}))
        infos = {**infos, "b": replace(clip, tag="b", scale=0.1), "c": replace(clip, tag="c")}
        judged = judgements(monkeypatch)
        after = engine.evaluate(run, infos, RECOGNITION, 0.0)
        assert [tag for _, tag in judged] == ["b", "c"]
        assert after.tags["a"] == before.tags["a"]
        assert after == Engine(only("clipfrac_high")).evaluate(run, infos, RECOGNITION, 0.0)

    def test_tags_that_are_added_in_place_are_all_judged_again(self) -> None:
        """The old meanings are gone, so nothing can be compared with them."""
        run = a_run({"a": [0.5] * 20})
        infos: dict[str, TagInfo] = {"a": replace(case_info("clipfrac.policy"), tag="a")}
        engine = Engine(only("clipfrac_high"))
        assert engine.evaluate(run, infos, RECOGNITION, 0.0).level is Level.BAD
        infos |= {"a": replace(case_info("x"), tag="a"), "b": replace(case_info("x"), tag="b")}
        run.apply(a_batch({"b": [0.5] * 20}))
        assert engine.evaluate(run, infos, RECOGNITION, 0.0).findings == ()

    def test_columns_of_one_tag_do_not_serve_another(self) -> None:
        """What is shared between the variants of a tag, in short runs and in long ones."""
        clip, rows = case_info("clipfrac.policy"), 30
        for count in (rows, 3000):
            values = {"a": [0.01] * count, "b": [0.5] * count, "c": [0.01] * count}
            infos = {t: replace(clip, tag=t) for t in values}
            report = Engine(RULES).evaluate(a_run(values), infos, RECOGNITION, 0.0)
            assert {t: report.tags[t].level for t in values} == {
                "a": Level.OK,
                "b": Level.BAD,
                "c": Level.OK,
            }

    def test_derived_tags_are_judged(self) -> None:
        run = a_run({"a": [1.0] * 30, "b": [0.5] * 30})
        derived = Derived("difference", "a", "b")
        run.table.derive(derived)
        infos = {derived.tag: replace(case_info("clipfrac.policy"), tag=derived.tag)}
        report = Engine(only("clipfrac_high")).evaluate(run, infos, RECOGNITION, 0.0)
        assert sole(report).tag == derived.tag


class TestReference:
    """Only rules that need one are judged again when the reference changes."""

    def case(self, level: float) -> tuple[RunData, dict[str, TagInfo]]:
        rng = np.random.default_rng(round(level * 100))
        keys = ("entropy", "clipfrac.policy")
        values = {k: level + 0.01 * rng.standard_normal(60) for k in keys}
        run, infos, _ = case_run(values)
        return run, dict(infos)

    def reference(self, level: float) -> Reference:
        run, infos = self.case(level)
        return Reference(run, infos, f"at {level}", Alignment.STEP, ())

    def test_a_reference_comes_and_goes(self) -> None:
        run, infos = self.case(0.1)
        engine = Engine(only("off_reference", "clipfrac_high"))
        alone = engine.evaluate(run, infos, RECOGNITION, 0.0)
        assert (alone.reference, alone.judged) == (None, ("clipfrac_high",))
        engine.compare(self.reference(0.9))
        compared = engine.evaluate(run, infos, RECOGNITION, 0.0)
        assert compared.reference == "at 0.9"
        assert {f.rule for f in compared.findings} == {"off_reference"}
        engine.compare(self.reference(0.1))
        alike = engine.evaluate(run, infos, RECOGNITION, 0.0)
        assert (alike.reference, alike.findings) == ("at 0.1", ())
        engine.compare(None)
        assert engine.evaluate(run, infos, RECOGNITION, 0.0) == alone

    def test_other_rules_are_not_judged_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run, infos = self.case(0.1)
        engine = Engine(only("off_reference", "clipfrac_high"))
        first = self.reference(0.9)
        engine.compare(first)
        report = engine.evaluate(run, infos, RECOGNITION, 0.0)
        judged = judgements(monkeypatch)
        engine.compare(first)
        assert engine.evaluate(run, infos, RECOGNITION, 0.0) is report
        engine.compare(self.reference(0.5))
        engine.evaluate(run, infos, RECOGNITION, 0.0)
        assert {rule for rule, _ in judged} == {"off_reference"}

    def test_the_reference_itself_is_not_compared(self) -> None:
        run, infos = self.case(0.1)
        engine = Engine(only("off_reference"))
        engine.compare(Reference(run, infos, "itself", Alignment.STEP, ()))
        report = engine.evaluate(run, infos, RECOGNITION, 0.0)
        assert (report.reference, report.judged) == (None, ())

    def test_another_engine_has_the_same_reference_and_no_memory(self) -> None:
        run, infos = self.case(0.1)
        engine = Engine(only("off_reference", "clipfrac_high"))
        engine.compare(self.reference(0.9))
        report = engine.evaluate(run, infos, RECOGNITION, 0.0)
        other = engine.apart()
        assert other.rules == engine.rules
        assert other.advance(run, infos, RECOGNITION, 0.0, lambda: True) is None
        assert other.evaluate(run, infos, RECOGNITION, 0.0) == report


class TestBroken:
    @pytest.fixture
    def report(self, monkeypatch: pytest.MonkeyPatch) -> Report:
        (rule,) = only("entropy_collapse")

        def breaks(*_: object, **__: object) -> None:
            raise ZeroDivisionError("by zero")

        variant = rule.variants[0]
        broken_one = variant._replace(detector=replace(variant.detector, run=breaks))
        broken = replace(rule, variants=(broken_one,))
        values = {"entropy": parse_series("3x30"), "clipfrac.policy": parse_series("0.5x30")}
        return Engine([broken, *only("clipfrac_high")]).evaluate(*case_run(values), 0.0)

    def test_is_reported(self, report: Report) -> None:
        (finding,) = [f for f in report.findings if f.error]
        assert finding.rule == "entropy_collapse"
        assert finding.error == "ZeroDivisionError: by zero"
        assert finding.level is Level.UNKNOWN

    def test_the_others_go_on(self, report: Report) -> None:
        assert report.judged == ("clipfrac_high",)
        assert report.level is Level.BAD
        assert report.skipped[0].broke


def test_two_tags_of_one_metric_are_one_finding() -> None:
    run = a_run({"a": [0.01] * 20 + [0.5] * 9, "b": [0.01] * 22 + [0.5] * 7})
    infos = {t: replace(case_info("kl.old_new"), tag=t) for t in "ab"}
    report = Engine(only("kl_blowup")).evaluate(run, infos, RECOGNITION, 0.0)
    finding = sole(report)
    assert finding.tag == "a"
    assert finding.since_step == 21
    assert finding.evidence.others == ("b",)
    assert report.tags["b"].level is Level.BAD


def test_tags_on_two_axes_are_two_findings() -> None:
    kl, walls = [0.01] * 20 + [0.5] * 9, [START + n for n in range(29)]
    main = a_block(dict.fromkeys(("a", "b", "c"), kl), steps=range(1, 30), walls=walls)
    other = a_block({"d": kl}, steps=[100 * n for n in range(1, 30)], walls=walls)
    run = a_run(main)
    run.apply(a_batch(other))
    infos = {t: replace(case_info("kl.old_new"), tag=t) for t in "abcd"}
    report = Engine(only("kl_blowup")).evaluate(run, infos, RECOGNITION, 0.0)
    found = {f.tag: (f.since_step, f.evidence.others) for f in report.findings}
    assert found == {"a": (21, ("b", "c")), "d": (2100, ())}


def test_first_metric_that_is_logged_makes_the_finding() -> None:
    values = {
        "reward.mean": parse_series("0..1x30 0.5x60"),
        "reward.raw.mean": np.linspace(0, 1, 90),
    }
    report = Engine(only("reward_flat_no_learning")).evaluate(*case_run(values), 0.0)
    assert report.findings == ()
    assert "reward.mean" not in report.tags


@pytest.mark.parametrize(("decimals", "found"), [(3, 0), (9, 1)])
def test_a_learning_rate_below_the_last_decimal_is_not_zero(decimals: int, found: int) -> None:
    rows = np.arange(40)
    values = {
        "lr.actor": np.zeros(40),
        "entropy": 1 + np.sin(rows) / 7,
        "length.mean": 200 + np.cos(rows) / 3,
        "loss.policy": np.sin(rows) / 9,
    }
    values = {key: np.round(x, decimals) for key, x in values.items()}
    report = Engine(only("no_update")).evaluate(*case_run(values), 0.0)
    assert len(report.findings) == found


def test_rules_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "rules:\n- id: mine\n  title: mine\n  category: actor\n  metrics: [kl.coef]\n"
        "  detector: outside\n  watch: {high: 2}\n  summary: 'coef {now}'\n  short: '{now}'\n"
        "  healthy: '≤ {high}'\n  advice: none\n"
    )
    rules = load_rules([path])
    report = judge([r for r in rules if r.id == "mine"], kl__coef="1x9 3x9")
    assert sentences.summary(sole(report)) == "coef 3"
