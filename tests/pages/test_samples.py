"""Texts and samples on the screen."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rltui.core.batch import LogTail, TextPoint
from rltui.core.installation import to_add
from rltui.facts.findings import finding_rows
from tests.builders import a_source
from tests.fakes import grpo_batch
from tests.tui.hand import open_app, read_at_once

LONG = "a very long answer with \x1b[31m[red]markup[/red] " + "and more words " * 200


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_at_once(monkeypatch)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    rows = [
        {"input": "1+1?", "output": "two", "score": 1.0},
        {"input": "2+2?", "output": LONG, "score": 0.0, "gts": "four"},
        {"input": "3+3?", "output": "six", "score": 0.5},
    ]
    for step in (20, 40):
        path = tmp_path / "rollouts" / f"{step}.jsonl"
        path.parent.mkdir(exist_ok=True)
        lines = [json.dumps({**row, "step": step, "note": f"at {step}"}) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def at(logdir: Path) -> Any:
    batch = grpo_batch(60, run=".")
    object.__setattr__(batch, "run_path", logdir)
    return open_app(batch, logdirs=(logdir,))


async def test_the_worst_sample_of_the_newest_step_is_read_with_one_key(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("T")
        assert "step 40" in hand.text
        assert "mean reward 0.500, 0 to 1.00" in hand.text
        assert "2+2?" in hand.text, "the prompt of the worst"
        assert "\\x1b[31m[red]markup[/red]" in hand.text
        assert len(hand.ids) == 3
        await hand.press("j")
        assert "3+3?" in hand.text
        assert "2+2?" not in hand.text


async def test_the_list_moves_with_its_heads_when_the_screen_shrinks(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.resize(160, 30)
        await hand.press("T")
        await hand.resize(79, 30)  # the list is as wide as before, and stands elsewhere
        shrunk = hand.lines[:6]
        await hand.press("q", "T")
        assert shrunk == hand.lines[:6]


async def test_order_step_and_filter(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("T", "o")
        assert "1+1?" in hand.text, "the best"
        await hand.press("o")
        assert "2+2?" in hand.text, "the longest"
        assert hand.footer.rstrip().endswith("longest first")
        await hand.press("h")
        assert "step 20  1 of 2" in hand.text
        assert "2+2?" in hand.text
        await hand.press("l", "slash", "s", "i", "x", "enter")
        assert "step 40" in hand.text
        assert "1 of 3" in hand.text
        assert "3+3?" in hand.text
        await hand.press("escape")
        assert len(hand.ids) == 3


async def test_a_long_sample_opens_whole_and_esc_leads_back(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("T", "enter")
        assert "gts four" in hand.text, "short texts stand among the figures"
        await hand.press("G")
        assert "and more words" in hand.text
        await hand.press("escape")
        assert "worst reward first" in hand.text
        await hand.press("y")
        assert "score: 0" in hand.notices
        await hand.press("T")
        assert hand.run.is_current


async def test_the_step_of_the_crosshair_on_the_metric_screen(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("3", "enter", "g", "T")
        assert "step 20" in hand.text
        await hand.press("escape")
        assert hand.metric.is_current


def deep(logdir: Path) -> None:
    for bad in ("[" * 480 + '"a"' + "]" * 480, '{"a": ' * 900 + "1" + "}" * 900):
        with (logdir / "rollouts" / "40.jsonl").open("a", encoding="utf-8") as file:
            file.write(f'{{"input": "nested", "output": {bad}, "score": -1}}\n')


async def test_no_record_ends_the_app(logdir: Path) -> None:
    deep(logdir)
    async with at(logdir) as hand:
        await hand.press("T")
        assert "nested" in hand.text, "the worst"
        assert len(hand.ids) == 5
        await hand.press("enter", "escape", "j")
        assert "nested" in hand.text


async def test_a_record_that_goes_wrong_is_a_note(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at(logdir) as hand:
        await hand.press("T")

        def broken(_: object) -> None:
            raise TypeError("\x1b[31m")

        monkeypatch.setattr("rltui.sources.side_files.sample_files.sample_of", broken)
        await hand.press("j")
        assert "cannot be read: not a sample (TypeError)" in hand.text


async def test_the_path_of_the_logs_is_cleaned(tmp_path: Path) -> None:
    logdir = tmp_path / "lo\x1b[31mg\u202edir\u200b"
    logdir.mkdir()
    async with at(logdir) as hand:
        await hand.press("T")
        shown = "".join(hand.text.split())
        assert r"lo\x1b[31mg\u202edir\u200b" in shown
        assert all(c.isprintable() for c in shown)


async def test_a_replay_and_a_pause_hide_later_texts(tmp_path: Path) -> None:
    texts = tuple(TextPoint("val/generations", s, 0.0, f"text of {s}") for s in (20, 40, 60))
    async with open_app(grpo_batch(60, texts=texts)) as hand:
        await hand.press("colon", *"goto 30", "enter", "T")
        assert "step 20" in hand.text
        assert "1 of" not in hand.lines[1], "there is no other"
        await hand.press("escape", "colon", *"now", "enter", "p")
        later = TextPoint("val/generations", 61, 0.0, "too late")
        await hand.feed(grpo_batch(3, first=61, texts=(later,)))
        await hand.press("T")
        assert "step 60  3 of 3" in hand.text
        await hand.press("escape", "p", "T")
        assert "step 61  4 of 4" in hand.text


async def test_the_samples_follow_a_replay(logdir: Path) -> None:
    async with at(logdir) as hand:
        await hand.press("colon", *"goto 40", "enter", "T")
        assert "step 40  2 of 2" in hand.text
        hand.app.playback.goto(hand.app.session.runs()[0], 39)
        await hand.settle()
        assert "step 20" in hand.lines[1]
        hand.app.playback.goto(hand.app.session.runs()[0], 19)
        await hand.settle()
        assert "none so early in the run" in hand.text
        hand.app.playback.end()
        await hand.settle()
        assert "step 40  2 of 2" in hand.text


async def test_without_samples_no_key_is_offered_that_needs_one(tmp_path: Path) -> None:
    async with at(tmp_path) as hand:
        await hand.press("T")
        assert "No texts in the logs" in hand.text
        assert "chars" not in hand.text
        assert hand.lines[-1].split() == ["?", "help", "q", "close", "Esc", "back"]
        for key in ("o", "slash", "enter", "left", "right_square_bracket", "y", "j"):
            hand.app.clear_notifications()
            await hand.press(key)
            assert hand.notices == "no texts or samples to show", key


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Two prompts with two answers each, at three steps; with tools, but for the hacked ones."""
    call = {"id": "1", "name": "search", "arguments": '{"q": "red"}'}
    for step in (20, 40, 60):
        rows = []
        for asked in ("A jacket", "A scarf"):
            turns = [
                {"role": "assistant", "content": "I search.", "tool_calls": [call]},
                {"role": "tool", "content": "Error: \x1b[31mboom"},
                {"role": "assistant", "content": f"sorry\nno {asked} \x1b]0;x\x07", "reward": 0.25},
            ]
            lazy = [{"role": "assistant", "content": "bought"}]
            for completion, reward, right in ((turns, 0.2, step < 60), (lazy, 1.2, False)):
                prompt = [{"role": "user", "content": asked}]
                row = {"prompt": prompt, "completion": completion, "correct": right}
                rows.append({**row, "reward": reward, "step": step})
        path = tmp_path / "rollouts" / f"{step}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return tmp_path


async def test_turns_are_folded_and_enter_unfolds_them(shop: Path) -> None:
    async with at(shop) as hand:
        await hand.press("T")
        assert 'call       search {"q": "red"}' in hand.text
        assert "tool       Error: \\x1b[31mboom" in hand.text
        failed = next(line for line in hand.lines if "boom" in line)
        assert failed.rstrip().endswith("✖")
        assert "reward 0.250" in hand.text
        assert "no A jacket \\x1b]0;x\\x07" in hand.text
        assert all(c.isprintable() for line in hand.lines for c in line)
        await hand.press("enter")
        assert "no A jacket" in hand.text


async def test_the_filters_name_what_is_wrong(shop: Path) -> None:
    async with at(shop) as hand:
        await hand.press("T")
        assert "high reward, wrong 2 · tool failed 2" in hand.lines[1]
        await hand.press("f")
        assert len(hand.ids) == 2
        assert "high reward, wrong" in hand.footer
        assert hand.lines[2].endswith("2 of 4 ")
        await hand.press("f")
        assert "tool failed" in hand.footer
        await hand.press("f")
        assert len(hand.ids) == 4
        await hand.press("f", "escape", "slash", "z", "z", "enter")
        assert "no sample matches the filter" in hand.text
        await hand.press("escape")
        assert len(hand.ids) == 4
        assert "worst reward first" in hand.footer


async def test_one_prompt_over_steps_and_two_answers_side_by_side(shop: Path) -> None:
    async with at(shop) as hand:
        await hand.press("T", "a")
        assert len(hand.ids) == 2
        shown = " ".join(line[60:].strip() for line in hand.lines)
        assert "same prompt over steps (share right of 2 answers)" in shown
        assert "20 ▇ 0.5 · 40 ▇ 0.5 · 60 ▁ 0" in shown
        await hand.press("equals_sign", "j")
        (both,) = (line for line in hand.lines if line.count("correct") == 2)
        assert "reward 0.200" in both
        assert "reward 1.20" in both
        await hand.press("h")
        assert "step 40" in hand.lines[1]
        assert any(line.count("correct") == 2 for line in hand.lines), "it stays at another step"
        await hand.press("escape")
        assert len(hand.ids) == 4
        assert not any(line.count("correct") == 2 for line in hand.lines)


async def test_columns_are_those_that_the_step_has_something_for(shop: Path) -> None:
    async with at(shop) as hand:
        await hand.press("T")
        assert hand.lines[2].split()[:5] == ["reward", "turns", "chars", "end", "text"]
        assert "0.200      2    " in hand.lines[3]
        assert "tool failed" in hand.lines[3]
        path = shop / "rollouts" / "80.jsonl"
        row = {"prompt": "A jacket", "completion": "bought", "format_reward": 0.25, "reward": 1}
        rows = [{**row, "response_length": 3_001}, row]
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
        await hand.press("escape", "T")
        assert hand.lines[2].split()[:4] == ["reward", "format", "tokens", "text"]
        assert "1.00     0.25  3,001" in hand.lines[3]
        assert "3,001" not in hand.lines[4]


async def test_where_nothing_is_wrong_a_line_says_so(tmp_path: Path) -> None:
    texts = (TextPoint("val/generations", 20, 0.0, "text"),)
    async with open_app(grpo_batch(60, texts=texts)) as hand:
        await hand.press("T", "f")
        assert "no column says what is right" in hand.notices
        await hand.press("a")
        assert "no prompt is known of this sample" in hand.notices
        assert "as logged" in hand.footer, "there are no rewards"
        await hand.press("o")
        assert "longest first" in hand.footer


async def test_from_a_finding_its_step_is_shown(shop: Path) -> None:
    async with at(shop) as hand:
        await hand.press("9")
        row = finding_rows(hand.app.session.runs()[0])[0]
        step = row.finding.since_step
        assert step is not None
        assert step < 50
        hand.run.items.put(row.id)
        await hand.press("T")
        nearest = min((20, 40, 60), key=lambda s: abs(s - step))
        assert f"step {nearest}" in hand.lines[1]


@pytest.mark.parametrize("printed", ["", "[prompt] a\n[response] bee\n[score] 1\nstep:40 - x:1\n"])
async def test_without_pyarrow_the_command_stands_beside_the_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    log = tmp_path / "stdout.log"
    log.write_text(printed, encoding="utf-8")
    for step in (20, 40):
        (tmp_path / f"completions_{step}.parquet").write_bytes(b"PAR1")
    source = a_source(str(log), format="console")
    batch = replace(grpo_batch(60, run="."), source=source, tail=LogTail((), 0), run_path=tmp_path)
    async with open_app(batch, logdirs=(tmp_path,), size=(80, 24)) as hand:
        await hand.press("T")
        said = f"Parquet files hold completions of 2 steps. To read them: {to_add('pyarrow')}"
        assert said.replace(" ", "") in "".join(hand.text.split())
        assert ("bee" in hand.text, len(hand.ids)) == (bool(printed), int(bool(printed)))


async def test_no_reward_and_no_time_ends_the_app(tmp_path: Path) -> None:
    for step, rewards in {20: (1e308, 1e308), 40: (-1e308, 10**400, float("nan"))}.items():
        path = tmp_path / "rollouts" / f"{step}.jsonl"
        path.parent.mkdir(exist_ok=True)
        chat = [{"role": "assistant", "content": "x", "seconds": 1e300, "reward": -1e308}] * 2
        rows = [{"prompt": "p", "completion": chat, "reward": r, "acc": None} for r in rewards]
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    async with at(tmp_path) as hand:
        await hand.press("T", "a", "f", "equals_sign", "j", "h", "enter", "escape")
        assert len(hand.ids) == 2
        assert "step 20" in hand.lines[1]
