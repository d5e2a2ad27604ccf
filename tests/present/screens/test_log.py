"""The end of the console log on the screen, and how a run that died looks."""

from __future__ import annotations

from dataclasses import replace

from rltui.core.batch import Batch, LogTail
from rltui.core.clock import ManualClock
from rltui.core.level import Level
from rltui.present.kit.line import plain
from rltui.present.output.text_report import check_text, verdict_line
from rltui.present.screens.frame import draw
from rltui.present.screens.view import View
from rltui.session import Session
from tests.builders import START, a_batch, a_source, steps
from tests.fakes import FakeReader, a_session, grpo_tags

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


def screen(session: Session, view: View, width: int = 100, height: int = 30) -> list[str]:
    return [plain(x) for x in draw(session, view, width, height).lines]


def a_view(session: Session, **changes: object) -> View:
    (run,) = session.runs()
    return View(run=run.key, screen="list", **changes)  # type: ignore[arg-type]


def test_a_crash_is_the_verdict_everywhere() -> None:
    session = crashed()
    (run,) = session.runs()
    assert run.verdict.level is Level.BAD
    assert "out of memory" in check_text(session).lower()
    assert "✖" in check_text(session).splitlines()[0]
    assert "nothing to report" not in check_text(session)
    assert "out of memory" in verdict_line(session).lower()


def test_the_header_says_why_also_when_the_name_is_long() -> None:
    for width in (80, 120, 160):
        head = screen(crashed(), a_view(crashed()), width)[0]
        assert "crashed" in head
        assert "✔ ok" not in head
    assert "out of memory" in head.lower()


def test_the_tail_shows_the_reason_and_the_last_lines() -> None:
    session = crashed()
    shown = "\n".join(screen(session, a_view(session, overlay="tail", overlay_follows=True)))
    assert OOM[:40] in shown
    assert "crashed: " in shown


def test_the_tail_follows_until_one_scrolls_back() -> None:
    reader = FakeReader()
    session = a_session(reader=reader, clock=ManualClock(START + 60))
    session.start()
    reader.feed(a_console(*(f"line {n}" for n in range(50))))
    session.drain()
    view = a_view(session, overlay="tail", overlay_follows=True)
    assert "line 49" in "\n".join(screen(session, view))
    reader.feed(a_console(*(f"line {n}" for n in range(10, 60)), first=61, rows=1))
    session.drain()
    assert "line 59" in "\n".join(screen(session, view))
    view.overlay_offset, view.overlay_follows = 0, False
    shown = "\n".join(screen(session, view))
    assert "line 59" not in shown
    assert "line 10" in shown


def test_without_a_console_it_says_what_to_do() -> None:
    session = a_session(a_batch(steps(1, grpo_tags(30))))
    shown = "\n".join(screen(session, a_view(session, overlay="tail")))
    assert "rltui watch DIR FILE" in shown


def test_nothing_of_the_log_reaches_the_terminal_as_control() -> None:
    session = a_session(a_console("[bold]x[/bold]", "plain"), clock=ManualClock(START + 60))
    shown = "\n".join(screen(session, a_view(session, overlay="tail")))
    assert "[bold]x[/bold]" in shown
