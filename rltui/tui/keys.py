"""The table of keys: the app's bindings, the footer and the help come from it.

One row per action. Alt-keys and ctrl+/ are avoided: tmux and ssh lose them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from rltui.config import Config
from rltui.core.errors import UsageError
from rltui.core.text import cell_width, fit
from rltui.core.yaml_document import nearest
from rltui.draw.line import ACCENT, MUTED, TEXT, Line, Token, fit_line, style, with_ground
from rltui.draw.view import View

#: Screens on which a key can work; a tab of findings has keys of its own.
RUNS, LIST, FINDINGS, METRIC = "runs", "list", "findings", "metric"
#: Runs side by side.
COMPARISON = "comparison"
#: The charts of a tab instead of its list.
GRID = "grid"
#: The stages of a step.
TIMING = "timing"
EVERYWHERE = (RUNS, LIST, GRID, TIMING, FINDINGS, METRIC, COMPARISON)
#: The samples of a run.
SAMPLES = "samples"
#: The list of logs to choose from, before there is anything to watch.
PICKER = "picker"
#: Help or an explanation over a screen, and the log.
OVERLAY, LOG, SETTINGS = "overlay", "log", "settings"
_OVERLAYS = (OVERLAY, LOG, SETTINGS)
_ALWAYS = (*EVERYWHERE, PICKER, *_OVERLAYS, SAMPLES)
_LISTS = (RUNS, LIST, GRID, TIMING, FINDINGS, COMPARISON, PICKER, SAMPLES)
_RUN = (LIST, GRID, TIMING, FINDINGS, METRIC)
_TABS = (LIST, TIMING)
_CHARTS = (LIST, GRID, METRIC)
_CURVES = (*_CHARTS, COMPARISON)
_SETTINGS = (RUNS, *_RUN, COMPARISON, SETTINGS)
_SCROLLED = (*_LISTS, *_OVERLAYS)
MOVE, _SCREEN, _CHART, _ALL = "Move", "This screen", "Chart", "Everywhere"
_REPLAY = "Replay"
#: Actions whose words stand in the footer during a replay only.
REPLAYED = ("replay_back", "pause")
#: Actions whose keys mean something by themselves (the digits of the tabs).
_FIXED = ("tab",)
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


#: Method -> the actions that it carries out with the argument -1 and 1.
_BACK_AND_ON = {
    "move": ("up", "down"),
    "move_half": ("half_up", "half_down"),
    "move_to_end": ("first", "last"),
    "chart_sideways": ("chart_left", "chart_right"),
    "step_section": ("previous_section", "next_section"),
    "step_metric": ("previous_metric", "next_metric"),
    "step_column": ("previous_column", "next_column"),
    "step_tab": ("previous_tab", "next_tab"),
    "turn": ("left", "right"),
    "step_sample": ("earlier", "later"),
    "step_kind": ("previous_kind", "next_kind"),
    "scroll_sideways": ("scroll_left", "scroll_right"),
    "cross": ("cross_left", "cross_right"),
    "grid_cross": ("grid_cross_left", "grid_cross_right"),
    "cross_to_end": ("first_step", "last_step"),
    "zoom": ("zoom_out", "zoom_in"),
    "smooth": ("rougher", "smoother"),
    "replay": ("replay_back", "replay_on"),
    "replay_speed": ("replay_slower", "replay_faster"),
}
#: Action -> what carries it out, when not the method of that name.
_CALLS = {
    **{back: f"{method}(-1)" for method, (back, _) in _BACK_AND_ON.items()},
    **{on: f"{method}(1)" for method, (_, on) in _BACK_AND_ON.items()},
    "tab": "tab('{}')",
    "table": "grid",
    "alone": "maximise",
    "finding_alone": "maximise",
    "reference": "compare",
    "pause": "app.pause",
    "palette": "app.command_palette",
    "suspend": "app.suspend_process",
    "quit": "app.quit",
}


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

    @property
    def call(self) -> str:
        """What carries it out: a method without ``action_``, with arguments where it has some
        (``{}`` is the name of the key). ``app.NAME`` is a method of the app. The screens check it
        when they are defined."""
        return _CALLS.get(self.action, self.action)

    @property
    def method(self) -> str:
        """The name of that method alone."""
        return self.call.partition("(")[0]


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
    Key("tab", tuple("1234567890"), "1 … 9  0", "tab", MOVE, _RUN),
    Key("previous_tab", ("left_square_bracket",), "[", "previous tab", MOVE, _RUN),
    Key("next_tab", ("right_square_bracket",), "]", "next tab", MOVE, _RUN),
    Key("left", ("left", "h"), "←  h", "previous tab", MOVE, (*_TABS, FINDINGS)),
    Key("right", ("right", "l"), "→  l", "next tab", MOVE, (*_TABS, FINDINGS)),
    Key(
        "previous_column",
        ("left", "h"),
        "←  h",
        "metric on the left",
        MOVE,
        (COMPARISON,),
        "metric",
        4,
        "← →",
    ),
    Key("next_column", ("right", "l"), "→  l", "metric on the right", MOVE, (COMPARISON,)),
    Key("chart_left", ("left", "h"), "←  h", "chart to the left", MOVE, (GRID,)),
    Key("chart_right", ("right", "l"), "→  l", "chart to the right", MOVE, (GRID,)),
    Key("next_section", ("tab",), "Tab", "next section", MOVE, _TABS),
    Key("previous_section", ("shift+tab",), "Shift+Tab", "previous section", MOVE, _TABS),
    Key("earlier", ("left", "h"), "←  h", "earlier step", MOVE, (SAMPLES,), "step", 3, "← →"),
    Key("later", ("right", "l"), "→  l", "later step", MOVE, (SAMPLES,)),
    Key("previous_kind", ("left_square_bracket",), "[", "previous kind", MOVE, (SAMPLES,)),
    Key("next_kind", ("right_square_bracket",), "]", "next kind", MOVE, (SAMPLES,), "kind", 6),
    Key("enter", ("enter",), "Enter", "open", MOVE, _LISTS, "open", 2),
    Key("back", ("escape",), "Esc", "back, clear the filter", MOVE, _ALWAYS, "back", 3),
    Key("next_finding", ("exclamation_mark",), "!", "next finding", MOVE, _RUN, "next finding", 4),
    Key("runs", ("r",), "r", "list of runs", MOVE, (*_RUN, COMPARISON), "runs", 5),
    Key(
        "filter",
        ("slash",),
        "/",
        "filter; !word hides",
        _SCREEN,
        (RUNS, LIST, GRID, TIMING, COMPARISON, PICKER, LOG, SETTINGS, SAMPLES),
        "filter",
        1,
    ),
    Key("rescan", ("r",), "r", "search again at once", _SCREEN, (PICKER,), "look again", 4),
    Key("grid", ("v",), "v", "grid of charts", _SCREEN, (LIST,), "grid", 6),
    Key("table", ("v",), "v", "table", _SCREEN, (GRID,), "table", 3),
    Key("maximise", ("m",), "m", "chart or list alone", _SCREEN, (LIST,), rank=15),
    Key("alone", ("m",), "m", "chart alone", _SCREEN, (GRID, METRIC)),
    Key(
        "finding_alone",
        ("m",),
        "m",
        "finding or list alone",
        _SCREEN,
        (FINDINGS,),
        "all of it",
        5,
    ),
    Key("pin", ("P",), "P", "pin to Overview, unpin", _SCREEN, (*_CHARTS, TIMING), "pin", 13),
    Key("scroll_left", ("left", "h"), "←  h", "sideways", MOVE, (LOG,), "sideways", 2, "← →"),
    Key("scroll_right", ("right", "l"), "→  l", "sideways", MOVE, (LOG,)),
    Key("order", ("o",), "o", "next order", _SCREEN, (RUNS, COMPARISON), "order", 4),
    Key("mark", ("space",), "Space", "mark the run", _SCREEN, (RUNS, COMPARISON), "mark", 5),
    Key("share_chart", ("space",), "Space", "mark rows for one chart", _SCREEN, (LIST,)),
    Key(
        "comparison",
        ("C",),
        "C",
        "runs side by side",
        _SCREEN,
        (RUNS, LIST, METRIC),
        "side by side",
        13,
    ),
    Key(
        "group", ("B",), "B", "group runs: seeds, settings", _SCREEN, (RUNS, COMPARISON), "group", 6
    ),
    Key(
        "sample_order",
        ("o",),
        "o",
        "order: worst, best, longest, shortest, as logged",
        _SCREEN,
        (SAMPLES,),
        "order",
        4,
    ),
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
    Key("grid_cross_left", ("comma",), ",", "crosshair left", _CHART, (GRID,)),
    Key(
        "grid_cross_right",
        ("full_stop",),
        ".",
        "crosshair right",
        _CHART,
        (GRID,),
        "crosshair",
        3,
        ", .",
    ),
    Key("zoom_in", ("plus",), "+", "zoom in", _CHART, (METRIC,), "zoom", 3, "+ -"),
    Key("zoom_out", ("minus",), "-", "zoom out", _CHART, (METRIC,)),
    Key("zoom_all", ("equals_sign",), "=", "whole run", _CHART, (METRIC,), "all", 6),
    Key("axis", ("x",), "x", "axis: step, time, tokens", _CHART, (*_CURVES, TIMING), "axis", 7),
    Key("smoother", ("s",), "s", "smoother", _CHART, _CURVES, "smooth", 8),
    Key("rougher", ("S",), "S", "less smooth", _CHART, _CURVES),
    Key("log_y", ("L",), "L", "log y", _CHART, _CURVES, "log y", 9),
    Key("outliers", ("o",), "o", "ignore outliers", _CHART, _CHARTS, "outliers", 10),
    Key("shares", ("v",), "v", "shares or seconds", _CHART, (TIMING,), "shares/seconds", 4),
    Key(
        "reference",
        ("c",),
        "c",
        "compare with this run",
        _SCREEN,
        EVERYWHERE,
        "compare",
        14,
    ),
    Key("explain", ("e",), "e", "explain the selection", _ALL, (*_RUN, *_OVERLAYS), "explain", 6),
    Key("tail", ("t",), "t", "tail of the console log", _ALL, (*_RUN, *_OVERLAYS), rank=13),
    Key("hyperparameters", ("H",), "H", "hyperparameters", _ALL, _SETTINGS, rank=13),
    Key("samples", ("T",), "T", "texts and samples", _ALL, (*_RUN, SAMPLES), rank=13),
    Key(
        "pause",
        ("p",),
        "p",
        "pause the view, a replay",
        _ALL,
        footer="play/pause",
        rank=1,
    ),
    Key(
        "replay_back",
        ("less_than_sign",),
        "<",
        "as it was a step earlier",
        _REPLAY,
        _RUN,
        "replay a step",
        1,
        "< >",
    ),
    Key("replay_on", ("greater_than_sign",), ">", "as it was a step later", _REPLAY, _RUN),
    Key("replay_slower", ("left_curly_bracket",), "{", "slower replay", _REPLAY, _RUN),
    Key("replay_faster", ("right_curly_bracket",), "}", "faster replay", _REPLAY, _RUN),
    Key("mute", ("M",), "M", "mute the finding, unmute", _SCREEN, _RUN, rank=13),
    Key(
        "copy",
        ("y",),
        "y",
        "copy the row as text",
        _ALL,
        (*EVERYWHERE, SAMPLES),
        footer="copy",
        rank=12,
    ),
    Key("write", ("w",), "w", "write screen or data", _ALL, rank=14),
    Key("command", ("colon",), ":", "command: tab, goto, theme", _ALL, (*EVERYWHERE, SAMPLES)),
    Key(
        "palette",
        ("ctrl+p",),
        "Ctrl+P",
        "palette of commands",
        _ALL,
        (*EVERYWHERE, PICKER, SAMPLES),
    ),
    Key("suspend", ("ctrl+z",), "Ctrl+Z", "suspend", _ALL, _ALWAYS),
    Key(
        "quit",
        ("q", "ctrl+c"),
        "q  Ctrl+C",
        "quit; training goes on",
        _ALL,
        (*EVERYWHERE, PICKER),
        footer="quit",
        rank=0,
    ),
    Key("close", ("q",), "q", "close", _ALL, (*_OVERLAYS, SAMPLES), "close", 0),
)
#: Method -> the screens on which a key calls it.
METHOD_PLACES = {
    name: {place for k in KEYS if k.method == name for place in k.where}
    for name in {k.method for k in KEYS}
}


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


def footer_line(keys: Sequence[Key], view: View, width: int, right: str = "") -> Line:
    """The footer words of ``keys`` as far as they fit, and ``right`` at the right end."""
    words = view.glyphs.text
    shown, right = [replace(k, footer_key=words(_name(k))) for k in keys if k.footer], words(right)
    order = {k.action: i for i, k in enumerate(shown)}
    room = width - (cell_width(right) + 3 if right else 1) - 1
    while len(shown) > 2 and _width(shown) > room:
        shown.remove(max(shown, key=lambda k: k.rank))
    shown.sort(key=lambda k: (k.action != "help", k.action == "quit", k.rank, order[k.action]))
    line: Line = [(" ", TEXT)]
    for i, key in enumerate(shown):
        line.append((("  " if i else "") + _name(key), style(Token.ACCENT, bold=True)))
        line.append((f" {key.footer}", TEXT))
    line = fit_line(line, width - cell_width(right) - 1) if right else line
    if right:
        line = [*line, (fit(right, width), MUTED)]
    return with_ground(fit_line(line, width), Token.RAISED)


def filter_line(text: str, width: int, right: str) -> Line:
    """A filter that stays in force after it was typed."""
    line: Line = [(" /", ACCENT), (text, style(Token.STRONG))]
    gap = width - sum(cell_width(t) for t, _ in line) - cell_width(right) - 1
    if gap > 0:
        line = [*line, (" " * gap, TEXT), (right, MUTED)]
    return with_ground(fit_line(line, width), Token.SEL)


def _name(key: Key) -> str:
    return key.footer_key or key.shown.split("  ")[0]


def _width(keys: Sequence[Key]) -> int:
    return sum(cell_width(_name(k)) + 1 + cell_width(k.footer) + 2 for k in keys)


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
