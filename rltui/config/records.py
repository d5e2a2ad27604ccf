"""The settings as records, and what each value must be: one frozen record per section."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rltui.core.yaml_document import Node

MARKERS = ("auto", "braille", "block", "ascii")
FORMATS = ("json", "text")
ALERTS = ("off", "watch", "bad")
MOUSE = ("auto", "on", "off")
#: What is wrong with the texts of a setting, or None.
Check = Callable[[tuple[str, ...]], "str | None"]


def setting(
    default: Any,
    *,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float = math.inf,
    check: Check | None = None,
) -> Any:
    """A field whose limits are checked for file, environment and flags alike."""
    limits = {"choices": choices, "low": low, "high": high, "check": check}
    return field(default=default, metadata=limits)


def problem(value: object, limits: Mapping[str, Any]) -> str | None:
    """What is wrong with a value of the right type, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _outside(value, limits["low"], limits["high"])
    if value == "" or (isinstance(value, tuple) and "" in value):
        return "must not be empty"
    check: Check | None = limits["check"]
    return check(value) if check is not None and isinstance(value, tuple) else None


def _outside(value: float, low: float | None, high: float) -> str | None:
    if not math.isfinite(value):
        return "must be a finite number"
    if low is not None and value < low:
        return f"must be at least {low:g}, found {value:g}"
    if value > high:
        return f"must be at most {high:g}, found {value:g}"
    return None


@dataclass(frozen=True, slots=True)
class ViewConfig:
    """How the screen looks."""

    theme: str = setting("dark")
    """Name of a theme: a shipped one, or one of the user's ``themes/`` directory."""
    marker: str = setting("auto", choices=MARKERS)
    """How curves are drawn; ``auto`` decides by locale and terminal."""
    mouse: str = setting("auto", choices=MOUSE)
    """``auto`` leaves the mouse to the terminal over ssh, so that text can be selected there."""
    x_axis: str = setting("step")
    """The x axis of charts when the app starts: step, relative, wall, tokens, or a metric."""
    smooth: float = setting(0.0, low=0.0, high=0.999)
    """Weight of the moving average that charts begin with, 0 (none) to 0.999."""
    columns: tuple[str, ...] = setting(())
    """Columns of the list of runs: ``reward.best``, ``entropy@200``, a hyperparameter."""


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """How often files are checked and how much memory may be used."""

    fast_s: float = setting(0.25, low=0.01, high=3600)
    """Seconds between checks of a file that grows."""
    slow_s: float = setting(5.0, low=0.05, high=86400)
    """Seconds between checks of a file that is quiet."""
    rescan_s: float = setting(5.0, low=0.1, high=86400)
    """Seconds between searches of the log directories for new files."""
    inotify: bool = setting(True)
    """Whether the kernel may wake the watcher sooner; polling continues in any case."""
    remote_s: float = setting(5.0, low=0.1, high=86400)
    """Least seconds between two listings of a directory of a bucket or server; quiet ones are
    listed more rarely, up to once a minute."""
    memory_bytes: int = setting(1 << 30, low=1 << 20, high=1 << 50)
    """Bytes of points in memory. Beyond that, runs not viewed for longest are unloaded, and read
    again when viewed."""


def _command_problem(words: tuple[str, ...]) -> str | None:
    """What is wrong with a command or URL, or None."""
    if len(words) != 1:
        return None
    scheme, colon, _ = words[0].partition("://")
    if colon and scheme.isalpha() and scheme not in ("http", "https"):
        return f"a URL begins with http:// or https://, found {scheme}://"
    try:
        return None if shlex.split(words[0]) else "must not be empty"
    except ValueError as error:
        return f"not a command: {str(error).lower()}"


@dataclass(frozen=True, slots=True)
class HooksConfig:
    """Where changes of the verdict go, besides the screen."""

    terminal: str = setting("bad", choices=ALERTS)
    """Level from which ``watch`` rings the bell and sends a notification of the terminal."""
    on_finding: tuple[str, ...] = setting((), check=_command_problem)
    """A command (one text, split like a shell does, or its words), or one URL; empty: off."""
    level: str = setting("watch", choices=("watch", "bad"))
    """Findings below this level are not handed to ``on_finding``."""
    format: str = setting("json", choices=FORMATS)
    """What is handed over: the event as JSON, or one line of text."""
    per_minute: int = setting(10, low=1, high=600)
    """Most messages in a minute; newer states of a finding replace those that wait."""
    timeout_s: float = setting(10.0, low=0.1, high=600)
    """Seconds after which a command is killed and a request given up."""

    @property
    def url(self) -> str | None:
        """``on_finding`` if it is a URL."""
        first = self.on_finding[0] if len(self.on_finding) == 1 else ""
        return first if first.startswith(("http://", "https://")) else None


@dataclass(frozen=True, slots=True)
class MetricOverride:
    """What the user changes for one tag or metric; None means no change."""

    low: float | None = None
    high: float | None = None
    """Healthy range; both None: not overridden. One None: open on that side."""
    title: str | None = None
    category: str | None = None
    """Word of a category; checked by the session, which knows them."""
    node: Node | None = field(default=None, compare=False, repr=False)
    """Place of the override, for errors."""
    category_node: Node | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RulesConfig:
    """Changes to the shipped rules. Ids and parameters are checked by :mod:`rltui.health`."""

    mute: tuple[str, ...] = ()
    """Ids of rules to leave out."""
    override: Mapping[str, Node] = field(default_factory=dict)
    """{rule id: mapping of parameters}, as nodes so that errors say where."""
    add: tuple[Node, ...] = ()
    """Further rules, as they stand in the document."""
    mute_node: Node | None = field(default=None, compare=False, repr=False)
    """Where ``mute`` stands, for errors; None when the file has none."""


@dataclass(frozen=True, slots=True)
class ConfigDirs:
    """The user's directories beside the config file; they need not exist."""

    base: Path
    dialects: Path
    rules: Path
    themes: Path


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, with every source already applied."""

    view: ViewConfig = ViewConfig()
    watch: WatchConfig = WatchConfig()
    metrics: Mapping[str, MetricOverride] = field(default_factory=dict)
    """By tag (``actor/entropy``) or metric key (``entropy``)."""
    rules: RulesConfig = RulesConfig()
    dialects: tuple[Path, ...] = ()
    """Directories with further dialects, beside the user's own ``dialects/``."""
    hooks: HooksConfig = field(default_factory=HooksConfig)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """{action id: keys}; an action that is not named keeps its keys, an empty list has none."""
    keys_node: Node | None = field(default=None, compare=False, repr=False)
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
