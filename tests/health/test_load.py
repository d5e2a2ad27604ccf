"""Rule documents: every error says where and names the nearest word."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from rltui.catalogue import load_catalogue
from rltui.config import load_config
from rltui.core.errors import DocumentError
from rltui.core.level import Level
from rltui.core.yaml_document import parse_document, read_document
from rltui.core.yaml_record import read_record
from rltui.health.cases import CaseResult, run_cases
from rltui.health.limits import SettingLimits, movement
from rltui.health.rule import Variant
from rltui.health.rules import load_rules, unread_reasons, why_unread, without
from tests.documents import nodes
from tests.places import ROOT
from tests.tables import cases, table

GOOD: str = table(__file__)["good"]


def load(tmp_path: Path, text: str, **rest: object) -> object:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_rules([path], **rest)  # type: ignore[arg-type]


def test_good(tmp_path: Path) -> None:
    load(tmp_path, GOOD)


@cases(__file__, "error")
def test_error(
    tmp_path: Path, old: str, new: str, line: int, column: int, message: str, hint: str | None
) -> None:
    assert old in GOOD
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, GOOD.replace(old, new))
    error = caught.value
    assert message in error.message
    assert error.path.name == "mine.yaml"
    if message:
        assert (error.line, error.column) == (line, column)
        assert hint is None or error.hint == hint


def test_unknown_metric(tmp_path: Path) -> None:
    known = [k for r in load_rules() for v in r.variants for k in v.metrics]
    roles = [k for r in load_rules() for v in r.variants for ks in v.roles.values() for k in ks]
    with pytest.raises(DocumentError, match=r"unknown metric 'kl\.coef'"):
        load(tmp_path, GOOD, metrics={*known, *roles, "kl.coeff"} - {"kl.coef"})


def test_rule_twice(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is defined twice"):
        load(tmp_path, GOOD + GOOD.split("rules:\n")[1])


def test_a_rule_of_the_user_replaces_the_shipped_one(tmp_path: Path) -> None:
    rules = load(tmp_path, GOOD.replace("id: mine", "id: clipfrac_high"))
    (rule,) = [r for r in rules if r.id == "clipfrac_high"]  # type: ignore[attr-defined]
    assert rule.title == "mine"


def test_mute() -> None:
    assert "nan" not in {r.id for r in without(load_rules(), ["nan"])}
    (rule,) = [r for r in without(load_rules(), ["kl_blowup.update"]) if r.id == "kl_blowup"]
    assert "kl_blowup.update" not in {v.id for v in rule.variants}


def test_overrides_reach_the_variant() -> None:
    rules = load_rules(
        overrides=nodes({"kl_blowup.update": {"watch": {"high": 0.5}, "event": False}})
    )
    (rule,) = [r for r in rules if r.id == "kl_blowup"]
    by_id = {v.id: v for v in rule.variants}
    assert by_id["kl_blowup.update"].levels[Level.WATCH]["high"] == 0.5
    assert by_id["kl_blowup.update"].levels[Level.BAD]["high"] == 0.2
    assert by_id["kl_blowup.update"].levels[Level.BAD]["event"] is False
    assert by_id["kl_blowup.level"].levels[Level.BAD].get("event") is not False


def test_an_override_without_a_level_holds_for_both() -> None:
    rules = load_rules(overrides=nodes({"entropy_collapse": {"share": 0.5, "bad": {"share": 0.3}}}))
    (rule,) = [r for r in rules if r.id == "entropy_collapse"]
    for variant in (v for v in rule.variants if "share" in v.detector.parameters):
        assert variant.levels[Level.WATCH]["share"] == 0.5
        assert variant.levels[Level.BAD]["share"] == 0.3


def test_an_override_reaches_the_variants_whose_detector_has_the_parameter() -> None:
    rules = load_rules(overrides=nodes({"kl_blowup": {"high": 0.5}}))
    (rule,) = [r for r in rules if r.id == "kl_blowup"]
    changed = {v.id for v in rule.variants if v.levels[Level.WATCH].get("high") == 0.5}
    assert changed == {v.id for v in rule.variants if "high" in v.detector.parameters}
    assert len(changed) < len(rule.variants)


@cases(__file__, "an_override_that_cannot_be_says_where")
def test_an_override_that_cannot_be_says_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"{{entropy_collapse: {text}}}")
    document = read_document(path).table()
    with pytest.raises(DocumentError, match=message):
        load_rules(overrides=dict(document.pairs()))


def test_the_example_of_the_configuration_works(tmp_path: Path) -> None:
    text = (ROOT / "config.example.yaml").read_text()
    lines = text.partition("  #   override:\n")[2].splitlines()[:2]
    path = tmp_path / "rltui.yaml"
    path.write_text("rules:\n  override:\n" + "\n".join(x.replace("#", " ", 1) for x in lines))
    config = load_config(path, {}, {})
    rules = {v.id: v for r in load_rules(overrides=config.rules.override) for v in r.variants}
    assert rules["entropy_collapse.token"].levels[Level.BAD]["share"] == 0.15
    assert rules["kl_blowup.update"].levels[Level.WATCH]["high"] == 0.1


def test_override_of_an_unknown_rule() -> None:
    with pytest.raises(DocumentError, match=r"unknown rule 'entropy_colapse'.*'entropy_collapse'"):
        load_rules(overrides=nodes({"entropy_colapse": {"share": 0.2}}))


def cases_of_mine(tmp_path: Path, text: str) -> list[CaseResult]:
    rules: Any = load(tmp_path, text)
    return list(run_cases([r for r in rules if r.id == "mine"]))


@pytest.mark.parametrize("text", ["1y9", "x9", "1..x3", "one"])
def test_unreadable_series_is_a_failed_case(tmp_path: Path, text: str) -> None:
    (result,) = cases_of_mine(tmp_path, GOOD.replace("1x9 3x9", text))
    assert "cannot read" in result.message


def test_failed_case_reports_what_was_found(tmp_path: Path) -> None:
    (result,) = cases_of_mine(tmp_path, GOOD.replace("expect: watch", "expect: bad"))
    assert result.message == "expected bad, found watch"
    assert result.line == 14


# -- every metric of the catalogue is read by a rule, or it is said why none does ----------


METRICS = load_catalogue().metrics
#: Not the rule about numbers that are not finite, which reads everything, and not those that need a
#: reference run.
VARIANTS = [
    v
    for r in load_rules()
    for v in r.variants
    if not v.detector.finite_is_quiet and not v.detector.reference
]


def reads(variant: Variant, key: str) -> bool:
    roles = [pattern for patterns in variant.roles.values() for pattern in patterns]
    return variant.reads(key) is not None or any(fnmatchcase(key, pattern) for pattern in roles)


def test_a_metric_is_read_or_waived() -> None:
    read = {key for key in METRICS if any(reads(v, key) for v in VARIANTS)}
    lost = [key for key in METRICS if key not in read and not why_unread(key)]
    assert not lost, "name them in a rule, or in health/data/unread.yaml with a reason"

    for pattern, _ in unread_reasons():
        waived = {key for key in METRICS if fnmatchcase(key, pattern)}
        assert waived, f"{pattern}: no such metric"
        assert not waived <= read, f"{pattern}: a rule reads it"


def test_a_metric_that_nobody_knows_has_no_reason() -> None:
    assert why_unread("no.such.metric") is None


# -- limits that are no parameters of a rule -----------------------------------------------


GIVEN = dict.fromkeys(SettingLimits._fields, "{value: 2, source: why}")


def read(**changed: str) -> SettingLimits:
    text = "\n".join(f"{name}: {entry}" for name, entry in (GIVEN | changed).items() if entry)
    return read_record(parse_document(text, Path("limits.yaml")), SettingLimits)


def test_every_limit_has_a_number_of_its_type() -> None:
    found = read(factor="{value: 2.5, source: why}")
    assert (found.rows_before, found.factor) == (2, 2.5)
    assert [type(getattr(found, name)) for name in ("rows_before", "factor")] == [int, float]


@cases(__file__, "a_limit_without_number_or_reason_is_refused")
def test_a_limit_without_number_or_reason_is_refused(entry: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read(factor=entry)


def test_rows_are_whole_numbers() -> None:
    with pytest.raises(DocumentError, match="a whole number"):
        read(rows_before="{value: 2.5, source: why}")


def test_the_shipped_limits_fit_together() -> None:
    limits = movement()
    assert limits.moved.usual_least <= limits.moved.usual_rows
    assert limits.trend.band_low < 0.5 < limits.trend.band_high
    assert limits.trend.least_rows <= limits.trend.blocks
