"""What is wrong in a run, and every limit, is the same on every surface: the record's."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rltui.core.batch import LogTail
from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.metric_chart import chart_of
from rltui.draw.view import View
from rltui.facts import sentences
from rltui.facts.metrics import make_row
from rltui.facts.story import Story, main_story, stories, story_of
from rltui.facts.story_words import Part, action, headline, summary
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.health.judgement import is_outside
from rltui.health.model import Diagnosis, Limit
from rltui.health.symptoms import SETTING_CHANGED
from rltui.output.brief_entry import brief_entry
from rltui.output.html_report import html_report
from rltui.output.json_document import run_entry, snapshot_document
from rltui.output.text_report import run_lines, snapshot_text, story_lines
from rltui.output.tool_answers import series_answer
from rltui.pages.findings import lines as pane
from rltui.pages.findings.findings_detail import detail_lines
from rltui.pages.findings.findings_pane import finding_entries, row_of
from rltui.pages.metric.lines import explain_tag
from rltui.pages.run.header import sentence_lines
from rltui.pages.run.metric_table import columns_for, healthy_words
from rltui.pages.runs.lines import said_more
from rltui.session import JudgedRun, Session
from tests.builders import START, a_batch, a_source, read_session
from tests.clock import ManualClock
from tests.fakes import a_session as fed_session
from tests.fakes import grpo_tags
from tests.places import CORPORA, FIXTURES

VIEW = View()
#: Of the logs of the corpora every so many of them.
_OF_THEM = 16
_FIXTURES = sorted(p for p in (FIXTURES / "labelled").glob("*/*") if p.is_dir())
_CORPORA = sorted(p for p in CORPORA.glob("*/*") if p.is_dir())
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?[kMGT]?")
#: A limit in a sentence, with the number that it is.
_SAID = re.compile(r"(?:watch|bad|healthy) (?:below|above|[≤≥]) ([\d.,e+-]+[kMGT]?)")
_SI = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def a_session(path: Path) -> Session:
    return read_session([path], clock=ManualClock(1_900_000_000.0))


@pytest.fixture(scope="module", params=_FIXTURES, ids=lambda p: p.name)
def fixture(request: pytest.FixtureRequest) -> Session:
    return a_session(request.param)


@pytest.fixture(scope="module", params=_CORPORA[::_OF_THEM] or [None], ids=lambda p: p and p.name)
def public(request: pytest.FixtureRequest) -> Session:
    if request.param is None:
        pytest.skip(f"no corpora at {CORPORA}")
    return a_session(request.param)


def one_line(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


def of_block(block: Iterable[pane.Line]) -> str:
    return one_line(plain(line) for line in block)


# -- stories -------------------------------------------------------------------------------


def check_stories(session: Session) -> None:
    page = html.unescape(html_report(session))
    for run in session.runs():
        told = stories(run)
        check_actions(run, told, page)
        check_order(run, told)
        for story in told:
            check_time(story)


def check_actions(run: JudgedRun, told: tuple[Story, ...], page: str) -> None:
    document = {d["id"]: d["advice"] for d in run_entry(run)["diagnoses"]}
    brief = {s["id"]: s["next"] for s in brief_entry(run)["story"]}
    found = run_entry(run)["findings"]
    assert {f["advice"] for f in found} <= {action(story) for story in told}
    assert not [f for f in found if "NaN" in f["evidence"].get("bound", "")]
    for story in told:
        step = action(story)
        assert {document[d.symptom.id] for d in story.diagnoses} <= {step}
        said = [x for x in story_lines(story) if x.strip().startswith(f"{Part.NEXT.value}: ")]
        if not story.is_open:
            continue
        assert [x.strip() for x in said] == [f"{Part.NEXT.value}: {step}"] * bool(step)
        assert without_names(run, step)[:12] in without_names(run, brief[story.id])
        for item in [row.id for row in story.rows]:
            assert step in of_block(detail_lines(run, item, VIEW, 4_000, 0))
        for row in story.rows:
            if row.finding.tag in run.infos and story_of(run, row.finding) is story:
                firing = run.report.firing() if run.report else ()
                own = [f for f in firing if f.is_about(row.finding.tag)]
                if own[:1] == [row.finding] and row.finding.tag not in story.blamed:
                    assert step in of_block(explain_tag(run, row.finding.tag, VIEW, 4_000))
        for tag in story.blamed:
            assert step in of_block(explain_tag(run, tag, VIEW, 4_000))
    main = main_story(run)
    if main is not None:
        assert action(main) in of_block(sentence_lines(run, VIEW, 4_000, 20))
        assert page.count(Part.NEXT.value) >= 1


def without_names(run: JudgedRun, text: str) -> str:
    """A sentence without what a brief puts into quotes or whole words."""
    names = {n for tag, info in run.infos.items() for n in (tag, info.title)}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return re.sub(r'["“”]|\b[a-z]+\.', "", text)


def check_order(run: JudgedRun, told: tuple[Story, ...]) -> None:
    rows = [row for story in told for row in story.rows]
    ids = [e.id for e in finding_entries(run, VIEW, 80, 2) if row_of(run, e.id) is not None]
    firing = [row.id for row in rows if row.is_firing]
    assert ids[: len(rows)] == [*firing, *(row.id for row in rows if not row.is_firing)]
    lines = iter(run_lines(run))
    for row in rows:
        assert any(f" {row.finding.title}, " in line for line in lines), (
            "in the order of the record"
        )
    document = run_entry(run)["diagnoses"]
    assert [d["id"] for d in document] == [d.symptom.id for s in told for d in s.diagnoses]
    assert [s["id"] for s in brief_entry(run)["story"]] == [s.id for s in told if s.is_open]


def check_time(story: Story) -> None:
    """``then`` is said only of what the steps show to be later."""
    for diagnosis in story.diagnoses:
        _, later, names = summary(story, diagnosis).partition("; then ")
        for effect in story.effects(diagnosis):
            named = any(f.title in names.split(", ") for f in effect.findings)
            if later and named and not is_later(diagnosis, effect):
                others = (e for e in story.effects(diagnosis) if is_later(diagnosis, e))
                titles = {f.title for e in others for f in e.findings}
                assert {f.title for f in effect.findings} & titles
    if ", then " in headline(story) and story.crash is None:
        assert story.top is not None
        assert story.lead is not None
        assert is_later(story.top, story.lead)


def is_later(cause: Diagnosis, effect: Diagnosis) -> bool:
    if cause.since_step is None or effect.since_step is None:
        return False
    is_setting = cause.symptom.id == SETTING_CHANGED
    return effect.since_step > cause.since_step or (
        is_setting and effect.since_step >= cause.since_step
    )


def test_every_story_is_told_alike(fixture: Session) -> None:
    check_stories(fixture)


def test_every_story_of_public_logs_is_told_alike(public: Session) -> None:
    check_stories(public)


def test_a_crash_comes_before_a_finding_that_did_not_cause_it() -> None:
    error = "KeyError: 'advantages'"
    tail = LogTail(("Traceback (most recent call last):", '  File "train.py", line 3', error), 3)
    source = a_source("stdout.log", format="console", precision_rank=1)
    batch = replace(a_batch(grpo_tags(60, 1, 40), source=source), tail=tail)
    (run,) = fed_session(batch, clock=ManualClock(START + 9_000)).runs()
    assert verdict_sentence(run).words(70) == f"crashed at 60: {error}; also entropy collapse"
    head, row = (
        of_block(sentence_lines(run, VIEW, 120, 36)),
        of_block([said_more(run, VIEW, 99, None)]),
    )
    for told in (head, row, one_line(run_lines(run))):
        crash, finding = told.index(error), told.index("entropy collapse")
        assert crash < finding
    assert "Do: Look at the last frame of the traceback" in head


# -- limits --------------------------------------------------------------------------------


def numbers_in(text: str) -> Iterator[float]:
    for found in _NUMBER.findall(text.replace("−", "-")):
        scale = _SI.get(found[-1], 1.0)
        yield float(found.rstrip("kMGT").replace(",", "")) * scale


def values_of(limits: Iterable[Limit]) -> set[str]:
    """What a limit may be printed as: its ends, and the numbers of its words."""
    found = set()
    for limit in limits:
        ends = (x for x in limit.shown if x is not None)
        found |= {sentences.limit_number(abs(x)) for x in ends}
        found |= {f"{x:g}" for x in numbers_in(sentences.limit_words(limit))}
    return {f"{abs(n):g}" for x in found for n in numbers_in(x)}


def check_limits(session: Session) -> None:
    snapshot = snapshot_document(session)["runs"]
    for run, entry in zip(session.runs(), snapshot, strict=True):
        metrics = {m["tag"]: m for m in entry.get("metrics", [])}
        for tag, info in run.infos.items():
            judgement = run.verdict.judgement(tag)
            known, row = values_of(judgement.limits), make_row(run, tag)
            assert all(limit.unit in ("", info.unit) for limit in judgement.limits)
            said = [healthy_words(row, columns_for(w)) for w in (50, 69, 92, 120)]
            alarm = row.level >= Level.WATCH and row.value is not None
            ends = judgement.limits[0].shown if alarm and judgement.limits else (None, None)
            if ends != (None, None) and not is_outside(row.value, *ends):
                assert all(x.startswith("was ") for x in said), (tag, row.value, said)
                assert said[0] in snapshot_text(session)
                page = html.unescape(html_report(session))
                assert f"; {said[0]}; " in page
                assert f" {said[0]}</span>" in page
            own_unit = info.unit in ("", "%") or not any("%" in x.split(" (")[0] for x in said)
            assert own_unit, (tag, info.unit, said)
            said.append(metrics[tag]["healthy"])
            drawn = [x.text for x in chart_of(run, tag, VIEW).limits]
            explained = of_block(explain_tag(run, tag, VIEW, 4_000))
            said += re.findall(
                r"(?:watch|bad) limit +(?:below|above|outside ±) ([\d.,e+-]+[kMGT]?)", explained
            )
            head = series_answer(run, tag, 4, (None, None)).text.partition(" points")[0]
            said += re.findall(
                r"(?:watch|bad|healthy) (?:below|above|[≤≥]) ([\d.,e+-]+[kMGT]?)", head
            )
            for text in (*said, *drawn):
                printed = {f"{abs(x):g}" for x in numbers_in(text)}
                assert printed <= known, (tag, text, known)
            logged = {metrics[tag]["low"], metrics[tag]["high"]}
            assert logged <= {end for x in judgement.limits[:1] for end in (x.low, x.high)} | {None}
            words = {limit.level.word for limit in judgement.limits} | {"usual"}
            assert {text.split()[0] for text in drawn} <= words


def test_every_limit_is_the_one_of_the_record(fixture: Session) -> None:
    check_limits(fixture)


def test_every_limit_of_public_logs_is_the_one_of_the_record(public: Session) -> None:
    check_limits(public)


def test_a_limit_and_the_value_beside_it_have_one_unit() -> None:
    relative = Limit(Level.WATCH, 0.21, shown=(0.21, None), words="≥ {share:%} of start",
                     short="≥ {low}", numbers={"share": 0.3})  # fmt: skip
    assert sentences.limit_words(relative) == "≥ 0.21 (30 % of start)"
    assert sentences.limit_short(relative) == "≥ 0.21"
    percent = relative._replace(shown=(None, 40.0), words="≤ {high:%}", numbers={"high": 0.4})
    assert sentences.limit_words(percent) == "≤ 40"
    words = Limit(Level.BAD, words="must change", short="must change")
    assert sentences.limit_words(words) == sentences.limit_short(words) == "must change"
