"""Logdirs on another host, through a command in place of ssh."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from rltui.core.address import RemotePath, parse_logdir
from rltui.core.batch import RunKey
from rltui.core.errors import SourceError, UnreachableError
from rltui.remote.stream_client import NO_RLTUI, OTHER_RLTUI
from rltui.session.logdir_facts import logdir_facts
from tests.builders import running
from tests.remote.ssh.far_host import FAST, FarHost, Watched, append, reader_of


def test_runs_are_read_once(tmp_path: Path, far_host: FarHost) -> None:
    append(tmp_path / "logs" / "a" / "metrics.jsonl", 0, 5)
    append(tmp_path / "more" / "b.jsonl", 0, 3)
    reader = reader_of(f"node7:{tmp_path}/logs", f"node7:{tmp_path}/more")
    reader.scan()
    found = {b.run: b for b in reader.read_all()}
    assert {k: sum(x.points for x in b.blocks) for k, b in found.items()} == {
        RunKey(0, "a"): 5,
        RunKey(1, "b"): 3,
    }
    assert len(far_host.connections) == 1
    path = found[RunKey(0, "a")].source.path
    assert isinstance(path, RemotePath)
    assert str(path) == f"node7:{tmp_path}/logs/a/metrics.jsonl"
    assert reader.state.run_count == 2
    assert reader.progress()[0] == reader.progress()[1] > 0
    assert not reader.state.notes


def test_a_path_is_quoted_and_home_is_the_other_one(
    tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "ho me"
    append(home / "it's; $(touch x)" / "a.jsonl", 0, 2)
    monkeypatch.setenv("HOME", str(home))
    reader = reader_of("node7:it's; $(touch x)")
    reader.scan()
    (batch,) = reader.read_all()
    assert str(batch.source.path) == "node7:~/it's; $(touch x)/a.jsonl"


def test_a_missing_path_is_an_error(tmp_path: Path, far_host: FarHost) -> None:
    with pytest.raises(SourceError, match=rf"^node7:{tmp_path}/none: no such file"):
        reader_of(f"node7:{tmp_path}/none").scan()


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ("no-such-rltui", NO_RLTUI),
        ("echo \"invalid choice: 'stream'\" >&2; exit 2;", OTHER_RLTUI),
        ("echo rltui-stream 9; cat #", OTHER_RLTUI),
    ],
    ids=["none", "old", "other"],
)
def test_without_an_rltui_that_speaks_the_stream_a_script_reads(
    there: str, why: str, tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tmp_path / "logs" / "a.jsonl", 0, 2)
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", there)
    reader = reader_of(f"node7:{tmp_path}/logs")
    reader.scan()
    assert reader.state.instead == {parse_logdir(f"node7:{tmp_path}/logs"): why}
    (batch,) = reader.read_all()
    assert str(batch.source.path) == f"node7:{tmp_path}/logs/a.jsonl"
    reader.stop()
    monkeypatch.setenv("RLTUI_REMOTE_PYTHON", "no-such-python")
    with pytest.raises(SourceError, match=r"node7 has no python3 .*scp.*sshfs"):
        reader_of(f"node7:{tmp_path}/logs").scan()


@pytest.mark.parametrize("there", ["yes", "head -c 100000 /dev/zero; cat", "cat"])
def test_garbage_is_no_stream(
    there: str, tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", f"{there} #")
    with pytest.raises(UnreachableError, match="node7: "):
        reader_of(f"node7:{tmp_path}").scan()


@pytest.mark.parametrize("first", ["SCANNED", "STATE", "FOUND"])
def test_who_does_not_introduce_itself_is_not_heard(
    first: str, tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "there.py"
    script.write_text(
        "import os, sys\n"
        "from rltui.remote.wire.framing import Frame, FrameWriter, Kind\n"
        "writer = FrameWriter(lambda data: os.write(1, data))\n"
        f'writer.put(Frame(Kind.{first}, b\'{{"notes": [], "runs": []}}\'))\n'
        "writer.flush()\n"
        "sys.stdin.read()\n"
    )
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", f"{shlex.join([sys.executable, str(script)])} #")
    with pytest.raises(UnreachableError, match="did not introduce itself"):
        reader_of(f"node7:{tmp_path}").scan()


def test_an_unreachable_host_costs_only_its_own_runs(
    tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tmp_path / "logs" / "a.jsonl", 0, 4)
    monkeypatch.setenv("RLTUI_SSH", "sh -c 'echo node7: no route >&2; exit 255'")
    reader = reader_of(f"node7:{tmp_path}/logs", f"{tmp_path}/logs")
    reader.scan()
    assert {b.run for b in reader.read_all()} == {RunKey(1, "a")}
    (note,) = reader.state.notes
    assert str(note.path) == f"node7:{tmp_path}/logs"
    assert note.message.startswith("not reachable since "), "the path names the host"
    assert "no route" in note.message


def test_nothing_is_lost_or_doubled_by_a_new_connection(tmp_path: Path, far_host: FarHost) -> None:
    logs = [tmp_path / "logs" / f"run{n}" / "metrics.jsonl" for n in range(3)]
    for log in logs:
        append(log, 0, 10)
    watched = Watched(reader_of(f"node7:{tmp_path}/logs", options=FAST))
    watched.reader.scan()
    with running(watched.reader):
        watched.until(3, 30)
        for turn in range(1, 4):
            far_host.cut()
            for log in logs:
                append(log, 10 * turn, 10)
            watched.until(3, 30 * (turn + 1))
        assert len(far_host.connections) >= 4
    watched.assert_whole({f"run{n}": 40 for n in range(3)})
    assert not watched.reader.state.notes


def test_the_connection_ends_with_the_reader(tmp_path: Path, far_host: FarHost) -> None:
    append(tmp_path / "logs" / "a.jsonl", 0, 2)
    reader = reader_of(f"node7:{tmp_path}/logs", options=FAST)
    reader.scan()
    reader.start()
    (pid,) = far_host.connections
    os.kill(pid, 0)
    reader.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_doctor_shows_the_runs_there(tmp_path: Path, far_host: FarHost) -> None:
    append(tmp_path / "logs" / "a.jsonl", 0, 2)
    facts = logdir_facts(parse_logdir(f"node7:{tmp_path}/logs"), ("step",), inotify=True)
    assert [run.key.name for run in facts.runs] == ["a"]
    assert not facts.error
    missing = logdir_facts(parse_logdir(f"node7:{tmp_path}/none"), ("step",), inotify=True)
    assert "no such file" in missing.error
