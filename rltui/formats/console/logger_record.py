"""Rows of loggers: verl's ``step:7 - actor/pg_loss:-0.01 - critic/score/mean:np.float64(0.4)``,
slime's ``step 12: {'train/loss': 0.01}``, ROLL's ``metrics_tag: {"step": 3, "metrics": {...}}``,
JSON objects of custom loops, and verl's configuration.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from rltui.core.later import regex
from rltui.formats.console.console_dialect import (
    MAX_LINE,
    ConsoleRows,
    Dialect,
    RestartDetector,
    Row,
)
from rltui.formats.console.console_line import ANSI, number, plain
from rltui.formats.json_value import flat_settings, json_or_none

_VERL = regex(rb"(?:^|[\s\])%|])step:(-?\d{1,18}) - (?=[^\s:])")
#: W&B's longest console line, in characters.
_CUT = 4096
_VALIDATION = regex(rb"Initial validation metrics: ?(?=\{)")
#: The progress bar of the trainer, with the planned steps.
_PLAN = regex(rb"Training Progress: *\d+%\|[^|]*\| *\d+/(\d+) ")
_SLIME = regex(rb"(?:^|[\s-])(step|rollout|perf|eval|passrate) (\d{1,18}): (?=\{['\"])")
_AXES = (b"train/step", b"rollout/step", b"eval/step")
_STEP_KEYS = ("step", "global_step", "_step", "iteration", "training_iteration", "current_steps")
_PLANS = ("total_steps", "max_steps")
_DEPTH = 8
#: Larger integers are no floats.
_HUGE = 1 << 1023
#: Longer dicts are neither metrics nor settings.
MAX_BYTES = 1 << 18
_MAX_LINES = 2000
#: The strings into which ``pprint`` splits a long text.
_QUOTED = regex(rb"\"([^\"\\]*(?:\\.[^\"\\]*)*)\"|'([^'\\]*(?:\\.[^'\\]*)*)'")
_PAIR = regex(
    rb"(?:'([^'\\{}]*)'|\"([^\"\\{}]*)\"): *"
    rb"(\{|'[^']*'|\"[^\"]*\"|[\w.]+\([^()]*\)|\[[^\[\]]*\]|\([^()]*\)|[^,'\"{}()\[\]]+)(?=[,}]|(?<=\{))"
)
#: How a configuration begins: with the first section in the order of the alphabet.
_BEGINS = b"{'actor_rollout_ref': {"
#: How its further lines begin; others are warnings that the same process printed meanwhile.
_PART = regex(rb"['\"{]|[\[(]+['\"{\d-]|(?:-?[\d.e+-]+|None|True|False)[,\]})]")
#: Ray's prefix, which says which process printed the line.
_PROCESS = regex(rb"\s*(\([^()]{0,80}pid=\d+[^()]{0,60}\))")

Pairs = tuple[tuple[bytes, ...], list[float]]
"""Names and values."""


class FieldLayout:
    """The names of the previous row: for one with the same names only values are parsed."""

    def __init__(self, behind: bytes) -> None:
        """``behind``: what stands between a name and its value."""
        self._behind = behind
        self._names: tuple[bytes, ...] = ()
        self._begins: tuple[bytes, ...] = ()

    def learn(self, names: list[bytes], values: list[float]) -> Pairs:
        """Remember the names of a row, and return it."""
        self._names = tuple(names)
        self._begins = tuple(name + self._behind for name in names)
        return self._names, values

    def row(self, fields: Sequence[bytes]) -> Pairs | None:
        """The row with these fields; None when it has other names, or a text among the values."""
        begins = self._begins
        if len(fields) != len(begins) or not all(map(bytes.startswith, fields, begins)):
            return None
        texts = [f[len(begin) :] for f, begin in zip(fields, begins, strict=True)]
        try:
            if texts[-1][-1:] not in b"')":
                return self._names, list(map(float, texts))
        except ValueError:
            pass
        try:  # quoted, or as numpy prints it
            return self._names, [
                float(text.strip(b"'") if text[-1:] != b")" else text[text.rindex(b"(") + 1 : -1])
                for text in texts
            ]
        except ValueError:
            return None


def pairs(body: bytes, layout: FieldLayout | None = None) -> Pairs | None:
    """Names and numbers of ``{'loss': 0.5, 'kl': '0.1', 'who': 'me'}``, and of dicts in it with
    their names in front; None for anything else. ``layout``: of the dicts before it, with ``': ``
    behind names."""
    known = layout.row(body[2:-1].split(b", '")) if layout is not None else None
    if known is not None:
        return known

    names: list[bytes] = []
    values: list[float] = []
    groups = [b""]
    end = 1
    for found in _PAIR.finditer(body):
        gap = body[end : found.start()].strip(b", \n")
        groups = groups[: len(groups) - gap.count(b"}")]
        if gap.strip(b"}, \n") or not groups:
            return None
        end = found.end()
        name = groups[-1] + (found[1] or found[2] or b"")
        text = found[3]
        value = number(text)
        if text == b"{":
            groups.append(name + b"/")
        elif value is not None:
            names.append(name)
            values.append(value)
    if body[end:].strip(b", \n") != b"}" * len(groups):
        return None
    return layout.learn(names, values) if layout is not None else (tuple(names), values)


def dict_end(text: bytes, begin: int) -> int:
    """Where the dict ends that begins there; 0 when it goes on."""
    first = end = text.find(b"}", begin) + 1
    while end and text.count(b"{", begin, end) > text.count(b"}", begin, end):
        end = text.find(b"}", end) + 1
    return end or first


class PrintedDict:
    """Joins a dict printed on several lines, plain or as ``pprint``'s strings."""

    def __init__(self, *, quoted: bool = False) -> None:
        self._quoted = quoted
        self._parts: list[bytes] = []
        self._size = 0
        self.numbers: dict[bytes, float] = {}
        """Its names and numbers, once it is complete."""

    def add(self, line: bytes) -> bool:
        """Add a line; returns whether the dict is complete or was abandoned."""
        self._size += len(line)
        if len(self._parts) >= _MAX_LINES or self._size > MAX_BYTES:
            return True
        if self._quoted:
            self._parts.append(b"".join(a or b for a, b in _QUOTED.findall(line)))
        elif self._parts or line.startswith(b"{'"):
            self._parts.append(line + b" ")
        else:
            return True
        if b"}" not in self._parts[-1]:
            return False
        whole = b"".join(self._parts)
        found = pairs(whole[: whole.find(b"}") + 1])
        self.numbers = dict(zip(*found, strict=True)) if found else {}

        return True


class ConfigDump:
    """Collects the configurations that a log has, which come in pieces of whole lines.

    verl pretty-prints its whole configuration over hundreds of lines before the first row
    (verl/trainer/main_ppo.py), each behind Ray's prefix of the process; lines of other processes
    may lie between them.
    """

    def __init__(self) -> None:
        self._process: bytes | None = None
        self._lines: list[bytes] = []
        self._size = self._open = 0
        """Bytes of these lines, and braces that are not closed."""
        self._found: dict[str, object] = {}

    def feed(self, text: bytes) -> None:
        """Search whole lines for configurations."""
        pos = 0
        while pos < len(text):
            if not self._lines:
                pos = text.find(_BEGINS, pos)
                if pos < 0:
                    return
                pos = text.rfind(b"\n", 0, pos) + 1
            end = text.find(b"\n", pos)
            self._line(text[pos:end])
            pos = end + 1

    def settings(self) -> dict[str, object]:
        """The settings since the last call."""
        found = self._found
        self._found = {}
        return found

    def _line(self, raw: bytes) -> None:
        found = _PROCESS.match(ANSI.sub(b"", raw) if b"\x1b" in raw else raw)
        process = found[1] if found else None
        line = plain(raw)
        if line.startswith(_BEGINS):
            self._process = process
            self._size = 0
            self._open = 0
            self._lines = []
        elif not self._lines or process != self._process or not _PART.match(line):
            return
        self._lines.append(line)
        self._size += len(line)
        self._open += line.count(b"{") - line.count(b"}")
        if self._open > 0 and self._size <= MAX_BYTES:
            return
        whole = b"\n".join(self._lines)
        self._lines = []
        if self._open > 0:
            return
        try:
            document = ast.literal_eval(whole.decode("utf-8", "replace"))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
        if isinstance(document, dict):
            self._found.update(flat_settings(document))


class Verl(Dialect):
    """The dialect of verl, TinyZero and other forks.

    One line per step (verl/utils/logger/aggregate_logger.py); fields are separated by `` - ``, name
    and value by the last colon, since names contain texts of the user. W&B cuts console lines at
    4,096 characters: the last field of such a line is dropped.
    """

    longest = MAX_LINE
    markers = (b"step:", b"Initial validation metrics:", b"Training Progress: ")

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._layout = FieldLayout(b":")
        self._printed = PrintedDict()
        self._initial: dict[bytes, float] = {}
        """The validation before the first step; the next row shows its step."""

    def follow(self, line: bytes) -> None:
        """A further line of a printed dict."""
        self.open = not self._printed.add(plain(line))
        if not self.open:
            self._initial = self._printed.numbers

    def read(self, line: bytes) -> bool:
        found = _VERL.search(line)
        if not found:
            self._other(line)
            return False
        if b"Training Progress" in line[: found.start()]:
            self._other(line[: found.start()])
        long = len(line) + len(self.rows.clock.prefix) >= _CUT and not line.endswith(b")")
        if long and _CUT in (len(line), len(line.decode("utf-8", "replace"))):
            # a line that was cut loses its last field, which may be incomplete
            line = line[: line.rfind(b" - ")]

        names, values = self._fields(plain(line[found.end() :]).removesuffix(b" -"))
        if not names:
            return False
        step = int(found[1])
        if self._initial:
            # verl logs both under one step, and what the row lacks was cut off
            missing = {k: v for k, v in self._initial.items() if k not in names}
            first = step if len(missing) < len(self._initial) else step - 1
            self.rows.add(Row.of(first, missing))
            self._initial = {}
        self.add(Row(step, names, values, self.rows.clock.stamp()))
        return True

    def _fields(self, body: bytes) -> Pairs:
        """Names and values; for the names of the previous row only values are parsed."""
        fields = body.split(b" - ")
        known = self._layout.row(fields)
        if known is not None:
            return known
        names: list[bytes] = []
        values: list[float] = []
        begun = b""
        for field in fields:
            if b":" not in field:  # the beginning of a name that contains the separator
                begun += field + b" - "
                continue
            name, _, text = (begun + field).rpartition(b":")
            begun = b""
            value = number(text)
            if value is not None and name:
                names.append(name)
                values.append(value)
        return self._layout.learn(names, values)

    def _other(self, line: bytes) -> None:
        """Read a line that is not a row: the validation before the first step, the progress bar."""
        plan = _PLAN.search(line)
        if plan:
            self.rows.total = int(plan[1])
        text = plain(line)
        found = _VALIDATION.search(text)
        if found:
            before = text[: found.start()][-1:]
            quote = before if before in (b"'", b'"') else b""
            self._printed = PrintedDict(quoted=bool(quote))
            self.follow(quote + text[found.end() :])


class LoggerRecord(Dialect):
    """The dialect of dicts and JSON objects with a step.

    slime's step is that of its axis (rollouts or optimiser steps), which itself is omitted as in
    TensorBoard (slime/observability).
    """

    longest = MAX_BYTES
    markers = (b": {'", b'{"')

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._detectors: dict[bytes, RestartDetector] = {}

    def read(self, line: bytes) -> bool:
        if b'{"' in line:
            return self._json(line)
        text = plain(line)
        found = _SLIME.search(text)
        if not found:
            return False

        body = text[found.end() :].rstrip()
        known = pairs(body) if body.endswith(b"}") else None
        if known is None or not known[0]:
            return False
        cells = dict(zip(*known, strict=True))
        step = next((cells.pop(a) for a in _AXES if a in cells), float(found[2]))
        if not cells or not step.is_integer():
            return False
        self._axis_row(found[1], int(step), cells, self.rows.clock.stamp())
        return True

    def _json(self, line: bytes) -> bool:
        body = line[line.find(b'{"') :].rstrip()
        if not body.endswith(b"}") or (b"step" not in body and b"iteration" not in body):
            return False
        row = json_or_none(body)
        if not isinstance(row, dict):
            return False
        key = next((k for k in _STEP_KEYS if _is_whole(row.get(k))), None)
        if key is None:
            return False

        step = int(row.pop(key))
        for plan in _PLANS:
            if _is_whole(row.get(plan)):
                self.rows.total = int(row.pop(plan))
        inner = row.get("metrics", row.get("data"))
        numbers = _numbers(inner if isinstance(inner, dict) else row, "", 0)
        cells = {name.encode("utf-8", "replace"): value for name, value in numbers}
        if cells:
            self._axis_row(b"json", step, cells, self.rows.clock.stamp())
        return bool(cells)

    def _axis_row(self, axis: bytes, step: int, cells: dict[bytes, float], wall: float) -> None:
        """Add a row; only those of its own axis show that it starts again."""
        self.restarts = self._detectors.setdefault(axis, RestartDetector())
        self.add(Row.of(step, cells, wall))


def _is_whole(value: Any) -> bool:
    kind = type(value)
    return (kind is int and abs(value) < _HUGE) or (kind is float and value.is_integer())


def _numbers(row: dict[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, float]]:
    for key, value in row.items():
        kind = type(value)
        if kind is float or (kind is int and abs(value) < _HUGE):
            yield prefix + key, float(value)
        elif kind is dict and depth < _DEPTH:
            yield from _numbers(value, f"{prefix}{key}/", depth + 1)
