"""Names of files on another host, there and here."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from rltui.core.address import RemotePath
from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.remote.ssh.link import SshPaths

LOGDIR = RemotePath("ssh:", "node7", "runs")


def a_note(path: str) -> Note:
    return Note(Path(path), None, Level.WATCH, "cannot be read")


def test_paths_below_a_logdir_begin_as_it_does() -> None:
    paths = SshPaths([LOGDIR], [Path("/data/runs")])
    found = paths.notes([a_note("/data/runs/a/x.jsonl"), a_note("/etc/x")])
    assert [str(note.path) for note in found] == ["node7:/runs/a/x.jsonl", "node7:/etc/x"]
    assert paths.there(LOGDIR / "a") == Path("/data/runs/a")


def test_notes_about_ever_other_paths_take_no_memory() -> None:
    paths = SshPaths([LOGDIR], [Path("/data/runs")])
    paths.notes([a_note("/data/runs/first")])
    tracemalloc.start()
    try:
        for number in range(2000):
            paths.notes([a_note(f"/data/runs/{number}")])
        assert tracemalloc.get_traced_memory()[0] < 200_000
    finally:
        tracemalloc.stop()
