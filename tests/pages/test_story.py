"""What Overview says below the questions: the next step at every size, and in plain text."""

from dataclasses import replace

import pytest

from rltui.core.batch import LogTail
from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.metrics import OVERVIEW, tab_sections
from rltui.facts.sentences import listed
from rltui.facts.story import Story, main_story, stories
from rltui.facts.story_words import Part, action, parts
from rltui.health.symptoms import knowledge
from rltui.output.brief import brief_document, brief_text
from rltui.output.brief_entry import brief_entry
from rltui.output.json_document import check_document
from rltui.output.text_report import check_text
from rltui.pages.findings.findings_pane import CalmId
from rltui.pages.findings.lines import span_words
from rltui.pages.metric.lines import explain_tag
from rltui.pages.run.tab import overview_entries, tab_layout
from rltui.session import JudgedRun
from rltui.session.session import Choice
from tests.builders import a_batch, a_source, steps
from tests.fakes import a_session, blown_up_tags, grpo_batch, grpo_clock, grpo_tags, next_step
from tests.tui.hand import open_app

VIEW = View()


def a_run(rate: list[float]) -> JudgedRun:
    """A run of 60 rows with this learning rate; its KL blows up at row 40."""
    tags = blown_up_tags(rate)
    (run,) = a_session(a_batch(steps(1, tags)), clock=grpo_clock()).runs()
    return run


def the_story(run: JudgedRun) -> Story:
    story = main_story(run)
    assert story is not None
    return story


def told(run: JudgedRun) -> dict[Part, str]:
    return dict(parts(the_story(run), VIEW.glyphs.badge))


def test_a_brief_begins_with_what_ended_the_run() -> None:
    tags = grpo_tags(60, 1, None)
    tags["actor/pg_loss"] = [0.01] * 40 + [float("nan")] * 20
    line = "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"
    batch = a_batch(steps(1, tags), tail=LogTail(("Traceback (most recent call last):", line), 2))
    (run,) = a_session(batch, clock=grpo_clock()).runs()
    assert [story["id"] for story in brief_entry(run)["story"]] == ["not_finite", "crashed"]


def test_a_setting_far_from_usual_is_a_likely_cause() -> None:
    run = a_run([0.5] * 60)
    assert told(run)[Part.LIKELY_CAUSE] == "learning rate 0.500 ✖ (usually ≤ 0.02)"
    assert "learning rate" not in told(run)[Part.CHECK_FIRST]


@pytest.mark.parametrize(("rate", "lower"), [(0.5, True), (1e-6, False)])
def test_the_advice_about_a_likely_cause_is_the_same_everywhere(rate: float, lower: bool) -> None:
    tags = blown_up_tags([rate] * 60)
    session = a_session(a_batch(steps(1, tags)), clock=grpo_clock())
    (run,) = session.runs()
    text = " ".join(
        "\n".join(plain(x) for x in explain_tag(run, "actor/ppo_kl", VIEW, 300)).split()
    )
    advice = knowledge().too_high.format(setting="learning rate").replace("this step", "step 40")
    assert (next_step(run) == advice) is lower
    assert next_step(run) in text
    assert f"next step: {next_step(run)}" in check_text(session)
    (story,) = check_document(session)["runs"][0]["diagnoses"]
    assert story["advice"] == next_step(run)


def test_a_title_that_is_no_word_is_quoted_and_lists_say_where_an_item_ends() -> None:
    tags = grpo_tags(60, 1, None)
    tags["train/lr-pg_0"] = [0.5] * 60
    tags["train/ppo_kl"] = [0.001, 0.0012] * 19 + [0.001] + [3.0] * 21
    del tags["actor/lr"], tags["actor/ppo_kl"]
    choice = Choice(framework="slime")
    (run,) = a_session(a_batch(steps(1, tags)), clock=grpo_clock(), choice=choice).runs()
    assert next_step(run).startswith('Lower the setting "lr, group 0" or lengthen')
    assert listed(["total loss NaN", "advantage, max 1"]) == "total loss NaN; advantage, max 1"


@pytest.mark.parametrize(("rows", "asked"), [(0, "start anew"), (30, "Go back to the last")])
def test_a_crash_and_the_finding_that_tells_of_the_same_have_one_action(
    rows: int, asked: str
) -> None:
    tags = {"actor/pg_loss": [0.5] * rows + [float("nan")], "actor/lr": [1e-6] * (rows + 1)}
    batch = a_batch(steps(1, tags), source=a_source("stdout.log", format="console"))
    lines = ("Traceback (most recent call last):", "ValueError: the loss is nan")
    session = a_session(replace(batch, tail=LogTail(lines, 2)), clock=grpo_clock())
    (run,) = session.runs()
    ended, found = stories(run)
    assert ended.crash is not None
    assert action(ended) == action(found)
    assert asked in action(found)


def test_what_the_log_repeats_is_part_of_the_story() -> None:
    tags = blown_up_tags()
    lines = [f"ERROR - sample {n}: Torch not compiled with CUDA enabled" for n in range(7)]
    batch = a_batch(steps(1, tags), source=a_source("stdout.log", format="console"))
    session = a_session(replace(batch, tail=LogTail(tuple(lines), 7)), clock=grpo_clock())
    (run,) = session.runs()
    said = "sample #: Torch not compiled with CUDA enabled (7 times)"
    assert f"the log says: {said}" in check_text(session)
    assert told(run)[Part.LOG_SAYS] == said
    (story,) = check_document(session)["runs"][0]["diagnoses"]
    assert story["log_says"] == said
    assert f'\n    the log says: "{said[:-10]}" 7 times\n' in brief_text(brief_document(session))
    assert "log says" not in brief_entry(run)["story"][0]["next"]
    assert next_step(run).startswith("Compare nvidia-smi")


def test_the_stage_that_takes_the_time_of_a_slow_step_is_named() -> None:
    tags = grpo_tags(60, 1, None)
    tags["timing_s/gen"] = [1.0, 1.1] * 20 + [90.0] * 20
    tags["timing_s/step"] = [10.0, 10.1] * 20 + [100.0] * 20
    session = a_session(a_batch(steps(1, tags)), clock=grpo_clock())
    (run,) = session.runs()
    assert next_step(run).startswith("Look at generate first")
    assert "of the average step. See on Timing" in next_step(run)


def test_a_question_that_the_log_answers_is_no_first_check() -> None:
    for rates, first in (([1e-6] * 60, False), ([1e-6, 2e-6] * 30, True)):
        tags = grpo_tags(60, 1, None)
        tags["actor/lr"] = rates
        tags["actor/grad_norm"] = [1.0, 1.1] * 19 + [1.0] + [400.0] * 21
        (run,) = a_session(a_batch(steps(1, tags)), clock=grpo_clock()).runs()
        assert the_story(run).id == "gradient_explosion"
        facts = told(run)
        assert ("(did it change at step 40?)" in facts[Part.CHECK_FIRST]) is first
        assert ("(constant)" in facts[Part.THEN]) is not first


def overview(width: int, height: int) -> list[str]:
    (run,) = a_session(grpo_batch(60)).runs()
    sections = tab_sections(run, OVERVIEW)
    layout = tab_layout(OVERVIEW, width, height, sum(len(s.rows) for s in sections))
    entries = overview_entries(run, sections, View(), layout)
    lines = [plain(line) for entry in entries for line in entry.draw(False)]
    assert len(lines) <= layout.list_height
    return lines


@pytest.mark.parametrize("height", range(30, 47))
def test_the_step_has_its_line_below_the_questions(height: int) -> None:
    assert "One step" in "\n".join(overview(160, height))


def test_a_check_is_about_the_tag_that_is_wrong() -> None:
    tags = {
        "agent/reward/mean": [0.4 + 0.004 * s for s in range(80)],
        "train/math/effective/agent/reward/mean": [0.3 + 0.006 * s for s in range(80)],
        "train/code/effective/agent/reward/mean": [0.5, 0.52] * 20 + [0.02, 0.0] * 20,
        "mismatch_kl/all/mean": [0.001] * 80,
    }
    (run,) = a_session(a_batch(steps(1, tags)), choice=Choice(framework="prime-rl")).runs()
    story = the_story(run)
    wanted = next(i for i in story.checks if i.check.ask == "which source falls?")
    assert wanted.tag == story.rows[0].finding.tag == "train/code/effective/agent/reward/mean"


def test_a_finding_that_is_milder_now_says_when_it_was_worst() -> None:
    run = a_run([1e-6] * 60)
    worst = next(f for f in run.report.findings if f.level is Level.BAD)  # type: ignore[union-attr]
    milder = worst._replace(level=Level.WATCH)
    at = worst.evidence.row["at"]
    assert span_words(run, milder) == f"since 40, bad at {at}"
    assert span_words(run, milder, now=True) == f"40 to now, bad at {at}"
    assert span_words(run, worst, now=True) == "40 to now"


async def test_findings_of_a_calm_run_open_on_what_was_judged() -> None:
    async with open_app(grpo_batch(60, collapse=None)) as hand:
        await hand.press("9")
        assert hand.cursor == CalmId()
        assert "Judged" in hand.text
        assert "not judged:" not in hand.text
