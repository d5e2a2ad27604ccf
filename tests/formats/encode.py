"""A small writer of event files, and a slow reader to compare with (TensorBoard's protobuf)."""

import math
import struct
from collections.abc import Iterable

import numpy as np
from tensorboard.util import tensor_util

from rltui.core.batch import Restart
from rltui.core.block import Block
from rltui.formats.base import Decoded, Decoder, clean_tag
from rltui.formats.tfevents.framing import crc32c, masked
from tests.event_files import events

#: tag -> [(step, wall time (-1: none), bytes of the value as a double)]: comparable also with NaN.
Points = dict[str, list[tuple[int, float, bytes]]]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def frame(payload: bytes) -> bytes:
    """A TFRecord."""
    head = struct.pack("<Q", len(payload))
    check = struct.pack("<I", masked(crc32c(payload)))
    return head + struct.pack("<I", masked(crc32c(head))) + payload + check


def event(step: int, wall: float, *values: bytes) -> bytes:
    """A framed event with a summary of these values; step 0 is left out, as writers do."""
    coded = b"\x10" + varint(step) if step else b""
    summary = field(5, b"".join(field(1, v) for v in values))
    return frame(b"\x09" + struct.pack("<d", wall) + coded + summary)


def header(wall: float = 1.78e9) -> bytes:
    return frame(b"\x09" + struct.pack("<d", wall) + field(3, b"brain.Event:2"))


def session_start(step: int, wall: float = 1.78e9) -> bytes:
    coded = b"\x10" + varint(step) if step else b""
    return frame(b"\x09" + struct.pack("<d", wall) + coded + field(7, b"\x08\x01"))


def plugin(name: bytes = b"scalars", content: bytes = b"") -> bytes:
    data = field(1, name) + (field(2, content) if content else b"")
    return field(9, field(1, data))


def simple(tag: bytes, value: float) -> bytes:
    number = b"\1\0\xa0\x7f" if math.isnan(value) else struct.pack("<f", value)  # it signals
    return field(1, tag) + b"\x15" + number


def float_tensor(tag: bytes, value: float, *, named: bool = True) -> bytes:
    """As torch writes with ``new_style=True``."""
    tensor = b"\x08\x01" + field(5, struct.pack("<f", value))
    return field(1, tag) + field(8, tensor) + (plugin() if named else b"")


def content_tensor(tag: bytes, value: float, *, named: bool = True) -> bytes:
    """As TF2 writes: shape, and the float in ``tensor_content``."""
    tensor = b"\x08\x01" + field(2, b"") + field(4, struct.pack("<f", value))
    return field(1, tag) + field(8, tensor) + (plugin() if named else b"")


def double_tensor(tag: bytes, value: float, *, named: bool = True) -> bytes:
    tensor = b"\x08\x02" + field(6, struct.pack("<d", value))
    return field(1, tag) + field(8, tensor) + (plugin() if named else b"")


def half_tensor(tag: bytes, value: float, *, named: bool = True) -> bytes:
    bits = int(np.float16(value).view(np.uint16))
    tensor = b"\x08\x13" + field(13, varint(bits))
    return field(1, tag) + field(8, tensor) + (plugin() if named else b"")


def int_tensor(tag: bytes, value: float, *, named: bool = True) -> bytes:
    tensor = b"\x08\x09" + field(10, varint(int(value)))
    return field(1, tag) + field(8, tensor) + (plugin() if named else b"")


def text(tag: bytes, content: bytes) -> bytes:
    tensor = b"\x08\x07" + field(2, field(2, b"\x08\x01")) + field(8, content)
    return field(1, tag) + field(8, tensor) + plugin(b"text")


def histogram(tag: bytes) -> bytes:
    return field(1, tag) + field(5, b"\x09" + bytes(8) + field(6, bytes(64)) + field(7, bytes(64)))


def points_of(parts: Iterable[Decoded]) -> Points:
    """All points in the order in which they were handed over."""
    points: Points = {}
    for decoded in parts:
        if decoded.replaces:
            points.clear()
        for item in decoded.items:
            if isinstance(item, Block):
                _add(points, item)
    return points


def _add(points: Points, block: Block) -> None:
    absent = block.absent if block.absent is not None else np.zeros(block.values.shape, bool)
    for column, tag in enumerate(block.tags):
        kept = points.setdefault(tag, [])
        for row in range(len(block.steps)):
            if not absent[row, column]:
                value = struct.pack("<d", block.values[row, column].astype(np.float64))
                wall = float(block.wall_times[row])
                kept.append((int(block.steps[row]), -1.0 if math.isnan(wall) else wall, value))


def values_of(parts: Iterable[Decoded]) -> dict[str, list[tuple[int, float]]]:
    """tag -> [(step, value)]."""
    found = points_of(parts)
    return {t: [(s, struct.unpack("<d", v)[0]) for s, _, v in p] for t, p in found.items()}


def restarts_of(parts: Iterable[Decoded]) -> list[int]:
    return [i.step for d in parts for i in d.items if isinstance(i, Restart)]


def feed_all(
    decoder: Decoder, data: bytes, *, piece: int | None = None, more: bool = True
) -> list[Decoded]:
    """Feed everything, whole or in pieces; ``more``: all but the last call promise more."""
    size = piece or max(1, len(data))
    starts = range(0, len(data), size)
    return [decoder.feed(data[i : i + size], more=more and i + size < len(data)) for i in starts]


def reference(data: bytes) -> Points:
    """What TensorBoard's protobuf finds, with the wall time of the first record of a moment."""
    points: Points = {}
    plugins: dict[str, str] = {}
    moment: tuple[int, int] | None = None
    for found in events(data):
        for value in found.summary.value:
            name = value.metadata.plugin_data.plugin_name
            if name:
                plugins.setdefault(value.tag, name)
            kind = value.WhichOneof("value")
            if kind == "simple_value":
                number = float(value.simple_value)
            elif kind == "tensor" and (name or plugins.get(value.tag, "scalars")) == "scalars":
                array = tensor_util.make_ndarray(value.tensor)
                if array.size != 1 or array.dtype.kind not in "fiub":
                    continue
                number = float(array.reshape(()))
            else:
                continue
            bits = struct.unpack("<q", struct.pack("<d", found.wall_time))[0]
            if moment is None or moment[0] != found.step or abs(bits - moment[1]) >= 1 << 22:
                moment = (found.step, bits)
            wall = struct.unpack("<d", struct.pack("<q", moment[1]))[0]
            point = (found.step, wall, struct.pack("<d", number))
            points.setdefault(clean_tag(value.tag.encode()), []).append(point)
    return points
