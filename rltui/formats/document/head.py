"""Whether a JSON file is the history of a training, by its first bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rltui.formats.base import HEAD_BYTES
from rltui.formats.document.shape import histories
from rltui.formats.json_value import parsed
from rltui.formats.words import words

#: What every history has in common: a list that begins with a number or null, an object or a list,
#: or an object by step.
_LIST = re.compile(rb'\[\s*(?:-?[\d.]|NaN|null|-?Infinity|\{|\[)|"\d{1,15}"\s*:\s*\{')
#: Lists of lists and of numbers, which need no names.
_LISTS = (b"values", b"[[", b"[\n", b"[ ")
#: Enough for some rows of a list.
_LIST_BYTES = 1 << 14
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|["{}\[\],]', re.DOTALL)
_CLOSING = {b"{": b"}", b"[": b"]"}


def holds_history(head: bytes, step_keys: Sequence[str], *, is_log: bool) -> bool:
    """Whether a document that begins with ``head`` is a history; ``is_log``: so its name says."""
    text = head.removeprefix(b"\xef\xbb\xbf").strip()
    if text[:1] not in (b"{", b"[") or _LIST.search(text) is None:
        return False
    cut = len(head) >= HEAD_BYTES
    if cut and text.startswith(b"["):
        text = text[:_LIST_BYTES]
    known = text.lower()
    if not is_log and not any(hint in known for hint in (*words().hints, *_LISTS)):
        return False
    whole = closed(text) if cut else text
    if whole is None:
        return False
    try:
        document = parsed(whole)
    except ValueError:
        return False
    return any(True for _ in histories(document, step_keys, is_log=is_log, cut=cut))


def closed(text: bytes) -> bytes | None:
    """The beginning of a document as a whole one: what is cut is left out, what is open is
    closed. None when the document ends within (JSON lines), or for broken ones."""
    open_ones: list[bytes] = []
    end = 0
    closing: tuple[bytes, ...] = ()
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in _CLOSING:
            open_ones.append(token)
            end, closing = found.end(), tuple(open_ones)
        elif token in (b"}", b"]"):
            if not open_ones or _CLOSING[open_ones.pop()] != token or not open_ones:
                return None
            end, closing = found.end(), tuple(open_ones)
        elif token == b",":
            end, closing = found.start(), tuple(open_ones)
        elif token == b'"':
            break  # a text that is cut
    return text[:end] + b"".join(_CLOSING[b] for b in reversed(closing))
