"""A host with an sshd and without rltui: a script that its Python runs sends what is there."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.core.address import RemotePath, parse_logdir
from rltui.core.clock import SystemClock
from rltui.core.errors import SourceError
from rltui.files.disk import hang_up, hold_on_host
from rltui.remote import host_script
from rltui.remote.ssh.files import HostStore
from rltui.remote.stream_client import NO_RLTUI
from tests.builders import running
from tests.remote.ssh.far_host import FAST, FarHost, Watched, append, reader_of
from tests.remote.ssh.test_sshd import pytestmark, sshd

__all__ = ["pytestmark", "sshd"]

NAMESPACE = Path("/proc/self/ns/pid")
_PYENV = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
#: The Pythons of this machine.
PYTHONS = [sys.executable, *sorted(map(str, _PYENV.glob("versions/3.*/bin/python3.*[0-9]")))]


@pytest.fixture
def bare(sshd: FarHost, monkeypatch: pytest.MonkeyPatch) -> FarHost:
    """127.0.0.1 is a host without rltui."""
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", "/nonexistent/rltui")
    monkeypatch.setenv("RLTUI_REMOTE_PYTHON", shlex.quote(sys.executable))
    return sshd


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def live(logs: Path, bare: FarHost) -> Iterator[Watched]:
    """A reader that follows a run of 20 rows."""
    append(logs / "run" / "metrics.jsonl", 0, 20)
    watched = Watched(reader_of(f"127.0.0.1:{logs}", options=FAST))
    watched.reader.scan()
    with running(watched.reader):
        watched.until(1, 20)
        yield watched


def test_runs_are_followed(logs: Path, live: Watched) -> None:
    assert live.reader.state.instead == {parse_logdir(f"127.0.0.1:{logs}"): NO_RLTUI}
    for step in range(20, 60, 10):
        append(logs / "run" / "metrics.jsonl", step, 10)
        append(logs / f"run{step}" / "metrics.jsonl", 0, 10)
        live.until(step // 10, 2 * step)
    live.assert_whole({"run": 60, "run20": 10, "run30": 10, "run40": 10, "run50": 10})


def test_nothing_is_lost_with_connections(logs: Path, live: Watched, bare: FarHost) -> None:
    for turn in range(1, 4):
        bare.cut()
        append(logs / "run" / "metrics.jsonl", 20 * turn, 20)
        live.until(1, 20 * (turn + 1))
    assert len(bare.connections) >= 4
    live.assert_whole({"run": 80})


def test_what_is_written_anew_is_read_anew(logs: Path, live: Watched) -> None:
    log = logs / "run" / "metrics.jsonl"
    log.write_text("")
    append(log, 0, 5)
    while live.points != 5:
        assert live.wait()
    log.rename(log.with_name("old"))
    append(log, 0, 7)
    while live.points != 7:
        assert live.wait()
    log.unlink()
    while not live.batches[-1].gone:
        assert live.wait()


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: Path(path).name)
def test_every_python(
    python: str, logs: Path, bare: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(logs / "run.jsonl", 0, 5)
    monkeypatch.setenv("RLTUI_REMOTE_PYTHON", shlex.quote(python))
    reader = reader_of(f"127.0.0.1:{logs}")
    reader.scan()
    (batch,) = reader.read_all()
    assert sum(block.points for block in batch.blocks) == 5
    assert len(bare.connections) == 2, "one looked for rltui"
    reader.stop()


def test_the_script_is_one_of_an_old_python() -> None:
    ast.parse(Path(host_script.__file__).read_text(), feature_version=(3, 6))


def test_what_fails_names_what_is_missing(logs: Path, bare: FarHost) -> None:
    del bare
    with pytest.raises(SourceError, match=f"127.0.0.1:{logs}: no such file or directory"):
        reader_of(f"127.0.0.1:{logs}").scan()
    hang_up()


@pytest.mark.usefixtures("bare")
@pytest.mark.skipif(
    not NAMESPACE.is_symlink() or str(NAMESPACE.readlink()) != host_script.WHOLE_MACHINE,
    reason="not all processes are seen here",
)
def test_who_holds_a_log_is_seen(logs: Path) -> None:
    append(logs / "run.jsonl", 0, 5)
    path = parse_logdir(f"127.0.0.1:{logs}") / "run.jsonl"
    store = HostStore(RemotePath(*path.parts[:2]), SystemClock())
    with (logs / "run.jsonl").open("a"):
        assert hold_on_host(path, "jsonl") == (True, True)
    assert hold_on_host(path, "jsonl") == (False, False), "this test is a Python that may write it"
    store.close()


def test_doctor_says_how_it_is_read(
    logs: Path, bare: FarHost, capsys: pytest.CaptureFixture[str]
) -> None:
    del bare
    append(logs / "run.jsonl", 0, 5)
    assert main(["doctor", f"127.0.0.1:{logs}"]) == 0
    said = capsys.readouterr().out
    assert "no rltui there: a script that its python3 runs sends whole logs" in said
    assert "run: jsonl" in said
