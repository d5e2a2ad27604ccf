"""Samples of large files: real points, whole rows, bounded reading."""

import json
import os
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

from rltui.core.block import Block
from rltui.formats import FORMATS
from rltui.formats.base import Decoded, Options
from rltui.sources.follow import file_feed
from rltui.sources.follow.file_feed import overview
from tests.formats import encode

EVENTS, LINES = (next(f for f in FORMATS if f.name == n) for n in ("tfevents", "jsonl"))
SAMPLED = EVENTS, LINES
SMALL = 80_000, 12, 4096


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch, *SMALL)


def bounded(monkeypatch: pytest.MonkeyPatch, most: int, windows: int, window: int) -> None:
    """Sample files of this many bytes, by so many windows of so many bytes."""
    for name, value in (("MOST_BYTES", most), ("WINDOWS", windows), ("WINDOW_BYTES", window)):
        monkeypatch.setattr(file_feed, f"_{name}", value)


def events(steps: int, tags: int = 20, *, shuffled: bool = False) -> bytes:
    rng = random.Random(3)
    rows = [encode.header()]
    for step in range(steps):
        names = [b"a/loss_%d" % t for t in range(tags)]
        if shuffled:
            rng.shuffle(names)
        rows += [encode.event(step, 1.78e9 + step, encode.simple(n, rng.random())) for n in names]
    return b"".join(rows)


def lines(steps: int) -> bytes:
    row = {f"k{i}": i / 7 for i in range(30)}
    return b"".join(json.dumps({"step": s, "data": row}).encode() + b"\n" for s in range(steps))


def look(data: bytes, form: int = 0, most: int = SMALL[0]) -> tuple[Block, ...]:
    read: list[int] = []
    pread = os.pread

    def counted(descriptor: int, length: int, at: int) -> bytes:
        read.append(length)
        return pread(descriptor, length, at)

    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        file.write(data)
        file.flush()
        patch.setattr(os, "pread", counted)
        found = overview(Path(file.name), SAMPLED[form], Options())
    assert found[1] == len(data)
    assert sum(read) <= most
    return found[0]


def points(blocks: tuple[Block, ...]) -> set[tuple[str, int, float, bytes]]:
    found = encode.points_of([Decoded(blocks)])
    flat = [(tag, *point) for tag, many in found.items() for point in many]
    assert len(flat) == len(set(flat))
    return set(flat)


def full(data: bytes, form: int = 0) -> set[tuple[str, int, float, bytes]]:
    items = SAMPLED[form].decoder().feed(data).items
    return points(tuple(i for i in items if isinstance(i, Block)))


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("tail", [0, 7, 500])
def test_event_samples_are_whole_rows_of_real_points(shuffled: bool, tail: int) -> None:
    data = events(800, shuffled=shuffled)
    data = data[: len(data) - tail]
    found = look(data)
    got = points(found)
    assert got < full(data)
    assert max(p[1] for p in got) == max(p[1] for p in full(data))
    steps = {p[1] for p in got}
    assert len(steps) > 15
    assert max(np.diff(sorted(steps))) < 200
    newest = max(steps)
    if not shuffled:
        assert all(sum(p[1] == step for p in got) == 20 for step in steps - {newest})
        assert tail or len(found) == 1  # whole steps are read, and stored, at once


def test_lines() -> None:
    data = lines(3000)
    found = look(data, 1)
    got = points(found)
    assert got < full(data, 1)
    assert {0, 2999} < {p[1] for p in got}
    assert len(found) == 1


def test_small_files_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(events(3))
    assert overview(path, EVENTS, Options()) is None
    with pytest.raises(OSError, match="No such file"):
        overview(tmp_path / "gone", EVENTS, Options())
