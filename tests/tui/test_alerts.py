"""What someone hears who does not look at the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rltui.config import HooksConfig
from rltui.tui.alerts import Alerts, notification
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session
from tests.session.test_event import rows


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


def test_off_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = HooksConfig(terminal="off")
    ears, alerts, session, reader = listening(settings, before=60, monkeypatch=monkeypatch)
    reader.feed(rows(61, 60, collapse=61))
    session.drain()
    alerts.report()
    assert (ears.bells, ears.written) == (0, [])


def test_the_hook_gets_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "events"
    settings = HooksConfig(terminal="off", on_finding=("sh", "-c", f"cat >> '{target}'"))
    _, alerts, session, reader = listening(settings, before=60, monkeypatch=monkeypatch)
    reader.feed(rows(61, 60, collapse=61))
    session.drain()
    alerts.report()
    alerts._hook.close(10.0)  # type: ignore[union-attr]
    assert '"rule": "entropy_collapse"' in target.read_text("utf-8")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, "\x1b]9;rltui: a, b\x07\x1b]777;notify;rltui;a, b\x07"),
        ({"TERM": "xterm-kitty"}, "\x1b]9;rltui: a, b\x07"),
        ({"TERM": "foot"}, "\x1b]777;notify;rltui;a, b\x07"),
        ({"TERM": "linux"}, ""),
        (
            {"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"},
            "\x1bPtmux;\x1b\x1b]9;rltui: a, b\x07\x1b\\",
        ),
        (
            {"TERM": "screen-256color"},
            "\x1bP\x1b]9;rltui: a, b\x07\x1b\\\x1bP\x1b]777;notify;rltui;a, b\x07\x1b\\",
        ),
    ],
)
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
