"""Rows, questions, tabs, the chip and JSON say one thing of each tag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from benchmarks.verdicts.labels import by_origin
from rltui.core.level import Level, worst
from rltui.draw.view import View
from rltui.facts import sentences
from rltui.facts.metrics import OVERVIEW, TagRow, tab_sections, tabs_of
from rltui.health.model import FindingState
from rltui.output.json_document import run_entry, snapshot_document
from rltui.output.text_report import run_lines
from rltui.pages.run.header import verdict_spans
from rltui.pages.run.tab import tab_line
from rltui.session import JudgedRun, Session
from tests.builders import a_batch, steps
from tests.clock import ManualClock
from tests.fakes import a_session, judged_before_the_newest_row
from tests.health.drawn import Logged, logged
from tests.places import CORPORA, FIXTURES

#: A printed range of one side, in plain numbers: "≤ 0.2".
_PRINTED = re.compile(r"([≤≥<>]) (-?[\d,]*\.?\d+(?:e-?\d+)?)")
#: Printed limits have three digits.
_ROUNDED = 0.01


def _labels() -> list[Path]:
    return [FIXTURES / "labelled" / "labels.yaml", *sorted(CORPORA.glob("*/labels.yaml"))]


#: Logs of a framework that are looked at, from all over its list.
_OF_EACH = 6
#: By framework.
LOGS: dict[str, list[Path]] = {}
for origin, labels in by_origin(_labels(), sealed=False).items():
    LOGS.setdefault(origin.split()[0], []).extend(Path(label.path) for label in labels)


def _rows(run: JudgedRun) -> Iterator[TagRow]:
    for tab in tabs_of(run):
        for section in tab_sections(run, tab.id):
            assert section.level is worst(r.level for r in section.rows)
            yield from section.rows


def _is_outside(row: TagRow, last: float | None) -> bool:
    """Whether a value is beyond the limits of its row, or beyond those that are printed."""
    low, high = row.judgement.low, row.judgement.high
    not_measured = last == 0 and row.info.metric is not None and row.info.metric.zero
    if last is None or row.value is None or not np.isfinite(last) or not_measured:
        return False
    printed = False
    for text in (sentences.healthy(row.judgement), sentences.healthy_short(row.judgement)):
        if found := _PRINTED.fullmatch(text):
            value, limit = row.value * row.info.scale, float(found[2].replace(",", ""))
            beyond = limit - value if found[1] in "≥>" else value - limit
            printed |= beyond > _ROUNDED * abs(limit)
    return printed or (low is not None and last < low) or (high is not None and last > high)


def _is_told(run: JudgedRun, row: TagRow, last: float | None) -> bool:
    """Whether a finding, a story or the range beside the value says why a row is coloured."""
    found = any(f.state is FindingState.FIRING and f.is_about(row.tag) for f in run.report.findings)
    return found or row.tag in run.report.diagnosed.blamed or _is_outside(row, last)


def _check(session: Session) -> None:
    document = snapshot_document(session)
    for run, entry in zip(session.runs(), document["runs"], strict=True):
        if run.report is not None:
            _check_run(run, entry)


def _check_run(run: JudgedRun, entry: dict[str, Any]) -> None:
    report, metrics = run.report, {m["tag"]: m for m in entry["metrics"]}
    levels: dict[str, Level] = {}
    for row in _rows(run):
        metric, level = metrics[row.tag], row.level
        last = metric["last"] and metric["last"]["value"]
        told = f"{run.key} {row.tag} {last} {level.mark} {row.judgement}"
        assert (metric["mark"], metric["level"]) == (level.mark, level.word), told
        assert metric["healthy"] == sentences.healthy(row.judgement), told
        assert levels.setdefault(row.tag, level) is level, told
        if level <= Level.OK:
            assert not _is_outside(row, last), told
        if level is Level.OK:
            assert row.judgement.rules, told
        if level is Level.UNSURE:
            assert sentences.no_tick(row.judgement), told
            assert row.tag in [x["tag"] for x in entry["unsure"]], told
        if level >= Level.WATCH:
            assert _is_told(run, row, last), told
    for finding in report.firing():
        if finding.tag in levels:
            assert levels[finding.tag] >= finding.level
    categories: dict[str, Level] = {}
    for tag, info in run.infos.items():
        for category in filter(None, (info.category, info.also)):
            known = categories.get(category.value, Level.UNKNOWN)
            categories[category.value] = max(known, run.verdict.tag_level(tag))
    assert entry["categories"] == {name: level.word for name, level in categories.items()}
    assert {c.value: x for c, x in run.verdict.categories.items()} == categories
    assert entry["level"] == run.verdict.level.word
    _check_badge(run, entry["mark"], worst(categories.values()))


def _check_badge(run: JudgedRun, mark: str, rows: Level) -> None:
    """The badge of the run has no tick that its rows have not."""
    verdict, glyphs = run.verdict, View().glyphs
    assert mark == verdict.mark.mark
    assert run_lines(run)[0].startswith(glyphs.badge(verdict.mark))
    assert rows <= max(verdict.level, Level.UNSURE)
    if verdict.level is Level.OK:
        assert verdict.mark is rows
        chip = "".join(text for text, _ in verdict_spans(run, View(), words=True))
        assert chip.startswith(glyphs.badge(verdict.mark))


@pytest.mark.parametrize("framework", LOGS)
def test_all_views_of_a_real_log_agree(framework: str) -> None:
    paths = LOGS[framework]
    for path in paths[:: -(-len(paths) // _OF_EACH)]:
        session = Session([path], None, clock=ManualClock())
        session.read_all()
        _check(session)


@settings(max_examples=60)
@given(logged())
def test_all_views_of_any_run_agree(series: Logged) -> None:
    tags = {key: [float(x) for x in values] for key, values in series.items()}
    _check(a_session(a_batch(steps(1, tags))))


def test_a_quotient_has_the_level_of_the_rule_that_compares_its_parts() -> None:
    most, least = [100.0] * 20 + [250.0] * 20, [99.0] * 20 + [100.0] * 20
    tags = {"global_seqlen/balanced_max": most, "global_seqlen/balanced_min": least}
    tags["actor/pg_loss"] = [0.1] * 40  # of verl, as the others
    (run,) = a_session(a_batch(steps(1, tags))).runs()
    (row,) = (r for s in tab_sections(run, OVERVIEW) for r in s.rows if r.value == 2.5)
    assert (row.title, row.level) == ("tokens max/min", Level.BAD)
    assert sentences.healthy(row.judgement) == "≤ 1.8"
    assert run.verdict.tag_level("global_seqlen/balanced_max") is Level.BAD


def test_no_view_has_a_tick_over_a_value_that_just_left_its_range() -> None:
    run = judged_before_the_newest_row(**{"actor/ppo_kl": 7.0})
    (section,) = (
        s for s in tab_sections(run, OVERVIEW) if "actor/ppo_kl" in [r.tag for r in s.rows]
    )
    assert section.level is Level.UNSURE
    assert verdict_spans(run, View(), words=True)[0][0] == "△ ok so far"
    assert "Overview △" in "".join(text for text, _ in tab_line(run, OVERVIEW, View(), 160)[0])
    (unsure,) = run_entry(run)["unsure"]
    assert unsure["tag"] == "actor/ppo_kl"
    assert unsure["high"] < 7.0
    head, *lines = run_lines(run)
    assert head.startswith("△")
    assert any(f"not yet sure: {run.infos['actor/ppo_kl'].title}," in line for line in lines)


def test_the_worst_of_numbered_environments_stands_for_all_on_overview() -> None:
    tags = {f"monitor/{n}/l": [200.0 + n] * 40 for n in range(5)}
    tags["monitor/3/l"][-1] = float("nan")
    tags |= {f"monitor/{n}/r": [float(i) for i in range(40)] for n in range(5)}
    tags["rollout/ep_rew_mean"] = [float(i) for i in range(40)]
    (run,) = a_session(a_batch(steps(1, tags))).runs()
    shown = [r.tag for s in tab_sections(run, OVERVIEW) for r in s.rows]
    assert [tag for tag in shown if tag.endswith("/l")] == ["monitor/3/l"]
    assert "rollout/ep_rew_mean" in shown
    assert not [
        tag for tag in shown if tag.endswith("/r")
    ]  # the mean speaks for those that are well
    everywhere = [r.tag for s in tab_sections(run, "all") for r in s.rows]
    assert {f"monitor/{n}/l" for n in range(5)} <= set(everywhere)
