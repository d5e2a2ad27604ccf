"""The settings as records, and what each value must be: one frozen record per section.

Each is read from the keys of its fields (:mod:`rltui.core.yaml_record`).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated

from rltui.core.record import record
from rltui.core.text import Names
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed

MARKERS = ("auto", "braille", "block", "ascii")
FORMATS = ("json", "text")
ALERTS = ("off", "watch", "bad")
EVENTS = ("finding", "finished", "crashed", "stalled", "goal")
MOUSE = ("auto", "on", "off")


def one_of(*words: str) -> Keyed:
    """Reads a setting that is one of some words."""

    def read(node: Node) -> str:
        # YAML takes the words on and off for true and false
        word = ("off", "on")[node.value] if isinstance(node.value, bool) else ""
        return word if word in words else node.choice(words)

    return Keyed(read=read)


def some_of(*some: str) -> Keyed:
    """Reads a setting that is a list of some words."""
    return Keyed(read=lambda node: tuple(node.each(lambda item: item.choice(some))))


def within(low: float, high: float) -> Keyed:
    """Reads a number that has limits."""

    def read(node: Node) -> float:
        value = node.integer() if isinstance(low, int) else node.number()
        if not math.isfinite(value):
            node.fail("must be a finite number")
        if value < low:
            node.fail(f"must be at least {low:g}, found {value:g}")
        if value > high:
            node.fail(f"must be at most {high:g}, found {value:g}")
        return value

    return Keyed(read=read)


def _filled(node: Node) -> str:
    return node.text() or node.fail("must not be empty")


def _all_filled(node: Node) -> Names:
    texts = node.texts()
    if "" in texts:
        node.fail("must not be empty")
    return texts


def _command(node: Node) -> Names:
    """The words of a command, one text that a shell would split, or one URL."""
    words = _all_filled(node)
    if len(words) != 1:
        return words
    scheme, colon, _ = words[0].partition("://")
    if colon and scheme.isalpha() and scheme not in ("http", "https"):
        node.fail(f"a URL begins with http:// or https://, found {scheme}://")
    try:
        if not shlex.split(words[0]):
            node.fail("must not be empty")
    except ValueError as error:
        node.fail(f"not a command: {str(error).lower()}")
    return words


def commands(node: Node) -> tuple[Names, ...]:
    """Read a list of commands, URLs and mail addresses."""
    return tuple(node.each(_command))


@record
class ViewConfig:
    """How the screen looks."""

    theme: Annotated[str, Keyed(read=_filled)] = "dark"
    """Name of a theme: a shipped one, or one of the user's ``themes/`` directory."""
    marker: Annotated[str, one_of(*MARKERS)] = "auto"
    """How curves are drawn; ``auto`` decides by locale and terminal."""
    mouse: Annotated[str, one_of(*MOUSE)] = "auto"
    """``auto`` leaves the mouse to the terminal over ssh, so that text can be selected there."""
    x_axis: Annotated[str, Keyed(read=_filled)] = "step"
    """The x axis of charts when the app starts: step, relative, wall, tokens, or a metric."""
    smooth: Annotated[float, within(0.0, 0.999)] = 0.0
    """Weight of the moving average that charts begin with, 0 (none) to 0.999."""
    columns: Annotated[Names, Keyed(read=_all_filled)] = ()
    """Columns of the list of runs: ``reward.best``, ``entropy@200``, a hyperparameter."""


@record
class WatchConfig:
    """How often files are checked and how much memory may be used."""

    fast_s: Annotated[float, within(0.01, 3600.0)] = 0.25
    """Seconds between checks of a file that grows."""
    slow_s: Annotated[float, within(0.05, 86400)] = 5.0
    """Seconds between checks of a file that is quiet."""
    rescan_s: Annotated[float, within(0.1, 86400)] = 5.0
    """Seconds between searches of the log directories for new files."""
    inotify: bool = True
    """Whether the kernel may wake the watcher sooner; polling continues in any case."""
    remote_s: Annotated[float, within(0.1, 86400)] = 5.0
    """Least seconds between two listings of a directory of a bucket or server; quiet ones are
    listed more rarely, up to once a minute."""
    memory_bytes: Annotated[int, within(1 << 20, 1 << 50)] = 1 << 30
    """Bytes of points in memory. Beyond that, runs not viewed for longest are unloaded, and read
    again when viewed."""


@record
class HooksConfig:
    """Where changes of the verdict go, besides the screen."""

    terminal: Annotated[str, one_of(*ALERTS)] = "bad"
    """Level from which ``watch`` rings the bell and sends a notification of the terminal."""
    targets: Annotated[tuple[Names, ...], Keyed(read=commands)] = ()
    """Commands (one text, split like a shell does, or its words), URLs and ``mailto:`` addresses
    that are handed each change."""
    on_finding: Annotated[Names, Keyed(read=_command)] = ()
    """One more of them; empty: none."""
    events: Annotated[Names, some_of(*EVENTS)] = EVENTS
    """Kinds of changes that are handed over: of findings, and of the state of a run."""
    goals: Annotated[tuple[Node, ...], Keyed(read=lambda node: tuple(node.items()))] = ()
    """Conditions of a gate that a run is to meet, as they stand in the document."""
    level: Annotated[str, one_of("watch", "bad")] = "watch"
    """Findings below this level are not handed over."""
    format: Annotated[str, one_of(*FORMATS)] = "json"
    """Form of the message: the event as JSON, or one line of text."""
    per_minute: Annotated[int, within(1, 600)] = 10
    """Most messages in a minute; newer states of a finding replace those that wait."""
    timeout_s: Annotated[float, within(0.1, 600)] = 10.0
    """Seconds after which a command is killed and a request given up."""

    @property
    def all_targets(self) -> tuple[Names, ...]:
        """Words of each target, of ``on_finding`` last."""
        return (*self.targets, *filter(None, (self.on_finding,)))


def _range(node: Node) -> tuple[float | None, float | None]:
    ends = node.items()
    if len(ends) != 2:
        node.fail("expected [low, high]; null leaves a side open")
    low, high = (None if end.value is None else end.number() for end in ends)
    if low is None and high is None:
        node.fail("a range needs a lower or an upper limit")
    if not all(end is None or math.isfinite(end) for end in (low, high)):
        node.fail("must be finite numbers; null leaves a side open")
    if low is not None and high is not None and low > high:
        node.fail(f"low {low:g} lies above high {high:g}")

    return low, high


def _end(position: int) -> Keyed:
    return Keyed("range", lambda node: _range(node)[position])


@record
class MetricOverride:
    """Changes of the user for one tag or metric; None means no change."""

    low: Annotated[float | None, _end(0)] = None
    high: Annotated[float | None, _end(1)] = None
    """Healthy range; both None: not overridden. One None: open on that side."""
    title: str | None = None
    """Name for people."""
    category: str | None = None
    """Word of a category; checked by the session, which knows them."""
    category_node: Annotated[Node | None, Keyed("category")] = field(
        default=None, compare=False, repr=False
    )
    """Its place, for errors."""


def _mapping(node: Node) -> Node:
    return node.table().node


def _mappings(node: Node) -> Mapping[str, Node]:
    return node.table().each(_mapping)


def _listed(node: Node) -> tuple[Node, ...]:
    return tuple(node.each(_mapping))


def _beside(node: Node) -> tuple[Path, ...]:
    """Paths that count from the directory of the document."""
    return tuple(node.path.parent / Path(text).expanduser() for text in node.texts())


@record
class RulesConfig:
    """Changes to the shipped rules. Ids and parameters are checked by :mod:`rltui.health`."""

    mute: Names = ()
    """Ids of rules to leave out."""
    override: Annotated[Mapping[str, Node], Keyed(read=_mappings)] = field(default_factory=dict)
    """{rule id: mapping of parameters}, as nodes so that errors say where."""
    add: Annotated[tuple[Node, ...], Keyed(read=_listed)] = ()
    """Further rules, as they stand in the document."""
    mute_node: Annotated[Node | None, Keyed("mute")] = field(
        default=None, compare=False, repr=False
    )
    """Where ``mute`` stands, for errors; None when the file has none."""


@record
class ConfigDirs:
    """The user's directories beside the config file; they need not exist."""

    base: Path
    dialects: Path
    rules: Path
    themes: Path


@record
class Config:
    """All settings, with every source already applied."""

    view: ViewConfig = ViewConfig()
    watch: WatchConfig = WatchConfig()
    metrics: Mapping[str, MetricOverride] = field(default_factory=dict)
    """By tag (``actor/entropy``) or metric key (``entropy``)."""
    metrics_node: Annotated[Node | None, Keyed("metrics")] = field(
        default=None, compare=False, repr=False
    )
    rules: RulesConfig = RulesConfig()
    dialects: Annotated[tuple[Path, ...], Keyed(read=_beside)] = ()
    """Directories with further dialects, beside the user's own ``dialects/``."""
    hooks: HooksConfig = field(default_factory=HooksConfig)
    keys: Mapping[str, Names] = field(default_factory=dict)
    """{action id: keys}; an action that is not named keeps its keys, an empty list has none."""
    keys_node: Annotated[Node | None, Keyed("keys")] = field(
        default=None, compare=False, repr=False
    )
    path: Path | None = field(default=None, compare=False)
    """The file that was read, or None."""
    dirs: ConfigDirs | None = field(default=None, compare=False, repr=False)
    """The user's directories; None for settings that were made in code."""

    @property
    def dialect_dirs(self) -> tuple[Path, ...]:
        """Directories with the user's dialects; later ones win."""
        return (*((self.dirs.dialects,) if self.dirs else ()), *self.dialects)

    @property
    def theme_dirs(self) -> tuple[Path, ...]:
        """Directories with the user's themes."""
        return (self.dirs.themes,) if self.dirs else ()

    @property
    def rule_files(self) -> tuple[Path, ...]:
        """The user's files of rules, by name."""
        return tuple(sorted(self.dirs.rules.glob("*.yaml"))) if self.dirs else ()
