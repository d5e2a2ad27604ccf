"""Hyperparameters of a run, wherever its framework put them (floor 4).

The hparams plugin, a text that is a JSON object (transformers logs its arguments so), or a
Markdown table of names and values (CleanRL).
"""

from __future__ import annotations

import json

from rltui.store import RunData


def hyperparameters(run: RunData) -> dict[str, object]:
    """Name -> value, as logged; the hparams plugin wins."""
    found: dict[str, object] = {}
    for point in run.texts:
        found.update(_from_json(point.text) or _from_table(point.text))
    found.update(run.hparams)
    return found


def _from_json(text: str) -> dict[str, object]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        # Cleaning marked backslashes that look like an escape of ours: \\u00e9 in JSON does.
        document = json.loads(text.replace("\\x5c", "\\"))
    except ValueError:
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
    except ValueError:
        return None
    return int(number) if 0 < number < float("inf") else None
