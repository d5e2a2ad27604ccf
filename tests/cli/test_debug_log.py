"""--debug: a log for a bug report."""

import argparse
import logging
import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from rltui.cli.debug_log import DebugLog
from rltui.commands import check, watch
from rltui.version import __version__
from tests.commands.conftest import Cli, write_jsonl
from tests.places import ROOT
from tests.terminal import START_S, Terminal, environment


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "rltui" / "debug"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "logs" / "one.jsonl", {"loss": [0.5] * 30})
    return tmp_path / "logs"


def only_log(directory: Path) -> Path:
    (path,) = directory.glob("*.log")
    return path


def fail(options: argparse.Namespace) -> int:
    raise RuntimeError("broken \x1b[31mhere")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command has a mistake."""
    monkeypatch.setattr(check, "check", fail)
    monkeypatch.setattr(watch, "watch", fail)


def test_the_debug_log_says_where_it_is_and_what_was_read(
    cli: Cli, state: Path, runs: Path
) -> None:
    result = cli("check", runs, "--debug")
    path = only_log(state)
    assert result.code == 0
    assert result.err == f"rltui: debug log: {path}\n"
    text = path.read_text()
    assert f"rltui {__version__}, Python" in text
    assert f"command: rltui check {runs} --debug" in text
    assert "numpy=" in text
    assert "found 1 runs" in text
    assert f"{runs / 'one.jsonl'}: jsonl, " in text
    assert "30 records" in text
    assert "end after" in text


def test_the_address_of_a_hook_is_not_in_it(
    cli: Cli, state: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLTUI_HOOKS_ON_FINDING", "https://hooks.example.com/T0/B0/wJalrXUtnFEMI")
    monkeypatch.setenv("RLTUI_VIEW_THEME", "light")
    cli("--debug", "check", runs)
    text = only_log(state).read_text()
    assert "wJalr" not in text
    assert "RLTUI_HOOKS_ON_FINDING=..." in text
    assert "RLTUI_VIEW_THEME=light" in text


def test_the_debug_log_is_for_the_user_alone(cli: Cli, state: Path, runs: Path) -> None:
    cli("--debug", "check", runs)
    assert stat.S_IMODE(only_log(state).stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


@pytest.mark.usefixtures("broken")
def test_an_internal_error_is_there_with_its_traceback(cli: Cli, state: Path) -> None:
    result = cli("check", ".", "--debug")
    assert result.code == 70
    assert result.err.splitlines()[1] == "rltui: internal error: RuntimeError: broken \\x1b[31mhere"
    text = only_log(state).read_text()
    assert "Traceback (most recent call last)" in text
    assert 'raise RuntimeError("broken' in text
    assert "stderr: rltui: internal error" in text
    assert "\x1b" not in text


@pytest.mark.usefixtures("broken")
def test_without_it_an_internal_error_names_it(cli: Cli, state: Path) -> None:
    result = cli("check", ".")
    assert result.code == 70
    assert result.err.splitlines()[1] == "rltui: --debug writes a log with the traceback"
    assert not state.exists()


def test_a_log_that_cannot_be_written_stops_nothing(
    cli: Cli, tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    result = cli("check", runs, "--debug")
    assert result.code == 0
    assert "rltui: no debug log: " in result.err
    assert "Not a directory" in result.err
    assert "one" in result.out


def test_a_thread_that_fails_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda failure: None)
    with DebugLog(["check"], tmp_path) as log:
        thread = threading.Thread(target=fail, args=(None,), name="reader")
        thread.start()
        thread.join()
    text = log.path.read_text()
    assert "thread reader failed" in text
    assert "RuntimeError: broken" in text


def test_errors_that_are_contained_are_there(tmp_path: Path) -> None:
    from rltui.files.trouble import GivenUpError, contained

    with DebugLog(["check"], tmp_path) as log, pytest.raises(GivenUpError), contained():
        raise ValueError("odd record")
    assert "ValueError: odd record" in log.path.read_text()


def test_libraries_do_not_write_what_they_say_at_debug(tmp_path: Path) -> None:
    """Clients of remote stores name headers and keys there."""
    with DebugLog(["check"], tmp_path) as log:
        logging.getLogger("somelib").debug("secret")
        logging.getLogger("somelib").info("connected")
    text = log.path.read_text()
    assert "secret" not in text
    assert "connected" in text


def test_the_newest_logs_are_kept(tmp_path: Path) -> None:
    for n in range(15):
        (tmp_path / f"20200101-0000{n:02}-1.log").write_text("")
    with DebugLog([], tmp_path) as log:
        pass
    names = sorted(p.name for p in tmp_path.iterdir())
    assert len(names) == 10
    assert names[-1] == log.path.name
    assert names[0] == "20200101-000006-1.log"


def test_a_signal_asks_where_each_thread_is(tmp_path: Path) -> None:
    with DebugLog([], tmp_path) as log:
        os.kill(os.getpid(), signal.SIGUSR1)
    text = log.path.read_text()
    assert "most recent call first" in text
    assert "test_a_signal_asks_where_each_thread_is" in text


#: The app fails as soon as it is on the screen.
_BROKEN_APP = """
import sys
from rltui.cli import main
from rltui.pages.app import RltuiApp
def fail(app):
    raise RuntimeError("broken app")
RltuiApp.on_mount = fail
sys.exit(main(["watch", sys.argv[1], "--debug"]))
"""


def test_an_app_that_fails_does_not_exit_like_a_bad_run(tmp_path: Path, runs: Path) -> None:
    environ = environment(tmp_path, PYTHONPATH=str(ROOT))
    with Terminal(["-c", _BROKEN_APP, str(runs)], environ) as terminal:
        terminal.drain(START_S)
        assert terminal.wait() == 70
    text = only_log(tmp_path / ".local" / "state" / "rltui" / "debug").read_text()
    assert "broken app" in text
    assert "\x1b" not in text
