"""``rltui alerts``: who is sent messages, and whether they arrive."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.commands.verbs import Exit
from tests.commands.conftest import Cli
from tests.servers import Inbox, receiving
from tests.tables import cases, table


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration of the user."""
    for name in [n for n in os.environ if n.startswith("RLTUI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "config" / "rltui" / "config.yaml"


@pytest.fixture
def inbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with receiving() as server:
        yield server


def test_two_commands_to_a_tested_message(cli: Cli, file: Path, inbox: Inbox) -> None:
    added = cli("alerts", "add", inbox.url)
    assert added.code == Exit.OK
    assert added.out.endswith(f"1 target in {file}\n")
    tested = cli("alerts", "test")
    assert (tested.code, tested.out) == (Exit.OK, f"1  {inbox.url[:-6]}***: delivered\n")
    ((kind, body),) = inbox.bodies
    assert kind == "application/json"
    event = json.loads(body)
    assert event["schema"] == "rltui.event/1"
    assert "a test message" in event["text"]
    listed = cli("alerts", "list").out
    assert listed.startswith(f"1  {inbox.url[:-6]}***: delivered (")
    assert "secret" not in added.out + tested.out + listed


def test_what_came_back_is_said(cli: Cli, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        for target in (inbox.url, "http://127.0.0.1:1/x", slow):
            cli("alerts", "add", target)
        monkeypatch.setenv("RLTUI_HOOKS_TIMEOUT_S", "0.1")
        inbox.answer = 500
        found = cli("alerts", "test")
    assert found.code == Exit.BAD
    assert [line.split(": ", 1)[1] for line in found.out.splitlines()] == [
        "127.0.0.1 answered 500",
        "127.0.0.1: Connection refused",
        "127.0.0.1: no answer within 0.1 s",
    ]


def test_all_else_in_the_file_stays(cli: Cli, file: Path) -> None:
    file.parent.mkdir(parents=True)
    before = "# mine\nview: {theme: light}\nhooks:\n  level: bad  # not too many\n"
    file.write_text(before)
    cli("alerts", "add", "https://ntfy.sh/TOPIC")
    cli("alerts", "add", "python3", "mail.py", "me@example.org")
    lines = file.read_text().splitlines()
    assert "  targets: ['https://ntfy.sh/TOPIC', [python3, mail.py, me@example.org]]" in lines
    assert set(before.splitlines()) < set(lines)
    assert cli("alerts", "remove", "1").out.startswith("https://ntfy.sh/***: removed")
    assert cli("alerts", "remove", "python3", "mail.py", "me@example.org").code == Exit.OK
    assert "  targets: []" in file.read_text().splitlines()


@cases(__file__, "what_cannot_be_done")
def test_what_cannot_be_done(cli: Cli, file: Path, arguments: str, said: str) -> None:
    found = cli("alerts", *arguments.split())
    assert (found.code, found.out) == (Exit.USAGE, "")
    assert said in found.err
    assert not file.exists()


def test_two_hooks_of_one_host(cli: Cli, file: Path) -> None:
    for case in table(__file__)["two_hooks_of_one_host"]:
        found = cli("alerts", *case["arguments"].split())
        assert (found.out + found.err).replace(str(file), "FILE") == case["said"]


def test_a_target_of_the_environment_is_not_written_into_the_file(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLTUI_HOOKS_ON_FINDING", "https://ntfy.sh/OTHER")
    assert cli("alerts", "list").out == "1  https://ntfy.sh/***: nothing sent yet\n"
    cli("alerts", "add", "https://ntfy.sh/TOPIC")
    assert "OTHER" not in file.read_text()
    assert "in on_finding or a variable" in cli("alerts", "remove", "2").err


def test_doctor_says_whether_messages_are_on(cli: Cli, inbox: Inbox) -> None:
    assert "sent to      nobody: rltui alerts add URL" in cli("doctor").out
    cli("alerts", "add", inbox.url)
    assert f"sent to      {inbox.url[:-6]}***: nothing sent yet" in cli("doctor").out
    inbox.answer = 503
    cli("alerts", "test")
    assert f"sent to      {inbox.url[:-6]}***: 127.0.0.1 answered 503 (" in cli("doctor").out


@pytest.mark.parametrize("systemd", [True, False], ids=["systemd", "cron"])
def test_service(cli: Cli, tmp_path: Path, systemd: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shown, set up, seen by doctor, removed; by stand-ins of systemctl, loginctl and crontab."""
    monkeypatch.chdir(tmp_path)
    for name, path in (("_SYSTEMD", "" if systemd else "none"), ("_LINGER", "none")):
        monkeypatch.setattr(f"rltui.commands.alerts.{name}", tmp_path / path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("systemctl", "loginctl", "crontab"):
        script = "#!/bin/sh\ncase $1 in -l) cat ~/tab;; -) cat > ~/new; mv ~/new ~/tab;; esac\n"
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "tab").write_text("@daily mine\n")
    cli("alerts", "add", "https://ntfy.sh/TOPIC")
    (tmp_path / "100%").mkdir()
    refused = cli("alerts", "install", "100%")
    assert (refused.code, "nothing was done" in refused.err) == (Exit.USAGE, True)
    on = "no: loginctl enable-linger" if systemd else "yes, by cron"
    for command, after in (("install 100%", on), ("remove", "no: rltui alerts install LOGDIR")):
        if systemd and command == "remove":  # what cannot be stopped is still there
            works = (tmp_path / "systemctl").read_text()
            (tmp_path / "systemctl").write_text("#!/bin/sh\nexit 1\n")
            assert cli("alerts", "remove", "--yes").code == Exit.INTERNAL
            assert [*tmp_path.rglob("rltui-alerts.service")]
            (tmp_path / "systemctl").write_text(works)
        assert cli("alerts", *command.split(), "--yes").code == Exit.OK
        assert "@daily mine" in (tmp_path / "tab").read_text()
        assert f"after logout {after}" in cli("doctor").out


def test_a_table_of_cron_that_cannot_be_read_is_left_alone(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.commands.alerts._SYSTEMD", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program = tmp_path / "crontab"
    program.write_text(f"#!/bin/sh\ncase $1 in -l) exit 1;; -) cat > {tmp_path}/tab;; esac\n")
    program.chmod(0o755)
    (tmp_path / "tab").write_text("@daily mine\n")
    cli("alerts", "add", "https://ntfy.sh/TOPIC")
    for command in (["install", tmp_path], ["remove"]):
        assert cli("alerts", *command, "--yes").code == Exit.INTERNAL
        assert (tmp_path / "tab").read_text() == "@daily mine\n"
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert "no service is set up" in cli("alerts", "remove", "--yes").err
    assert "a service needs user systemd or crontab" in cli("alerts", "install", tmp_path).err


def test_no_secret_is_shown(cli: Cli, file: Path) -> None:
    for words in (
        ["env -u me:hunter22 https://hooks.example.org/SECRET"],
        ["sh", "-c", "echo https://me:hunter22@example.org/x token=abcd1234 >&2; exit 1"],
    ):
        cli("alerts", "add", *words)
    shown = cli("alerts", "test").out + cli("alerts", "list").out + cli("doctor").out
    assert not [word for word in ("SECRET", "hunter22", "abcd1234") if word in shown]
    assert file.stat().st_mode & 0o077 == 0
