"""Reading a run again after its points were dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import Batch, SourceInfo
from rltui.formats.base import Decoded, Options
from rltui.sources import Reader
from rltui.sources.follow.file_feed import FileFeed, read_again, rereadable
from tests.builders import discover
from tests.formats import encode


def rows(begin: int, end: int) -> bytes:
    return b"".join(
        encode.event(s, 1.78e9 + s, encode.simple(t, s))
        for s in range(begin, end)
        for t in (b"a", b"b", b"c", b"d")
    )


def points(batches: list[Batch]) -> encode.Points:
    return encode.points_of(Decoded(b.items) for b in batches)


def sources_of(batches: list[Batch]) -> dict[Path, SourceInfo]:
    return {b.source.path: b.source for b in batches}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    for number in (1, 2):
        data = encode.header() + rows(100 * number, 100 * number + 100)
        (tmp_path / "one" / f"events.out.tfevents.{number}.x").write_bytes(data)
    lines = [json.dumps({"step": s, "data": {"x": s / 3}}) for s in range(100)]
    (tmp_path / "two.jsonl").write_text("\n".join(lines))
    return tmp_path


@given(st.data())
def test_what_follows_continues_where_the_second_reading_ends(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Cut anywhere, records and lines torn: read, read again, then go on with the first feed."""
    events = encode.header() + rows(100, 130)
    lines = "\n".join(json.dumps({"step": s, "x": s / 3, "y": s}) for s in range(60)).encode()
    content, name = data.draw(
        st.sampled_from([(events, "events.out.tfevents.1.x"), (lines, "x.jsonl")])
    )
    cut = data.draw(st.integers(40, len(content)))
    budget = data.draw(st.sampled_from([64, 1000, 1 << 20]))
    root = tmp_path_factory.mktemp("log")
    path = root / name
    path.write_bytes(content)
    run = discover([root]).runs[0]
    path.write_bytes(content[:cut])
    feed = FileFeed(run, run.files[0], Options())
    before = read_on(feed)
    path.write_bytes(content)
    again = list(read_again(run, sources_of(before), budget_bytes=budget))
    assert points(again) == points(before)
    whole = FileFeed(run, run.files[0], Options())
    assert points(again + read_on(feed)) == points(read_on(whole))


def read_on(feed: FileFeed) -> list[Batch]:
    found = []
    while (batch := feed.read(1 << 20)) is not None:
        found.append(batch)
    return found


def test_trouble_is_reported(logdir: Path) -> None:
    run = discover([logdir]).runs[0]
    batches = [b for b in Reader([logdir]).read_all() if b.run == run.key]
    sources = sources_of(batches)
    assert rereadable(sources.values(), [0, 0])
    assert not rereadable(sources.values(), [0, 1])
    first, second = (f.path for f in run.files if f.kind == "tfevents")
    first.unlink()
    second.write_bytes(second.read_bytes()[:500])
    assert not rereadable(sources.values(), [0, 0])
    again = list(read_again(run, sources))
    notes = [n for b in again for n in b.notes]
    assert [n.path for n in notes] == [first, second]
    assert all(n.message.startswith("cannot be read again: ") for n in notes)


def test_a_reader_says_beforehand_whether_a_run_can_be_read_again(logdir: Path) -> None:
    reader = Reader([logdir])
    batches = [b for b in reader.read_all() if b.source.path.name == "two.jsonl"]
    key, sources = batches[0].run, sources_of(batches)
    assert reader.rereadable(key, sources, [0])
    assert not reader.rereadable(key, sources, [1])
    assert not reader.rereadable(key, {}, []), "a run all of whose files were given to others"
    (logdir / "two.jsonl").write_text("")
    assert not reader.rereadable(key, sources, [0])
