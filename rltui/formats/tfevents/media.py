"""Histograms, pictures and curves of an event file, read from one record.

HistogramProto min=1 max=2 bucket_limit=6 bucket=7, Image encoded_image_string=4 (tensorflow/
tensorboard:tensorboard/compat/proto/summary.proto); the plugins ``histograms`` (k, 3: left, right,
count), ``images`` (width, height, encoded images) and ``pr_curves`` (6, n) use tensors: dtype=1
content=4 float_val=5 double_val=6 string_val=8.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import error

import numpy as np

from rltui.core.batch import MediaKind
from rltui.core.block import FloatArray
from rltui.core.media import Histogram, Media, Pictures, PrecisionRecall, histogram
from rltui.formats.base import clean_tag
from rltui.formats.tfevents.event_record import Value, parse_event
from rltui.formats.tfevents.framing import (
    BYTES,
    FIXED64,
    FRAME_BYTES,
    HEADER_BYTES,
    MalformedError,
    checksum_fits,
    fields,
    integer_field,
    valid_header,
)

_IMAGE = 4
_TYPES = {1: "<f4", 2: "<f8"}


@np.errstate(invalid="ignore")
def media_in(record: bytes, tag: str, kind: MediaKind, step: int) -> Media | None:
    """Read the media of a tag from a record, frame included; None when it is not that record any
    more, or broken."""
    if len(record) < FRAME_BYTES or valid_header(record, 0) != len(record) - FRAME_BYTES:
        return None
    length = len(record) - FRAME_BYTES
    try:
        if not checksum_fits(record, 0, length):
            return None
        event = parse_event(record, HEADER_BYTES, length)
        for value in event.values:
            if value.message is None and value.tensor is None:
                continue  # a number beside it, of the same tag
            if event.step == step and clean_tag(value.tag) == tag:
                return _READ[kind](record, value)
    except (MalformedError, ValueError, IndexError, error):
        return None

    return None


def _histogram(data: bytes, value: Value) -> Histogram | None:
    if value.message is None:
        rows = _numbers(data, value).reshape(-1, 3)
        return histogram(np.concatenate((rows[:1, 0], rows[:, 1])), rows[:, 2])
    ends = {1: -np.inf, 2: np.inf}
    lists = {6: [np.empty(0)], 7: [np.empty(0)]}
    for number, wire, start, stop in fields(data, *value.message[1:]):
        if number in ends and wire == FIXED64:
            ends[number] = float(np.frombuffer(data, "<f8", 1, start)[0])
        elif number in lists and wire in (BYTES, FIXED64):
            lists[number].append(np.frombuffer(data[start:stop], "<f8"))
    limits = np.concatenate(lists[6])
    counts = np.concatenate(lists[7])
    if not len(limits):
        return None
    edges = np.concatenate((limits[:1] if np.isinf(ends[1]) else [ends[1]], limits))
    return histogram(np.minimum(np.maximum(edges, ends[1]), ends[2]), counts)


def _pictures(data: bytes, value: Value) -> Pictures | None:
    if value.message is not None:
        found = (f for f in fields(data, *value.message[1:]) if f[:2] == (_IMAGE, BYTES))
        return tuple(data[a:b] for *_, a, b in found)[:1] or None
    if value.tensor is None:
        return None
    texts = [data[a:b] for n, wire, a, b in fields(data, *value.tensor) if (n, wire) == (8, BYTES)]
    return tuple(texts[2:]) or None  # after width and height


def _curve(data: bytes, value: Value) -> PrecisionRecall | None:
    rows = _numbers(data, value).reshape(6, -1)
    return PrecisionRecall(rows[4], rows[5]) if rows.shape[1] else None


def _numbers(data: bytes, value: Value) -> FloatArray:
    """The numbers of a tensor. Raises ValueError when it holds something else."""
    if value.tensor is None:
        raise ValueError("no tensor")
    kind = integer_field(data, *value.tensor, 1)
    if kind not in _TYPES:
        raise ValueError("no real numbers")
    found = [data[a:b] for n, _, a, b in fields(data, *value.tensor) if n in (4, 5, 6)]
    return np.frombuffer(b"".join(found), _TYPES[kind]).astype(np.float64)


_READ: dict[MediaKind, Callable[[bytes, Value], Media | None]] = {
    MediaKind.HISTOGRAM: _histogram,
    MediaKind.PICTURE: _pictures,
    MediaKind.CURVE: _curve,
}
