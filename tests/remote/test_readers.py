"""Several readers as one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from rltui.core.batch import Batch, Note, RunKey
from rltui.core.errors import SourceError, UnreachableError
from rltui.core.level import Level
from rltui.remote import open_one
from rltui.remote.joined import GroupReader, JoinedReader
from rltui.remote.stream_client import NO_RLTUI, NotInstalledError
from rltui.session.naming import Naming
from rltui.sources.follow.reader import Reader
from rltui.sources.options import ReaderOptions
from tests.builders import append_rows, running


def group_of(number: int, path: Path, kind: type[Reader] = Reader) -> GroupReader:
    """A group whose reader is of some kind."""
    return GroupReader("", [path], [number], ReaderOptions(), lambda _, paths, __: kind(paths))


def log(directory: Path, rows: int) -> None:
    append_rows(directory / "metrics.jsonl", rows)


def readers(
    groups: Sequence[Sequence[tuple[int, Path]]], options: ReaderOptions | None = None
) -> JoinedReader:
    """A reader for each group of numbered logdirs."""
    options = options or ReaderOptions()
    return JoinedReader(
        GroupReader("", [p for _, p in group], [n for n, _ in group], options, open_one)
        for group in groups
    )


def points(batches: Sequence[Batch]) -> dict[RunKey, int]:
    found: dict[RunKey, int] = {}
    for batch in batches:
        found[batch.run] = found.get(batch.run, 0) + sum(b.points for b in batch.blocks)
    return found


def test_live_batches_of_all_parts_arrive(tmp_path: Path) -> None:
    log(tmp_path / "a" / "run", 2)
    log(tmp_path / "b" / "run", 3)
    both = readers([[(0, tmp_path / "a")], [(1, tmp_path / "b")]])
    calls: list[int] = []
    both.on_batch = lambda: calls.append(1)
    found: list[Batch] = []
    both.scan()
    with running(both):
        while sum(points(found).values()) < 5:
            assert both.wait(20)
            found += both.drain(1)
    assert points(found) == {RunKey(0, "run"): 2, RunKey(1, "run"): 3}
    assert calls
    assert not both.wait(0)
    assert not both.ended
    assert not both.state.notes
    assert not both.state.unclaimed


def test_runs_are_chosen_among_all(tmp_path: Path) -> None:
    for name in ("a", "b"):
        log(tmp_path / name / "run", 2)
        log(tmp_path / name / "other", 2)
    naming = Naming(("a", "b"), "b/run")
    both = readers(
        [[(0, tmp_path / "a")], [(1, tmp_path / "b")]], ReaderOptions(choose=naming.choose)
    )
    both.scan()
    assert set(points(list(both.read_all()))) == {RunKey(1, "run")}


def test_a_run_is_read_again_by_its_part(tmp_path: Path) -> None:
    log(tmp_path / "a" / "run", 2)
    log(tmp_path / "b" / "run", 3)
    both = readers([[(0, tmp_path / "a")], [(1, tmp_path / "b")]])
    both.scan()
    first = next(b for b in both.read_all() if b.run == RunKey(1, "run"))
    again = both.read_again(first.run, {first.source.path: first.source}, [0])
    assert again is not None
    assert points(list(again)) == {RunKey(1, "run"): 3}


class BrokenReader(Reader):
    """Its thread broke, and a file that is read whole cannot be read to its end."""

    def drain(self, max_batches: int = 64) -> list[Batch]:
        raise SourceError("broken")

    def read_all(self) -> Iterator[Batch]:
        yield from super().read_all()
        raise SourceError("broken")


def with_broken(good: Path, bad: Path) -> JoinedReader:
    return JoinedReader([group_of(0, good), group_of(1, bad, BrokenReader)])


def test_batches_are_handed_over_before_the_error_of_another_part(tmp_path: Path) -> None:
    log(tmp_path / "a" / "run", 2)
    log(tmp_path / "b" / "run", 3)
    both = with_broken(tmp_path / "a", tmp_path / "b")
    found: list[Batch] = []
    both.scan()
    with running(both):
        while not found:
            assert both.wait(20)
            with suppress(SourceError):
                found += both.drain()
        with pytest.raises(SourceError, match="broken"):
            both.drain()
    assert points(found) == {RunKey(0, "run"): 2}


def test_a_part_that_fails_midway_does_not_end_the_others(tmp_path: Path) -> None:
    log(tmp_path / "a" / "run", 2)
    log(tmp_path / "b" / "run", 3)
    both = with_broken(tmp_path / "b", tmp_path / "a")
    both = JoinedReader(reversed(both._groups))
    both.scan()
    found = points(list(both.read_all()))
    assert found == {RunKey(0, "run"): 3, RunKey(1, "run"): 2}
    assert [*both.state.out_of_reach] == [tmp_path / "a"]
    assert [(n.path, n.message) for n in both.state.notes] == [(tmp_path / "a", "broken")]


def later(*logdirs: Path) -> JoinedReader:
    return JoinedReader(
        [group_of(n, path) for n, path in enumerate(logdirs)], partial=True, later=True
    )


def until(readers: JoinedReader, count: int) -> dict[RunKey, int]:
    found: list[Batch] = []
    while len(points(found)) < count:
        assert readers.wait(20)
        found += readers.drain()
    return points(found)


def test_what_threads_do_not_find_is_an_error_of_drain(tmp_path: Path) -> None:
    both = later(tmp_path / "a", tmp_path / "b")
    with running(both):
        assert both.wait(20)
        with pytest.raises(SourceError, match="a: no such file or directory"):
            both.drain()
        assert both.drain() == []


def test_what_is_missing_is_searched_again_while_others_are_read(tmp_path: Path) -> None:
    log(tmp_path / "a" / "run", 2)
    both = later(tmp_path / "a", tmp_path / "b")
    with running(both):
        assert until(both, 1) == {RunKey(0, "run"): 2}
        while both.state.searching:
            both.wait(0.01)
        missing = Note(tmp_path / "b", None, Level.WATCH, "no such file or directory")
        assert both.state.notes == both.state.unread == (missing,)
        log(tmp_path / "b" / "run", 3)
        assert until(both, 1) == {RunKey(1, "run"): 3}
        assert both.state.notes == both.state.unread == ()


class AwayReader(Reader):
    """Its host does not answer."""

    def scan(self) -> tuple[()]:
        raise UnreachableError("node7: does not answer")


def test_a_missing_path_does_not_end_the_wait_for_a_host(tmp_path: Path) -> None:
    away = group_of(0, tmp_path / "away", AwayReader)
    both = JoinedReader([away, group_of(1, tmp_path / "b")], partial=True, later=True)
    with running(both):
        while both.state.searching:
            both.wait(0.01)
        assert both.drain() == []
        assert [note.path for note in both.state.unread] == [tmp_path / "b"]
        log(tmp_path / "b" / "run", 3)
        assert until(both, 1) == {RunKey(1, "run"): 3}


class HungReader(Reader):
    """Ends when all others are told to, too."""

    others: threading.Barrier

    def stop(self) -> None:
        self.others.wait(20)


def test_hosts_that_hang_are_waited_for_at_once(tmp_path: Path) -> None:
    both, groups = threading.Barrier(2), []
    for number in range(2):
        groups.append(group_of(number, tmp_path, HungReader))
        groups[-1].reader.others = both  # type: ignore[attr-defined]
    JoinedReader(groups).stop()
    assert not both.broken


class BareReader(Reader):
    """A host without rltui, which is left while another reader of it begins."""

    def scan(self) -> None:
        raise NotInstalledError(NO_RLTUI, self._instead)

    def _instead(self) -> Reader:
        self.leave()
        self.second = SecondReader(self._logdirs)
        return self.second

    leave: Callable[[], None]
    second: SecondReader


class SecondReader(Reader):
    calls: tuple[str, ...] = ()

    def scan(self) -> None:
        self.calls += ("scan",)

    def stop(self) -> None:
        self.calls += ("stop",)


def test_a_reader_that_begins_after_the_end_is_stopped(tmp_path: Path) -> None:
    group = group_of(0, tmp_path, BareReader)
    bare = group.reader
    bare.leave = group.stop
    assert isinstance(group.scan(), UnreachableError)
    assert bare.second.calls == ("stop",)
