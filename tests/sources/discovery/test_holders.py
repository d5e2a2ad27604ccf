"""Whether somebody has a log open: real processes, and a made-up /proc for what cannot be had."""

import os
import re
import signal
import socket
import stat
import sys
from pathlib import Path

import pytest

from rltui.sources.discovery import processes as holders
from rltui.sources.discovery.processes import PROC, FileHold, look
from tests.sources.discovery.test_processes import linux, running

pytestmark = linux
OPENS = "import sys; f = open(sys.argv[1], 'a')"
HOST = socket.gethostname()
GONE, SEEN_CLOSED, UNKNOWN = FileHold(False, True), FileHold(False, False), FileHold(None, False)
#: Longer than any process of the test has been there, so that its number is of another one.
LONG_AGO = 1_500_000_000


@pytest.fixture(autouse=True)
def whole_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without containers."""
    monkeypatch.setattr(holders, "_WHOLE_MACHINE", str((PROC / "self/ns/pid").readlink()))
    monkeypatch.setattr("rltui.files.disk.Mounts.reports_writes", lambda *_: True)


def event_file(directory: Path, rest: str, begun: int = LONG_AGO) -> Path:
    path = directory / f"events.out.tfevents.{begun}.{rest}"
    path.touch()
    return path


def test_an_open_file_is_held_until_its_process_is_gone(tmp_path: Path) -> None:
    path = event_file(tmp_path, HOST)
    with running(OPENS, path) as pid:
        assert look({path: "tfevents"}) == {path: FileHold(True, True)}
        os.kill(pid, signal.SIGSTOP)
        assert look({path: "tfevents"}) == {path: FileHold(True, True)}, "it hangs, and holds it"
        os.kill(pid, signal.SIGCONT)
    assert look({path: "tfevents"}) == {path: GONE}


def test_a_writer_that_opens_its_file_for_each_row_is_gone_when_nobody_can_be_it(
    tmp_path: Path,
) -> None:
    path, elsewhere = tmp_path / "run" / "a.jsonl", tmp_path / "elsewhere"
    path.parent.mkdir()
    elsewhere.mkdir()

    def hold() -> FileHold:
        return look({path: "jsonl"})[path]

    with running("pass", cwd=path.parent), running("pass", cwd=elsewhere):
        path.touch()
        assert hold() == SEEN_CLOSED, "who is at work there may be the writer"
    assert hold() == GONE
    with running("pass", cwd=elsewhere), running(OPENS, path.parent / "other.log"):
        path.touch()
        assert hold() == SEEN_CLOSED, "also by a file that it has open there"
    with running("pass", cwd=elsewhere):
        path.touch()
        assert hold() == GONE


def test_who_came_after_the_last_row_did_not_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    real = Path.stat

    def written_an_hour_ago(self: Path, **given: bool) -> os.stat_result:
        status = real(self, **given)
        ago = [status[stat.ST_MTIME] - 3600, status[stat.ST_CTIME] - 3600]
        return os.stat_result([*status[: stat.ST_MTIME], *ago]) if self == path else status

    monkeypatch.setattr(Path, "stat", written_an_hour_ago)
    with running("pass", cwd=tmp_path):
        assert look({path: "jsonl"}) == {path: GONE}


def test_a_process_with_an_accelerator_may_write_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So may its parents, whose workers compute."""
    path, device = tmp_path / "run" / "a.jsonl", tmp_path / "nvidia0"
    path.parent.mkdir()
    monkeypatch.setattr(holders, "_ACCELERATORS", re.compile(re.escape(str(device))))
    child = [sys.executable, "-c", f"{OPENS}; print(1, flush=True); input()", str(device)]
    parent = f"import subprocess; p = subprocess.Popen({child}, stdin=-1, stdout=-1)"
    for code in (OPENS, f"{parent}; p.stdout.readline()"):
        with running(code, device):
            path.touch()
            assert look({path: "jsonl"}) == {path: SEEN_CLOSED}


def test_processes_here_tell_nothing_of_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert look({path: "jsonl"}) == {path: SEEN_CLOSED}


def test_the_process_in_the_name_tells_where_the_writer_closes_its_file(tmp_path: Path) -> None:
    with running("pass") as pid:
        alive = event_file(tmp_path, f"{HOST}.{pid}.0", 4_000_000_000)
        reused = event_file(tmp_path, f"{HOST}.{pid}.1", LONG_AGO)
        found = look({alive: "tfevents", reused: "tfevents"})
    assert found == {alive: FileHold(True, True), reused: GONE}
    assert look({alive: "tfevents"}) == {alive: GONE}


def test_the_host_of_a_tracker_is_in_its_metadata(tmp_path: Path) -> None:
    path = tmp_path / "run-abc.wandb"
    path.touch()
    assert look({path: "wandb"}) == {path: GONE}, "no process could write it"
    (tmp_path / "files").mkdir()
    for text, hold in (
        (f'{{"host": "{HOST}"}}', GONE),
        ('{"host": "node7"}', SEEN_CLOSED),
        ("{", GONE),
    ):
        (tmp_path / "files" / "wandb-metadata.json").write_text(text)
        assert look({path: "wandb"}) == {path: hold}


def test_a_killed_run_of_swanlab_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "run-abc.swanlab"
    path.touch()
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "swanlab-metadata.json").write_text(
        f'{{"runtime": {{"hostname": "{HOST}"}}}}'
    )
    with running("pass", cwd=tmp_path):
        path.touch()
        assert look({path: "swanlab"}) == {path: GONE}


def test_nothing_is_known_of_a_network_file_system_or_without_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = event_file(tmp_path, HOST)
    assert look({path: "tfevents"}, tmp_path / "proc") == {}
    monkeypatch.setattr("rltui.files.disk.Mounts.reports_writes", lambda *_: False)
    assert look({path: "tfevents"}) == {}


@pytest.mark.parametrize(
    ("state", "user", "hold"), [("S", 0, UNKNOWN), ("Z", 0, GONE), ("S", 1, GONE)]
)
def test_a_file_whose_owner_has_a_process_that_hides_is_unknown(
    state: str, user: int, hold: FileHold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not dumpable: the kernel shows nobody what it has open. A zombie has nothing open."""
    proc, path = a_proc(tmp_path), event_file(tmp_path, HOST)
    (proc / "7").mkdir()
    owner = path.stat().st_uid + user
    (proc / "7" / "status").write_text(f"Name:\tx\nUid:\t{owner}\t{owner}\t{owner}\t{owner}\n")
    (proc / "7" / "stat").write_text(f"7 (x) {state} 1 {'0 ' * 20}")

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(holders, "open_files", refused)
    assert look({path: "tfevents"}, proc) == {path: hold}


def test_a_container_knows_who_writes_its_own_layer_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is mounted into it may be written by processes that it does not see."""
    monkeypatch.setattr(holders, "_WHOLE_MACHINE", "pid:[1]")
    path = event_file(tmp_path, HOST)
    for mounts, hold in (
        ("1 0 0:1 / / rw - overlay overlay rw\n", {path: GONE}),
        ("1 0 0:1 / / rw - ext4 /dev/vda rw\n", {}),
        (f"1 0 0:1 / / rw - overlay o rw\n2 1 0:2 / {tmp_path} rw - ext4 /dev/vda rw\n", {}),
    ):
        assert look({path: "tfevents"}, a_proc(tmp_path, mounts)) == hold


def a_proc(directory: Path, mounts: str = "") -> Path:
    """A /proc without processes, of the namespace of the test."""
    proc = directory / "proc"
    (proc / "self" / "ns").mkdir(parents=True, exist_ok=True)
    (proc / "self" / "fd").mkdir(exist_ok=True)
    if not (proc / "self" / "ns" / "pid").is_symlink():
        (proc / "self" / "ns" / "pid").symlink_to((PROC / "self/ns/pid").readlink())
    (proc / "self" / "mountinfo").write_text(mounts)
    return proc
