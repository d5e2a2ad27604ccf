"""Diagnoses on screens and in documents."""

from dataclasses import replace

from rltui.core.batch import LogTail
from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.checks import check_items
from rltui.facts.findings import finding_rows, marks
from rltui.facts.metrics import make_row
from rltui.facts.runs import until_judged
from rltui.facts.story import main_story
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.output.json_document import check_document
from rltui.output.text_report import check_text
from rltui.pages.findings.findings_detail import check_table, detail_lines
from rltui.pages.findings.findings_pane import finding_entries, timeline_lines
from rltui.pages.findings.lines import HeadId, counts
from rltui.pages.run.header import verdict_spans
from rltui.pages.run.tab import tab_line
from rltui.session import JudgedRun, Session
from tests.builders import a_batch, a_source, steps
from tests.fakes import a_session, blown_up_tags, grpo_batch, grpo_clock, grpo_tags

VIEW = View()


def jumped() -> Session:
    """A run whose learning rate goes up by 100 at row 40; the KL blows up."""
    tags = blown_up_tags([1e-6] * 39 + [1e-4] * 21)
    return a_session(a_batch(steps(1, tags)), clock=grpo_clock())


def the_run(session: Session) -> JudgedRun:
    (run,) = session.runs()
    return run


def test_the_cause_stands_first_in_every_list() -> None:
    session = jumped()
    run = the_run(session)
    assert "since 40: learning rate × 100 at 40" in verdict_sentence(run).words(99)
    assert "learning rate × 100" in plain(timeline_lines(run, VIEW, 60, 20)[1])
    first = next(e.id for e in finding_entries(run, VIEW, 60, 2) if e.id is not None)
    assert first == HeadId("actor/lr")
    text = check_text(session)
    assert text.index("learning rate 1.0e-6 → 1.0e-4") < text.index("KL blow-up, since")
    document = check_document(session)["runs"][0]
    assert document["diagnoses"][0]["id"] == "setting_changed"
    assert document["diagnoses"][1]["explained_by"] == "setting_changed"
    assert document["first_movers"][0]["tag"] == "actor/lr"


def test_each_check_has_its_value_now_and_what_is_missing_is_named() -> None:
    run = the_run(a_session(grpo_batch(60), clock=grpo_clock()))
    story = main_story(run)
    assert story.id == "entropy_collapse"
    items = {i.metric: i for i in story.checks}
    assert items["kl.old_new"].tag == "actor/ppo_kl"
    assert items["kl.old_new"].value == run.shown("actor/ppo_kl").last[2]  # type: ignore[index]
    assert "hyper.entropy_coef" not in items, "verl has no name for it"
    tags = {k: v for k, v in grpo_tags(60, 1, 40).items() if k != "actor/pg_clipfrac"}
    session = a_session(a_batch(steps(1, tags)))
    missing = {i.metric: i for i in main_story(the_run(session)).checks}["clipfrac.policy"]
    assert (missing.tag, missing.value, missing.level) == (None, None, Level.UNKNOWN)
    assert "not logged: clip fraction" in check_text(session)


def test_checks_ask_for_what_the_algorithm_has_and_the_log_answers_behind_the_question() -> None:
    common = {"rollout/ep_rew_mean": [*range(20, 120), *[15, 16] * 30], "train/loss": [1, 1.1] * 80}
    entropy = [-0.7] * 103 + [-0.01] * 20 + [-0.7] * 37
    ppo = {"train/clip_range": [0.2] * 160, "train/entropy_loss": entropy}
    dqn = {"rollout/exploration_rate": [1 - s / 200 for s in range(160)]}
    for own, has_entropy in ((ppo, True), (dqn, False)):
        story = main_story(the_run(a_session(a_batch(steps(1, common | own)))))
        assert ("clipfrac.policy" in {i.metric for i in story.checks}) is has_entropy
        table = [plain(x) for x in check_table(story, VIEW, 110)]
        assert any("did it drop suddenly? 0.0100 at" in x for x in table) is has_entropy


def test_what_stands_still_is_told_once_and_nothing_of_a_part() -> None:
    tags = {"reward_mean": [0.0] * 50, "Avg Reward": [0.0] * 50, "loss": [1.0, 2.0] * 25}
    run = the_run(a_session(a_batch(steps(1, tags))))
    said = verdict_sentence(run).words(300)
    assert said == "bad: reward flat from the start (reward mean 0 in all 50 rows)"
    run.full_report = None
    assert not until_judged(run), "it is being read"


def test_what_stands_out_is_checked_first() -> None:
    session = jumped()
    run = the_run(session)
    story = main_story(run)
    rate = next(i for i in story.checks if i.tag == "actor/lr")
    assert rate.first
    assert (rate.level, rate.hint) == (Level.BAD, "× 100 at 40")


def test_a_metric_has_one_badge_on_a_screen() -> None:
    tags = blown_up_tags([0.5] * 60)
    run = the_run(a_session(a_batch(steps(1, tags)), clock=grpo_clock()))
    items = {i.tag: i for d in run.report.diagnosed.diagnoses for i in check_items(run, d)}  # type: ignore[union-attr]
    assert items["actor/lr"].hint.startswith("usually")
    assert items["actor/lr"].first
    for tag, item in items.items():
        assert tag is None or item.level is make_row(run, tag).level


def test_counts_agree_everywhere() -> None:
    session = jumped()
    run = the_run(session)
    bad, watch = (marks(run)[level] for level in (Level.BAD, Level.WATCH))
    shown = [text for e in finding_entries(run, VIEW, 60, 2) for text in map(plain, e.draw(False))]
    assert sum("✖" in line for line in shown) == bad == 1 + len(finding_rows(run)) - watch
    assert check_document(session)["runs"][0]["alarms"] == {"bad": bad, "watch": watch}
    assert f": {bad} bad" in check_text(session)
    assert f"{bad} bad" in counts(run)
    assert f"{bad} bad" in plain(verdict_spans(run, VIEW, words=True))
    line, _ = tab_line(run, "overview", VIEW, 160)
    assert f"Findings {bad + watch}" in plain(line)


def test_a_run_with_rows_says_why_it_died() -> None:
    trace = ("Traceback (most recent call last):", "torch.OutOfMemoryError: CUDA out of memory.")
    source = a_source("stdout.log", format="console", precision_rank=1)
    batch = a_batch(steps(1, grpo_tags(60, 1, None)), source=source)
    session = a_session(replace(batch, tail=LogTail(trace, 2)))
    run = the_run(session)
    assert "CUDA out of memory" in verdict_sentence(run).words(80)
    ids = [e.id for e in finding_entries(run, VIEW, 60, 2)]
    assert HeadId("") in ids
    text = "\n".join(plain(x) for x in detail_lines(run, HeadId(""), VIEW, 80, 40))
    assert "longest response" in text
    assert "nothing to" not in verdict_sentence(run).words(1_000)
    assert check_document(session)["runs"][0]["diagnoses"][0]["id"] == "out_of_memory"
    assert "check first: " in check_text(session)
