"""A host with an sshd and without rltui: sftp takes the place of the stream."""

from __future__ import annotations

import getpass
import os
import shlex
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.core.address import parse_logdir
from rltui.core.errors import SourceError
from tests.builders import running
from tests.remote.ssh.far_host import FarHost, Watched, append, reader_of
from tests.remote.ssh.test_sshd import FAST, pytestmark, sshd
from tests.remote.stores import need_extra

__all__ = ["pytestmark", "sshd"]


@pytest.fixture
def bare(sshd: FarHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FarHost:
    """127.0.0.1 is a host without rltui; only what ssh says tells port, user and key."""
    need_extra("fsspec", "paramiko")
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", "/nonexistent/rltui")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr("rltui.files.remote.store._STORES", {})  # no connection of another test
    return sshd


def test_runs_are_followed(tmp_path: Path, bare: FarHost) -> None:
    log = tmp_path / "logs" / "run" / "metrics.jsonl"
    append(log, 0, 20)
    watched = Watched(reader_of(f"127.0.0.1:{tmp_path}/logs", options=FAST))
    watched.reader.scan()
    assert bare.connections
    instead = watched.reader.state.instead[parse_logdir(f"127.0.0.1:{tmp_path}/logs")]
    assert str(instead) == f"sftp://127.0.0.1{tmp_path}/logs"
    with running(watched.reader):
        watched.until(1, 20)
        append(log, 20, 10)
        watched.until(1, 30)
    watched.assert_whole({"run": 30})


def test_what_fails_names_what_is_missing(tmp_path: Path, bare: FarHost) -> None:
    """The path is wrong; the far side could say so without rltui, too."""
    del bare
    with pytest.raises(SourceError) as caught:
        reader_of(f"127.0.0.1:{tmp_path}/none").scan()
    text = str(caught.value)
    assert "none: no such file or directory" in text
    assert "there is no rltui on 127.0.0.1" in text
    assert "sftp" in text


def test_a_key_that_ssh_does_not_have_is_not_had_by_sftp(
    tmp_path: Path, bare: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ssh connects by another script than the one that says how."""
    del bare
    script = shlex.split(os.environ["RLTUI_SSH"])[0]
    other = tmp_path / "forgets"
    other.write_text(
        f'#!/bin/sh\ncase "$*" in *-G*) {script} "$@" | grep -v identityfile;;\n'
        f' *) exec {script} "$@";; esac\n'
    )
    other.chmod(0o755)
    monkeypatch.setenv("RLTUI_SSH", str(other))
    with pytest.raises(SourceError, match=r"there is no rltui on 127\.0\.0\.1"):
        reader_of(f"127.0.0.1:{tmp_path}").scan()


@pytest.mark.parametrize("way", ["ProxyJump outer", "ProxyCommand ssh -F {config} -W %h:%p outer"])
def test_names_and_jump_hosts_of_the_configuration(
    way: str, tmp_path: Path, bare: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``inner`` is reached through ``outer``; both are this machine."""
    del bare
    directory, config = tmp_path / "ssh", tmp_path / "ssh_config"
    port = next(line.split()[1] for line in (directory / "config").read_text().splitlines() if line)
    config.write_text(
        f"Host inner outer\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
        f"  IdentityFile {directory}/user_key\n  UserKnownHostsFile {directory}/known\n"
        f"  StrictHostKeyChecking no\n  LogLevel ERROR\n"
        f"Host inner\n  {way.format(config=config)}\n"
    )
    monkeypatch.setenv("RLTUI_SSH", f"ssh -F {config}")
    append(tmp_path / "logs" / "run.jsonl", 0, 5)
    reader = reader_of(f"inner:{tmp_path}/logs")
    reader.scan()
    (batch,) = reader.read_all()
    assert sum(block.points for block in batch.blocks) == 5


def test_doctor_says_how_it_is_read(
    tmp_path: Path, bare: FarHost, capsys: pytest.CaptureFixture[str]
) -> None:
    del bare
    append(tmp_path / "logs" / "run.jsonl", 0, 5)
    assert main(["doctor", f"127.0.0.1:{tmp_path}/logs"]) == 0
    said = capsys.readouterr().out
    assert "that host has no rltui, so sftp is used; directories are listed every 5 s" in said
    assert "run: jsonl" in said
    assert "lists a minute" in said
