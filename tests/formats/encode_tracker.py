"""Small writers of wandb's and SwanLab's transaction logs, as their SDKs write them."""

import json
import math
import struct
from collections.abc import Iterable, Mapping
from zlib import crc32

from rltui.formats.tracker_log.leveldb import BLOCK_BYTES, FILE_HEADER, Framing
from rltui.formats.tracker_log.tracker_decoder import SWANLAB_FRAMING, WANDB_FRAMING
from tests.formats.encode import field, varint

Value = float | str | bool | None | dict[str, object] | list[float]


def chunk(kind: int, payload: bytes) -> bytes:
    crc = crc32(bytes([kind]) + payload)
    return struct.pack("<IHB", crc, len(payload), kind) + payload


class LogWriter:
    """Frames records one after the other; knows its place in the block."""

    def __init__(self, framing: Framing) -> None:
        self.header = FILE_HEADER.pack(*framing)
        self.size = len(self.header)

    def record(self, payload: bytes) -> bytes:
        """The bytes that are appended for one record, padding included."""
        out, kind = b"", 2
        while True:
            left = BLOCK_BYTES - (self.size + len(out)) % BLOCK_BYTES
            if left < 7:
                out += bytes(left)
                continue
            room = left - 7
            if len(payload) <= room:
                out += chunk(1 if kind == 2 else 4, payload)
                self.size += len(out)
                return out
            out += chunk(kind, payload[:room])
            payload, kind = payload[room:], 3


def log(framing: Framing, records: Iterable[bytes]) -> bytes:
    """A whole file."""
    writer = LogWriter(framing)
    return writer.header + b"".join([writer.record(r) for r in records])


def wandb_log(*records: bytes) -> bytes:
    return log(WANDB_FRAMING, records)


def swanlab_log(*records: bytes) -> bytes:
    return log(SWANLAB_FRAMING, records)


def number(num: int, value: int) -> bytes:
    """A varint field."""
    return varint(num << 3) + varint(value)


def stamp(wall: float) -> bytes:
    """A ``Timestamp``."""
    whole = math.floor(wall)
    return number(1, whole) + number(2, round((wall - whole) * 1e9))


def item(key: str | tuple[str, ...], value: Value, *, old: bool = False) -> bytes:
    """``HistoryItem`` and its kin: newer SDKs put flat keys into ``nested_key``, too."""
    parts = (key,) if isinstance(key, str) else key
    head = b"".join(field(1 if old else 2, p.encode()) for p in parts)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return head + field(16, text.encode())


Row = Mapping[str | tuple[str, ...], Value]


def row(values: Row, step: int | None = 0, *, old: bool = False, num: int = 1) -> bytes:
    """A history record; ``_step`` is an item only if it is among the values."""
    coded = b"" if step is None else field(2, number(1, step) if step else b"")
    items = b"".join(field(1, item(k, v, old=old)) for k, v in values.items())
    return number(1, num) + field(2, items + coded)


def full_row(step: int, wall: float, values: Row, *, old: bool = False) -> bytes:
    """As the SDK writes it, with the items of its own."""
    own: dict[str | tuple[str, ...], Value] = {"_step": step, "_timestamp": wall, "_runtime": 1.5}
    return row({**values, **own}, step, old=old)


def summary(values: Row) -> bytes:
    return number(1, 1) + field(3, b"".join(field(1, item(k, v)) for k, v in values.items()))


def config(values: Row) -> bytes:
    return field(5, b"".join(field(1, item(k, v, old=True)) for k, v in values.items()))


def run(name: str = "", start: float = 0.0, starting_step: int = 0) -> bytes:
    content = field(8, name.encode()) + number(14, starting_step) + field(17, stamp(start))
    return field(17, content)


def stats(wall: float, values: Mapping[str, float]) -> bytes:
    items = (field(3, item(k, v, old=True)) for k, v in values.items())
    return field(7, field(2, stamp(wall)) + b"".join(items))


def define(name: str, step_metric: str) -> bytes:
    """``define_metric``; a name with a star is a glob."""
    return field(12, field(2 if "*" in name else 1, name.encode()) + field(4, step_metric.encode()))


def output(text: str, stream: int = 1) -> bytes:
    return field(13, number(1, stream) + field(2, stamp(1.5)) + field(3, text.encode()))


def ended(code: int) -> bytes:
    return number(1, 9) + field(18, number(1, code) if code else b"")


def scalar(
    key: str, step: int, value: float, wall: float = 1.75e9, *, num: int = 1, kind: int = 1
) -> bytes:
    """A scalar record of SwanLab; zeros are left out, as proto3 does."""
    coded = number(2, step) if step else b""
    same = struct.pack("<d", value) == bytes(8)
    content = b"" if same else b"\x09" + struct.pack("<d", value)
    inner = field(1, key.encode()) + coded + number(3, kind) + field(4, stamp(wall))
    return swanlab_record(13, inner + field(5, content), num=num)


def swanlab_record(number_of_kind: int, content: bytes, *, num: int = 1) -> bytes:
    return number(1, num) + field(2, stamp(1.75e9)) + field(number_of_kind, content)
