"""verl and its forks: ``step:7 - actor/pg_loss:-0.01 - critic/score/mean:np.float64(0.4)``.

One line per step (verl/utils/logger/aggregate_logger.py); fields are separated by `` - ``, name
and value by the last colon, since names contain texts of the user. W&B cuts console lines at
4,096 characters: the last field of such a line is dropped.
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import MAX_LINE, ConsoleRows, Dialect
from rltui.formats.console.console_line import number, plain, wall_time
from rltui.formats.console.printed_dict import PrintedDict

_ROW = re.compile(rb"(?:^|[\s\])%|])step:(-?\d{1,18}) - (?=[^\s:])")
#: W&B's longest console line, in characters.
_CUT = 4096
_VALIDATION = re.compile(rb"Initial validation metrics: ?\{")
#: The progress bar of the trainer, with the planned steps.
_PLAN = re.compile(rb"Training Progress: *\d+%\|[^|]*\| *\d+/(\d+) ")


class Verl(Dialect):
    """The dialect of verl, TinyZero and other forks."""

    longest = MAX_LINE
    markers = (b"step:", b"Initial validation metrics:", b"Training Progress: ")

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[bytes, ...] = ()
        self._begins: tuple[bytes, ...] = ()
        """How the fields of the last row begin: names with their colons."""
        self._ends: tuple[int, ...] = ()
        self._printed: PrintedDict | None = None
        self._initial: dict[bytes, float] = {}
        """The validation before the first step; the next row shows its step."""

    @property
    def open(self) -> bool:
        """Whether a printed dict continues."""
        return self._printed is not None

    def follow(self, line: bytes, rows: ConsoleRows) -> None:
        """A further line of a printed dict."""
        if self._printed is not None and self._printed.add(plain(line)):
            self._initial = self._printed.numbers()
            self._printed = None

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        found = _ROW.search(line)
        if not found:
            self._other(line, rows)
            return False
        if b"Training Progress" in line[: found.start()]:
            self._other(line[: found.start()], rows)
        if len(line) + len(rows.stamp) >= _CUT:
            line = _uncut(line)
        names, values = self._fields(plain(line[found.end() :]).removesuffix(b" -"))
        if not names:
            return False
        step = int(found.group(1))
        self._before(names, step, rows)
        self._add(rows, names, step, values, wall_time(line))
        return True

    def _fields(self, body: bytes) -> tuple[tuple[bytes, ...], list[float]]:
        """Names and values; for the names of the previous row only values are parsed."""
        fields, begins, ends = body.split(b" - "), self._begins, self._ends
        try:
            if len(fields) == len(begins) and all(map(bytes.startswith, fields, begins)):
                if b"(" not in body:
                    return self._names, [float(f[e:]) for f, e in zip(fields, ends, strict=True)]
                return self._names, [
                    float(f[e:] if f[-1:] != b")" else f[f.rindex(b"(") + 1 : -1])
                    for f, e in zip(fields, ends, strict=True)
                ]
        except ValueError:
            pass  # a text among the values, or another name
        names, values = _with_care(fields)
        self._names = names
        self._begins = tuple(name + b":" for name in names)
        self._ends = tuple(len(begin) for begin in self._begins)
        return names, values

    def _other(self, line: bytes, rows: ConsoleRows) -> None:
        """A line that is not a row: the validation before the first step, the progress bar."""
        plan = _PLAN.search(line)
        if plan:
            rows.total = int(plan.group(1))
        text = plain(line)
        found = _VALIDATION.search(text)
        if found:
            self._printed = PrintedDict(text[found.end() - 1 :], text[: found.start()])
            self.follow(b"", rows)

    def _before(self, names: tuple[bytes, ...], step: int, rows: ConsoleRows) -> None:
        """Place the initial validation by the first row after it: verl logs both under one step,
        and what the row lacks was cut off."""
        if not self._initial:
            return
        shared = sum(name in self._initial for name in names)
        if shared:
            missing = {k: v for k, v in self._initial.items() if k not in names}
        else:
            step, missing = step - 1, self._initial
        self._initial = {}
        if missing:
            rows.add(tuple(missing), step, list(missing.values()))


def _uncut(line: bytes) -> bytes:
    """A line that was cut loses its last field, which may be incomplete."""
    if len(line) != _CUT and len(line.decode("utf-8", "replace")) != _CUT:
        return line
    return line if line.endswith(b")") else line[: line.rfind(b" - ")]


def _with_care(fields: list[bytes]) -> tuple[tuple[bytes, ...], list[float]]:
    """Field by field: only numbers; a field without a colon begins a name that contains
    `` - ``."""
    names: list[bytes] = []
    values: list[float] = []
    begun = b""
    for field in fields:
        if b":" not in field:
            begun += field + b" - "
            continue
        name, _, text = (begun + field).rpartition(b":")
        begun = b""
        value = number(text)
        if value is not None and name:
            names.append(name)
            values.append(value)
    return tuple(names), values
