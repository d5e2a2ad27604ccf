"""How trainings end that no log tells of: real processes, looked at here and over ssh."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.core.address import parse_logdir
from rltui.sources.discovery import processes as holders
from rltui.sources.discovery.processes import PROC
from tests.builders import read_session
from tests.clock import ManualClock
from tests.remote.ssh.far_host import FarHost, far_host
from tests.sources.discovery.test_processes import linux

pytestmark = linux
__all__ = ["far_host"]
#: Opens its log for each row, as many loops of one's own do, and then waits.
TRAINING = """
import json, sys
for step in range(1, 21):
    with open(sys.argv[1], "a") as log:
        log.write(json.dumps({"step": step, "loss": 1 / step}) + "\\n")
print("ready", flush=True)
exec(input())
"""


class Training:
    """A process that has logged some rows."""

    def __init__(self, log: Path) -> None:
        log.parent.mkdir(parents=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=log.parent,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def end(self, how: str | signal.Signals) -> None:
        if isinstance(how, signal.Signals):
            self.process.send_signal(how)
            self.process.communicate()
        else:
            self.process.communicate(how + "\n")


def state_of(address: Path | str, written: float) -> str:
    """The word of the state when the log is first looked at, a minute and a half after the row."""
    path = parse_logdir(str(address))
    session = read_session([path], clock=ManualClock(written + 90))
    session.stop()
    (run,) = session.runs()
    return run.verdict.state_word


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(holders, "_WHOLE_MACHINE", str((PROC / "self/ns/pid").readlink()))
    monkeypatch.setattr("rltui.files.disk.Mounts.reports_writes", lambda *_: True)
    return tmp_path / "logs" / "metrics.jsonl"


@pytest.mark.parametrize(
    "how",
    ["raise SystemExit", "raise ValueError", signal.SIGTERM, signal.SIGKILL, signal.SIGINT],
    ids=["normal", "exception", "SIGTERM", "SIGKILL", "SIGINT"],
)
def test_a_training_whose_process_has_gone_has_stopped(
    log: Path, how: str | signal.Signals
) -> None:
    training = Training(log)
    written = log.stat().st_mtime
    assert state_of(log.parent, written) == "waiting", "its pace is unknown"
    training.end(how)
    assert state_of(log.parent, written) == "stopped"


def test_a_host_looks_at_its_own_processes(log: Path, far_host: FarHost) -> None:
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":  # noqa: PTH115
        pytest.skip("the host cannot see all its processes")
    training = Training(log)
    written, there = log.stat().st_mtime, f"node7:{log.parent}"
    try:
        assert state_of(there, written) == "waiting"
    finally:
        training.end(signal.SIGTERM)
    assert state_of(there, written) == "stopped"
