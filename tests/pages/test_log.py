"""The end of the console log on the screen, and how a run that died looks.

What happened to a run, in order of steps.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rltui.core.batch import Batch, LogTail
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.log_digest import line_at
from rltui.pages.findings.lines import log_head, log_lines
from rltui.session import Session
from tests.builders import START, a_batch, a_source, steps
from tests.clock import ManualClock
from tests.fakes import a_session, grpo_tags
from tests.tui.hand import open_app, read_at_once

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
CRASH = ("Traceback (most recent call last):", '  File "train.py", line 3, in <module>', OOM)


def a_console(*lines: str, rows: int = 60, first: int = 1) -> Batch:
    source = a_source(
        "stdout.log", format="console", precision_rank=1, offset=1000 * (first + rows)
    )
    tags = {k: v[first - 1 :] for k, v in grpo_tags(first + rows - 1).items()}
    return replace(a_batch(steps(first, tags), source=source), tail=LogTail(lines, len(lines)))


def crashed() -> Session:
    return a_session(a_console(*CRASH), clock=ManualClock(START + 9000))


def log_of(session: Session, width: int = 94) -> str:
    (run,) = session.runs()
    lines = [*log_head(run, View(), width), *log_lines(run, width)]
    return "\n".join(plain(x) for x in lines)


def test_the_line_of_a_step_is_the_first_one_that_reached_it() -> None:
    lines = [f"step:{n // 2} - loss:0.5" if n % 2 else "a warning" for n in range(20, 60)]
    (run,) = a_session(a_console(*lines), clock=ManualClock(START + 9000)).runs()
    at = line_at(run, 20)
    assert at is not None
    assert lines[at].startswith("step:20 ")
    shown = [style.bold for ((_, style), *_) in log_lines(run, 60, marked=at)]
    assert [n for n, bold in enumerate(shown) if bold] == [at]
    assert line_at(run, 5) is None  # before the last lines


async def test_the_tail_follows_until_one_scrolls_back() -> None:
    lines = [f"line {n}" for n in range(80)]
    async with open_app(a_console(*lines[:50]), size=(100, 30)) as hand:
        await hand.press("t")
        assert "line 49" in hand.text
        await hand.feed(a_console(*lines[10:60], first=61, rows=1))
        assert "line 59" in hand.text
        screen = hand.app.screen
        screen._to_end()  # a new row is painted while the key arrives
        screen.action_move_to_end(-1)
        await hand.feed(a_console(*lines[10:70], first=62, rows=1))
        assert "line 69" not in hand.text
        assert "line 10" in hand.text
        await hand.press("G")
        await hand.feed(a_console(*lines[20:80], first=63, rows=1))
        assert "line 79" in hand.text


def test_markup_of_the_log_is_text() -> None:
    session = a_session(a_console("[bold]x[/bold]", "plain"), clock=ManualClock(START + 60))
    assert "[bold]x[/bold]" in log_of(session)


async def test_a_long_log_is_filtered_and_scrolled_sideways() -> None:
    lines = [f"step {n} " + "x" * 150 + f" end{n}" for n in range(40)]
    async with open_app(a_console(*lines), size=(80, 24)) as hand:
        await hand.press("t")
        for word in ("filter", "sideways", "close", "of 40"):
            assert word in hand.footer, word
        assert "end39" not in hand.text
        await hand.press("right", "right", "right", "right", "right")
        assert "end39" in hand.text
        await hand.press("left", "left", "left", "left", "left", "slash", *"end7")
        assert "step 7 " in hand.text
        assert "step 8 " not in hand.text
        await hand.press("escape")
        assert "step 39 " in hand.text
        await hand.press("escape")
        assert "Log" not in hand.lines[1]


async def test_errors_and_warnings_of_all_logs_are_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_at_once(monkeypatch)
    log, found = tmp_path / "stdout.log", tmp_path / "torchrun" / "attempt_0"
    log.write_text("step:4 - x:1\nWARNING: [bold] retry 3\nstep:6 - x:1\nWARNING: [bold] retry 4\n")
    for rank in range(3):
        (found / str(rank)).mkdir(parents=True)
        (found / str(rank) / "stderr.log").write_text(
            f"x.NcclError: {rank} is gone\n" + 70_000 * "."
        )
    source = a_source(str(log), format="console", precision_rank=1)
    batch = a_batch(steps(1, grpo_tags(60)), source=source)
    batch = replace(batch, run_path=tmp_path, tail=LogTail(("end",), 1))
    async with open_app(batch, size=(80, 24), logdirs=(tmp_path,)) as hand:
        await hand.press("t", "v")
        assert "Errors and warnings" in hand.lines[1]
        assert "4 logs" in hand.lines[1]
        assert re.search(r"error +3 .* 0-2 +x.NcclError: 2 is gone", hand.text)
        assert re.search(r"warning +2 +4 to 6 +.*\[bold\] retry 4", hand.text)
        await hand.press("slash", *"retry", "enter")
        assert "is gone" not in hand.text
        await hand.press("escape", "v")
        assert "Log" in hand.lines[1]


# -- a job that died before its first row ---------------------------------------------------


def rowless(*lines: str, run: str = "slurm-7") -> Batch:
    source = a_source("slurm-7.out", format="console", precision_rank=1)
    batch = a_batch({"x": [1.0]}, run=run, source=source)
    return replace(batch, items=(), tail=LogTail(lines, len(lines)))


LIMIT = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***"


async def test_the_overview_of_a_job_that_died_shows_the_end_of_its_log() -> None:
    noise = [f"loading shard {n}" for n in range(100)]
    async with open_app(rowless(*noise, *CRASH, LIMIT)) as hand:
        for size in ((80, 24), (120, 36), (160, 45)):
            await hand.resize(*size)
            assert "crashed" in hand.lines[0], size
            assert "CRASHED: CUDA out of memory, then Slurm time limit" in hand.text, size
            assert "no row of metrics; the log ends with" in hand.text
            assert "CANCELLED AT" in hand.text
            assert "loading shard 99" in hand.text
            await hand.press("9")
            assert "ended before its first row" in hand.text
            assert "reading" not in hand.text
            await hand.press("1")
