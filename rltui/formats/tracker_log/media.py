"""Histograms and images in the rows of W&B's logs.

The SDK flattens ``wandb.Histogram`` into ``h._type``, ``h.bins`` and ``h.values`` (older ones write
one JSON object; ``packedBins`` has min, size and count), and writes images to files: ``path`` of
``image-file``, ``filenames`` of ``images/separated``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rltui.core.batch import MediaKind
from rltui.core.media import Histogram, histogram
from rltui.formats.base import clean_tag
from rltui.formats.json_value import json_or_none
from rltui.formats.tfevents.framing import BYTES, MalformedError, fields
from rltui.formats.tracker_log.leveldb import RecordReader
from rltui.formats.tracker_log.wandb_row import cells_of, name_of

HISTORY = 2
"""Field of a record that is a row."""
_KINDS = {
    "histogram": MediaKind.HISTOGRAM,
    "image-file": MediaKind.PICTURE,
    "images/separated": MediaKind.PICTURE,
}
_TYPE = b"_type"


Parts = dict[str, Any]
"""Field of a value -> what it holds, or the JSON of that."""


def media_of_row(data: bytes, start: int, stop: int) -> dict[bytes, tuple[MediaKind, Parts]]:
    """Name -> kind and fields of each histogram or image of a ``HistoryRecord``."""
    if data.find(_TYPE, start, stop) < 0:
        return {}
    found: dict[bytes, Parts] = {}
    for head, value in cells_of(data, start, stop):
        name = name_of(head)
        if value[:1] == b"{" and _TYPE in value:
            whole = json_or_none(value)
            if isinstance(whole, dict):
                found.setdefault(b".".join(name), {}).update(whole)
        elif len(name) > 1:
            own = found.setdefault(b".".join(name[:-1]), {})
            own[name[-1].decode("utf-8", "replace")] = value

    rows = {}
    for key, parts in found.items():
        named = _value(parts.get("_type"))
        kind = _KINDS.get(named) if isinstance(named, str) else None
        if kind is not None:
            rows[key] = kind, parts
    return rows


def _value(part: Any) -> Any:
    return json_or_none(part) if isinstance(part, bytes) else part


def media_in(data: bytes, offset: int, tag: str, kind: MediaKind) -> Histogram | list[str] | None:
    """Read the media of a tag from the record at ``offset`` of a file, given at least its bytes: of
    images the paths of their files below ``files``; None when it is not that record any more, or
    broken."""
    record = RecordReader.first(data, offset)
    try:
        for number, wire, start, stop in fields(record, 0, len(record)):
            if (number, wire) == (HISTORY, BYTES):
                for name, (its_kind, parts) in media_of_row(record, start, stop).items():
                    if its_kind is kind and clean_tag(name) == tag:
                        return (_histogram if kind is MediaKind.HISTOGRAM else _files)(parts)
    except (MalformedError, ValueError, TypeError, LookupError, OverflowError):
        return None
    return None


def _histogram(parts: Parts) -> Histogram | None:
    counts = np.array(_value(parts.get("values")), np.float64)
    bins = _value(parts.get("bins"))
    packed = _value(parts.get("packedBins"))
    if bins is None and isinstance(packed, dict):
        low = float(packed["min"])
        size = float(packed["size"])
        bins = low + size * np.arange(len(counts) + 1)
    edges = np.array(bins, np.float64)
    return histogram(edges, counts) if counts.ndim == edges.ndim == 1 else None


def _files(parts: Parts) -> list[str] | None:
    names = _value(parts.get("filenames"))
    paths = names if isinstance(names, list) and names else [_value(parts.get("path"))]
    return paths if all(isinstance(p, str) for p in paths) else None
