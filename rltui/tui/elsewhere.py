"""Why a key does nothing on a screen: where it works, and how to get there."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.tui.keys import (
    COMPARISON,
    FINDINGS,
    GRID,
    LIST,
    LOG,
    METRIC,
    OVERLAY,
    PICKER,
    RUNS,
    SAMPLES,
    SETTINGS,
    TIMING,
    Key,
)

#: Place -> what it is called, and the action whose key leads there from any screen of a run.
_ROUTES = {
    LIST: ("in a tab of metrics", "tab"),
    GRID: ("in the grid of a tab", "grid"),
    TIMING: ("in Timing", "tab"),
    METRIC: ("on the chart of a metric", "enter"),
    FINDINGS: ("in Findings", "tab"),
    RUNS: ("in the list of runs", "runs"),
    COMPARISON: ("with runs side by side", "comparison"),
    SAMPLES: ("among texts and samples", "samples"),
    SETTINGS: ("among the hyperparameters", "hyperparameters"),
    LOG: ("in the console log", "tail"),
}
#: The digits that open a place; the keys of tabs cannot be remapped.
_DIGITS = {LIST: "2-8", TIMING: "6", FINDINGS: "9"}
#: The same from a screen where the keys of a run do not work, whatever the place.
_WAY_OUT = {
    RUNS: ("in a run", "enter"),
    COMPARISON: ("one screen back", "back"),
    SAMPLES: ("one screen back", "back"),
    PICKER: ("once a log is open", "enter"),
    OVERLAY: ("once this is closed", "close"),
    LOG: ("once this is closed", "close"),
    SETTINGS: ("once this is closed", "close"),
}
#: Between two places that are closer than others.
_SHORTCUTS = {
    (GRID, LIST): ("in the table", "table"),
    (RUNS, COMPARISON): _ROUTES[COMPARISON],
}


def elsewhere(pressed: str, place: str, table: Iterable[Key]) -> str:
    """What the key named ``pressed`` does on other screens than ``place``, and how to get to one:
    "v (grid of charts) works in a tab of metrics: press 2-8 first". "" for a key without a meaning,
    and for one that works here."""
    table = tuple(table)
    rows = [k for k in table if pressed in k.keys]
    if any(place in k.where for k in rows):
        return ""
    found = next(((k, p) for p in _ROUTES for k in rows if p in k.where), None)
    if found is None:
        return ""
    key, target = found
    if key.action == place:
        return f"{_shown(key, pressed)} ({key.words}) is open already"
    return f"{_shown(key, pressed)} ({key.words}) works {_route(place, target, table)}"


def covered(action: str, place: str, table: Iterable[Key]) -> str:
    """What the key of ``action`` does once ``place`` is left: "e (explain the selection) works
    once this is closed: press q first"."""
    table = tuple(table)
    key = next(k for k in table if k.action == action)
    return f"{_shown(key, key.keys[0])} ({key.words}) works {_route(place, place, table)}"


def _route(place: str, target: str, table: Iterable[Key]) -> str:
    """How to get from ``place`` to ``target``, with the key if one does it."""
    words, action = _SHORTCUTS.get((place, target)) or _WAY_OUT.get(place) or _ROUTES[target]
    if action == "tab":
        return f"{words}: press {_DIGITS[target]} first"
    name = next((_shown(k, k.keys[0]) for k in table if k.action == action), "")
    return f"{words}: press {name} first" if name else words


def _shown(key: Key, pressed: str) -> str:
    """The key that was pressed, as the help writes it."""
    shown = [x for x in key.shown.split("  ") if x]
    at = key.keys.index(pressed)
    return shown[at] if len(shown) == len(key.keys) else pressed
