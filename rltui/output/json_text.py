"""Documents as strict JSON. Knows nothing of runs."""

from __future__ import annotations

import json
import math
import re
from enum import Enum
from operator import methodcaller
from typing import Any

import orjson

from rltui.core.level import Level
from rltui.core.text import Json, Names

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_FORM = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
#: A number of numpy as one of Python.
_plain = methodcaller("item")


def fields_of(source: object, form: type | Names, **given: object) -> Json:
    """A document with the fields of ``form``: those of ``given``, the others from the attributes of
    ``source``; levels and other enumerations as their words."""
    document: Json = {}
    for name in form if isinstance(form, tuple) else form.__annotations__:
        value = given[name] if name in given else getattr(source, name)
        if isinstance(value, Enum):
            value = value.word if isinstance(value, Level) else value.value
        document[name] = value
    return document


def dump(document: Json) -> str:
    """The document as indented strict JSON in ASCII with a final newline."""
    try:
        fast = orjson.dumps(document, _plain, _FORM)
    except TypeError:  # a surrogate of a file name, an integer of more than 64 bits
        return json.dumps(finite(document), indent=2, allow_nan=False) + "\n"

    if fast.isascii():
        return fast.decode()

    def escaped(found: re.Match[str]) -> str:
        units = found.group().encode("utf-16-be").hex()
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

    return _NOT_ASCII.sub(escaped, fast.decode())


def finite(value: Any) -> Any:
    """``value`` with every non-finite float replaced by None and numpy numbers made plain."""
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if hasattr(value, "item"):
        value = _plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
