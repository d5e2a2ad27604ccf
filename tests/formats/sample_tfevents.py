"""Rows of an event file."""

import struct

from tests.formats import encode
from tests.formats.sample import TAGS, VALUES, Sample


def _row(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    return b"".join(
        encode.event(step, 1.78e9 + step, encode.simple(t.encode(), value)) for t in TAGS
    )


def _tagged(tags: tuple[str, ...]) -> bytes:
    return b"".join(encode.event(1, 1.78e9, encode.simple(t.encode(), 1.0)) for t in tags)


SAMPLES = (
    Sample(
        "tfevents",
        "events.out.tfevents.1780000000.host",
        (encode.header(), *(_row(s) for s in range(12))),
        b"\x00garbage\xff\x09\x0a" * 3,
        preamble=1,
        huge=struct.pack("<QI", 1 << 60, 12345),
        tagged=_tagged,
    ),
)
