"""Logdirs on another host, through the system's ssh and an sshd of its own."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.core.address import parse_logdir
from rltui.core.errors import UnreachableError, VanishedError
from rltui.sources.side_files.settings_files import read_settings
from tests.builders import running
from tests.remote.ssh.far_host import FAST, ROOT, FarHost, Watched, append, reader_of
from tests.remote.stores import free_port

SSHD = shutil.which("sshd", path=os.defpath + ":/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(
    not (SSHD and shutil.which("ssh") and shutil.which("ssh-keygen")),
    reason="needs ssh and sshd (Debian: openssh-server)",
)

_CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
"""
_SSH = """#!/bin/sh
echo $$ >> {directory}/pids
exec ssh -F none -i {directory}/user_key -p {port} -l {user} -oStrictHostKeyChecking=no \
    -oUserKnownHostsFile={directory}/known -oLogLevel=ERROR "$@"
"""


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FarHost]:
    """127.0.0.1 is a host with rltui."""
    assert SSHD is not None
    directory, port = tmp_path / "ssh", free_port()
    directory.mkdir()
    for name in ("host_key", "user_key"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)]
        subprocess.run(make, check=True)
    (directory / "config").write_text(_CONFIG.format(port=port, directory=directory))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    script = directory / "ssh"
    user = getpass.getuser()
    script.write_text(_SSH.format(port=port, directory=shlex.quote(str(directory)), user=user))
    script.chmod(0o755)
    monkeypatch.setenv("RLTUI_SSH", shlex.quote(str(script)))
    there = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "rltui"]
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", shlex.join(there))
    command = [SSHD, "-D", "-e", "-f", str(directory / "config")]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        said = server.stderr.readline()
        assert "listening" in said, said
        yield FarHost(directory / "pids")
    finally:
        server.terminate()
        server.wait()
        server.stderr.close()


def test_many_runs_survive_lost_connections(tmp_path: Path, sshd: FarHost) -> None:
    logs = [tmp_path / "logs" / f"run{n}" / "metrics.jsonl" for n in range(30)]
    for log in logs:
        append(log, 0, 20)
    watched = Watched(reader_of(f"127.0.0.1:{tmp_path}/logs", options=FAST))
    watched.reader.scan()
    with running(watched.reader):
        watched.until(9, 60)  # in the middle of reading
        for turn in range(1, 4):
            sshd.cut()
            for log in logs:
                append(log, 10 + 10 * turn, 10)
            watched.until(30, 300 * (turn + 1))
        watched.until(30, 1500)
        assert len(sshd.connections) >= 3
    watched.assert_whole({f"run{n}": 50 for n in range(30)})


def test_without_a_key_the_reason_is_that_of_ssh(
    tmp_path: Path, sshd: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = os.environ["RLTUI_SSH"] + " -oIdentityFile=none -oPubkeyAuthentication=no"
    monkeypatch.setenv("RLTUI_SSH", wrong)
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1: .*Permission denied"):
        reader_of(f"127.0.0.1:{tmp_path}").scan()


def test_files_beside_the_logs_and_reading_again(tmp_path: Path, sshd: FarHost) -> None:
    log = tmp_path / "logs" / "a" / "metrics.jsonl"
    append(log, 0, 200)
    log.with_name("args.json").write_text('{"lr": 1e-6}')
    path = parse_logdir(f"127.0.0.1:{tmp_path}/logs")
    reader = reader_of(str(path), options=FAST)
    batches = list(reader.read_all())
    assert read_settings([path, path / "a"]).values == {"lr": 1e-6}
    run, sources = batches[0].run, {b.source.path: b.source for b in batches}
    append(log, 200, 5)  # what follows is not read again
    assert reader.rereadable(run, sources, [0])
    again = reader.read_again(run, sources, [0])
    assert again is not None
    assert [list(x.steps) for b in again for x in b.blocks] == [
        list(x.steps) for b in batches for x in b.blocks
    ]
    log.write_text("")
    lost = reader.read_again(run, sources, [0])
    assert lost is not None
    with pytest.raises(VanishedError):
        list(lost)
    assert len(sshd.connections) == 3
    reader.stop()
