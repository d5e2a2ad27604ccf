"""History rows of wandb, as its SDK writes them; older SDKs wrote ``key``."""

import struct

from rltui.formats.tracker_log.tracker_decoder import WANDB_FRAMING
from tests.formats.encode_tracker import LogWriter, full_row
from tests.formats.sample import TAGS, VALUES, Sample

_WALL = 1.75e9
_BROKEN = struct.pack("<IHB", 0xDEADBEEF, 10, 1) + b"\x12gar\x0ab{age"


def _rows(*, old: bool) -> tuple[bytes, ...]:
    writer = LogWriter(WANDB_FRAMING)
    rows = []
    for step in range(12):
        value = VALUES[step % len(VALUES)]
        record = full_row(step, _WALL + step, dict.fromkeys(TAGS, value), old=old)
        rows.append(writer.record(record))
    return (writer.header, *rows)


def _tagged(tags: tuple[str, ...]) -> bytes:
    return LogWriter(WANDB_FRAMING).header + LogWriter(WANDB_FRAMING).record(
        full_row(1, _WALL, dict.fromkeys(tags, 1.0))
    )


SAMPLES = tuple(
    Sample(
        "wandb",
        "run-abc123.wandb",
        _rows(old=old),
        _BROKEN,
        preamble=1,
        huge=struct.pack("<IHB", 0, 0xFFFF, 1),
        tagged=_tagged,
        variant="old" if old else "new",
    )
    for old in (False, True)
)
