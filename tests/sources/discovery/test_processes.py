"""Who writes logs: real processes, and a made-up /proc for what cannot be had at will."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rltui.sources.discovery.processes import LogWriter, Processes, command_of
from tests.tables import cases

linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's /proc")
USER = os.getuid() if hasattr(os, "getuid") else 0


def never() -> bool:
    return False


def log(name: str) -> bool:
    return name.endswith(".jsonl")


@contextmanager
def running(
    code: str,
    *arguments: str | Path,
    cwd: Path | None = None,
    program: str | Path = sys.executable,
    title: str = "",
) -> Iterator[int]:
    """A Python process that has run ``code`` and then waits; its id.

    ``program`` is the interpreter, ``title`` what the process calls it.
    """
    whole = f"{code}\nprint('ready', flush=True)\ninput()"
    script = (cwd or Path.cwd()) / "train.py" if cwd else None
    if script is not None:
        script.write_text(whole)
    command = [title or str(program), "-u", *([script.name] if script else ["-c", whole])]
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        executable=program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=cwd,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    try:
        yield process.pid
    finally:
        process.communicate("\n", timeout=60)


@cases(__file__, "test_a_command_is_program_and_script")
def test_a_command_is_program_and_script(arguments: str, shown: str) -> None:
    assert command_of(arguments.split(" ")) == shown


def test_a_title_that_a_process_gave_itself() -> None:
    assert command_of(["ray::TaskRunner.run() /tmp/x"]) == "ray::TaskRunner.run() /tmp/x"
    assert command_of(["./train.py --logdir /data/run7"]) == "train.py"
    assert command_of(["/home/me/my runs/train.py /data/run7"]) == "train.py"
    assert command_of(["/opt/bin/python3 train.py --token x/y"]) == "python3 train.py"
    assert command_of(["trainer: --logdir /usr/bin/python"]) == "trainer: --logdir /usr/bin/python"
    assert command_of([]) == ""


@linux
def test_a_file_that_a_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with running("import sys; f = open(sys.argv[1], 'a')", path, cwd=tmp_path) as pid:
        found = Processes(USER).written(log, never)
        assert found[path].writer == LogWriter(pid, f"{Path(sys.executable).name} train.py")
        assert Processes(USER).written(log, lambda: True) == {}
    assert path not in Processes(USER).written(log, never)


@linux
def test_files_that_are_read_deleted_or_called_otherwise_are_none(tmp_path: Path) -> None:
    (tmp_path / "read.jsonl").write_text("{}")
    code = """
import os
a = open("read.jsonl"); b = open("gone.jsonl", "w"); os.unlink("gone.jsonl")
c = open("other.bin", "w"); d = open("moved.jsonl", "w"); os.rename("moved.jsonl", "x")
open("moved.jsonl", "w").close()
"""
    with running(code, cwd=tmp_path):
        assert not [p for p in Processes(USER).written(log, never) if tmp_path in p.parents]


@linux
def test_the_process_that_an_event_file_names(tmp_path: Path) -> None:
    host = socket.gethostname()
    with running("", cwd=tmp_path) as pid:
        processes = Processes(USER)
        process = processes.get(pid)
        now = int(process.started) + 2

        def writer(name: str) -> bool:
            found = processes.writer_of(name)
            return found is not None and found.pid == pid

        assert writer(f"events.out.tfevents.{now}.{host}.{pid}.0")
        assert writer(f"events.out.tfevents.{now}.{host}.{pid}.0.v2")
        assert not writer(f"events.out.tfevents.{now}.other-{host}.{pid}.0")
        assert not writer(f"events.out.tfevents.{now - 1000}.{host}.{pid}.0"), "an older process"
        assert not writer(f"events.out.tfevents.{now}.{host}.999999999.0")
        assert (pid, tmp_path) in [(p.pid, d) for p, d in processes.working_directories()]


# -- made-up processes ---------------------------------------------------------------------


def a_process(proc: Path, pid: int, parent: int, words: list[str], *files: Path) -> None:
    here = proc / str(pid)
    (here / "fd").mkdir(parents=True)
    (here / "fdinfo").mkdir()
    (here / "cmdline").write_bytes(b"\0".join(w.encode() for w in words) + b"\0")
    (here / "stat").write_text(f"{pid} (a (b) c) S {parent} " + "0 " * 17 + "4200 0")
    for number, path in enumerate(files, 3):
        (here / "fd" / str(number)).symlink_to(path)
        (here / "fdinfo" / str(number)).write_text("pos:\t0\nflags:\t0102001\n")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu 1 2\nbtime 1700000000\n")
    return tmp_path / "proc"


def test_the_helper_of_a_tracker_is_the_program_that_started_it(proc: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("")
    a_process(proc, 5, 1, ["python", "train.py"])
    a_process(proc, 6, 5, ["/x/wandb-core"], path)
    a_process(proc, 7, 1, ["vim", "run.jsonl"], path)
    found = Processes(USER, proc).written(log, never)
    assert {p: x.pid for p, x in found.items()} == {path: 5}
