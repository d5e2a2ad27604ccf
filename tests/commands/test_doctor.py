"""``rltui doctor``: what was detected, and why."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.commands.verbs import Exit
from rltui.files.disk import Mounts
from rltui.version import __version__

ROWS = "".join(f'{{"step": {s}, "loss": {s / 9}}}\n' for s in range(1, 9))


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith("RLTUI_") or n == "SSH_CONNECTION"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))


def doctor(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = main(["doctor", "--json", *map(str, arguments)])
    return code, json.loads(capsys.readouterr().out)


def text(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main(["doctor", *map(str, arguments)])
    return capsys.readouterr().out


def config(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "xdg/rltui/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(content, "utf-8")
    return path


def a_logdir(tmp_path: Path) -> Path:
    path = tmp_path / "runs"
    (path / "a").mkdir(parents=True)
    (path / "a/metrics.jsonl").write_text(ROWS, "utf-8")
    return path


def test_without_logdir_it_shows_installation_and_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "97")
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 22 10.0.0.2 22")
    code, found = doctor(capsys)
    assert code == Exit.OK
    assert found["rltui"] == __version__
    terminal = found["terminal"]
    assert (terminal["columns"], terminal["colours"]) == (97, "truecolor")
    assert terminal["mouse"] is False
    assert terminal["environment"]["SSH_CONNECTION"] == "(set)"
    assert "tfevents" in found["formats"]["logs"]
    assert found["logdirs"] == []
    monkeypatch.setenv("NO_COLOR", "1")
    assert doctor(capsys)[1]["terminal"]["colours"] == "none"


def test_in_gnu_screen_it_says_which_variable_is_not_believed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "screen", "STY": "1.pts", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    shown = text(capsys)
    assert "colours      16\n" in shown
    assert "COLORTERM=truecolor (not believed in GNU screen)" in shown


def test_runs_files_and_formats(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    logdir = a_logdir(tmp_path)
    code, found = doctor(capsys, logdir)
    (facts,) = found["logdirs"]
    (run,) = facts["runs"]
    assert code == Exit.OK
    assert run["files"] == [
        {"path": str(logdir / "a/metrics.jsonl"), "format": "jsonl", "bytes": len(ROWS)}
    ]
    assert facts["filesystem"] == (Mounts().kind_of(logdir) or None)
    shown = text(capsys, logdir)
    assert f"{run['run']}: jsonl" in shown
    assert "1, from 1 file" in shown


def test_what_is_not_read_has_a_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    logdir = a_logdir(tmp_path)
    empty, table, young = logdir / "b.jsonl", logdir / "c.csv", logdir / "train.log"
    empty.write_text("", "utf-8")
    table.write_text("a,b\nx,y\n", "utf-8")
    young.write_text("loading the model\n", "utf-8")
    found = doctor(capsys, logdir)[1]["logdirs"][0]
    reasons = {n["path"]: n["reason"] for n in found["not_read"]}
    assert reasons[str(empty)] == "empty so far"
    assert "no step column" in reasons[str(table)]
    assert "no rows of metrics" in reasons[str(young)]
    assert f"{table}: {reasons[str(table)]}" in text(capsys, logdir)


def test_a_log_without_permission_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir = a_logdir(tmp_path)
    log = logdir / "a/metrics.jsonl"
    monkeypatch.setattr("rltui.session.logdir_facts.os.access", lambda path, _: path != log)
    assert doctor(capsys, logdir)[1]["logdirs"][0]["unreadable"] == [str(log)]
    assert f"✖ no permission to read {log}" in text(capsys, logdir)


def test_directories_that_are_not_watched_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir = a_logdir(tmp_path)
    facts = doctor(capsys, logdir)[1]["logdirs"][0]
    if not facts["inotify"]:
        pytest.skip("no inotify here")
    assert facts["why"].endswith("reports every write")
    monkeypatch.setattr("rltui.sources.follow.notifier.most_watches", lambda: 1)
    assert "in 1 of 2 directories, the others are polled" in text(capsys, logdir)


@pytest.mark.parametrize(
    ("given", "code", "shown"),
    [("none", Exit.USAGE, "✖ no such path"), ("empty", Exit.NOTHING, "✖ no log was found")],
)
def test_without_a_log_the_exit_code_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, given: str, code: int, shown: str
) -> None:
    (tmp_path / "empty").mkdir()
    assert doctor(capsys, tmp_path / given)[0] == code
    assert shown in text(capsys, tmp_path / given)


def test_every_error_of_the_configuration(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = config(tmp_path, "view: {theme: drak, smooth: 3}\n")
    code, found = doctor(capsys, a_logdir(tmp_path))
    assert code == Exit.USAGE
    assert found["config"]["path"] == str(path)
    assert not found["config"]["read"]
    assert len(found["config"]["errors"]) == 2
    assert any("did you mean 'dark'" in error for error in found["config"]["errors"])
    assert found["logdirs"][0]["runs"], "the defaults are enough to look"


def test_where_documents_of_the_user_lie(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = config(tmp_path, "view: {theme: light}\n")
    rules = path.parent / "rules/mine.yaml"
    rules.parent.mkdir()
    rules.write_text("schema: 1\nrules: []\n", "utf-8")
    found = doctor(capsys)[1]["config"]
    assert (found["read"], found["theme"], found["errors"]) == (True, "light", [])
    assert found["documents"] == [str(rules)]
    assert found["directories"] == {"dialects": False, "rules": True, "themes": False}


def test_why_the_system_does_not_wake_the_watcher(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir = a_logdir(tmp_path)
    monkeypatch.setattr(Mounts, "kind_of", lambda *_: "nfs4")
    facts = doctor(capsys, logdir)[1]["logdirs"][0]
    assert not facts["inotify"]
    assert "nfs4" in facts["why"]
    config(tmp_path, "watch: {inotify: false}\n")
    assert "watch.inotify is off" in doctor(capsys, logdir)[1]["logdirs"][0]["why"]
    assert "polling: watch.inotify is off" in text(capsys, logdir)


def test_doctor_imports_nothing_that_draws(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("rich", "rich.console", "textual", "rltui.tui.theming"):
        monkeypatch.setitem(sys.modules, name, None)

    _, document = doctor(capsys)

    assert document["terminal"]["colours"] == "unknown"
    assert "textual is not installed" in text(capsys)
