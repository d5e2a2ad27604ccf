"""JSON as trainers write it: NaN and Infinity tokens, integers of any size."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

#: Shorter documents and lines are parsed whatever is in them.
SHORT = 1 << 20
#: Bytes that a parsed document may take, beside those per byte of it: real ones of 20 MB are read.
_BASE_BYTES, _BYTES_PER_BYTE = 256 << 20, 6
#: Bytes of an element, a name, a list and an object, at most: the parser's own tree and the
#: values. Names that many objects share are kept once, those of one huge object are not.
_ELEMENT_BYTES, _NAME_BYTES, _LIST_BYTES, _OBJECT_BYTES = 52, 46, 72, 200
_FEW_NAMES, _OWN_NAME_BYTES = 2048, 250


def fits_memory(data: bytes | memoryview) -> bool:
    """Whether parsing is sure to take little memory for the size of the data: a document of
    nothing but ``[],[],`` takes thirty times its size."""
    if len(data) <= SHORT:
        return True
    data = bytes(data)
    names, objects = data.count(b":"), data.count(b"{")
    size = data.count(b",") * _ELEMENT_BYTES + data.count(b"[") * _LIST_BYTES
    size += names * (_OWN_NAME_BYTES if names > _FEW_NAMES * objects else _NAME_BYTES)
    size += objects * _OBJECT_BYTES
    return size <= _BASE_BYTES + len(data) * _BYTES_PER_BYTE


def parsed(data: bytes) -> Any:
    """The value of a document; NaN and Infinity are accepted. Raises ValueError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data.decode("utf-8-sig", "replace"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def float_of(value: float) -> float:
    """A number, also an integer of any size, as a float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
