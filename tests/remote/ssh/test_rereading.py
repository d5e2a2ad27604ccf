"""Runs of another host that are unloaded to save memory, and read again."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from rltui.core.address import parse_logdir
from rltui.core.batch import Batch, RunKey
from rltui.core.errors import UnreachableError
from rltui.remote.backfill import Rereading
from rltui.remote.stream_client import Conversation, StreamError
from rltui.remote.wire.messages import Again
from rltui.session import Session
from tests.clock import ManualClock
from tests.remote import small_memory
from tests.remote.small_memory import (
    BUDGET,
    ROWS,
    RUNS,
    assert_same,
    notes_of,
    small_config,
    watching,
)
from tests.remote.ssh.far_host import PATIENCE_S, FarHost, reader_of


def write(logs: Path) -> None:
    for number in range(RUNS):
        small_memory.write(logs / f"run{number}" / "metrics.jsonl", number)


def test_a_small_memory_suffices_and_shows_the_same(tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path)
    with watching(str(tmp_path), 1 << 30) as here, watching(f"node7:{tmp_path}") as there:
        assert_same(here, there)
    assert len(far_host.connections) == 2  # the second one is for reading again


def test_a_new_connection_takes_the_place_of_a_lost_one(tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path)
    with watching(f"node7:{tmp_path}") as there:
        for view in there.unloaded()[:3]:
            assert there.loaded(view).series("x/7").count == ROWS
            far_host.cut()  # the newest one, by which runs are read again
        assert len(far_host.connections) == 4
        assert not there.session.troubles()


def test_out_of_reach_a_run_stays_as_it_was_until_the_host_is_back(
    tmp_path: Path, far_host: FarHost
) -> None:
    logs, ssh = tmp_path / "logs", tmp_path / "ssh"
    write(logs)
    with watching(f"node7:{logs}") as there:
        view, works = there.unloaded()[0], ssh.read_text()
        level = view.report and view.report.level
        ssh.write_text("#!/bin/sh\necho no route >&2; exit 255\n")
        for pid in far_host.connections:
            os.killpg(pid, signal.SIGKILL)
        assert view.series("x/7").count == 0
        there.until_noted(view, "cannot be read again now")
        assert any("no route" in n.message for n in notes_of(view))
        assert view.data.unloaded
        assert not view.data.loading
        assert (view.data.count("x/7"), view.report and view.report.level) == (ROWS, level)
        there.session.drain()
        assert not there.session.memory.waits  # only who looks asks again
        ssh.write_text(works)
        there.clock.advance(60)
        assert there.loaded(view).series("x/7").count == ROWS
        # the connection that follows may have died, and so tries again, later
        there.until(lambda: there.clock.advance(60) or not notes_of(view))


@pytest.mark.parametrize("host", ["", "node7:"])
def test_a_headless_command_keeps_the_limit(host: str, tmp_path: Path, far_host: FarHost) -> None:
    write(tmp_path)
    session = Session([parse_logdir(f"{host}{tmp_path}")], small_config(BUDGET // 50))
    session.scan()
    session.memory._checked = -BUDGET  # as after many bytes
    session.read_all()
    session.memory.enforce()
    assert [v.data.unloaded for v in session.runs()] == [True] * RUNS
    assert [v.series("x/3").count for v in session.runs()] == [ROWS] * RUNS
    assert not any(map(notes_of, session.runs()))
    session.stop()


def test_runs_of_several_hosts_keep_their_numbers(tmp_path: Path, far_host: FarHost) -> None:
    small_memory.write(tmp_path / "a" / "metrics.jsonl", 0)
    reader = reader_of(f"node7:{tmp_path}", str(tmp_path), f"node8:{tmp_path}")
    reader.scan()
    batches = list(reader.read_all())
    assert [b.run for b in batches] == [RunKey(n, "a") for n in range(3)]
    for batch in batches:
        sources = {batch.source.path: batch.source}
        assert reader.rereadable(batch.run, sources, [0])
        assert not reader.rereadable(batch.run, sources, [1])
        again = reader.read_again(batch.run, sources, [0])
        assert again is not None
        (found,) = again
        assert (found.run, found.source.path) == (batch.run, batch.source.path)
        assert found.blocks[0].points == batch.blocks[0].points
    reader.stop()


def test_a_last_line_without_its_end_comes_again(tmp_path: Path, far_host: FarHost) -> None:
    (tmp_path / "progress.csv").write_text("step,loss\n1,1.5\n2,2.5")
    reader = reader_of(f"node7:{tmp_path}")
    batches = list(reader.read_all())
    again = reader.read_again(batches[0].run, {b.source.path: b.source for b in batches}, [0])
    assert again is not None
    assert [list(x.steps) for b in again for x in b.blocks] == [[1], [2]]
    reader.stop()


# -- the end of a reader while a run is to be read again ------------------------------------------


def test_a_run_that_was_just_asked_for_ends_with_the_reader() -> None:
    connected: list[bool] = []

    def connect() -> Conversation:
        connected.append(True)
        raise AssertionError("nobody wants this connection")

    rereading = Rereading(connect, lambda: None, ManualClock())
    with rereading._lock:  # another run is being read
        batches = rereading.read(Again(RunKey(0, "a"), ()))
        rereading.close()
        with pytest.raises(UnreachableError, match="stopped"):
            next(batches)
    for thread in threading.enumerate():
        if thread.name == "rltui-again":
            thread.join(PATIENCE_S)
    assert not connected


class Ended:
    """A conversation that ends after its answer, before the first batch, or one that works."""

    paths = object()

    def __init__(self, ends: bool) -> None:
        self.ends = ends

    def keeps(self, _: Again) -> bool:
        return True

    def batches(self) -> Iterator[Batch]:
        if self.ends:
            raise StreamError("its reader ended")
        return iter(())

    def hang_up(self) -> None:
        self.ends = True


def test_a_connection_that_ends_after_its_answer_is_made_anew() -> None:
    talks = [Ended(False), Ended(False)]
    rereading = Rereading(lambda: cast(Any, talks.pop(0)), lambda: None, ManualClock())
    first = rereading._talk = talks.pop(0)
    first.ends = True
    assert list(rereading.read(Again(RunKey(0, "a"), ()))) == []
    assert rereading._talk is not first
    assert not talks
