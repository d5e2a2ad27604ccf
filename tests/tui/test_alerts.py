"""What someone hears who does not look at the screen. M on a finding."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from rltui.config import HooksConfig
from rltui.core.batch import LogTail
from rltui.core.level import Level
from rltui.pages.findings.findings_pane import row_of
from rltui.tui.alerts import Alerts, notification
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_batch
from tests.session.test_event import rows
from tests.tables import cases
from tests.tui.hand import open_app


class Ears:
    """What an app would do with alerts."""

    def __init__(self) -> None:
        self.bells = 0
        self.written: list[str] = []

    def bell(self) -> None:
        self.bells += 1

    def write_terminal(self, sequence: str) -> None:
        self.written.append(sequence)


def listening(
    settings: HooksConfig, *, before: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Ears, Alerts, Any, Any]:
    """A run of ``before`` rows that is watched from now on."""
    for name in ("TMUX", "TERM"):
        monkeypatch.delenv(name, raising=False)
    reader, clock, ears = FakeReader(), ManualClock(), Ears()
    session = a_session(reader=reader, clock=clock)
    session.start()
    alerts = Alerts(ears, session, settings)  # type: ignore[arg-type]
    reader.feed(rows(1, before, collapse=61))
    session.drain()
    clock.advance(5)
    alerts.report()
    return ears, alerts, session, reader


def test_a_bad_finding_rings_and_notifies_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ears, alerts, session, reader = listening(HooksConfig(), before=60, monkeypatch=monkeypatch)
    assert ears.bells == 0
    reader.feed(rows(61, 60, collapse=61))
    session.drain()
    alerts.report()
    alerts.report()
    assert ears.bells == 1
    (written,) = ears.written
    assert "entropy collapse, bad since" in written


def test_the_hook_gets_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "events"
    settings = HooksConfig(terminal="off", on_finding=("sh", "-c", f"cat >> '{target}'"))
    ears, alerts, session, reader = listening(settings, before=60, monkeypatch=monkeypatch)
    reader.feed(rows(61, 60, collapse=61))
    session.drain()
    alerts.report()
    alerts._hook.close(10.0)  # type: ignore[union-attr]
    assert (ears.bells, ears.written) == (0, [])
    assert '"rule": "entropy_collapse"' in target.read_text("utf-8")


@cases(__file__, "test_the_sequences_of_terminals")
def test_the_sequences_of_terminals(environ: dict[str, str], expected: str) -> None:
    assert notification("a; b", environ) == expected


def test_names_are_escaped_once() -> None:
    assert r"a\x1b" in notification(r"a\x1b", {"TERM": "foot"})


def test_text_of_a_log_ends_no_sequence() -> None:
    text = notification("x\x07\x1b]0;owned\x07\n" + "y" * 500, {"TERM": "xterm"})
    assert text.count("\x07") == 2
    assert text.count("\x1b") == 2
    assert "\n" not in text
    assert len(text) < 600


async def test_runs_that_end_are_told_once_to_those_who_can_be_reached(tmp_path: Path) -> None:
    (told := tmp_path / "told").touch()
    hooks = HooksConfig(targets=(("sh", "-c", f"cat >> '{told}'"), ("sh", "-c", "exit 3")))
    oom = LogTail(("torch.OutOfMemoryError: CUDA out of memory.",), 1)
    before = [grpo_batch(60, run=r, collapse=None, total=61) for r in ("done", "dead", "slow")]
    async with open_app(*before, hooks=hooks) as hand:
        await hand.feed(grpo_batch(1, run="done", first=61, collapse=None))
        await hand.feed(grpo_batch(0, run="dead", first=61, tail=oom))
        for _ in range(3):
            hand.clock.advance(1000)
            hand.app.pump.age()
            await hand.settle()
        end = time.monotonic() + 60
        while told.read_text("utf-8").count("\n") < 3:
            assert time.monotonic() < end
            await hand.settle()
    events = [json.loads(line) for line in told.read_text("utf-8").splitlines()]
    ends = [("done", "finished"), ("dead", "crashed"), ("slow", "stalled")]
    assert [(e["run"], e["event"]) for e in events] == ends
    assert hand.app.undelivered[-1] == "hooks: 3 not delivered"


async def test_m_mutes_the_finding_at_the_cursor_and_takes_it_back() -> None:
    async with open_app(grpo_batch(60)) as hand:
        before = hand.lines[0]
        await hand.press("exclamation_mark")
        row = row_of(hand.run.run, hand.cursor)
        title = row.finding.title
        await hand.press("M")
        assert f"{title}: muted in all runs here" in hand.notices
        assert "muted 1" in hand.lines[0]
        assert "Muted" in hand.text
        report = hand.run.run.report
        assert title not in {f.title for f in report.findings}
        hand.run.findings.items.put(hand.ids[[str(i) for i in hand.ids].index(
            next(str(i) for i in hand.ids if title in str(i)))])  # fmt: skip
        await hand.settle()
        await hand.press("M")
        assert hand.lines[0] == before


async def test_all_muted_is_a_quiet_run() -> None:
    async with open_app(grpo_batch(60)) as hand:
        for _ in range(20):
            await hand.press("exclamation_mark")
            if "no findings" in hand.notices:
                break
            await hand.press("M")
        assert hand.run.run.verdict.level is Level.OK
        assert "ok" in hand.lines[0]
