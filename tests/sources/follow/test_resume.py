"""A reader goes on where one in another process ended."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rltui.core.batch import Batch, RunKey
from rltui.formats.base import Decoded, Options
from rltui.sources.follow.feed import Feed
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.resume import HandedOver
from rltui.store import Store
from tests.builders import discover
from tests.formats import encode


def rows(first: int, count: int, tag: str = "loss") -> str:
    return "".join(f'{{"step": {n}, "{tag}": {n}.5}}\n' for n in range(first, first + count))


def write(path: Path, text: str, *, end: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if end else "w") as out:
        out.write(text)


class Watch:
    """What several readers, one after the other, have brought."""

    def __init__(self, *logdirs: Path) -> None:
        self.store = Store()
        self._logdirs = logdirs
        self._known = HandedOver()

    def read(self, budget: int = 1 << 20) -> list[Batch]:
        """Read by a new reader."""
        known = HandedOver(list(self._known))
        reader = Reader(self._logdirs, budget_bytes=budget, handed_over=known)
        reader.scan()
        found = [*known.vanished(), *reader.read_all()]
        for batch in found:
            self._known.note(batch)
            self.store.apply(batch)
        return found

    def steps(self, name: str, tag: str = "loss") -> list[int]:
        return [int(x) for x in self.store.runs[RunKey(0, name)].series(tag).steps]


def points(batches: Sequence[Batch]) -> int:
    return sum(block.points for batch in batches for block in batch.blocks)


@pytest.mark.parametrize("budget", [7, 100, 1 << 20])
def test_only_what_was_appended_comes_again(tmp_path: Path, budget: int) -> None:
    log, watch = tmp_path / "a.jsonl", Watch(tmp_path)
    write(log, rows(0, 20))
    assert points(watch.read(budget)) == 20
    assert points(watch.read(budget)) == 0
    write(log, rows(20, 3) + '{"step": 23, "lo', end=True)
    assert points(watch.read(budget)) == 3
    write(log, 'ss": 1}\n', end=True)
    assert points(watch.read(budget)) == 1
    assert watch.steps("a") == list(range(24))


def test_each_time_a_file_is_written_anew_counts(tmp_path: Path) -> None:
    log, watch = tmp_path / "a.jsonl", Watch(tmp_path)
    for generation, first in enumerate((0, 100, 1000)):
        write(log, rows(first, 20))
        assert {b.generation for b in watch.read(50) if b.items} == {generation}
        assert watch.read(50)[-1].generation == generation, "nothing is new"
    write(log, rows(1020, 2), end=True)
    assert watch.read()[-1].generation == 2
    assert watch.steps("a")[-22:] == list(range(1000, 1022))
    assert watch.store.runs[RunKey(0, "a")].files.generations == (2,)


def test_a_vanished_file_is_reported_once(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    write(tmp_path / "a.jsonl", rows(0, 3))
    write(tmp_path / "b.jsonl", rows(0, 3))
    watch.read()
    (tmp_path / "a.jsonl").unlink()
    (gone,) = (b for b in watch.read() if b.gone)
    assert gone.notes
    assert not [b for b in watch.read() if b.notes]
    write(tmp_path / "a.jsonl", rows(0, 5))
    assert points(watch.read()) == 2
    assert watch.steps("a") == [0, 1, 2, 3, 4]


def events(count: int) -> bytes:
    return encode.header() + b"".join(
        encode.event(s, 1.78e9 + s, encode.simple(t, s))
        for s in range(count)
        for t in (b"a", b"b", b"c", b"d")
    )


def lines(count: int) -> bytes:
    found = (json.dumps({"step": s, "x": s / 3, "y": s}) for s in range(count))
    return "\n".join(found).encode()


LOGS = {
    "events.out.tfevents.1.x": events(40),
    "two.jsonl": lines(90),
    "progress.csv": b"step,loss,x\n" + b"".join(b"%d,%d.5,%d\n" % (i, i, 2 * i) for i in range(90)),
    "two.jsonl.gz": gzip.compress(lines(90)),
}


def stored(batches: Sequence[Batch]) -> encode.Points:
    """Points as the store has them: what a batch replaces does not count."""
    kept: list[Batch] = []
    for batch in batches:
        kept = [batch] if batch.replaced else [*kept, batch]
    return encode.points_of(Decoded(b.items) for b in kept)


def feed_of(path: Path, *batches: Batch) -> Feed:
    """What follows a file after these batches."""
    (run,) = discover([path]).runs
    return HandedOver(batches).feed(run, run.files[0], Options())


@pytest.mark.parametrize("name", LOGS)
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_readers_that_take_turns_lose_nothing(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    path, content = tmp_path / name, LOGS[name]
    budget = data.draw(st.sampled_from([50, 700, 1 << 20]))
    path.write_bytes(content)
    whole = list(Reader([path]).read_all())
    found: list[Batch] = []
    path.write_bytes(content[: len(content) // 3])
    feed = feed_of(path)
    for part in (1, 2, 3, 3):
        with path.open("r+b") as file:
            file.write(content[: len(content) * part // 3])
        feed.final = part == 3
        for _ in range(data.draw(st.integers(0, 9))):
            batch = feed.read(budget)
            found += [batch] if batch is not None else []
        if found and data.draw(st.booleans()):
            feed = feed_of(path, *found)
    feed.final = True
    while (batch := feed.read(budget)) is not None:
        found.append(batch)
    assert stored(found) == stored(whole)
    assert found[-1].source.records == whole[-1].source.records
