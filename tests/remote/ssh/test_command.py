"""The command that ssh is given, and names of files on another host, there and here.

``check`` of several hosts.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.core.address import RemotePath
from rltui.core.batch import Note
from rltui.core.errors import UsageError
from rltui.core.level import Level
from rltui.remote.ssh.connection import HostPaths, stream_command
from tests.remote.ssh.far_host import soon_again
from tests.tables import cases


@cases(__file__, "host_user_and_port_are_options")
def test_host_user_and_port_are_options(authority: str, options: list[str], host: str) -> None:
    words = stream_command(authority, ["/a"], {})
    assert words[0] == "ssh"
    assert "-oBatchMode=yes" in words
    assert words[-3:] == ["--", host, "rltui stream -- /a"]
    assert words[len(words) - 3 - len(options) : -3] == options


def test_paths_are_one_word_each_for_the_shell_there() -> None:
    paths = ["/a b", "~/it's", "/$(reboot)", "-x", "/\u202e;rm"]
    *_, command = stream_command("node7", paths, {"RLTUI_REMOTE_COMMAND": "/opt/bin/rltui"})
    assert shlex.split(command) == ["/opt/bin/rltui", "stream", "--", *paths]


def test_the_command_may_be_another_one_with_options() -> None:
    words = stream_command("node7", ["/a"], {"RLTUI_SSH": "'/my ssh' -F conf"})
    assert words[:3] == ["/my ssh", "-F", "conf"]


@pytest.mark.parametrize("authority", ["-oProxyCommand=x", "-l@host", "a b", "a\nb", "a;b", "a:x"])
def test_what_is_no_host_is_refused(authority: str) -> None:
    with pytest.raises(UsageError, match="is not a host"):
        stream_command(authority, ["/a"], {})


def test_a_command_with_an_open_quote_is_refused() -> None:
    with pytest.raises(UsageError, match="RLTUI_SSH"):
        stream_command("node7", ["/a"], {"RLTUI_SSH": "ssh 'x"})


LOGDIR = RemotePath("ssh:", "node7", "runs")


def a_note(path: str) -> Note:
    return Note(Path(path), None, Level.WATCH, "cannot be read")


def test_paths_below_a_logdir_begin_as_it_does() -> None:
    paths = HostPaths([LOGDIR], [Path("/data/runs")])
    found = paths.notes([a_note("/data/runs/a/x.jsonl"), a_note("/etc/x")])
    assert [str(note.path) for note in found] == ["node7:/runs/a/x.jsonl", "node7:/etc/x"]
    assert paths.there(LOGDIR / "a") == Path("/data/runs/a")


@pytest.mark.parametrize(("bad", "code"), [(False, 3), (True, 1)])
def test_check_of_a_host_out_of_reach_is_not_fine(
    bad: bool,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What can be read is judged; a bad run counts for more."""
    rows = [{"step": s, "loss": 1 / s} for s in range(1, 30)]
    last = '{"step": 30, "loss": NaN}\n' if bad else ""
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows) + last)
    soon_again(monkeypatch)
    monkeypatch.setenv("RLTUI_SSH", "false")
    assert main(["check", str(tmp_path), "gone:/runs"]) == code
    found = capsys.readouterr()
    assert "gone:/runs: not reachable since " in found.err
    assert "30" in found.out or "29" in found.out


def test_doctor_tells_a_host_out_of_reach_from_a_wrong_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLTUI_SSH", "false")
    assert main(["doctor", "--json", "gone:/runs"]) == 3
    (found,) = json.loads(capsys.readouterr().out)["logdirs"]
    assert found["out_of_reach"]
    assert "gone" in found["error"]
    assert main(["doctor", "gone:/runs", "/no/such/path"]) == 2
