"""A quick sample of a large log: whole steps from many places, to be thrown away.

A file of gigabytes is sampled before it is read: windows at equal distances, the last one at its
end, each decoded on its own. In an event file a window begins at a record header, which is
known by the checksum of its length, in a text log behind a newline; rows that a window cuts
are left out. The result shows the course and the newest values; no verdict may rest on it,
and it says nothing about restarts. The full read replaces it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from rltui.core.block import Block, IntArray
from rltui.formats import Format, Options
from rltui.formats.tfevents import TfEvents
from rltui.formats.tfevents.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    next_header,
    valid_header,
)
from rltui.formats.tfevents.scalar_span import spot_at

#: ``read(position, size)`` returns the bytes of a file there, fewer at its end.
Read = Callable[[int, int], bytes]

#: Records and bytes that are examined to learn how long a step is.
_HEAD_RECORDS = 6000
_HEAD_BYTES = 1 << 20
#: Bytes before a tag in which the header of its record is searched.
_BEFORE_TAG = 64
#: Places with the bytes of that tag that are examined: other tags may begin with it.
_LEADERS = 64
#: Steps that a window should hold.
_STEPS = 3
#: Formats whose records can be found anywhere in a file and mean the same there.
_SAMPLED = ("tfevents", "jsonl")


@dataclass(frozen=True, slots=True)
class Limits:
    """What sampling one file may cost."""

    windows: int = 200
    window_bytes: int = 1 << 16
    """Bytes of a window; more where a step is longer than that."""
    most_bytes: int = 16 << 20
    """Bytes that are read in total; fewer windows where they are longer."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The sample of one file."""

    blocks: tuple[Block, ...] = ()
    """Whole rows in the order of the file; rows of equal tags that follow each other joined."""
    bytes_read: int = 0
    size: int = 0
    """Bytes of the file."""


def overview(
    path: Path, form: Format, options: Options | None = None, limits: Limits | None = None
) -> Overview | None:
    """Sample a file; None when reading all of it costs no more, or when a piece of it means
    nothing by itself. Raises OSError."""
    if form.name not in _SAMPLED:
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = os.fstat(descriptor).st_size
        if hasattr(os, "posix_fadvise"):
            # reading ahead would read the whole file
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        return sample(lambda pos, n: os.pread(descriptor, n, pos), size, form, options, limits)
    finally:
        os.close(descriptor)


def sample(
    read: Read,
    size: int,
    form: Format,
    options: Options | None = None,
    limits: Limits | None = None,
) -> Overview | None:
    """Sample ``size`` bytes that ``read`` returns; None when all of them may be read."""
    limits = limits or Limits()
    if size <= limits.most_bytes:
        return None
    events = form.name == "tfevents"
    # templates of pieces of rows must not get among those of the reader
    form = TfEvents() if events else form
    head = read(0, min(_HEAD_BYTES, limits.most_bytes // 4))
    step_bytes, leader = _shape_of(head) if events else (head.find(b"\n") + 1, b"")
    wide = max(limits.window_bytes, _STEPS * step_bytes)
    count = min(limits.windows, max(1, (limits.most_bytes - len(head)) // wide))
    first, cut = head[:wide], False
    if events:
        end = _led(first, leader, range(len(first), HEADER_BYTES, -1))
        first, cut = (first[:end], False) if end > 0 else (first, True)
    blocks = _decode(form, options, first, not cut, False)
    taken = len(head)
    for start in _places(size, wide, count, len(head[:wide])):
        data = read(start, wide)
        taken += len(data)
        last = start + len(data) >= size
        if events:
            begin, end, whole = _rows_within(data, leader, last)
        else:
            begin, end, whole = data.find(b"\n") + 1 or -1, len(data), True
        if begin >= 0:
            blocks += _decode(form, options, data[begin:end], whole, last)
    return Overview(_joined(blocks), taken, size)


def _places(size: int, wide: int, count: int, begin: int) -> list[int]:
    """Where windows begin: evenly behind ``begin``, the last one at the end; none overlap."""
    last = size - wide
    if last <= begin or count < 2:
        return [max(begin, last)]
    stride = max(wide, (last - begin) // (count - 1))
    return [*range(begin, last - wide + 1, stride), last]


def _shape_of(head: bytes) -> tuple[int, bytes]:
    """Bytes of one step of an event file, and the tag field with which its rows begin.

    (0, b"") when the beginning of the file does not show it.
    """
    pos, seen, began, leader = 0, 0, 0, b""
    step: int | None = None
    while pos + HEADER_BYTES <= len(head) and seen < _HEAD_RECORDS:
        length = valid_header(head, pos)
        if length < 0 or pos + length + FRAME_BYTES > len(head):
            break
        spot = spot_at(head, pos, length, {})
        if spot is not None:
            seen += 1
            if step is not None and spot.step != step:
                if leader:
                    return pos - began, leader
                began, leader = pos, _tag_field(spot.tag)
            step = spot.step
        pos += length + FRAME_BYTES
    # a step that does not end within the head: as long as what was seen of it
    return (pos if step is not None else 0), leader


def _tag_field(tag: bytes) -> bytes:
    size, out = len(tag), bytearray(b"\x0a")
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    out.append(size)
    return bytes(out) + tag


def _rows_within(data: bytes, leader: bytes, last: bool) -> tuple[int, int, bool]:
    """(begin, end) of the rows in a window of an event file, and whether none is cut.

    Best from the first to the last record with the tag that begins a row (or to the end of the
    file); else from any record on. ``begin`` is -1 when there is no record.
    """
    begin = _led(data, leader, range(HEADER_BYTES, len(data)))
    if begin < 0:
        return next_header(data, 1), len(data), False
    if last:
        return begin, len(data), True
    end = _led(data, leader, range(len(data), begin, -1))
    return (begin, end, True) if end > begin else (begin, len(data), False)


def _led(data: bytes, leader: bytes, span: range) -> int:
    """Position of the first record with the tag field ``leader``, searched along ``span``."""
    if not leader or not span:
        return -1
    low, high = min(span[0], span[-1]), max(span[0], span[-1])
    for _ in range(_LEADERS):
        place = data.find(leader, low, high) if span.step > 0 else data.rfind(leader, low, high)
        if place < 0:
            return -1
        for pos in range(place - HEADER_BYTES, max(-1, place - _BEFORE_TAG), -1):
            length = valid_header(data, pos)
            if place - pos < length and pos + length + FRAME_BYTES <= len(data):
                spot = spot_at(data, pos, length, {})
                if spot is not None and _tag_field(spot.tag) == leader:
                    return pos
        if span.step > 0:
            low = place + 1
        else:
            high = place + len(leader) - 1
    return -1


def _decode(
    form: Format, options: Options | None, data: bytes, whole: bool, last: bool
) -> list[Block]:
    """The rows of one window; unless ``whole``, without the first step, and without the last
    one unless ``last`` says that the file ends there."""
    items = form.decoder(options).feed(data).items
    blocks = [i for i in items if isinstance(i, Block) and len(i.steps)]
    if not blocks or whole:
        return blocks
    low = min(int(b.steps.min()) for b in blocks)
    high = max(int(b.steps.max()) for b in blocks)
    kept = []
    for block in blocks:
        rows = block.steps != low
        if not last:
            rows &= block.steps != high
        if rows.all():
            kept.append(block)
        elif rows.any():
            kept.append(_rows_of(block, rows.nonzero()[0]))
    return kept


def _rows_of(block: Block, rows: IntArray) -> Block:
    absent = None if block.absent is None else block.absent[rows]
    return Block(block.tags, block.steps[rows], block.wall_times[rows], block.values[rows], absent)


def _joined(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Blocks of equal tags that follow each other as one."""

    def kind(block: Block) -> object:
        return block.tags, block.values.dtype, block.absent is None

    out = []
    for _, group in groupby(blocks, kind):
        same = list(group)
        absents = [b.absent for b in same if b.absent is not None]
        out.append(
            Block(
                same[0].tags,
                np.concatenate([b.steps for b in same]),
                np.concatenate([b.wall_times for b in same]),
                np.concatenate([b.values for b in same]),
                np.concatenate(absents) if absents else None,
            )
        )
    return tuple(out)
