"""A host that is searched by a thread: one that is down at first, one that never answers."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from rltui.remote import ReaderOptions
from rltui.remote.joined import JoinedReader
from rltui.sources.options import Intervals
from tests.builders import running
from tests.remote.ssh.far_host import FarHost, Watched, append, reader_of

LATER = ReaderOptions(
    watch=Intervals(fast_s=0.05, slow_s=0.2, rescan_s=0.2), partial=True, later=True
)


def instead(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run this before ssh."""
    path, ssh = tmp_path / "before", os.environ["RLTUI_SSH"]
    path.write_text(f'#!/bin/sh\n{script}\nexec {ssh} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("RLTUI_SSH", shlex.quote(str(path)))


def reader(address: str) -> JoinedReader:
    found = reader_of(address, options=LATER)
    assert isinstance(found, JoinedReader)
    return found


def test_a_host_that_is_down_at_first(
    tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = tmp_path / "up"
    down = f'[ -e {up} ] || {{ echo "No route to host" >&2; exit 255; }}'
    instead(down, tmp_path, monkeypatch)
    append(tmp_path / "logs" / "run" / "metrics.jsonl", 0, 5)
    watched = Watched(reader(f"node7:{tmp_path}/logs"))
    reading = watched.reader
    reading.scan()
    assert (reading.state.searching, reading.state.connecting) == (reading.state.searching[:1],) * 2
    with running(reading):
        while reading.state.searching:
            reading.wait(0.01)
        assert not far_host.connections
        assert reading.state.out_of_reach
        assert all(reading.state.out_of_reach.values())
        assert reading.state.notes[0].message.startswith("not reachable since ")
        up.touch()
        watched.until(1, 5)
        assert not reading.state.out_of_reach
        assert not reading.state.notes
        append(tmp_path / "logs" / "run" / "metrics.jsonl", 5, 5)
        watched.until(1, 10)
    watched.assert_whole({"run": 10})


def test_leaving_ends_a_connection_that_is_being_made(
    tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    del far_host
    begun = tmp_path / "begun"
    instead(
        f"echo $$ > {begun}.new; mv {begun}.new {begun}; exec sleep 1000", tmp_path, monkeypatch
    )
    reading = reader(f"node7:{tmp_path}")
    reading.start()
    while not begun.exists():
        reading.wait(0.01)
    assert [str(p) for p in reading.state.connecting] == [f"node7:{tmp_path}"]
    reading.stop()
    with pytest.raises(ProcessLookupError):
        os.killpg(int(begun.read_text()), 0)
