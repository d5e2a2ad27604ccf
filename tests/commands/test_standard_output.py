"""What every verb prints, where standard output or standard error leads nowhere."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.commands.verbs import NAMES

ROOT = Path(__file__).parents[2]
LOGS = "LOGS"
WHERE = str(ROOT / "tests/fixtures/labelled/verl/grpo_kl_blowup")
#: What each verb prints on standard output without a terminal, and its exit code.
COMMANDS = [
    ("watch --help", 0),
    (f"check {LOGS}", 1),
    (f"check {LOGS} --json", 1),
    (f"check {LOGS} --format line", 1),
    (f"snapshot {LOGS}", 0),
    (f"snapshot {LOGS} --json", 0),
    (f"plot {LOGS} actor/entropy", 0),
    (f"export {LOGS}", 0),
    ("explain", 0),
    ("explain entropy --json", 0),
    ("lint", 0),
    ("doctor", 0),
    ("demo --list", 0),
    ("replay --help", 0),
    ("stream --help", 0),
    ("serve-metrics --help", 0),
    ("help", 0),
    ("help check", 0),
    ("--help", 0),
    ("--version", 0),
    ("--print-completion bash", 0),
]
every_command = pytest.mark.parametrize(("command", "code"), COMMANDS, ids=[c for c, _ in COMMANDS])

Replace = Callable[[str, int], None]


@pytest.fixture
def led_to(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replace]:
    """Let standard output or standard error lead to a descriptor; as at the end of a process, what
    is left in it must go somewhere without an error."""
    with contextlib.ExitStack() as streams:

        def replace(name: str, descriptor: int) -> None:
            stream = streams.enter_context(os.fdopen(descriptor, "w", encoding="utf-8"))
            monkeypatch.setattr(sys, name, stream)

        yield replace


def code_of(command: str) -> int:
    try:
        return main([WHERE if word == LOGS else word for word in command.split(" ")])
    except SystemExit as left:
        return int(left.code or 0)


def unread_pipe() -> int:
    """A pipe whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    return write


def test_every_verb_is_tried() -> None:
    assert {command.partition(" ")[0] for command, _ in COMMANDS} >= {*NAMES, "help"}


@every_command
def test_a_reader_that_leaves_changes_nothing(
    command: str, code: int, led_to: Replace, capsys: pytest.CaptureFixture[str]
) -> None:
    led_to("stdout", unread_pipe())
    assert (code_of(command), capsys.readouterr().err) == (code, "")


@every_command
def test_a_full_disk_is_an_error(
    command: str, code: int, led_to: Replace, capsys: pytest.CaptureFixture[str]
) -> None:
    led_to("stdout", os.open("/dev/full", os.O_WRONLY))
    assert code_of(command) == 70
    assert capsys.readouterr().err == "rltui: output: No space left on device\n"


@pytest.mark.parametrize("descriptor", [unread_pipe, lambda: os.open("/dev/full", os.O_WRONLY)])
def test_messages_that_nobody_can_read_change_nothing(
    descriptor: Callable[[], int], led_to: Replace, tmp_path: Path
) -> None:
    for command, code in ((f"check {tmp_path}", 3), ("explain no-such-name", 2), ("chekc", 2)):
        led_to("stderr", descriptor())
        assert code_of(command) == code


@pytest.mark.parametrize("command", ["check LOGS", "export LOGS", "--version", "demo --list"])
def test_a_closed_standard_output_is_an_error(command: str) -> None:
    """In a process: the number is free for the next file, a log, unless something takes it."""
    words = command.replace(LOGS, shlex.quote(WHERE))
    shell = f'"{sys.executable}" -m rltui {words} >&-'
    done = subprocess.run(
        ["sh", "-c", shell], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (70, "rltui: output: Bad file descriptor\n")
