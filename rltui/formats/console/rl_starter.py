"""rl-starter-files: ``U 1 | F 002048 | FPS 0738 | D 2 | rR:μσmM 0.23 0.35 0.00 0.96 | H 1.922``.

Fields are a short name and a number; behind a colon, one letter for each of several numbers. Names
are those of its ``log.csv`` and event files (scripts/train.py).
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import number, plain

_ROW = re.compile(rb"U (\d{1,15}) \| F (\d{1,15}) \| (?=[A-Z])")
_NAMES = {
    "FPS": "FPS",
    "D": "duration",
    "H": "entropy",
    "V": "value",
    "pL": "policy_loss",
    "vL": "value_loss",
    "∇": "grad_norm",
    "rR": "rreturn",
    "R": "return",
    "F": "num_frames",
}
_STATISTICS = {"μ": "mean", "σ": "std", "m": "min", "M": "max"}
_MAX_FIELDS = 64


class RlStarter(Dialect):
    """The dialect of rl-starter-files."""

    markers = (b" | F ",)

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        text = plain(line)
        found = _ROW.search(text)
        if not found:
            return False
        cells: dict[bytes, float] = {}
        fields = text[found.end() :].split(b" | ", _MAX_FIELDS)
        for field in fields[:_MAX_FIELDS]:
            words = field.decode("utf-8", "replace").split()
            if not words:
                continue
            values = [number(word.encode()) for word in words[1:]]
            for name, value in zip(_names(words[0], len(values)), values, strict=True):
                if value is not None:
                    cells[name.encode()] = value
        if cells:
            self._add_cells(rows, int(found[2]), cells)
        return bool(cells)


def _names(word: str, count: int) -> list[str]:
    """The names of a field's values: ``rR:μσmM`` has four."""
    name, _, letters = word.partition(":")
    name = _NAMES.get(name, name)
    if len(letters) == count:
        return [f"{name}_{_STATISTICS.get(letter, letter)}" for letter in letters]
    return [name] if count == 1 else [f"{name}_{at}" for at in range(count)]
