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

#: From any screen of a run.
_ROUTES = {
    LIST: "open a tab of metrics first (2-8)",
    GRID: "open the grid of a tab first (v)",
    TIMING: "open Timing first (6)",
    METRIC: "open a metric first (Enter)",
    FINDINGS: "open Findings first (9)",
    RUNS: "open the list of runs first (r)",
    COMPARISON: "open runs side by side first (C)",
    SAMPLES: "open the texts first (T)",
    SETTINGS: "open the hyperparameters first (H)",
    LOG: "open the console log first (t)",
}
#: From a screen where the keys of a run do not work.
_WAY_OUT = {
    RUNS: "open a run first (Enter)",
    COMPARISON: "go back first (Esc)",
    SAMPLES: "go back first (Esc)",
    PICKER: "choose a log first (Enter)",
    OVERLAY: "close this first (q)",
    LOG: "close this first (q)",
    SETTINGS: "close this first (q)",
}


def elsewhere(pressed: str, place: str, table: Iterable[Key]) -> str:
    """What the key named ``pressed`` does on other screens than ``place``, and how to get to one:
    "v: grid of charts; open a tab of metrics first (2-8)". "" for a key without a meaning, and for
    one that works here."""
    rows = [k for k in table if pressed in k.keys]
    if any(place in k.where for k in rows):
        return ""
    found = next(((k, p) for p in _ROUTES for k in rows if p in k.where), None)
    if found is None:
        return ""
    key, target = found
    if key.action == place:
        return f"{_shown(key, pressed)}: {key.words}; this is it"
    route = _WAY_OUT.get(place) or _ROUTES[target]
    if place == RUNS and target == COMPARISON:
        route = _ROUTES[target]
    return f"{_shown(key, pressed)}: {key.words}; {route}"


def _shown(key: Key, pressed: str) -> str:
    """The key that was pressed, as the help writes it."""
    shown = [x for x in key.shown.split("  ") if x]
    at = key.keys.index(pressed)
    return shown[at] if len(shown) == len(key.keys) else pressed
