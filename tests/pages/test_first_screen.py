"""The sentence about a run and its action stand whole above everything else, at every size."""

import json
import math
import re
from pathlib import Path

import pytest

from rltui.core.level import Level
from rltui.core.text import cell_width
from rltui.draw.line import plain
from rltui.draw.prose import wrap
from rltui.draw.view import View
from rltui.facts.story import main_story
from rltui.facts.story_words import action
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.health.crash import _known
from rltui.health.stalled import stall_rule
from rltui.health.symptoms import symptoms
from rltui.pages.findings.findings_pane import finding_entries, findings_layout, timeline_lines
from rltui.pages.run.header import sentence_lines
from rltui.session import JudgedRun
from tests.builders import read_session
from tests.fakes import a_session, grpo_batch, grpo_clock
from tests.places import CORPORA, FIXTURES
from tests.tui.hand import open_app

SIZES = ((60, 16), (80, 24), (100, 40), (120, 36), (160, 45), (200, 50))
VIEW = View()


@pytest.fixture(scope="module")
def judged() -> list[JudgedRun]:
    """Runs of the fixtures, and of the corpora where they lie beside the project."""
    known = sorted((FIXTURES / "labelled").glob("*/*"))
    known += sorted(p for p in CORPORA.glob("*/*") if p.is_dir())[::8]
    own = a_session(grpo_batch(60, total=200), clock=grpo_clock())
    return [*own.runs(), *(run for path in known for run in read_session([path]).runs()[:1])]


def words_of(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_sentence_and_action_are_whole(judged: list[JudgedRun], width: int, height: int) -> None:
    for run in judged:
        said = verdict_sentence(run)
        lines = [plain(x).rstrip() for x in sentence_lines(run, VIEW, width, height)]
        text = words_of(lines)
        assert "…" not in text or "…" in said.words(10_000), run.name
        assert all(cell_width(x) <= width for x in lines)
        assert len(lines) <= (9 if width < 80 else 6), (run.name, lines)
        shown = text.partition(" Do: ")[2]
        assert " ".join(VIEW.glyphs.text(said.action).split()).startswith(shown)
        assert bool(shown) is bool(said.action)
        assert not shown or shown[-1] in ".?!)", shown
        story, is_calm = main_story(run), "nothing to do" in said.words(10_000)
        assert story is None or said.action.startswith(action(story)[:20])
        assert is_calm is (story is None and run.verdict.level is Level.OK)
        assert not is_calm or said.head.startswith("ok")


def test_a_title_that_holds_its_tag_is_said_once(tmp_path: Path) -> None:
    rows = (
        {"step": n, "reward": n / 99, "loss": 1 / n if n < 45 else math.nan} for n in range(1, 60)
    )
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run,) = read_session([tmp_path]).runs()
    assert "(total loss not finite); since then mean reward 0." in verdict_sentence(run).words(999)


def test_an_action_begins_with_what_to_do_and_fits_into_two_lines() -> None:
    told = [x.advice for x in _known().endings] + [stall_rule().advice]
    told += [text for x in symptoms().values() for text in (x.advice, x.at_start)]
    told += [w.advice for x in symptoms().values() for w in x.words]
    for text in filter(None, told):
        first = re.split(r"(?<=[.?!]) (?=[A-Z])", text)[0]
        assert len(first) <= 150, first
        assert not re.search(r"(?i)start anew|\ba checkpoint\b", text.removeprefix(first))
        assert not re.match(r"(?:Usually|Often|If|The|An?|One|Before|Nothing)\b|.*\?$", first)


def test_a_number_and_its_unit_stand_in_one_line() -> None:
    text = "held-out 42.2 % after 3 h at lr ≤ 0.02 and × 100 of 8 GB"
    for lines in (wrap(text, width) for width in range(8, 60)):
        assert " ".join(lines) == text
        assert not any(re.match(r"(?:h|GB|0\.02|100)\b|%", x) for x in lines), lines


@pytest.mark.parametrize("height", [*range(1, 12), 40])
@pytest.mark.parametrize("width", [31, 46, 100])
def test_the_timeline_fits(judged: list[JudgedRun], width: int, height: int) -> None:
    for run in judged:
        lines = [plain(x) for x in timeline_lines(run, VIEW, width, height)]
        assert len(lines) <= max(height, bool(run.troubles))
        assert all(cell_width(x) <= width and "…" not in x for x in lines)


@pytest.mark.parametrize("width", [80, 120, 160])
def test_no_word_of_the_list_of_findings_is_cut(judged: list[JudgedRun], width: int) -> None:
    layout = findings_layout(width, 24, 0)
    for run in judged:
        for entry in finding_entries(run, VIEW, layout.rows, layout.margin):
            for line in map(plain, entry.draw(False)):
                assert cell_width(line) <= layout.rows + layout.margin
                assert "…" not in line


async def test_the_screen_shows_it_above_the_tabs_and_the_outcome_above_the_culprit() -> None:
    async with open_app(grpo_batch(60, total=200)) as hand:
        said = verdict_sentence(hand.run.run)
        for width, height in SIZES:
            await hand.resize(width, height)
            tabs = next(n for n, x in enumerate(hand.lines) if "Overview" in x)
            above = words_of(hand.lines[1:tabs])
            assert said.head.split()[0].upper() in above
            assert VIEW.glyphs.text(said.to_do(1)) in above
            if width >= 80:
                heads = [x for x in hand.lines if "────" in x]
                assert any("reward" in x for x in heads)
                assert any("entropy" in x for x in heads)
