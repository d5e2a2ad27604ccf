"""The table of keys: the app's bindings, the footer and the help come from it.

One row per action. Alt-keys and ctrl+/ are avoided: tmux and ssh lose them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rltui.config import Config
from rltui.core.errors import UsageError
from rltui.core.text import cell_width, fit
from rltui.core.yaml_document import nearest
from rltui.draw.line import ACCENT, MUTED, TEXT, Line, Token, fit_line, style, with_ground
from rltui.draw.view import View

#: Screens on which a key can work; the Findings tab has keys of its own.
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
#: The histograms, pictures and curves of a run.
MEDIA = "media"
#: The list of logs to choose from, before there is anything to watch.
PICKER = "picker"
#: Help or an explanation over a screen, and the log.
OVERLAY, LOG, SETTINGS = "overlay", "log", "settings"
_OVERLAYS = (OVERLAY, LOG, SETTINGS)
_ALWAYS = (*EVERYWHERE, PICKER, *_OVERLAYS, SAMPLES, MEDIA)
_LISTS = (RUNS, LIST, GRID, TIMING, FINDINGS, COMPARISON, PICKER, SAMPLES)
_RUN = (LIST, GRID, TIMING, FINDINGS, METRIC)
_TABS = (LIST, TIMING)
_CHARTS = (LIST, GRID, METRIC)
_CURVES = (*_CHARTS, COMPARISON)
#: Lists whose charts have a crosshair, and all that have one.
_CROSSED = (GRID, COMPARISON)
_CROSSHAIR = (*_CROSSED, METRIC)
#: Where keys of a run work: in the list on the one at the cursor.
_OF_RUN = (RUNS, *_RUN)
_SETTINGS = (*_OF_RUN, COMPARISON, SETTINGS)
_SCROLLED = (*_LISTS, *_OVERLAYS)
_FILTERED = (RUNS, LIST, GRID, TIMING, COMPARISON, PICKER, LOG, SETTINGS, SAMPLES)
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
#: Screen where the keys of a run do not work -> the same, whatever the target; screens of that kind
#: that are missing here are one screen back.
_WAY_OUT = {
    RUNS: ("in a run", "enter"),
    PICKER: ("once a log is open", "enter"),
    **dict.fromkeys(_OVERLAYS, ("once this is closed", "close")),
}
#: (from, to) of neighbouring places -> the same.
_SHORTCUTS = {
    (GRID, LIST): ("in the table", "table"),
    (RUNS, COMPARISON): _ROUTES[COMPARISON],
}


#: Names of keys as the toolkit spells them -> as the help writes them; others are the same.
_SHOWN = {
    "question_mark": "?", "up": "↑", "down": "↓", "left": "←", "right": "→", "home": "Home",
    "end": "End", "ctrl+u": "Ctrl+U", "pageup": "PgUp", "ctrl+d": "Ctrl+D", "pagedown": "PgDn",
    "left_square_bracket": "[", "right_square_bracket": "]", "tab": "Tab", "shift+tab": "Shift+Tab",
    "enter": "Enter", "escape": "Esc", "exclamation_mark": "!", "slash": "/", "space": "Space",
    "comma": ",", "full_stop": ".", "plus": "+", "minus": "-", "equals_sign": "=",
    "less_than_sign": "<", "greater_than_sign": ">", "left_curly_bracket": "{",
    "right_curly_bracket": "}", "left_parenthesis": "(", "right_parenthesis": ")",
    "colon": ":", "ctrl+p": "Ctrl+P", "ctrl+z": "Ctrl+Z",
    "ctrl+c": "Ctrl+C",
}  # fmt: skip


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
    "step_picture": ("previous_picture", "next_picture"),
    "scroll_sideways": ("scroll_left", "scroll_right"),
    "cross": ("cross_left", "cross_right"),
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
    "grid_cross_left": "cross(-1)",
    "grid_cross_right": "cross(1)",
    "cross_ten_left": "cross(-10)",
    "cross_ten_right": "cross(10)",
    "first_or_step": "end_or_step(-1)",
    "last_or_step": "end_or_step(1)",
    "pause": "app.pause",
    "palette": "app.command_palette",
    "suspend": "app.suspend_process",
    "quit": "leave",
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


def _key(action: str, keys: str, *row: Any, shown: str = "", **more: Any) -> Key:
    """A row of the table; its keys are parted by blanks."""
    names = tuple(keys.split())
    shown = shown or "  ".join(_SHOWN.get(n, n) for n in names)
    return Key(action, names, shown, *row, **more)


KEYS: tuple[Key, ...] = (
    _key("help", "question_mark", "this help", _ALL, _ALWAYS, "help", 0),
    _key("up", "up k", "row up", MOVE, _SCROLLED),
    _key("down", "down j", "row down", MOVE, _SCROLLED),
    _key("previous_metric", "up k", "previous metric", MOVE, (METRIC, MEDIA)),
    _key("next_metric", "down j", "next metric", MOVE, (METRIC, MEDIA)),
    _key("first", "g home", "first row", MOVE, tuple(p for p in _SCROLLED if p not in _CROSSED)),
    _key("last", "G end", "last row", MOVE, tuple(p for p in _SCROLLED if p not in _CROSSED)),
    _key("first_or_step", "g home", "first row; crosshair: first step", MOVE, _CROSSED),
    _key("last_or_step", "G end", "last row; crosshair: newest step", MOVE, _CROSSED),
    _key("first_step", "g home", "to the first step", MOVE, (METRIC, MEDIA)),
    _key("last_step", "G end", "to the newest step", MOVE, (METRIC, MEDIA)),
    _key("half_up", "ctrl+u pageup", "half a page up", MOVE, _SCROLLED),
    _key("half_down", "ctrl+d pagedown", "half a page down", MOVE, _SCROLLED),
    _key("tab", "1 2 3 4 5 6 7 8 9 0", "tab", MOVE, _OF_RUN, shown="1 … 9  0"),
    _key("previous_tab", "left_square_bracket", "previous tab", MOVE, _RUN),
    _key("next_tab", "right_square_bracket", "next tab", MOVE, _RUN),
    _key("left", "left h", "previous tab", MOVE, (*_TABS, FINDINGS)),
    _key("right", "right l", "next tab", MOVE, (*_TABS, FINDINGS)),
    _key("previous_column", "left h", "metric on the left", MOVE, (COMPARISON,), "metric", 4,
         "← →"),
    _key("next_column", "right l", "metric on the right", MOVE, (COMPARISON,)),
    _key("chart_left", "left h", "chart to the left", MOVE, (GRID,)),
    _key("chart_right", "right l", "chart to the right", MOVE, (GRID,)),
    _key("next_section", "tab", "next section", MOVE, _TABS),
    _key("previous_section", "shift+tab", "previous section", MOVE, _TABS),
    _key("earlier", "left h", "earlier step", MOVE, (SAMPLES, MEDIA), "step", 3, "← →"),
    _key("later", "right l", "later step", MOVE, (SAMPLES, MEDIA)),
    _key("previous_kind", "left_square_bracket", "previous kind", MOVE, (SAMPLES,)),
    _key("next_kind", "right_square_bracket", "next kind", MOVE, (SAMPLES,), "kind", 6),
    _key("previous_picture", "left_square_bracket", "previous picture of the step", MOVE, (MEDIA,),
         "picture", 4, "[ ]"),
    _key("next_picture", "right_square_bracket", "next picture of the step", MOVE, (MEDIA,)),
    _key("enter", "enter", "open", MOVE, _LISTS, "open", 2),
    _key("back", "escape", "back, clear the filter", MOVE, _ALWAYS, "back", 3),
    _key("next_finding", "exclamation_mark", "next finding", MOVE, _OF_RUN, "next finding", 4),
    _key("runs", "r", "list of runs", MOVE, (*_RUN, COMPARISON), "runs", 5),
    _key("filter", "slash", "filter; !word hides", _SCREEN, _FILTERED, "filter", 1),
    _key("rescan", "r", "search again at once", _SCREEN, (PICKER,), "look again", 4),
    _key("grid", "v", "grid of charts", _SCREEN, (LIST,), "grid", 6),
    _key("table", "v", "table", _SCREEN, (GRID,), "table", 3),
    _key("maximise", "m", "chart or list alone", _SCREEN, (LIST,), rank=15),
    _key("alone", "m", "chart alone", _SCREEN, (GRID, METRIC)),
    _key("finding_alone", "m", "finding or list alone", _SCREEN, (FINDINGS,), "all of it", 5),
    _key("pin", "P", "pin to Overview, unpin", _SCREEN, (*_CHARTS, TIMING), "pin", 13),
    _key("scroll_left", "left h", "sideways", MOVE, (LOG,), "sideways", 2, "← →"),
    _key("scroll_right", "right l", "sideways", MOVE, (LOG,)),
    _key("digest", "v", "errors and warnings of all logs, the log", _SCREEN, (LOG,),
         "errors/log", 2),
    _key("order", "o", "next order", _SCREEN, (RUNS, COMPARISON), "order", 4),
    _key("other_way", "O", "the other way round", _SCREEN, (RUNS,)),
    _key("columns", "a", "columns: metrics, settings", _SCREEN, (RUNS,), "columns", 6),
    _key("note", "n", "note on the run", _SCREEN, _OF_RUN, rank=14),
    _key("mark", "space", "mark the run", _SCREEN, (RUNS, COMPARISON), "mark", 5),
    _key("share_chart", "space", "mark rows for one chart", _SCREEN, (LIST,)),
    _key("comparison", "C", "runs side by side", _SCREEN, (RUNS, *_CHARTS), "compare", 13),
    _key("group", "B", "group runs: seeds, settings", _SCREEN, (RUNS, COMPARISON), "group", 6),
    _key("sample_order", "o", "order: worst, best, longest, shortest, as logged", _SCREEN,
         (SAMPLES,), "order", 4),
    _key("sample_filter", "f", "next filter: what is wrong", _SCREEN, (SAMPLES,), "wrong ones", 5),
    _key("same_prompt", "a", "this prompt over the steps", _SCREEN, (SAMPLES,), "same prompt", 7),
    _key("beside", "equals_sign", "keep it beside others", _SCREEN, (SAMPLES,), "beside", 8),
    _key("cross_left", "left h comma", "crosshair left", _CHART, (METRIC,), "crosshair", 2, "← →"),
    _key("cross_right", "right l full_stop", "crosshair right", _CHART, (METRIC,)),
    _key("grid_cross_left", "comma", "crosshair left", _CHART, _CROSSED),
    _key("grid_cross_right", "full_stop", "crosshair right", _CHART, _CROSSED, "crosshair", 3,
         ", ."),
    _key("cross_ten_left", "left_parenthesis", "ten steps or a tenth left", _CHART, _CROSSHAIR,
         "ten", 9, "( )"),
    _key("cross_ten_right", "right_parenthesis", "ten steps or a tenth right", _CHART, _CROSSHAIR),
    _key("onset", "f", "onset of the finding, and back", _CHART, _CROSSHAIR, "onset", 7),
    _key("value_order", "O", "crosshair: order of values", _CHART, (GRID, METRIC)),
    _key("zoom_in", "plus", "zoom in", _CHART, (METRIC,), "zoom", 3, "+ -"),
    _key("zoom_out", "minus", "zoom out", _CHART, (METRIC,)),
    _key("zoom_all", "equals_sign", "whole run", _CHART, (METRIC,), "all", 6),
    _key("axis", "x", "axis: step, time, metric", _CHART, (*_CURVES, TIMING), "axis", 7),
    _key("smoother", "s", "smoother", _CHART, _CURVES, "smooth", 8),
    _key("rougher", "S", "less smooth", _CHART, _CURVES),
    _key("log_y", "L", "log y", _CHART, _CURVES, "log y", 9),
    _key("outliers", "o", "ignore outliers", _CHART, _CHARTS, "outliers", 10),
    _key("scatter", "v", "hyperparameter against result", _CHART, (COMPARISON,), "scatter", 5),
    _key("shares", "v", "shares or seconds", _CHART, (TIMING,), "shares/seconds", 4),
    _key("bands", "v", "ridge or quantiles", _CHART, (MEDIA,), "ridge/quantiles", 4),
    _key("reference", "c", "reference run, or none", _SCREEN, EVERYWHERE, "reference", 14),
    _key("explain", "e", "explain the selection", _ALL, (*_RUN, *_OVERLAYS), "explain", 6),
    _key("tail", "t", "tail of the console log", _ALL, (*_OF_RUN, *_OVERLAYS), rank=13),
    _key("hyperparameters", "H", "hyperparameters", _ALL, _SETTINGS, rank=13),
    _key("samples", "T", "texts and samples", _ALL, (*_OF_RUN, SAMPLES), rank=13),
    _key("pause", "p", "pause the view, a replay", _ALL, footer="play/pause", rank=1),
    _key("replay_back", "less_than_sign", "as it was a step earlier", _REPLAY, _RUN,
         "replay a step", 1, "< >"),
    _key("replay_on", "greater_than_sign", "as it was a step later", _REPLAY, _RUN),
    _key("replay_slower", "left_curly_bracket", "slower replay", _REPLAY, _RUN),
    _key("replay_faster", "right_curly_bracket", "faster replay", _REPLAY, _RUN),
    _key("mute", "M", "mute the finding, unmute", _SCREEN, _RUN, rank=13),
    _key("undo", "u", "undo the mute", _SCREEN, _RUN),
    _key("copy", "y", "copy the row as text", _ALL, (*EVERYWHERE, SAMPLES, MEDIA), "copy", 12),
    _key("write", "w", "write screen or data", _ALL, rank=14),
    _key("command", "colon", "command: tab, goto, theme", _ALL, (*EVERYWHERE, SAMPLES, MEDIA)),
    _key("palette", "ctrl+p", "find metric, run, finding", _ALL,
         (*EVERYWHERE, PICKER, SAMPLES, MEDIA)),
    _key("suspend", "ctrl+z", "suspend", _ALL, _ALWAYS),
    _key("quit", "q ctrl+c", "close, else quit", _ALL, (*EVERYWHERE, PICKER), "quit", 0),
    _key("close", "q", "close", _ALL, (*_OVERLAYS, SAMPLES, MEDIA), "close", 0),
)  # fmt: skip
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
        if action in actions:
            continue
        message, hint = f"unknown action {action!r}", nearest(action, actions)
        for key in config.keys_node.value if config.keys_node is not None else ():
            if key.value == action:
                key.fail(message, hint=hint)
        raise UsageError(message + (f"; did you mean {hint!r}?" if hint else ""))
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


def footer_line(keys: Sequence[Key], view: View, width: int, right: str = "") -> Line:
    """The footer words of ``keys`` as far as they fit, and ``right`` at the right end."""
    words = view.glyphs.text
    right = words(right)
    # action, key, word, rank in the footer
    shown = [
        (k.action, words(k.footer_key or k.shown.split("  ")[0]), k.footer, k.rank)
        for k in keys
        if k.footer
    ]
    room = width - (cell_width(right) + 3 if right else 1) - 1
    while len(shown) > 2 and sum(cell_width(k + w) + 3 for _, k, w, _ in shown) > room:
        shown.remove(max(shown, key=lambda row: row[3]))
    shown.sort(key=lambda row: (row[0] != "help", row[0] == "quit", row[3]))
    line: Line = [(" ", TEXT)]
    for i, (_, key, word, _) in enumerate(shown):
        line.append((("  " if i else "") + key, style(Token.ACCENT, bold=True)))
        line.append((f" {word}", TEXT))
    if right:
        line = [*fit_line(line, width - cell_width(right) - 1), (fit(right, width), MUTED)]

    return with_ground(fit_line(line, width), Token.RAISED)


def filter_line(text: str, width: int, right: str) -> Line:
    """The status line that shows the filter in force, and ``right`` at the right end."""
    line: Line = [(" /", ACCENT), (text, style(Token.STRONG))]
    gap = width - sum(cell_width(t) for t, _ in line) - cell_width(right) - 1
    if gap > 0:
        line = [*line, (" " * gap, TEXT), (right, MUTED)]
    return with_ground(fit_line(line, width), Token.SEL)


def elsewhere(pressed: str, place: str, table: Iterable[Key], below: str = "") -> str:
    """What the key named ``pressed`` does on other screens than ``place``, on the one ``below`` it
    before all, and how to get there: "v (grid of charts) works in a tab of metrics: press 2-8
    first". "" for a key without a meaning, and for one that works here."""
    table = tuple(table)
    rows = [k for k in table if pressed in k.keys]
    if any(place in k.where for k in rows):
        return ""
    for target in (below, *_ROUTES):
        for key in (k for k in rows if target in k.where):
            if key.action == place:
                return f"{_shown(key, pressed)} ({key.words}) is open already"
            return f"{_shown(key, pressed)} ({key.words}) works {_route(place, target, table)}"
    return ""


def covered(action: str, place: str, table: Iterable[Key]) -> str:
    """Words for a key that works only after ``place`` is closed: "e (explain the selection) works
    once this is closed: press q first"."""
    table = tuple(table)
    key = next(k for k in table if k.action == action)
    return f"{_shown(key)} ({key.words}) works {_route(place, place, table)}"


def _route(place: str, target: str, table: Iterable[Key]) -> str:
    """How to get from ``place`` to ``target``, with the key if one does it."""
    way_out = _ROUTES[target] if place in _RUN else _WAY_OUT.get(place, ("one screen back", "back"))
    words, action = _SHORTCUTS.get((place, target), way_out)
    if action == "tab":
        return f"{words}: press {_DIGITS[target]} first"
    name = next((_shown(k) for k in table if k.action == action), "")
    return f"{words}: press {name} first" if name else words


def _shown(key: Key, pressed: str = "") -> str:
    """The key that was pressed, or the first one, as the help writes it."""
    pressed = pressed or key.keys[0]
    shown = key.shown.split()
    return shown[key.keys.index(pressed)] if len(shown) == len(key.keys) else pressed
