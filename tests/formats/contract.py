"""What every decoder must keep, as checks that raise AssertionError: bounded memory, and no
point that changes."""

import gc
import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rltui.core.block import Block
from rltui.formats.base import Decoded, Decoder
from tests.formats.sample import Sample

#: Bytes of one unfinished record that a decoder may hold.
MOST_HELD = 1 << 24
#: Bytes that it may hold besides.
SLACK = 1 << 20
#: Bytes by which its state may grow while it skips 1,280 different broken lines.
GROWTH = 1 << 16
_PIECE = 1 << 21
_GARBAGE_PIECE = 1 << 13

Make = Callable[[], Decoder]


def check_endless_record(make: Make, sample: Sample, fill: bytes) -> None:
    """A record that never ends is given up before it fills the memory."""
    decoder = make()
    begin = b"".join(sample.rows[: sample.preamble + 1])
    decoder.feed(begin + sample.rows[-1][: len(sample.rows[-1]) // 2])
    with _traced() as held:
        for _ in range(MOST_HELD // _PIECE + 4):
            decoder.feed(fill * (_PIECE // len(fill)))
        assert held() <= MOST_HELD + SLACK


def check_endless_garbage(make: Make, sample: Sample) -> None:
    """Garbage leaves no trace: neither noise nor broken lines, each different from the others."""
    rng = random.Random(7)
    decoder = make()
    decoder.feed(b"".join(sample.rows[: sample.preamble + 1]))

    def feed(count: int) -> None:
        for _ in range(count):
            noise = rng.randbytes(_GARBAGE_PIECE)
            lines = [b"{%d %s" % (rng.getrandbits(64), sample.garbage) for _ in range(64)]
            decoder.feed(noise + b"\n".join(lines) + b"\n", more=True)

    with _traced() as held:
        feed(4)  # fills what is bounded: the tail of a console, the first notes
        before = held()
        feed(20)
        assert held() - before <= GROWTH


def check_points_stay(make: Make, sample: Sample) -> None:
    """What was returned does not change when the decoder reads on."""
    decoder, parts, before = make(), [], []
    for row in sample.rows:
        parts.append(decoder.feed(row))
        before.append(_copied(parts[-1]))
    assert [_copied(part) for part in parts] == before


def _copied(decoded: Decoded) -> object:
    blocks = [i for i in decoded.items if isinstance(i, Block)]
    arrays = [a.tobytes() for b in blocks for a in (b.steps, b.wall_times, b.values)]
    return arrays, dict(decoded.hparams), decoded.texts, decoded.notes


@contextmanager
def _traced() -> Iterator[Callable[[], int]]:
    """Gives the bytes allocated and not freed since."""
    tracemalloc.start()
    try:
        yield lambda: (gc.collect(), tracemalloc.get_traced_memory()[0])[1]
    finally:
        tracemalloc.stop()
