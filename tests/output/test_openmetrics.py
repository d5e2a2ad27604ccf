"""Verdicts as gauges. Pictures: what they show, that they are XML, and that they load nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import Batch, RunKey
from rltui.core.text import clean
from rltui.draw.line import Token, style
from rltui.draw.theme import list_themes, load_theme
from rltui.output import openmetrics as module
from rltui.output.openmetrics import MOST_LETTERS, openmetrics
from rltui.output.svg import Cells, coloured, ground_of, svg
from rltui.pages.picture import snapshot_svg
from rltui.session import Session
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_batch, grpo_clock
from tests.hostile import PAYLOADS

older = pytest.importorskip("prometheus_client.parser")
strict = pytest.importorskip("prometheus_client.openmetrics.parser")

Sample = tuple[str, frozenset[tuple[str, str]]]


def samples(session: Session, *metrics: str) -> dict[Sample, float]:
    """Name and labels -> value, as the client's strict parser reads them; that of the older format
    reads the same."""
    found: dict[Sample, float] = {}
    text = openmetrics(session, metrics)
    families = list(strict.text_string_to_metric_families(text))
    assert str(families) == str(list(older.text_string_to_metric_families(text)))
    for family in families:
        assert family.type == "gauge"
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def of(found: dict[Sample, float], name: str, **labels: str) -> list[float]:
    return [v for (n, have), v in found.items() if n == f"rltui_{name}" and labels.items() <= have]


def in_run(batch: Batch, name: str, logdir: int = 0) -> Batch:
    path = Path("/logs", str(logdir), name, "log.jsonl")
    return replace(batch, run=RunKey(logdir, name), source=batch.source._replace(path=path))


def test_a_run_that_is_bad() -> None:
    nan = a_batch({"loss": [*(1.0 / (i + 1) for i in range(30)), math.nan]})
    found = samples(a_session(in_run(nan, "sick"), in_run(grpo_batch(60), "fine")))
    assert of(found, "level") == [2]
    assert of(found, "run_level", run="sick") == [2]
    assert of(found, "runs", level="bad") == [of(found, "run_level").count(2)]
    assert sum(of(found, "runs")) == 2
    assert of(found, "run_findings_firing", run="sick", level="bad")
    assert of(found, "run_step", run="sick") == [31]
    assert sum(of(found, "run_state", run="sick")) == 1
    assert of(found, "run_info", run="fine", framework="verl", algorithm="GRPO") == [1]
    assert of(found, "runs_without_series") == [0]


def test_without_runs_there_is_a_whole_text() -> None:
    found = samples(a_session())
    assert of(found, "level") == [-1]
    assert not of(found, "run_level")


def test_headlines_or_the_metrics_that_were_chosen() -> None:
    session = a_session(grpo_batch(60))
    headlines = {dict(have)["metric"] for n, have in samples(session) if n == "rltui_run_metric"}
    assert "reward.mean" in headlines or "reward.raw.mean" in headlines
    chosen = samples(session, "entropy")
    run = session.runs()[0]
    (tag,) = run.tags_of_metrics(("entropy",))
    assert of(chosen, "run_metric") == [pytest.approx(float(run.shown(tag).values[-1]))]


def test_text_of_logs_is_harmless_and_names_stay_apart() -> None:
    odd = [*PAYLOADS, 'quote " back \\ slash', "\udcff", "x" * 10_000, "x" * 9_999, "{}=,\t"]
    session = a_session(*(in_run(a_batch({t: [1.0, 2.0]}), t) for t in odd))
    text = openmetrics(session)
    assert all(c == "\n" or c.isprintable() for c in text)
    found = samples(session)
    names = [dict(have)["run"] for n, have in found if n == "rltui_run_level"]
    assert 'quote " back \\ slash' in names
    assert len(names) == len(set(names)) == len(odd)
    assert all(len(value) <= MOST_LETTERS for _, have in found for _, value in have)


def test_one_name_below_two_logdirs() -> None:
    one, two = in_run(a_batch({"loss": [1.0]}), "a"), in_run(a_batch({"loss": [1.0]}), "a", 1)
    session = a_session(one, two, logdirs=[Path("/logs/x"), Path("/logs/y")])
    found = samples(session)
    assert len(of(found, "run_level", run="a", logdir="x")) == 1
    assert len(of(found, "run_level", run="a", logdir="y")) == 1


def test_the_number_of_series_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RUNS", 3)
    nan = a_batch({"loss": [*(1.0 / (i + 1) for i in range(30)), math.nan]})
    fine = [in_run(a_batch({"loss": [1.0] * 30}), f"fine {i}") for i in range(6)]
    found = samples(a_session(*fine, in_run(nan, "sick")))
    assert len(of(found, "run_level")) == 3
    assert of(found, "run_level", run="sick") == [2]
    assert of(found, "runs_without_series") == [4]
    assert sum(of(found, "runs")) == 7


def test_tags_that_begin_alike_stay_apart() -> None:
    tags = {f"loss/{'x' * MOST_LETTERS}{n}": [1.0, 2.0] for n in range(3)}
    session = a_session(a_batch({"loss": [1.0, 2.0], **tags}))
    for run in session.runs():
        metric = run.infos["loss"].metric
        for tag in tags:
            run.infos[tag] = replace(run.infos[tag], metric=metric)
    found = [dict(have)["tag"] for n, have in samples(session, "loss.total") if "tag" in dict(have)]
    assert len(found) == len(set(found)) == 4
    assert all(len(tag) <= MOST_LETTERS for tag in found)


@given(label=st.text(max_size=20), value=st.floats())
def test_any_label_and_any_value_are_read_back(label: str, value: float) -> None:
    page = module._Page()
    page.add("run_metric", value, "/logs", "a", "loss", label)
    for parser in (strict, older):
        families = parser.text_string_to_metric_families(page.text())
        (sample,) = [sample for family in families for sample in family.samples]
        assert sample.labels["tag"] == clean(label)
        assert str(sample.value) == str(value)


@pytest.mark.parametrize(("value", "text"), [(math.inf, "+Inf"), (-math.inf, "-Inf")])
def test_values_that_are_not_finite_are_spelled_as_the_format_has_them(
    value: float, text: str
) -> None:
    page = openmetrics(a_session(a_batch({"loss": [1.0, value]})), ["loss.total"])
    (line,) = [x for x in page.splitlines() if x.startswith("rltui_run_metric{")]
    assert line.endswith(f"}} {text}")


SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [t.text or "" for t in ET.fromstring(picture).iter(f"{SVG}text")]


def test_text_stands_at_its_cells() -> None:
    row = [Cells("ab", "#111111", "#000000"), Cells("漢", "#222222", "#333333", bold=True)]
    root = ET.fromstring(svg([row], 4, "#000000"))
    first, second = root.iter(f"{SVG}text")
    cell = float(second.get("textLength", 0)) / 2
    assert float(first.get("textLength", 0)) == pytest.approx(2 * cell)
    assert float(second.get("x", 0)) == pytest.approx(float(first.get("x", 0)) + 2 * cell)
    (_, fill) = root.iter(f"{SVG}rect")
    assert fill.get("fill") == "#333333"


ODD = ["<script>&\"'", "a\x00b\x1b[31m", "\ud800\uffff", "]]>"]


@pytest.mark.parametrize("text", ODD, ids=["markup", "control", "surrogate", "cdata"])
def test_whatever_the_text_it_is_xml(text: str) -> None:
    picture = svg([[Cells(text, "#111111", "#000000")]], 20, "#000000", text)
    assert "\x1b" not in "".join(texts(picture))
    picture.encode()


@pytest.mark.parametrize("theme", [t.name for t in list_themes()])
def test_every_theme_has_colours_for_it(theme: str) -> None:
    known = load_theme(theme)
    line = [("x", style(Token.BG, bg=Token.BAD, bold=True)), ("y", style(reverse=True))]
    colours = {c for cells in coloured(line, known) for c in (cells.fg, cells.bg)}
    assert all(len(c) == 7 and c[0] == "#" for c in (*colours, *ground_of(known)))
    assert coloured(line, known)[1].bg == ground_of(known)[0]


def test_a_run_is_its_overview() -> None:
    session = a_session(grpo_batch(60), clock=grpo_clock())
    picture = snapshot_svg(session, load_theme("dark"))
    shown = " ".join(texts(picture))
    assert "Is it learning?" in shown
    assert "entropy collapse" in shown
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_several_runs_are_a_list_and_the_bad_ones() -> None:
    runs = [grpo_batch(60, run="sick"), grpo_batch(60, run="well", collapse=None)]
    session = a_session(*runs, clock=grpo_clock())
    shown = texts(snapshot_svg(session, load_theme("light")))
    assert sum("Is it learning?" in t for t in shown) == 1
    assert any("well" in t for t in shown)
    assert any("2 runs" in t for t in shown)


def test_markup_of_a_log_is_text() -> None:
    session = a_session(a_batch(steps(1, {"<b>&loss</b>": [1.0, 2.0]})))
    shown = " ".join(texts(snapshot_svg(session, load_theme("dark"))))
    assert "&loss" in shown
