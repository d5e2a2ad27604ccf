"""Rows of scalar records, as SwanLab writes them: one record for each value."""

import struct

from rltui.formats.tracker_log.tracker_decoder import SWANLAB_FRAMING
from tests.formats.encode_tracker import LogWriter, scalar, swanlab_log
from tests.formats.sample import TAGS, VALUES, Sample

_WALL = 1.75e9


def _rows() -> tuple[bytes, ...]:
    writer = LogWriter(SWANLAB_FRAMING)
    rows = []
    for step in range(12):
        value = VALUES[step % len(VALUES)]
        records = (scalar(tag, step, value, _WALL + step) for tag in TAGS)
        rows.append(b"".join(writer.record(r) for r in records))
    return (writer.header, *rows)


def _tagged(tags: tuple[str, ...]) -> bytes:
    return swanlab_log(*(scalar(tag, 1, 1.0) for tag in tags))


SAMPLES = (
    Sample(
        "swanlab",
        "run-abc123.swanlab",
        _rows(),
        struct.pack("<IHB", 0xDEADBEEF, 10, 1) + b"\x12gar\x0ab{age",
        preamble=1,
        huge=struct.pack("<IHB", 0, 0xFFFF, 1),
        tagged=_tagged,
    ),
)
