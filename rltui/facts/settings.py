"""The hyperparameters of a run: those of its logs and of files beside them, the main ones, and all
grouped by the first part of their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from rltui.core.text import words_match
from rltui.facts import numbers
from rltui.facts.groups import logged_settings
from rltui.session import JudgedRun
from rltui.session.hyperparameters import main_rank, value_text
from rltui.sources.side_files.settings_files import FileSettings

#: Names of one group; a larger one is split by the next part of the names.
_LARGE = 40
#: Names that share their first word before they get a group of their own.
LEAST = 4
_GENERAL = "General"
#: The main settings, at most.
_MOST_MAIN = 24
_PARTS = re.compile(r"[./]")
#: A name, and its value as text.
Setting = tuple[str, str]


def settings_of(run: JudgedRun, in_files: FileSettings) -> dict[str, object]:
    """Name -> value; what the logs say wins over what stands in files beside them."""
    logged = run.hyperparameters.values
    known = {n.replace("/", ".") for n in logged}
    others = {n: v for n, v in in_files.values.items() if n not in known}
    return {**logged, **others}


def settings_changed(run: JudgedRun, text: str = "") -> list[Setting]:
    """Name, old and new value of the hyperparameters that a restart changed, after the filter
    ``text``."""
    rows = []
    for change in run.hyperparameters.changes():
        if words_match(f"{change.name} {change.before} {change.after}", text):
            start = run.data.start_of(change.path)
            since = f"  from {run.step_word} {numbers.step(start)}" if start else ""
            value = f"{value_text(change.before)} → {value_text(change.after)}{since}"
            rows.append((change.name, value))
    return rows


def settings_at(run: JudgedRun, step: int, text: str) -> list[Setting]:
    """Title and value, at a step, of the hyperparameters that are logged as metrics, with the value
    before it and the newest one where these differ; after the filter ``text``."""
    rows = []
    steps = step - 1, step, run.points.last_step
    before, here, now = (logged_settings(run, at) for at in steps)
    for title, value in here.items():
        three = before.get(title, value), value, now.get(title, value)
        old, shown, new = map(numbers.value, three)
        text_of = f"{old} → {shown}" if old != shown else shown
        text_of += f"  now {new}" if new != shown else ""
        if words_match(f"{title} {text_of}", text):
            rows.append((title, text_of))
    return rows


def main_settings(values: Mapping[str, object]) -> list[Setting]:
    """The most important hyperparameters that are set."""
    ranks = {n: main_rank(n) for n, v in values.items() if v is not None}
    names = sorted((n for n, rank in ranks.items() if rank >= 0), key=ranks.__getitem__)
    return [(n, value_text(values[n])) for n in names[:_MOST_MAIN]]


def setting_groups(values: Mapping[str, object]) -> list[tuple[str, list[Setting]]]:
    """(title, settings with names that lack the title), names without a group first."""
    found: dict[str, list[str]] = {}
    first = Counter(n.partition("_")[0] for n in values if not _PARTS.search(n))
    for name in values:
        if _PARTS.search(name):
            title = _PARTS.split(name, maxsplit=1)[0]
        else:
            word = name.partition("_")[0]
            title = f"{word}_" if first[word] >= LEAST and word != name else _GENERAL
        found.setdefault(title, []).append(name)
    groups = [x for title, names in found.items() for x in _split(title, names)]
    groups.sort(key=lambda g: g[0] != _GENERAL)

    return [
        (title.rstrip("_./"), [(n[cut:], value_text(values[n])) for n in names])
        for title, names, cut in groups
    ]


def _split(title: str, names: list[str]) -> list[tuple[str, list[str], int]]:
    """(title, names, characters of them that the title says) of a group, or of its parts."""
    cut = 0 if title == _GENERAL or title.endswith("_") else len(title) + 1
    if not cut or len(names) <= _LARGE:
        return [(title, names, cut)]
    parts: dict[str, list[str]] = {}
    for name in names:
        part, *rest = _PARTS.split(name[cut:], maxsplit=1)
        parts.setdefault(name[: cut + len(part)] if rest else title, []).append(name)
    return [(part, some, len(part) + 1) for part, some in parts.items()]
