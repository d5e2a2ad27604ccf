"""The table of keys: the app's bindings, the footer and the help come from it.

One row per action; one without a key is a command. Alt-keys and ctrl+/ are avoided: tmux and ssh
lose them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TypeVar

from rltui.config import Config
from rltui.core.errors import UsageError
from rltui.core.record import record
from rltui.core.text import cell_width, fit
from rltui.core.yaml_document import complain_of
from rltui.draw.line import (
    ACCENT,
    ACCENT_BOLD,
    MUTED,
    STRONG,
    TEXT,
    Line,
    Token,
    fit_line,
    line_width,
    with_end,
    with_ground,
)

Value = TypeVar("Value")

#: Screens on which a key can work; the Findings tab has keys of its own.
RUNS = "runs"
LIST = "list"
FINDINGS = "findings"
METRIC = "metric"
#: Runs side by side.
COMPARISON = "comparison"
#: The charts of a tab instead of its list.
GRID = "grid"
#: The stages of a step.
TIMING = "timing"
#: The samples of a run.
SAMPLES = "samples"
#: The histograms, pictures and curves of a run.
MEDIA = "media"
#: The list of logs to choose from, before there is anything to watch.
PICKER = "picker"
#: Help or an explanation over a screen, and the log.
OVERLAY = "overlay"
LOG = "log"
SETTINGS = "settings"

#: Sets of places, each of which may consist of those above it.
_SETS = """
everywhere: runs list grid timing findings metric comparison
overlays: overlay log settings
always: everywhere picker overlays samples media
lists: runs list grid timing findings comparison picker samples
scrolled: lists overlays
uncrossed: runs list timing findings picker samples overlays
session: everywhere samples media
searched: everywhere picker samples media
filtered: runs list grid timing comparison picker log settings samples
run: list grid timing findings metric
of_run: runs run
configured: of_run comparison settings
tabs: list timing
charts: list grid metric
curves: charts comparison
crossed: grid comparison
crosshair: crossed metric
"""
#: The group of keys that move the cursor.
MOVE = "Move"
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
    **dict.fromkeys((OVERLAY, LOG, SETTINGS), ("once this is closed", "close")),
}
#: (from, to) of neighbouring places -> the same.
_SHORTCUTS = {
    (GRID, LIST): ("in the table", "table"),
    (RUNS, COMPARISON): _ROUTES[COMPARISON],
}


#: Keys as the table and the help write them -> as the toolkit spells them; others are the same.
_NAMES = dict(
    re.findall(
        r"(\S+) (\S+)",
        """
        ? question_mark  ↑ up  ↓ down  ← left
        → right  Home home  End end  Ctrl+U ctrl+u
        PgUp pageup  Ctrl+D ctrl+d  PgDn pagedown  [ left_square_bracket
        ] right_square_bracket  Tab tab  Shift+Tab shift+tab  Enter enter
        Esc escape  ! exclamation_mark  / slash  Space space
        , comma  . full_stop  + plus  - minus
        = equals_sign  < less_than_sign  > greater_than_sign  { left_curly_bracket
        } right_curly_bracket  ( left_parenthesis  ) right_parenthesis  : colon
        Ctrl+P ctrl+p  Ctrl+Z ctrl+z  Ctrl+C ctrl+c
        """,
    )
)


@record
class Key:
    """One action and the keys that start it."""

    action: str
    """Id that the config's ``keys`` section names."""
    call: str
    """Method that carries it out: its name without ``action_``, with arguments where it has some
    (``{}`` is the name of the key). ``app.NAME`` is a method of the app. The screens check it when
    they are defined."""
    keys: tuple[str, ...]
    """Names as the toolkit spells them."""
    shown: str
    """The keys as the help writes them."""
    words: str
    """Words on its effect, for the help."""
    group: str
    where: tuple[str, ...]
    rank: int
    """Lower stays longer when the footer gets narrow."""
    footer: str
    """Word in the footer; empty keeps it out of there."""
    footer_key: str
    """How the footer writes the key, when shorter than ``shown``."""

    @property
    def method(self) -> str:
        """The name of the method that carries it out alone."""
        return self.call.partition("(")[0]


def _places() -> dict[str, tuple[str, ...]]:
    """Name of a place or of a set of places -> those places."""
    places = *_ROUTES, PICKER, OVERLAY, MEDIA
    found: dict[str, tuple[str, ...]] = {place: (place,) for place in places}
    for row in _SETS.strip().splitlines():
        name, _, members = row.partition(":")
        found[name] = tuple(place for member in members.split() for place in found[member])
    return found


_PLACES = _places()
EVERYWHERE = _PLACES["everywhere"]


def _key(row: str) -> Key:
    """A row of the table. Raises KeyError for a place that does not exist."""
    cells = [cell.strip() for cell in f"{row}{'|' * 9}".split("|")]
    action, call, keys, words, group, where, rank, *footer, shown = cells[:10]
    names = tuple(_NAMES.get(key, key) for key in keys.split())
    shown = shown or "  ".join(keys.split())
    places = tuple(place for name in where.split() for place in _PLACES[name])
    return Key(action, call or action, names, shown, words, group, places, int(rank or 99), *footer)


#: A row: id of the action | method, if that has another name | keys | what it does | group of the
#: help | places, or sets of them | rank and word in the footer | the keys there | those in the help
_TABLE = """
help | | ? | this help | Everywhere | always | 0 | help
up | move(-1) | ↑ k | row up | Move | scrolled
down | move(1) | ↓ j | row down | Move | scrolled
previous_metric | step_metric(-1) | ↑ k | previous metric | Move | metric media
next_metric | step_metric(1) | ↓ j | next metric | Move | metric media
first | move_to_end(-1) | g Home | first row | Move | uncrossed
last | move_to_end(1) | G End | last row | Move | uncrossed
first_or_step | end_or_step(-1) | g Home | first row; crosshair: first step | Move | crossed
last_or_step | end_or_step(1) | G End | last row; crosshair: newest step | Move | crossed
first_step | cross_to_end(-1) | g Home | to the first step | Move | metric media
last_step | cross_to_end(1) | G End | to the newest step | Move | metric media
half_up | move_half(-1) | Ctrl+U PgUp | half a page up | Move | scrolled
half_down | move_half(1) | Ctrl+D PgDn | half a page down | Move | scrolled
tab | tab('{}') | 1 2 3 4 5 6 7 8 9 0 | tab | Move | of_run | |  | | 1 … 9  0
previous_tab | step_tab(-1) | [ | previous tab | Move | run
next_tab | step_tab(1) | ] | next tab | Move | run
left | turn(-1) | ← h | previous tab | Move | tabs findings
right | turn(1) | → l | next tab | Move | tabs findings
previous_column | step_column(-1) | ← h | to the left: metric, chart, text | Move | comparison | 4 | metric | ← →
next_column | step_column(1) | → l | to the right: metric, chart, text | Move | comparison
chart_left | chart_sideways(-1) | ← h | to the left: metric, chart, text | Move | grid
chart_right | chart_sideways(1) | → l | to the right: metric, chart, text | Move | grid
next_section | step_section(1) | Tab | next section | Move | tabs
previous_section | step_section(-1) | Shift+Tab | previous section | Move | tabs
earlier | step_sample(-1) | ← h | earlier step | Move | samples media | 3 | step | ← →
later | step_sample(1) | → l | later step | Move | samples media
previous_kind | step_kind(-1) | [ | previous kind | Move | samples
next_kind | step_kind(1) | ] | next kind | Move | samples | 6 | kind
previous_picture | step_picture(-1) | [ | previous picture of the step | Move | media | 4 | picture | [ ]
next_picture | step_picture(1) | ] | next picture of the step | Move | media
enter | | Enter | open | Move | lists | 2 | open
back | | Esc | back, clear the filter | Move | always | 3 | back
next_finding | | ! | next finding | Move | of_run | 4 | next finding
runs | | r | list of runs | Move | run comparison | 5 | runs
next_match | | n | next match | Move | filtered findings
filter | | / | filter; !word hides | This screen | filtered | 1 | filter
rescan | | r | search again at once | This screen | picker | 4 | look again
grid | | v | grid of charts, table | This screen | list | 6 | grid
table | grid | v | grid of charts, table | This screen | grid | 3 | table
maximise | | m | enlarge chart, list or finding | This screen | list | 15
alone | maximise | m | enlarge chart, list or finding | This screen | grid metric
finding_alone | maximise | m | enlarge chart, list or finding | This screen | findings | 5 | all of it
pin | | P | pin to Overview, unpin | This screen | charts timing | 13 | pin
scroll_left | scroll_sideways(-1) | ← h | to the left: metric, chart, text | Move | log | 2 | sideways | ← →
scroll_right | scroll_sideways(1) | → l | to the right: metric, chart, text | Move | log
digest | | v | errors and warnings of all logs, the log | This screen | log | 2 | errors/log
order | | o | next order | This screen | runs comparison | 4 | order
other_way | | O | the other way round | This screen | runs
columns | | a | columns: metrics, settings | This screen | runs | 6 | columns
note | | | note on the run | This screen | of_run | | | | :note
mark | | Space | mark the run | This screen | runs comparison | 5 | mark
share_chart | | Space | mark rows for one chart | This screen | list
comparison | | C | Compare: runs side by side | This screen | runs charts | 13 | compare
group | | B | Compare: groups by seed, setting | This screen | runs comparison | 6 | group
sample_order | | o | next order | This screen | samples | 4 | order
sample_filter | | f | next filter: what is wrong | This screen | samples | 5 | wrong ones
same_prompt | | a | this prompt over the steps | This screen | samples | 7 | same prompt
beside | | = | keep it beside others | This screen | samples | 8 | beside
cross_left | cross(-1) | ← h | earlier step | Chart | metric | 2 | crosshair | ← →
cross_right | cross(1) | → l | later step | Chart | metric
grid_cross_left | cross(-1) | , | crosshair left | Chart | crossed
grid_cross_right | cross(1) | . | crosshair right | Chart | crossed | 3 | crosshair | , .
metric_cross_left | cross(-1) | , | crosshair left | Chart | metric
metric_cross_right | cross(1) | . | crosshair right | Chart | metric
cross_ten_left | cross(-10) | ( | ten steps or a tenth left | Chart | crosshair | 9 | ten | ( )
cross_ten_right | cross(10) | ) | ten steps or a tenth right | Chart | crosshair
onset | | f | onset of the finding, and back | Chart | crosshair | 7 | onset
value_order | | O | crosshair: order of values | Chart | grid metric
zoom_in | zoom(1) | + | zoom in | Chart | metric | 3 | zoom | + -
zoom_out | zoom(-1) | - | zoom out | Chart | metric
zoom_steps | ask('zoom ') | | zoom to steps A to B | Chart | charts timing | | | | :zoom A B
look_at | ask('at ') | | crosshair to a step | Chart | run comparison | | | | :STEP
go_to | ask('goto ') | | replay at a step | Replay | run | | | | :goto STEP
now | | | end the replay | Replay | run | | | | :now
zoom_all | | = | whole run | Chart | metric | 6 | all
axis | | x | axis: step, time, metric | Chart | curves timing | 7 | axis
smoother | smooth(1) | s | smoother | Chart | curves | 8 | smooth
rougher | smooth(-1) | S | less smooth | Chart | curves
log_y | | L | log y | Chart | curves | 9 | log y
outliers | | o | ignore outliers | Chart | charts | 10 | outliers
matrix | | v | next view | Chart | comparison | 2 | view
shares | | v | next view | Chart | timing | 4 | shares/seconds
bands | | v | next view | Chart | media | 4 | ridge/quantiles
reference | compare | c | Compare: reference, or none | This screen | everywhere | 14 | reference
explain | | e | explain the selection | Everywhere | run overlays | 6 | explain
tail | | t | tail of the console log | Everywhere | of_run overlays | 13
hyperparameters | | H | hyperparameters | Everywhere | configured | 13
samples | | T | texts and samples | Everywhere | of_run samples | 13
pause | app.pause | p | pause the view, a replay | Everywhere | everywhere | 1 | play/pause
replay_back | replay(-1) | < | as it was a step earlier | Replay | run | 1 | replay a step | < >
replay_on | replay(1) | > | as it was a step later | Replay | run
replay_slower | replay_speed(-1) | { | slower replay | Replay | run
replay_faster | replay_speed(1) | } | faster replay | Replay | run
mute | | M | mute the finding, unmute | This screen | run | 13
undo | | u | undo the mute or limit | This screen | run
copy | | y | copy the row as text | Everywhere | session | 12 | copy
write | | w | write screen or data | Everywhere | everywhere | 14
command | ask | : | command: tab, goto, theme | Everywhere | session
palette | app.command_palette | Ctrl+P | find metric, run, finding | Everywhere | searched
suspend | app.suspend_process | Ctrl+Z | suspend | Everywhere | always
quit | leave | q Ctrl+C | close or quit | Everywhere | everywhere picker | 0 | quit
close | | q | close | Everywhere | overlays samples media | 0 | close
"""  # noqa: E501
KEYS = tuple(map(_key, _TABLE.strip().splitlines()))
#: Method -> the screens on which a key calls it.
METHOD_PLACES = {
    name: {place for k in KEYS if k.method == name for place in k.where}
    for name in {k.method for k in KEYS}
}


def next_of(values: Sequence[Value], current: object, by: int = 1, *, absent: int = -1) -> Value:
    """The value that a key chooses after the ``current`` one: ``by`` places on, around the end.
    ``absent``: the place of one that is not among them."""
    at = values.index(current) if current in values else absent
    return values[(at + by) % len(values)]


def keys_of(config: Config) -> tuple[Key, ...]:
    """The table of keys with the user's own keys: bindings, footer and help come from it.

    Raises DocumentError (or UsageError for the environment) for an action that does not exist,
    UsageError when two actions share a key on one screen.
    """
    actions = [k.action for k in KEYS if k.action not in _FIXED]
    for action in config.keys:
        if action not in actions:
            complain_of(f"unknown action {action!r}", config.keys_node, action, actions)
    table = []
    for key in KEYS:
        own = config.keys.get(key.action)
        if own is not None:
            shown = "  ".join(own)
            key = replace(key, keys=tuple(own), shown=shown, footer_key=own[0] if own else "")
        if key.keys or own is None:
            table.append(key)
    taken: dict[tuple[str, str], str] = {}  # by screen and key
    for key in table:
        for name, screen in product(key.keys, key.where):
            other = taken.setdefault((screen, name), key.action)
            if other != key.action:
                raise UsageError(f"key {name!r} starts both {other!r} and {key.action!r}")

    return tuple(table)


def keys_for(screen: str, table: Iterable[Key] = KEYS) -> list[Key]:
    """The keys that work on ``screen``, in table order."""
    return [k for k in table if screen in k.where]


@lru_cache(maxsize=64)
def footer_line(keys: tuple[Key, ...], width: int, right: str) -> Line:
    """The footer words of ``keys`` as far as they fit, and ``right`` at the right end; callers
    share it."""
    # action, key, word, rank in the footer
    shown = [
        (k.action, k.footer_key or k.shown.split("  ")[0], k.footer, k.rank)
        for k in keys
        if k.footer
    ]
    room = width - (cell_width(right) + 3 if right else 1) - 1
    while len(shown) > 2 and sum(cell_width(k + w) + 3 for _, k, w, _ in shown) > room:
        shown.remove(max(shown, key=lambda row: row[3]))
    shown.sort(key=lambda row: (row[0] != "help", row[0] == "quit", row[3]))
    line: Line = [(" ", TEXT)]
    for i, (_, key, word, _) in enumerate(shown):
        line.append((("  " if i else "") + key, ACCENT_BOLD))
        line.append((f" {word}", TEXT))
    if right:
        line = with_end(line, [(fit(right, width), MUTED)], width - 1)

    return with_ground(fit_line(line, width), Token.RAISED)


def key_at(text: str, x: int) -> str:
    """The key whose name or word stands at a column of the footer, as the toolkit spells it; of two
    keys with one word the one at that column, else the first."""
    for group in re.finditer(r"\S+(?: \S+)*", text):
        if group.start() <= x < group.end():
            is_second = x == group.start() + 2 and text[x - 1 : x + 2].strip() == text[x]
            key = text[x] if is_second else group[0].split()[0]
            return str(_NAMES.get(key, key))
    return ""


def filter_line(text: str, width: int, right: str) -> Line:
    """The status line that shows the filter in force, and ``right`` at the right end."""
    line: Line = [(" /", ACCENT), (text, STRONG)]
    if line_width(line) + cell_width(right) + 1 < width:
        line = with_end(line, [(right, MUTED)], width - 1)
    return with_ground(fit_line(line, width), Token.SEL)


def elsewhere(pressed: str, place: str, table: Iterable[Key], below: str = "") -> str:
    """Say what the key named ``pressed`` does on other screens than ``place``, on the one ``below``
    it before all, and how to get there: "v (grid of charts) works in a tab of metrics: press 2-8
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
    way_out = _WAY_OUT.get(place, ("one screen back", "back"))
    if place in _PLACES["run"]:
        way_out = _ROUTES[target]
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
