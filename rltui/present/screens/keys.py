"""The table of keys: the app's bindings, the footer and the help come from it.

One row per action. Alt-keys and ctrl+/ are avoided: tmux and ssh lose them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NoReturn

from rltui.config import Config
from rltui.core.errors import UsageError
from rltui.core.yaml_document import nearest

#: Screens on which a key can work; a tab of findings has keys of its own.
RUNS, LIST, FINDINGS, METRIC = "runs", "list", "findings", "metric"
EVERYWHERE = (RUNS, LIST, FINDINGS, METRIC)
#: The list of logs to choose from, before there is anything to watch.
PICKER = "picker"
#: Help or an explanation over a screen, and the log.
OVERLAY, LOG = "overlay", "log"
_OVERLAYS = (OVERLAY, LOG)
_ALWAYS = (*EVERYWHERE, PICKER, *_OVERLAYS)
_LISTS = (RUNS, LIST, FINDINGS, PICKER)
_RUN = (LIST, FINDINGS, METRIC)
_SCROLLED = (*_LISTS, *_OVERLAYS)


@dataclass(frozen=True, slots=True)
class Key:
    """One action and the keys that start it."""

    action: str
    """Id that the config's ``keys`` section names."""
    keys: tuple[str, ...]
    """Names as the toolkit spells them."""
    shown: str
    """The keys as the help writes them."""
    words: str
    """What it does, for the help."""
    group: str
    where: tuple[str, ...] = EVERYWHERE
    footer: str = ""
    """Word in the footer; empty keeps it out of there."""
    rank: int = 99
    """Lower stays longer when the footer gets narrow."""
    footer_key: str = ""
    """How the footer writes the key, when shorter than ``shown``."""
    handler: str = ""
    """What carries it out, when not ``action``: ``app.NAME`` is a method of the app. The screens
    check it when they are defined."""
    by_key: bool = False
    """The handler gets the key that was pressed."""


MOVE, _SCREEN, _CHART, _ALL = "Move", "This screen", "Chart", "Everywhere"

KEYS: tuple[Key, ...] = (
    Key("help", ("question_mark",), "?", "this help", _ALL, _ALWAYS, "help", 0),
    Key("up", ("up", "k"), "↑  k", "row up", MOVE, _SCROLLED),
    Key("down", ("down", "j"), "↓  j", "row down", MOVE, _SCROLLED),
    Key("previous_metric", ("up", "k"), "↑  k", "previous metric", MOVE, (METRIC,)),
    Key("next_metric", ("down", "j"), "↓  j", "next metric", MOVE, (METRIC,)),
    Key("first", ("g", "home"), "g  Home", "first row", MOVE, _SCROLLED),
    Key("last", ("G", "end"), "G  End", "last row", MOVE, _SCROLLED),
    Key("first_step", ("g", "home"), "g  Home", "to the first step", MOVE, (METRIC,)),
    Key("last_step", ("G", "end"), "G  End", "to the newest step", MOVE, (METRIC,)),
    Key("half_up", ("ctrl+u", "pageup"), "Ctrl+U  PgUp", "half a page up", MOVE, _SCROLLED),
    Key("half_down", ("ctrl+d", "pagedown"), "Ctrl+D  PgDn", "half a page down", MOVE, _SCROLLED),
    Key("tab", tuple("1234567890"), "1 … 9  0", "tab", MOVE, _RUN, by_key=True),
    Key("previous_tab", ("left_square_bracket",), "[", "previous tab", MOVE, _RUN),
    Key("next_tab", ("right_square_bracket",), "]", "next tab", MOVE, _RUN),
    Key("left", ("left", "h"), "←  h", "previous tab", MOVE, (LIST, FINDINGS)),
    Key("right", ("right", "l"), "→  l", "next tab", MOVE, (LIST, FINDINGS)),
    Key("next_section", ("tab",), "Tab", "next section", MOVE, (LIST,)),
    Key("previous_section", ("shift+tab",), "Shift+Tab", "previous section", MOVE, (LIST,)),
    Key("enter", ("enter",), "Enter", "open", MOVE, _LISTS, "open", 2),
    Key("back", ("escape",), "Esc", "back, clear the filter", MOVE, _ALWAYS, "back", 3),
    Key("next_finding", ("exclamation_mark",), "!", "next finding", MOVE, _RUN, "next finding", 4),
    Key("runs", ("r",), "r", "list of runs", MOVE, _RUN, "runs", 5),
    Key(
        "filter",
        ("slash",),
        "/",
        "filter; !word hides",
        _SCREEN,
        (RUNS, LIST, PICKER, LOG),
        "filter",
        1,
    ),
    Key("rescan", ("r",), "r", "search again at once", _SCREEN, (PICKER,), "look again", 4),
    Key("scroll_left", ("left", "h"), "←  h", "sideways", MOVE, (LOG,), "sideways", 2, "← →"),
    Key("scroll_right", ("right", "l"), "→  l", "sideways", MOVE, (LOG,)),
    Key("order", ("o",), "o", "order: verdict, name, age", _SCREEN, (RUNS,), "order", 4),
    Key(
        "cross_left",
        ("left", "h"),
        "←  h",
        "crosshair left",
        _CHART,
        (METRIC,),
        "crosshair",
        2,
        "← →",
    ),
    Key("cross_right", ("right", "l"), "→  l", "crosshair right", _CHART, (METRIC,)),
    Key("zoom_in", ("plus",), "+", "zoom in", _CHART, (METRIC,), "zoom", 3, "+ -"),
    Key("zoom_out", ("minus",), "-", "zoom out", _CHART, (METRIC,)),
    Key("zoom_all", ("equals_sign",), "=", "whole run", _CHART, (METRIC,), "all", 6),
    Key("axis", ("x",), "x", "axis: step, time, tokens", _CHART, (LIST, METRIC), "axis", 7),
    Key("smoother", ("s",), "s", "smoother", _CHART, (LIST, METRIC), "smooth", 8),
    Key("rougher", ("S",), "S", "less smooth", _CHART, (LIST, METRIC)),
    Key("log_y", ("L",), "L", "log y", _CHART, (LIST, METRIC), "log y", 9),
    Key("outliers", ("o",), "o", "ignore outliers", _CHART, (LIST, METRIC), "outliers", 10),
    Key("explain", ("e",), "e", "explain the selection", _ALL, (*_RUN, *_OVERLAYS), "explain", 6),
    Key("tail", ("t",), "t", "tail of the console log", _ALL, (*_RUN, *_OVERLAYS), rank=13),
    Key("pause", ("p",), "p", "pause the view", _ALL, rank=11, handler="app.pause"),
    Key("copy", ("y",), "y", "copy the row as text", _ALL, footer="copy", rank=12),
    Key("command", ("colon",), ":", "command: tab, goto, theme", _ALL),
    Key(
        "palette",
        ("ctrl+p",),
        "Ctrl+P",
        "palette of commands",
        _ALL,
        (*EVERYWHERE, PICKER),
        handler="app.command_palette",
    ),
    Key("suspend", ("ctrl+z",), "Ctrl+Z", "suspend", _ALL, _ALWAYS, handler="app.suspend_process"),
    Key(
        "quit",
        ("q", "ctrl+c"),
        "q  Ctrl+C",
        "quit; training goes on",
        _ALL,
        (*EVERYWHERE, PICKER),
        footer="quit",
        rank=0,
        handler="app.quit",
    ),
    Key("close", ("q",), "q", "close", _ALL, _OVERLAYS, "close", 0),
)


#: Actions whose keys mean something by themselves (the digits of the tabs).
_FIXED = ("tab",)


def keys_of(config: Config) -> tuple[Key, ...]:
    """The table of keys with the user's own keys: bindings, footer and help come from it.

    Raises DocumentError (or UsageError for the environment) for an action that does not exist,
    UsageError when two actions share a key on one screen.
    """
    actions = [k.action for k in KEYS if k.action not in _FIXED]
    for action in config.keys:
        if action not in actions:
            _unknown(config, action, nearest(action, actions))
    table = []
    for key in KEYS:
        own = config.keys.get(key.action)
        if own is not None:
            shown = "  ".join(own)
            key = replace(key, keys=tuple(own), shown=shown, footer_key=own[0] if own else "")
        if key.keys:
            table.append(key)
    key_map(table)
    return tuple(table)


def keys_for(screen: str, table: Iterable[Key] = KEYS) -> list[Key]:
    """The keys that work on ``screen``, in table order."""
    return [k for k in table if screen in k.where]


def key_map(table: Iterable[Key]) -> dict[tuple[str, str], str]:
    """(screen, key) -> action. Raises UsageError when two actions share a key on one screen."""
    found: dict[tuple[str, str], str] = {}
    for key in table:
        for name in key.keys:
            for screen in key.where:
                other = found.setdefault((screen, name), key.action)
                if other != key.action:
                    raise UsageError(f"key {name!r} starts both {other!r} and {key.action!r}")
    return found


def _unknown(config: Config, action: str, hint: str | None) -> NoReturn:
    message = f"unknown action {action!r}"
    if config.keys_node is not None:
        for key in config.keys_node.value:
            if key.value == action:
                key.fail(message, hint=hint)
    raise UsageError(message + (f"; did you mean {hint!r}?" if hint else ""))
