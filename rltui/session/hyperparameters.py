"""Hyperparameters of a run, wherever its framework put them.

The hparams plugin, a text that is a JSON object (transformers logs its arguments so), or a
Markdown table of names and values (CleanRL). Only texts whose tag says that they are
hyperparameters count: a sample that happens to be JSON is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from rltui.core.batch import TextPoint

#: Names of texts that hold hyperparameters: transformers logs ``args``, CleanRL
#: ``hyperparameters``, others ``config``, ``hparams``; TensorBoard adds ``/text_summary``.
_NAMES = re.compile(
    r"(^|/)(args|arguments|hyperparameters|hyper_parameters|hparams|config|training_args)"
    r"(/text_summary)?$"
)
#: How cleaning marks a backslash that looks like an escape of ours: \\u00e9 in JSON does.
_BACKSLASH = "\\x5c"


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
