"""Samples of large files: real points, whole rows, bounded reading."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from rltui.core.batch import RunKey
from rltui.core.block import Block
from rltui.formats import FORMATS, Decoded, Options
from rltui.formats.tfevents.framing import masked_crc
from rltui.sources.discovery.run_files import LogFile, RunFiles
from rltui.sources.follow.file_feed import FileFeed, Limits, Overview, overview, sample
from tests.formats import encode

EVENTS, LINES = (next(f for f in FORMATS if f.name == n) for n in ("tfevents", "jsonl"))
SAMPLED = EVENTS, LINES
SMALL = Limits(windows=12, window_bytes=4096, most_bytes=80_000)


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


def look(data: bytes, form: int = 0, limits: Limits = SMALL) -> Overview:
    read: list[tuple[int, int]] = []

    def reading(pos: int, size: int) -> bytes:
        read.append((pos, size))
        return data[pos : pos + size]

    found = sample(reading, len(data), SAMPLED[form], None, limits)
    assert found is not None
    assert found.size == len(data)
    assert found.bytes_read == sum(size for _, size in read) <= limits.most_bytes
    return found


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
    got = points(found.blocks)
    assert got < full(data)
    assert max(p[1] for p in got) == max(p[1] for p in full(data))
    steps = {p[1] for p in got}
    assert len(steps) > 15
    assert max(np.diff(sorted(steps))) < 200
    newest = max(steps)
    for step in steps - {newest} if not shuffled else ():
        assert sum(p[1] == step for p in got) == 20


def test_lines() -> None:
    data = lines(3000)
    found = look(data, 1)
    got = points(found.blocks)
    assert got < full(data, 1)
    assert {0, 2999} < {p[1] for p in got}
    assert len(found.blocks) == 1


def test_steps_longer_than_a_window() -> None:
    data = events(60, tags=150)
    limits = Limits(windows=50, window_bytes=1000, most_bytes=200_000)
    got = points(look(data, limits=limits).blocks)
    assert got < full(data)
    for step in {p[1] for p in got} - {59}:
        assert sum(p[1] == step for p in got) == 150


def test_holes_and_noise_do_no_harm() -> None:
    data = bytearray(events(800))
    whole = full(bytes(data))
    data[100_000:400_000] = bytes(300_000)
    data[500_000:600_000] = random.Random(1).randbytes(100_000)
    got = points(look(bytes(data)).blocks)
    assert got < whole
    noise = look(random.Random(2).randbytes(200_000))
    assert not noise.blocks
    assert not look(random.Random(2).randbytes(200_000), 1).blocks


def test_the_leading_tag_may_begin_other_tags_and_stand_in_texts() -> None:
    rows = []
    for step in range(3000):
        rows.append(encode.event(step, 1.78e9, encode.simple(b"x", step)))
        rows.append(encode.event(step, 1.78e9, encode.text(b"t", b"\n\x01x" * 9)))
        rows += [encode.event(step, 1.78e9, encode.simple(b"x%d" % i, step)) for i in range(5)]
    data = b"".join(rows)
    got = points(look(data).blocks)
    assert got < full(data)
    for step in {p[1] for p in got} - {2999}:
        assert sum(p[1] == step for p in got) == 6


def test_a_huge_length_allocates_nothing() -> None:
    head = struct.pack("<Q", 1 << 27)
    record = head + struct.pack("<I", masked_crc(head))
    data = events(50) + record + random.Random(5).randbytes(300_000)
    assert points(look(data).blocks) <= full(events(50))


def test_small_files_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(events(3))
    assert overview(path, EVENTS) is None
    with pytest.raises(OSError, match="No such file"):
        overview(tmp_path / "gone", EVENTS)


def test_series_of_a_run_keep_their_names(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(events(800, 1))
    run = RunFiles(RunKey(0, "r"), tmp_path, (LogFile(path, EVENTS, series=("a/loss_0", "s")),))
    found = FileFeed(run, run.files[0], Options()).sample(Limits(4, 512, 8000))
    assert found is not None
    assert {t for b in found.blocks for t in b.tags} == {"a/loss_0/s"}
    assert (found.run, found.more, found.sampled) == (run.key, True, True)
    path.unlink()
    assert FileFeed(run, run.files[0], Options()).sample() is None
