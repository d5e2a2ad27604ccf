"""Why a key does nothing on a screen: where it works, and how to get there."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.present.screens.keys import (
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

#: Place -> how to get there from any screen of a run, and the action of the key that does it.
_ROUTES = {
    LIST: ("open a tab of metrics first", "tab"),
    GRID: ("open the grid of a tab first", "grid"),
    TIMING: ("open Timing first", "tab"),
    METRIC: ("open a metric first", "enter"),
    FINDINGS: ("open Findings first", "tab"),
    RUNS: ("open the list of runs first", "runs"),
    COMPARISON: ("open runs side by side first", "comparison"),
    SAMPLES: ("open the texts first", "samples"),
    SETTINGS: ("open the hyperparameters first", "hyperparameters"),
    LOG: ("open the console log first", "tail"),
}
#: The digits that open a place; the keys of tabs cannot be remapped.
_DIGITS = {LIST: "2-8", TIMING: "6", FINDINGS: "9"}
#: The same from a screen where the keys of a run do not work, whatever the place.
_WAY_OUT = {
    RUNS: ("open a run first", "enter"),
    COMPARISON: ("go back first", "back"),
    SAMPLES: ("go back first", "back"),
    PICKER: ("choose a log first", "enter"),
    OVERLAY: ("close this first", "close"),
    LOG: ("close this first", "close"),
    SETTINGS: ("close this first", "close"),
}
#: Between two places that are closer than others.
_SHORTCUTS = {
    (GRID, LIST): ("show the table first", "table"),
    (RUNS, COMPARISON): _ROUTES[COMPARISON],
}


def elsewhere(pressed: str, place: str, table: Iterable[Key]) -> str:
    """What the key named ``pressed`` does on other screens than ``place``, and how to get to one:
    "v: grid of charts; open a tab of metrics first (2-8)". "" for a key without a meaning, and for
    one that works here."""
    table = tuple(table)
    rows = [k for k in table if pressed in k.keys]
    if any(place in k.where for k in rows):
        return ""
    found = next(((k, p) for p in _ROUTES for k in rows if p in k.where), None)
    if found is None:
        return ""
    key, target = found
    if key.action == place:
        return f"{_shown(key, pressed)}: {key.words}; this is it"
    return f"{_shown(key, pressed)}: {key.words}; {_route(place, target, table)}"


def covered(action: str, place: str, table: Iterable[Key]) -> str:
    """What the key of ``action`` does once ``place`` is left: "e: explain the selection; close
    this first (q)"."""
    table = tuple(table)
    key = next(k for k in table if k.action == action)
    return f"{_shown(key, key.keys[0])}: {key.words}; {_route(place, place, table)}"


def _route(place: str, target: str, table: Iterable[Key]) -> str:
    """How to get from ``place`` to ``target``, with the key if one does it."""
    words, action = _SHORTCUTS.get((place, target)) or _WAY_OUT.get(place) or _ROUTES[target]
    if action == "tab":
        return f"{words} ({_DIGITS[target]})"
    name = next((_shown(k, k.keys[0]) for k in table if k.action == action), "")
    return f"{words} ({name})" if name else words


def _shown(key: Key, pressed: str) -> str:
    """The key that was pressed, as the help writes it."""
    shown = [x for x in key.shown.split("  ") if x]
    at = key.keys.index(pressed)
    return shown[at] if len(shown) == len(key.keys) else pressed
