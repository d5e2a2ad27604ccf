"""Columns of lists: a blank between any two, and nothing is cut without an ellipsis.

Runs whose rows were counted, and runs with too few rows for a verdict.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.line import Line, line_width, plain
from rltui.draw.metric_chart import WHOLE_RUN, Zoom, chart_lines, chart_of, statistics
from rltui.draw.prose import fact_line
from rltui.draw.view import View
from rltui.facts import numbers, sentences
from rltui.facts.metrics import TagRow, make_row, tab_sections
from rltui.facts.runs import Names
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.health.model import Judgement, Limit
from rltui.output.json_document import check_document
from rltui.output.text_report import check_text, verdict_line
from rltui.pages.findings.lines import onset_words
from rltui.pages.metric.lines import explain_tag
from rltui.pages.run.header import run_header, verdict_spans
from rltui.pages.run.metric_table import columns_for, columns_of, list_head, row_line
from rltui.pages.run.tab import side_lines
from rltui.pages.runs.columns import RunColumns
from rltui.pages.runs.lines import _line
from rltui.session import JudgedRun, Session
from rltui.session.session import Choice
from tests.builders import a_batch, a_source, steps
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags
from tests.pages.parts import parts_of_run, parts_of_runs

VIEW = View()
WIDTHS = st.integers(40, 200)
MARKERS = st.sampled_from(["braille", "ascii"])
#: Titles and units of any length, also of characters two cells wide.
TEXTS = st.text("abc/@16 損σ", max_size=30).map(str.strip)
VALUES = st.none() | st.floats() | st.sampled_from([-1234.5, 2650.0, 1.3e-10, -1.3e-100])
COLUMNS = ("name", "value", "unit", "change", "spark", "healthy")


@lru_cache(maxsize=1)
def a_run_of_extremes() -> JudgedRun:
    """Small and huge trends, and a tag with one point that is old."""
    rows = 30
    tags: dict[str, list[float | None]] = {
        "tiny": [1.0] * (rows - 1) + [1.0 + 1.3e-10],
        "huge": [0.0] * (rows - 1) + [-1.3e300],
        "long": [1.0] * (rows - 1) + [12_345.0],
        "old": [1.0] + [None] * (rows - 1),
        "response_length/mean": [100.0] * rows,
    }
    return a_session(a_batch(steps(123_456, tags))).runs()[0]


def cells(line: Line) -> list[str]:
    """One entry per cell; the second of a wide character is empty."""
    out: list[str] = []
    for char in plain(line):
        out += [char, ""][: cell_width(char)] if cell_width(char) else []
    return out


def whole_or_marked(shown: str, texts: set[str]) -> bool:
    return shown in {t.strip() for t in texts} or "…" in shown


@given(WIDTHS, MARKERS, TEXTS, TEXTS, VALUES, st.sampled_from(["tiny", "huge", "long", "old"]))
def test_columns_of_a_metric_never_touch(
    width: int, marker: str, title: str, unit: str, value: float | None, tag: str
) -> None:
    run, view, columns = a_run_of_extremes(), View(marker=marker), columns_for(width)
    row = make_row(run, tag)
    limit = Limit(
        row.level, words="≤ {high} of what it was", short="≤ {high}", numbers={"high": 1.23e-7}
    )
    row = row._replace(
        info=replace(row.info, title=title, unit=unit),
        value=value,
        judgement=Judgement(row.level, (limit,), ("r",)),
    )
    line = row_line(run, row, columns, view, cursor=False)
    assert line_width(line) == columns.width == width
    check_row(cells(line), row, width)


def check_row(found: list[str], row: TagRow, width: int) -> None:
    columns, shown = columns_for(width), {}
    for name in COLUMNS:
        size = columns[name]
        if size:
            start = columns.start(name)
            assert found[start - 1] == " ", (name, "".join(found))
            shown[name] = "".join(found[start : start + size]).strip()
    assert whole_or_marked(shown["name"], {row.title})
    assert shown["value"] == numbers.value(row.value)
    if "unit" in shown:
        assert whole_or_marked(shown["unit"], {row.info.unit})
    if shown.get("change"):
        whole = {"at 123,456", "@123,456", *(f"{a} {n}" for a in "↑↓^v" for n in _CHANGES)}
        assert shown["change"] in whole
    if "healthy" in shown:
        limits = {sentences.healthy(row.judgement), sentences.healthy_short(row.judgement)}
        assert whole_or_marked(shown["healthy"], limits)


_CHANGES = (numbers.value(1.3e-10), numbers.value(1.3e300), numbers.value(12_344.0))


@pytest.mark.parametrize("chosen", [(), ("reward.best", "lr", "entropy@20")])
def test_columns_of_the_list_of_runs_never_touch(chosen: tuple[str, ...]) -> None:
    run = a_session(grpo_batch(60, collapse=30), clock=grpo_clock()).runs()[0]
    for width in range(40, 201):
        for state in (6, 13):
            names = Names((), 60, 60, state - 2)
            view = View(columns=chosen)
            columns = RunColumns(width, names, view, "")
            assert not columns.state or columns.state > state
            found = cells(_line(run, "name", columns, view, here=False))
            at = columns.mark + 2
            for size in (columns.name, columns.framework, columns.state, columns.step, columns.age):
                at += size
                assert not size or found[at - 1 : at] in ([], [" "])
            assert columns.left + len(found) <= width


def test_charts_below_each_other_have_the_same_columns() -> None:
    run = a_session(grpo_batch(60, collapse=30), clock=grpo_clock()).runs()[0]
    lines = [plain(x) for x in side_lines(run, "actor", run.headline(), View(), 48, 44)]
    at = next(i for i, x in enumerate(lines) if x.startswith("moves with it"))
    axes = {min(x.find(c) for c in "│┤└" if c in x) for x in lines if set(x) & set("│┤└")}
    assert any("│" in x for x in lines[at:])
    assert axes == {7}
    assert {x.index("◂") for x in lines if "◂" in x} == {48 - 9}


@given(WIDTHS, st.lists(st.tuples(st.just("median"), st.floats().map(numbers.value)), max_size=9))
def test_facts_are_whole_or_left_out(width: int, facts: list[tuple[str, str]]) -> None:
    text = plain(fact_line(facts, width))
    assert cell_width(text) <= width
    wholes = [f"{name} {value}" for name, value in facts]
    count = next(
        n for n in range(len(facts) + 1) if text in ("  ".join(wholes[:n]), "   ".join(wholes[:n]))
    )
    assert count == len(facts) or cell_width("  ".join(wholes[: count + 1])) > width


@pytest.mark.parametrize(
    ("values", "text"),
    [([1.0, 0.1, 1.1e-16], "0"), ([3e-12, 2e-12], "2.0e-12"), ([1e-30, float("nan")], "NaN")],
)
def test_a_rounding_error_is_shown_as_zero(values: list[float], text: str) -> None:
    run = a_session(a_batch(steps(1, {"a/std": values}))).runs()[0]
    assert numbers.value(make_row(run, "a/std").value) == text
    if text != "NaN":
        assert any(f"◂{text}" in plain(x) for x in chart_lines(run, "a/std", View(), 50, 12))


def session_of(counted: bool) -> Session:
    source = a_source("progress.csv", format="csv", steps_are_row_numbers=counted)
    return a_session(a_batch(grpo_tags(60), source=source))


@pytest.mark.parametrize(("counted", "word"), [(True, "row"), (False, "step")])
def test_the_header_the_list_and_the_chart_name_what_is_counted(counted: bool, word: str) -> None:
    session = session_of(counted)
    (run,) = session.runs()
    assert f"  {word} 60" in plain(run_header(run, View(), 120, None))
    assert chart_of(run, "actor/entropy", View()).x_unit == word
    assert ("row 60" in text_of_list(session)) is counted
    assert f"{word}s 1 to 60" in text_of_overview(run)
    explained = "\n".join(plain(x) for x in explain_tag(run, "actor/entropy", View(), 80))
    assert f"at {word} 60" in explained
    assert ("its rows were counted" in explained) is counted


@pytest.mark.parametrize(("counted", "since"), [(True, "row 34"), (False, "34")])
def test_what_a_finding_counts_from_is_named(counted: bool, since: str) -> None:
    source = a_source("progress.csv", format="csv", steps_are_row_numbers=counted)
    session = a_session(a_batch(grpo_tags(60, collapse=31), source=source))
    assert f"entropy collapse, since {since}, certain at 40: " in check_text(session)
    assert f"since {since}: entropy collapse" in verdict_line(session)
    (run,) = session.runs()
    found = next(f for f in run.report.findings if f.rule == "entropy_collapse")
    word = "row" if counted else "step"
    assert onset_words(run, found) == f"{word} 34, certain at 40, 26 {word}s ago"


def text_of_list(session: Session) -> str:
    return "\n".join(plain(x) for lines in parts_of_runs(session, View(), 120) for x in lines)


def text_of_overview(run: JudgedRun) -> str:
    return "\n".join(plain(x) for p in parts_of_run(run, "overview", View(), 160, 45) for x in p)


WHY = "{}, too few to judge (a verdict needs 5)"


def after(rows: int, **tags: list[float]) -> Session:
    return a_session(a_batch(steps(1, grpo_tags(rows) | tags)))


@pytest.mark.parametrize(("rows", "words"), [(1, "1 row"), (2, "2 rows"), (4, "4 rows")])
def test_every_view_says_how_little_there_is_to_judge(rows: int, words: str) -> None:
    session, why = after(rows), WHY.format(words)
    (run,) = session.runs()
    assert run.verdict.level is Level.UNKNOWN
    assert why in check_text(session)
    assert why in verdict_line(session)
    (entry,) = check_document(session)["runs"]
    assert (entry["level"], entry["reason"]) == ("unknown", why)
    assert set(entry["categories"].values()) == {"unknown"}
    assert "not judged" in plain(verdict_spans(run, View(), words=True))
    said = verdict_sentence(run).words(1)
    assert why in said
    for text in (check_text(session), said):
        assert "✔" not in text
        assert "nothing to report" not in text


def test_no_metric_has_a_tick_before_the_run_has_one() -> None:
    (run,) = after(4).runs()
    assert {run.verdict.tag_level(tag) for tag in run.infos} == {Level.UNKNOWN}
    doubts = {run.verdict.judgement(tag).doubt for tag in run.infos}
    assert "4 rows, too few to judge" in doubts


def test_what_is_wrong_from_the_first_row_is_found_in_a_short_log() -> None:
    session = after(3, **{"actor/grad_norm": [0.3, float("nan"), float("nan")]})
    (run,) = session.runs()
    assert run.verdict.level is Level.BAD
    assert "too few" not in check_text(session)


def test_the_first_section_has_its_badge_beside_the_narrowest_limits() -> None:
    tags = {
        "sampling/sampling_logp_difference/mean": [0.009] * 40,
        "sampling/importance_sampling_ratio/mean": [1.0] * 40,
        "rollout/drift_tokens_max": [1.0] * 40,
    }
    run = a_session(a_batch(steps(1, tags)), choice=Choice(framework="trl")).runs()[0]
    sections = tab_sections(run, "rollout")
    rows = [r for s in sections for r in s.rows]
    columns = columns_of(rows, 69)
    head = plain(list_head(run, sections, columns, VIEW, (0, len(rows))))
    assert head.endswith(f"healthy  {VIEW.glyphs.badge(sections[0].level)}")


def test_a_size_has_no_lower_limit() -> None:
    tags = {"training/rollout_probs_diff_mean": [0.005, 0.006] * 20}
    run = a_session(a_batch(steps(1, tags)), choice=Choice(framework="verl")).runs()[0]
    low, high = run.verdict.judgement("training/rollout_probs_diff_mean").limits[0].shown
    assert low is None
    assert high


def test_a_change_names_the_rows_that_it_is_against() -> None:
    tags = {"actor/entropy": [1.0, 1.01] * 20 + [1.5]}
    run = a_session(a_batch(steps(1, tags))).runs()[0]
    told = {name: (value, where) for name, value, where in statistics(
        run, "actor/entropy", VIEW, WHOLE_RUN)}  # fmt: skip
    assert told["change"] == ("↑ 0.495", "from the median of 10 rows")
    visible = statistics(run, "actor/entropy", View(smooth=0.9), Zoom(window=(1, 39)))
    assert visible[:2] == [("newest", "1.00", ""), ("smoothed", "1.00", "")]
