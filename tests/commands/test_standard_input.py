"""Standard input as a log: whatever happens to rltui, the training goes on."""

import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rltui.commands import terminal as piped
from rltui.commands import watch
from rltui.commands.departure import Departure
from rltui.core.address import PIPE
from rltui.core.errors import UsageError
from tests.tables import cases

ROW = b"step:%d - actor/entropy:0.5 - critic/score/mean:0.5 - response_length/mean:300.0\n"


def start(arguments: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rltui", *arguments],
        cwd=Path(piped.__file__).resolve().parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
        **options,
    )


def assert_training_goes_on(process: subprocess.Popen[bytes]) -> None:
    for _ in range(3):
        process.stdin.write(ROW * 1000)  # more than a pipe holds; raises when nobody reads


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Children inherit an ignored SIGINT, which is what a test run in the background has."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ended() -> Iterator[list[subprocess.Popen[bytes]]]:
    found: list[subprocess.Popen[bytes]] = []
    yield found
    for process in found:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait(60)


@cases(__file__, "a_bad_start", "arguments")
def test_a_bad_start(ended: list[subprocess.Popen[bytes]], arguments: str) -> None:
    process = start(arguments.split())
    ended.append(process)
    assert process.wait(60) == 2
    assert_training_goes_on(process)


@pytest.mark.parametrize(
    "arguments", [["check", "-"], ["brief", "-"], ["check", "--follow", "-"]], ids=" ".join
)
def test_interrupted(ended: list[subprocess.Popen[bytes]], arguments: list[str]) -> None:
    process = start(arguments)
    ended.append(process)
    process.stdin.write(ROW * 1000)  # the second half fits only when the first has been taken
    process.stdin.write(ROW * 1000)
    process.send_signal(signal.SIGINT)
    process.wait(60)
    assert_training_goes_on(process)


class Ends:
    """Both ends of a pipe, the reading one as if it were standard input."""

    def __init__(self) -> None:
        self.out, self.into = os.pipe()


@pytest.fixture
def ends() -> Iterator[Ends]:
    found = Ends()
    yield found
    for descriptor in (found.out, found.into):
        if descriptor >= 0:
            os.close(descriptor)


def test_a_failure_after_the_pipe_was_taken(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "take_pipe", lambda: ends.out)
    monkeypatch.setattr(watch, "has_terminal", lambda: False)
    heirs: list[subprocess.Popen[bytes]] = []
    popen: Any = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: heirs.append(popen(*a, **k)))
    with pytest.raises(UsageError):
        watch._watch_pipe(Namespace(logdirs=[PIPE]), Departure(sys.stderr))
    os.close(ends.out)
    os.write(ends.into, ROW)
    os.close(ends.into)
    ends.out = ends.into = -1
    for heir in heirs:
        assert heir.wait(60) == 0
