"""A quick sample of a large log: whole steps from many places, to be thrown away.

A file of gigabytes is sampled before it is read: windows at equal distances, the last one at its
end, each decoded on its own (see :class:`rltui.formats.base.Sampler`); rows that a window cuts
are left out. The result shows the course and the newest values; no verdict may rest on it,
and it has no restarts. The full read replaces it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from rltui.core.address import is_remote
from rltui.core.block import Block, IntArray
from rltui.formats import Format, Options, Sampler

#: ``read(position, size)`` returns the bytes of a file there, fewer at its end.
Read = Callable[[int, int], bytes]

#: Bytes read to learn how long a step is.
_HEAD_BYTES = 1 << 20
#: Steps that a window should hold.
_STEPS = 3


@dataclass(frozen=True, slots=True)
class Limits:
    """What sampling one file may cost."""

    windows: int = 100
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
    """Sample a file; None when reading it whole costs no more, or when it cannot be sampled.

    Raises OSError.
    """
    if form.sampler() is None or is_remote(path):
        return None  # many small ranges of a server take as long as all of it
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
    make = form.sampler()
    if make is None:
        return None
    head = read(0, min(_HEAD_BYTES, limits.most_bytes // 4))
    sampler = make(head, options or Options())
    wide = max(limits.window_bytes, _STEPS * sampler.step_bytes)
    count = min(limits.windows, max(1, (limits.most_bytes - len(head)) // wide))
    first = head[:wide]
    blocks = _decode(sampler, first, first=True, last=False)
    taken = len(head)
    for start in _places(size, wide, count, len(first)):
        data = read(start, wide)
        taken += len(data)
        blocks += _decode(sampler, data, first=False, last=start + len(data) >= size)
    return Overview(_joined(blocks), taken, size)


def _places(size: int, wide: int, count: int, begin: int) -> list[int]:
    """Where windows begin: evenly behind ``begin``, the last one at the end; none overlap."""
    last = size - wide
    if last <= begin or count < 2:
        return [max(begin, last)]
    stride = max(wide, (last - begin) // (count - 1))
    return [*range(begin, last - wide + 1, stride), last]


def _decode(sampler: Sampler, window: bytes, *, first: bool, last: bool) -> list[Block]:
    """The rows of one window. Where rows may be cut, the first and the last step are left out,
    except where the file ends."""
    begin, end, whole = sampler.rows_in(window, first=first, last=last)
    if begin < 0:
        return []
    decoded = sampler.decoder().feed(window[begin:end])
    if decoded.steps_are_row_numbers:  # of the window, not of the file
        return []
    blocks = [i for i in decoded.items if isinstance(i, Block) and len(i.steps)]
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
