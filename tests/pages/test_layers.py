"""q closes the top layer; keys of a run in the list of runs; a mute or range taken back."""

from pathlib import Path

from rltui.config import load_config
from rltui.core.level import Level
from rltui.facts import numbers, sentences
from rltui.pages.run.screen import RunScreen
from rltui.pages.runs.screen import RunsScreen
from tests.fakes import grpo_batch
from tests.tui.hand import open_app


async def test_q_closes_one_screen_after_the_other_and_then_quits() -> None:
    async with open_app(grpo_batch(60), grpo_batch(60, run="calm")) as hand:
        await hand.press("enter", "3", "enter", "left")
        assert "q close" in hand.footer
        await hand.press("q")
        assert isinstance(hand.app.screen, RunScreen)
        await hand.press("q")
        assert isinstance(hand.app.screen, RunsScreen)
        assert "q quit" in hand.footer
        await hand.press("q")
    assert hand.app.return_code == 0


async def test_q_quits_from_a_run_that_is_alone() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("q")
    assert hand.app.return_code == 0


async def test_a_key_of_a_run_opens_the_one_at_the_cursor() -> None:
    async with open_app(grpo_batch(60), grpo_batch(60, run="calm", collapse=None)) as hand:
        name = hand.runs.items.cursor.name
        await hand.press("9")
        assert (hand.run.tab, hand.run.run.key.name) == ("findings", name)


async def test_u_takes_the_newest_mute_back() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("9", "M")
        assert len(hand.app.session.run_list.mutes.names) == 1
        await hand.press("1", "u")
        assert not hand.app.session.run_list.mutes.names


async def test_a_limit_is_written_judged_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    text = "# mine\nmetrics:\n  # why\n  entropy: {range: [0.2, null], title: E}\n"
    path.write_text(text)
    config = load_config(path, {}, {})
    async with open_app(grpo_batch(60, collapse=None), config=config) as hand:
        run, tag = hand.run.run, "actor/entropy"
        value = float(run.shown(tag).values[-1])
        await hand.press("colon", *f"limit entropy >= {value + 1}", "enter")
        assert path.read_text() == text.replace("0.2", str(value + 1))
        assert f"{path}: entropy range [{value + 1}, null] (was [0.2, null])" in hand.notices
        hand.app.session.drain()
        judged = run.verdict.judgement(tag)
        assert (judged.level, judged.low) == (Level.WATCH, value + 1)
        found = next(f for f in run.firing() if f.tag == tag)
        assert found.title == f"{run.infos[tag].title} outside your range"
        assert f", your range is ≥ {numbers.plain(value + 1)}" in sentences.summary(found)
        await hand.press("u")
        hand.app.session.drain()
        assert path.read_text() == text
        assert run.verdict.judgement(tag).low == 0.2
        await hand.press("colon", *"limit no such metric <= 1", "enter")
        assert "no such metric here" in hand.notices
        await hand.press("colon", *"limit entropy <= 0.1", "enter")
        assert "low 0.2 lies above high 0.1" in hand.notices
        path.write_text("a: [")
        await hand.press("colon", *"limit entropy <= 1", "enter")
        assert "not valid YAML" in hand.notices
        path.write_text("")
        await hand.press("colon", *"limit entropy <= 1", "enter")
        assert path.read_text() == "metrics: {entropy: {range: [0.2, 1.0]}}\n"
        path.write_text("# meanwhile")
        await hand.press("u")
        assert "was changed since, and stays as it is" in hand.notices
        path.unlink()
        await hand.press("colon", *"limit entropy <= 1", "enter", "u")
        assert not path.exists()
        path.write_bytes(b"rules: {mute: []}  # mine\r\n\r\n")
        await hand.press("colon", *"limit entropy <= 1", "enter")
        assert b"range: [null, 1.0]" in path.read_bytes()
        await hand.press("u", "colon", *"limit entropy <= x", "enter")
        assert path.read_bytes() == b"rules: {mute: []}  # mine\r\n\r\n"
