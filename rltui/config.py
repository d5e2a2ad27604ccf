"""User settings: one frozen record per section, flags over environment over file.

Names of metrics, rules, actions and themes are checked by the packages that own them, with the
document nodes that are kept here for error messages. Reads no dialect, rule or theme itself and
never writes a file.

Precedence, highest first: flags of the command line, environment (``RLTUI_SECTION_KEY``,
for example ``RLTUI_VIEW_THEME``), the file, the defaults.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from rltui.core.errors import UsageError
from rltui.core.yaml_document import Node, nearest, read_document

MARKERS = ("auto", "braille", "block", "ascii")
MOUSE = ("auto", "on", "off")
X_AXES = ("step", "relative", "wall", "tokens")
FORMATS = ("json", "text")
ALERTS = ("off", "watch", "bad")


def _setting(
    default: Any, *, choices: tuple[str, ...] = (), low: float | None = None, high: float = math.inf
) -> Any:
    """A field whose limits are checked for file, environment and flags alike."""
    return field(default=default, metadata={"choices": choices, "low": low, "high": high})


@dataclass(frozen=True, slots=True)
class ViewConfig:
    """How the screen looks."""

    theme: str = _setting("dark")
    """Name of a theme: a shipped one, or one of the user's ``themes/`` directory."""
    marker: str = _setting("auto", choices=MARKERS)
    """How curves are drawn; ``auto`` decides by locale and terminal."""
    mouse: str = _setting("auto", choices=MOUSE)
    """``auto`` leaves the mouse to the terminal over ssh, so that text can be selected there."""
    x_axis: str = _setting("step", choices=X_AXES)
    """The x axis of charts when the app starts."""
    smooth: float = _setting(0.0, low=0.0, high=0.999)
    """Weight of the moving average that charts begin with, 0 (none) to 0.999."""


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """How often files are checked and how much memory may be used."""

    fast_s: float = _setting(0.25, low=0.01, high=3600)
    """Seconds between checks of a file that grows."""
    slow_s: float = _setting(5.0, low=0.05, high=86400)
    """Seconds between checks of a file that is quiet."""
    rescan_s: float = _setting(5.0, low=0.1, high=86400)
    """Seconds between searches of the log directories for new files."""
    inotify: bool = _setting(True)
    """Whether the kernel may wake the watcher sooner; polling continues in any case."""
    memory_bytes: int = _setting(1 << 30, low=1 << 20, high=1 << 50)
    """Bytes of points in memory. Beyond that, runs not viewed for longest are unloaded, and read
    again when viewed."""


@dataclass(frozen=True, slots=True)
class HooksConfig:
    """Who is told of a change of the verdict, besides the screen."""

    terminal: str = _setting("bad", choices=ALERTS)
    """Level from which ``watch`` rings the bell and sends a notification of the terminal."""
    on_finding: tuple[str, ...] = _setting(())
    """A command (one text, split like a shell does, or its words), or one URL; empty: off."""
    level: str = _setting("watch", choices=("watch", "bad"))
    """Findings below this level are not handed to ``on_finding``."""
    format: str = _setting("json", choices=FORMATS)
    """What is handed over: the event as JSON, or one line of text."""
    per_minute: int = _setting(10, low=1, high=600)
    """Most messages in a minute; newer states of a finding replace those that wait."""
    timeout_s: float = _setting(10.0, low=0.1, high=600)
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


_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RulesConfig:
    """Changes to the shipped rules. Ids and parameters are checked by :mod:`rltui.health`."""

    mute: tuple[str, ...] = ()
    """Ids of rules to leave out."""
    override: Mapping[str, Node] = field(default_factory=lambda: _NOTHING)
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
    metrics: Mapping[str, MetricOverride] = field(default_factory=lambda: _NOTHING)
    """By tag (``actor/entropy``) or metric key (``entropy``)."""
    rules: RulesConfig = RulesConfig()
    dialects: tuple[Path, ...] = ()
    """Directories with further dialects, beside the user's own ``dialects/``."""
    hooks: HooksConfig = HooksConfig()
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NOTHING)
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


def config_dirs(path: Path | None, environ: Mapping[str, str]) -> ConfigDirs:
    """The directories beside the config file that ``path`` or the environment names."""
    base = config_path(path, environ).parent
    return ConfigDirs(base, base / "dialects", base / "rules", base / "themes")


def load_config(
    path: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]
) -> Config:
    """All settings.

    ``path`` is the value of ``--config``; without it ``RLTUI_CONFIG`` and then
    ``$XDG_CONFIG_HOME/rltui/config.yaml`` are tried; only the last may be missing.
    ``flags`` maps ``section.key`` (``view.theme``) to a value; None means not given.

    Raises DocumentError for a wrong file, UsageError for a wrong variable or flag.
    """
    location = config_path(path, environ)
    named_by_variable = path is None and bool(environ.get("RLTUI_CONFIG"))
    if named_by_variable and not location.is_file():
        raise UsageError(f"RLTUI_CONFIG: no such file: {location}")
    config = Config()
    if path is not None or named_by_variable or _readable(location):
        config = replace(_from_document(read_document(location)), path=location)
    config = replace(config, dirs=config_dirs(path, environ))
    return _with_flags(_with_environment(config, environ), flags)


def _readable(location: Path) -> bool:
    """Whether the default file exists and is readable."""
    try:
        return location.is_file() and os.access(location, os.R_OK)
    except OSError:
        return False


def config_path(path: Path | None, environ: Mapping[str, str]) -> Path:
    """The config file that ``path`` or the environment names; it need not exist."""
    if path is not None:
        return _expanded(path)
    if named := environ.get("RLTUI_CONFIG"):
        return _expanded(Path(named))
    # The XDG specification: a relative path is to be ignored.
    base = Path(environ.get("XDG_CONFIG_HOME") or "")
    if not base.is_absolute():
        base = Path(environ.get("HOME") or "~").expanduser() / ".config"
    return base / "rltui" / "config.yaml"


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path}: {error}") from error


# --- the file


def _from_document(root: Node) -> Config:
    top = root.table()
    config = Config(
        view=_section(top.get("view"), ViewConfig()),
        watch=_section(top.get("watch"), WatchConfig()),
        metrics=_metrics(top.get("metrics")),
        rules=_rules(top.get("rules")),
        dialects=_directories(top.get("dialects"), root.path.parent),
        hooks=_section(top.get("hooks"), HooksConfig()),
        keys=_keys(top.get("keys")),
        keys_node=top.get("keys"),
    )
    top.finish()
    return config


_Section = TypeVar("_Section", ViewConfig, WatchConfig, HooksConfig)


def _section(node: Node | None, defaults: _Section) -> _Section:
    if node is None:
        return defaults
    table = node.table()
    given: dict[str, Any] = {}
    for setting in fields(defaults):
        value = table.get(setting.name)
        if value is not None:
            given[setting.name] = _checked_node(value, setting.default, setting.metadata)
    table.finish()
    return replace(defaults, **given)


def _checked_node(node: Node, default: object, limits: Mapping[str, Any]) -> object:
    value: object
    if isinstance(default, bool):
        value = node.boolean()
    elif isinstance(default, int):
        value = node.integer()
    elif isinstance(default, float):
        value = node.number()
    elif isinstance(default, tuple):
        value = node.texts()
    elif node.value is False and "off" in limits["choices"]:
        value = "off"  # YAML takes the words on and off for true and false
    elif node.value is True and "on" in limits["choices"]:
        value = "on"
    else:
        value = node.choice(limits["choices"]) if limits["choices"] else node.text()
    if problem := _outside(value, limits):
        node.fail(problem)
    return value


def _outside(value: object, limits: Mapping[str, Any]) -> str | None:
    """What is wrong with a value of the right type, or None."""
    if isinstance(value, tuple):
        return "must not be empty" if "" in value else _wrong_address(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "must not be empty" if value == "" else None
    low, high = limits["low"], limits["high"]
    if not math.isfinite(value):
        return "must be a finite number"
    if low is not None and value < low:
        return f"must be at least {low:g}, found {value:g}"
    if value > high:
        return f"must be at most {high:g}, found {value:g}"
    return None


def _wrong_address(words: tuple[str, ...]) -> str | None:
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


def _metrics(node: Node | None) -> Mapping[str, MetricOverride]:
    if node is None:
        return _NOTHING
    return {name: _metric(entry) for name, entry in node.table().pairs()}


def _metric(node: Node) -> MetricOverride:
    table = node.table()
    title, category = table.get("title"), table.get("category")
    low, high = _range(table.get("range"))
    table.finish()
    return MetricOverride(
        low=low,
        high=high,
        title=title.text() if title else None,
        category=category.text() if category else None,
        node=node,
        category_node=category,
    )


def _range(node: Node | None) -> tuple[float | None, float | None]:
    if node is None:
        return None, None
    ends = node.items()
    if len(ends) != 2:
        node.fail("expected [low, high]; null leaves a side open")
    low, high = (None if end.value is None else end.number() for end in ends)
    if low is None and high is None:
        node.fail("a range needs a lower or an upper limit")
    for end in (low, high):
        if end is not None and not math.isfinite(end):
            node.fail("must be finite numbers; null leaves a side open")
    if low is not None and high is not None and low > high:
        node.fail(f"low {low:g} lies above high {high:g}")
    return low, high


def _rules(node: Node | None) -> RulesConfig:
    if node is None:
        return RulesConfig()
    table = node.table()
    mute, override, add = table.get("mute"), table.get("override"), table.get("add")
    table.finish()
    return RulesConfig(
        mute=mute.texts() if mute else (),
        override=_override(override) if override else _NOTHING,
        add=tuple(_entry(n) for n in add.items()) if add else (),
        mute_node=mute,
    )


def _override(node: Node) -> Mapping[str, Node]:
    return {rule: _entry(params) for rule, params in node.table().pairs()}


def _entry(node: Node) -> Node:
    node.table()
    return node


def _directories(node: Node | None, base: Path) -> tuple[Path, ...]:
    if node is None:
        return ()
    return tuple(base / Path(text).expanduser() for text in node.texts())


def _keys(node: Node | None) -> Mapping[str, tuple[str, ...]]:
    if node is None:
        return _NOTHING
    return {action: keys.texts() for action, keys in node.table().pairs()}


# --- environment and flags


_SECTIONS: dict[str, ViewConfig | WatchConfig | HooksConfig] = {
    "view": ViewConfig(),
    "watch": WatchConfig(),
    "hooks": HooksConfig(),
}
#: Sections with free names, which have no environment variable.
_FILE_ONLY = ("metrics", "keys")


def _with_environment(config: Config, environ: Mapping[str, str]) -> Config:
    for variable in sorted(environ):
        section, _, key = variable.removeprefix("RLTUI_").lower().partition("_")
        text = environ[variable]
        if not variable.startswith("RLTUI_") or not text:
            continue
        if section in _SECTIONS:
            config = _assign(config, section, key, text, variable)
        elif variable == "RLTUI_RULES_MUTE":
            mute = tuple(word.strip() for word in text.split(",") if word.strip())
            config = replace(config, rules=replace(config.rules, mute=mute, mute_node=None))
        elif variable == "RLTUI_DIALECTS":
            config = replace(config, dialects=_paths(text))
        elif section == "rules" or section in _FILE_ONLY:
            raise UsageError(f"{variable}: section {section!r} can be set in the config file only")
    return config


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(part).expanduser() for part in text.split(os.pathsep) if part)


def _with_flags(config: Config, flags: Mapping[str, object]) -> Config:
    for name, value in flags.items():
        if value is None:
            continue
        section, _, key = name.partition(".")
        if section not in _SECTIONS:
            raise UsageError(f"flag {name!r}: no such section{_did_you_mean(section, _SECTIONS)}")
        config = _assign(config, section, key, value, f"--{key.replace('_', '-')}")
    return config


def _assign(config: Config, section: str, key: str, value: object, origin: str) -> Config:
    known = {setting.name: setting for setting in fields(_SECTIONS[section])}
    if key not in known:
        raise UsageError(f"{origin}: unknown key {key!r}{_did_you_mean(key, known)}")
    setting = known[key]
    choices = setting.metadata["choices"]
    if choices == MOUSE and str(value).lower() in _WORDS:
        value = _switch(_WORDS[str(value).lower()])
    checked = _converted(value, setting.default, origin)
    if choices and checked not in choices:
        words = ", ".join(choices)
        hint = _did_you_mean(str(checked), choices)
        raise UsageError(f"{origin}: unknown word {checked!r}; one of {words}{hint}")
    if problem := _outside(checked, setting.metadata):
        raise UsageError(f"{origin}: {problem}")
    changed: Any = {key: checked}
    changes: Any = {section: replace(getattr(config, section), **changed)}
    return replace(config, **changes)


_WORDS = {"1": True, "true": True, "yes": True, "on": True}
_WORDS |= {"0": False, "false": False, "no": False, "off": False}


def _switch(on: bool) -> str:
    return "on" if on else "off"


def _converted(value: object, default: object, origin: str) -> object:
    """``value`` (text, or already of the right type) as the type of ``default``."""
    text = str(value).strip()
    if isinstance(default, bool):
        if text.lower() not in _WORDS:
            raise UsageError(f"{origin}: expected true or false, found {text!r}")
        return _WORDS[text.lower()]
    if isinstance(default, tuple):
        return (text,)
    if isinstance(default, (int, float)):
        kind, name = (int, "a whole number") if isinstance(default, int) else (float, "a number")
        try:
            return kind(text)
        except ValueError:
            raise UsageError(f"{origin}: expected {name}, found {text!r}") from None
    return text


def _did_you_mean(word: str, options: Any) -> str:
    hint = nearest(word, options)
    return f"; did you mean {hint!r}?" if hint else ""
