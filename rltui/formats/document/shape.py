"""The histories in a JSON document: where its structure shows figures of a training by step."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.record import entity
from rltui.core.text import Json
from rltui.formats.base import HEAD_BYTES
from rltui.formats.json_value import WORDS, float_of, json_or_none, wall_of
from rltui.formats.jsonl.claim import is_sample
from rltui.formats.jsonl.jsonl_row import find_step, flatten, translator_of
from rltui.formats.words import are_figures, is_figure, step_names, words

#: Rows of a list that are examined at most, and rows from which a history is believed.
_EXAMINED = 200
_LEAST = 2
_DEPTH = 3
#: Numbers in a document that is nothing but one list of them.
_LEAST_NUMBERS = 8
#: Lists shorter than this, among more than twice as many settings, are settings themselves.
_SHORT = 16
#: Share of the steps that may fall.
_FALLING = 0.25
#: Names that say no more than that a history follows.
_CONTAINERS = frozenset(
    (
        *("history", "log_history", "logs", "log", "metrics", "data", "results", "rows", "steps"),
        *("records", "entries", "training_history", "train_history", "training_log", "scalars"),
        *("training_metrics", "epochs", "episodes", "values", "progress", "stats"),
    )
)
#: Settings, which may contain lists.
_SETTINGS = frozenset(
    ("config", "args", "params", "hparams", "hyperparameters", "settings", "metadata", "meta")
)
#: What a name gets for the list of its steps (PyMARL's logger for sacred, others).
_OWN_STEPS = ("_T", "_steps", "_step", "_timesteps")
_List = tuple[FloatArray, np.ndarray[Any, np.dtype[np.bool_]]]
"""Numbers, and where there is none."""
#: What every history has in common: a list that begins with a number or null, an object or a list,
#: or an object by step.
_LIST = re.compile(rb'\[\s*(?:-?[\d.]|NaN|null|-?Infinity|\{|\[)|"\d{1,15}"\s*:\s*[-\d{]')
#: Lists of lists and of numbers, which need no names.
_LISTS = (b"values", b"[[", b"[\n", b"[ ")
#: Enough for some rows of a list.
_LIST_BYTES = 1 << 14
#: Texts, brackets and commas; a quotation mark alone begins a text that is cut.
TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\],]', re.DOTALL)
_CLOSING = {b"{": b"}", b"[": b"]"}


@entity
class ParallelLists:
    """Figures with the same steps."""

    names: tuple[str, ...]
    steps: FloatArray | None
    """(n,), None where the document has none."""
    walls: FloatArray
    """(n,), NaN for none."""
    values: FloatArray
    """(n, m)"""
    absent: np.ndarray[Any, np.dtype[np.bool_]]
    """(n, m)"""


class Rows(NamedTuple):
    """Objects, one for each step."""

    rows: list[Json]
    prefix: str
    numbered: bool
    """Whether they have no step."""


def histories(
    document: Any, step_keys: Sequence[str], *, is_log: bool, cut: bool = False
) -> Iterator[ParallelLists | Rows]:
    """The histories in a document. ``is_log``: its name says that it is a log; ``cut``: these are
    only its first bytes."""
    search = _Search(tuple(step_keys) or ("step",), cut)
    if isinstance(document, list):
        triples = _triples(document)
        numbers = _numbers(document) if is_log and len(document) >= _LEAST_NUMBERS else None
        if numbers is not None:
            triples = _single("", None, numbers)
        if triples is not None:
            yield triples
            return

    yield from search.within(document, "", 0, is_log)


class _Search:
    def __init__(self, step_keys: tuple[str, ...], cut: bool) -> None:
        self._step_keys = step_keys
        self._cut = cut

    def within(
        self, value: Any, name: str, depth: int, is_log: bool
    ) -> Iterator[ParallelLists | Rows]:
        """The histories in a value; ``name`` is the prefix of its tags."""
        if isinstance(value, list):
            yield from self._rows(value, name, is_log)
        elif _is_by_step(value):
            rows = [{self._step_keys[0]: int(k), **row} for k, row in value.items()]
            yield from self._rows(rows, name, False)
        elif isinstance(value, dict) and depth <= _DEPTH:
            yield from self._lists(value, name)
            for key, inner in value.items():
                if key.lower() in _SETTINGS:
                    continue
                container = key.lower() in _CONTAINERS
                prefix = name if container else f"{name}{key}/"
                own = _sacred(inner, f"{name}{key}")
                if own is None and (is_log or container or is_figure(key)):
                    own = _by_step(inner, f"{name}{key}")
                if own is not None:
                    yield own
                elif isinstance(inner, dict) or (
                    isinstance(inner, list) and inner and isinstance(inner[0], dict)
                ):
                    yield from self.within(inner, prefix, depth + 1, is_log or container)

    def _lists(self, node: Json, prefix: str) -> Iterator[ParallelLists]:
        """Parallel lists."""
        lists = {k: found for k, v in node.items() if (found := _numbers(v)) is not None}
        if not lists:
            return
        steps, shared = self._steps_of(node, lists)
        rest = [key for key, own in steps.items() if own is None]
        if not self._is_history(node, lists, rest, len(rest) < len(steps) or bool(shared)):
            return
        groups: dict[tuple[bytes | None, int], list[str]] = {}
        for key, own in steps.items():
            axis = own or shared.get(len(lists[key][0]))
            if axis is not lists[key]:
                mark = None if axis is None else axis[0].tobytes()
                groups.setdefault((mark, len(lists[key][0])), []).append(key)

        for (mark, size), keys in groups.items():
            yield ParallelLists(
                tuple(prefix + k for k in keys),
                None if mark is None else np.frombuffer(mark),
                np.full(size, math.nan),
                np.column_stack([lists[k][0] for k in keys]),
                np.column_stack([lists[k][1] for k in keys]),
            )

    def _steps_of(
        self, node: Json, lists: dict[str, _List]
    ) -> tuple[dict[str, _List | None], dict[int, _List]]:
        """Name of each list that is not of steps -> that of its own steps, those with one first;
        and the steps of all lists of one length."""
        paired: dict[str, _List | None] = {}
        for key, end in product(lists, _OWN_STEPS):
            own = lists.get(key + end)
            if own is not None and _counts(own) and len(own[0]) == len(lists[key][0]):
                paired[key] = own

        used = {k + end for k, v in node.items() if isinstance(v, list) for end in _OWN_STEPS}
        rest = [k for k in lists if k not in paired and k not in used]
        shared: dict[int, _List] = {}
        for index in step_names(rest, self._step_keys):
            if _counts(steps := lists[rest[index]]):
                shared.setdefault(len(steps[0]), steps)
        return {**paired, **dict.fromkeys(rest)}, shared

    def _is_history(
        self, node: Json, lists: dict[str, _List], rest: list[str], stepped: bool
    ) -> bool:
        longest = max(len(values) for values, _ in lists.values())
        if longest < _LEAST:
            return False
        if stepped and (len(lists) > 1 or self._cut):
            return True
        scalars = sum(not isinstance(v, (list, dict)) for v in node.values())
        settings = longest < _SHORT and scalars > 2 * len(lists)
        return are_figures(rest) and not settings

    def _rows(self, value: list[Any], prefix: str, is_log: bool) -> Iterator[Rows]:
        """A list of rows, if they are those of a training."""
        rows = [r for r in value[:_EXAMINED] if isinstance(r, dict)]
        if len(rows) < max(_LEAST, len(value[:_EXAMINED])) or any(map(is_sample, rows)):
            return
        numbers = [name for r in rows for name, _ in flatten(r)]
        names = list(dict.fromkeys(numbers))
        given = [(k, v) for r in rows for k, v in r.items() if isinstance(v, str)]
        texts = sum(not any(flatten({k: v})) for k, v in given)
        if texts * 2 > len(numbers) or not (is_log or any(map(is_figure, names))):
            return
        known = [s for s in map(self._step, rows) if s is not None]
        numbered = len(known) * 2 <= len(rows)
        if (is_log and are_figures(names)) if numbered else _seldom_falls(known):
            yield Rows([r for r in value if isinstance(r, dict)], prefix, numbered)

    def _step(self, row: Json) -> int | None:
        translate = translator_of(row)
        step = translate(dict(row)).step if translate else find_step(row, self._step_keys)
        return None if step is None else step.step


def _seldom_falls(steps: list[int]) -> bool:
    falls = sum(b < a for a, b in pairwise(steps))
    return len(set(steps)) > 1 and falls <= _FALLING * len(steps)


def _is_by_step(node: Any) -> bool:
    """Whether a value is an object with the steps as its names, and an object for each."""
    return (
        isinstance(node, dict)
        and len(node) >= _LEAST
        and all(
            len(k) < 16 and k.isascii() and k.isdigit() and isinstance(v, dict)
            for k, v in node.items()
        )
    )


def _numbers(value: Any) -> _List | None:
    """A list of numbers, also of numpy's as jsonpickle writes them; None for anything else.

    ``null`` means that a step has no value, however many there are."""
    if not isinstance(value, list) or not value:
        return None
    if isinstance(value[0], dict) and not any(k.startswith("py/") for k in value[0]):
        return None
    if (type(value[0]) is float or type(value[0]) is int) and None not in value:
        try:
            return np.array(value, np.float64), np.zeros(len(value), bool)
        except (ValueError, TypeError, OverflowError):
            pass

    found = [_number(v) for v in value]
    absent = np.array([v is None for v in found])
    given = len(value) - value.count(None)
    if not given or (len(found) - absent.sum()) * 2 < given:
        return None
    return np.array(found, np.float64), absent  # None is NaN


def _number(value: Any) -> float | None:
    if isinstance(value, (int, float)):
        return float_of(value)
    if isinstance(value, dict) and "py/object" in value:
        return _number(value.get("value"))
    return WORDS.get(value) if isinstance(value, str) else None


def _single(
    name: str, steps: FloatArray | None, figure: _List, walls: FloatArray | None = None
) -> ParallelLists:
    """One figure with its steps and times, where there are any."""
    values, absent = figure
    times = np.full(len(values), math.nan) if walls is None else walls
    return ParallelLists((name,), steps, times, values[:, None], absent[:, None])


def _counts(steps: _List) -> bool:
    """Whether a list counts up: its whole numbers seldom fall, and are not all the same."""
    if steps[1].any() or len(steps[0]) < _LEAST:
        return False
    values = steps[0]
    if (
        not np.isfinite(values).all()
        or (values % 1 != 0).any()
        or (np.abs(values) >= 1 << 62).any()
    ):
        return False

    rise = np.diff(values)
    return bool((rise > 0).any() and np.count_nonzero(rise < 0) <= _FALLING * len(values))


def _sacred(node: Any, name: str) -> ParallelLists | None:
    """A metric of sacred's ``metrics.json``: steps, values and timestamps."""
    if not isinstance(node, dict):
        return None
    values = _numbers(node.get("values"))
    steps = _numbers(node.get("steps"))
    if values is None or steps is None or len(values[0]) != len(steps[0]):
        return None
    times = node.get("timestamps")
    walls = None
    if isinstance(times, list) and len(times) == len(values[0]):
        walls = np.array(list(map(wall_of, times)), np.float64)  # None is NaN

    return _single(name, steps[0], (values[0], values[1] | steps[1]), walls)


def _by_step(node: Any, name: str) -> ParallelLists | None:
    """A metric with its steps as names (``{"10": 38.4}``), or in pairs (``[[10, 38.4]]``)."""
    pairs = node
    if isinstance(node, dict):
        pairs = [[int(k), v] for k, v in node.items() if k.isascii() and k.isdecimal()]
    if not isinstance(pairs, list) or len(pairs) < max(_LEAST, len(node)):
        return None
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return None
    steps, values = (_numbers(list(column)) for column in zip(*pairs, strict=True))
    if steps is None or values is None or not _counts(steps):
        return None
    return _single(name, steps[0], values)


def _triples(document: list[Any]) -> ParallelLists | None:
    """TensorBoard's download of one tag: wall time, step, value. Its name is that of the file."""
    if len(document) < _LEAST or not all(isinstance(r, list) and len(r) == 3 for r in document):
        return None
    walls, steps, values = (_numbers(list(column)) for column in zip(*document, strict=True))
    if walls is None or values is None or steps is None or not _counts(steps):
        return None
    if walls[1].any() or not ((walls[0] > 1e9) & (walls[0] < 1e11)).all():
        return None
    return _single("", steps[0], values, walls[0])


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
    document = json_or_none(whole)
    return any(True for _ in histories(document, step_keys, is_log=is_log, cut=cut))


def closed(text: bytes) -> bytes | None:
    """The beginning of a document as a whole one: what is cut is left out, what is open is
    closed. None when the document ends within (JSON lines), or for broken ones."""
    open_ones: list[bytes] = []
    end = 0
    closing: tuple[bytes, ...] = ()
    for found in TOKEN.finditer(text):
        token = found[0]
        if token in _CLOSING:
            open_ones.append(token)
            end = found.end()
            closing = tuple(open_ones)
        elif token in (b"}", b"]"):
            if not open_ones or _CLOSING[open_ones.pop()] != token or not open_ones:
                return None
            end = found.end()
            closing = tuple(open_ones)
        elif token == b",":
            end = found.start()
            closing = tuple(open_ones)
        elif token == b'"':
            break  # a text that is cut

    return text[:end] + b"".join(_CLOSING[b] for b in reversed(closing))
