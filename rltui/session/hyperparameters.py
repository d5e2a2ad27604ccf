"""Hyperparameters of a run, wherever its framework logs them.

The hparams plugin, a text that is a JSON object (transformers logs its arguments that way), or a
Markdown table of names and values (CleanRL). Only texts whose tag names hyperparameters count,
so that a sample that happens to be JSON is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from rltui.core.batch import Batch, TextPoint

#: Names of texts that hold hyperparameters: transformers logs ``args``, CleanRL
#: ``hyperparameters``, others ``config``, ``hparams``; TensorBoard adds ``/text_summary``.
_NAMES = re.compile(
    r"(^|/)(args|arguments|hyperparameters|hyper_parameters|hparams|config|training_args)"
    r"(/text_summary)?$"
)
#: What text cleaning writes for a backslash, as in the JSON escape \\u00e9.
_BACKSLASH = "\\x5c"


class Hyperparameters:
    """Of one run, file by file."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        """Name -> value; later files win."""
        self._by_file: dict[Path, dict[str, object]] = {}

    def take(self, batch: Batch) -> bool:
        """Take those of a batch in; returns whether any is new or has another value."""
        logged = {**hyperparameters(batch.texts), **batch.hparams}
        if not logged:
            return False
        self._by_file.setdefault(batch.source.path, {}).update(logged)
        return self._sum_up()

    def move(self, path: Path, into: Hyperparameters) -> bool:
        """Give those of a file to another run; returns whether there are any."""
        values = self._by_file.pop(path, None)
        if values is None:
            return False
        into._by_file[path] = values
        self._sum_up()
        into._sum_up()
        return True

    def _sum_up(self) -> bool:
        before = self.values
        self.values = {k: v for values in self._by_file.values() for k, v in values.items()}
        return self.values != before


def hyperparameters(texts: Iterable[TextPoint]) -> dict[str, object]:
    """Name -> value of the hyperparameter texts among ``texts``; later ones win."""
    found: dict[str, object] = {}
    for point in texts:
        if _NAMES.search(point.tag):
            found.update(_from_json(point.text) or _from_table(point.text))
    return found


def _from_json(text: str) -> dict[str, object]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        document = json.loads(text.replace(_BACKSLASH, "\\"))
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _from_table(text: str) -> dict[str, object]:
    """``|name|value|`` lines below a head and a line of dashes."""
    lines = [x.strip() for x in text.splitlines()]
    if len(lines) < 3 or not lines[1].startswith("|-"):
        return {}
    found: dict[str, object] = {}
    for line in lines[2:]:
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 2 and cells[0]:
            found[cells[0]] = cells[1]
    return found


def positive(value: object) -> int | None:
    """``value`` as a positive whole number (also from text), or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return int(number) if 0 < number < float("inf") else None
