"""Finds the config file, reads it, and applies every source in its order; every error has its
place."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from rltui.config.records import (
    MOUSE,
    Config,
    ConfigDirs,
    HooksConfig,
    MetricOverride,
    RulesConfig,
    ViewConfig,
    WatchConfig,
    problem,
)
from rltui.core.errors import UsageError
from rltui.core.installation import home_directory
from rltui.core.yaml_document import Node, nearest, read_document

_SECTIONS: dict[str, ViewConfig | WatchConfig | HooksConfig] = {
    "view": ViewConfig(),
    "watch": WatchConfig(),
    "hooks": HooksConfig(),
}
#: Sections with free names, which have no environment variable.
_FILE_ONLY = ("rules", "metrics", "keys")
_Section = TypeVar("_Section", ViewConfig, WatchConfig, HooksConfig)
_WORDS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


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

    try:
        readable = location.is_file() and os.access(location, os.R_OK)
    except OSError:
        readable = False
    if path is not None or named_by_variable or readable:
        config = replace(_from_document(read_document(location)), path=location)
    config = replace(config, dirs=config_dirs(path, environ))

    return _with_flags(_with_environment(config, environ), flags)


def config_path(path: Path | None, environ: Mapping[str, str]) -> Path:
    """The config file that ``path`` or the environment names; it need not exist."""
    if path is not None:
        return _expanded(path)
    if named := environ.get("RLTUI_CONFIG"):
        return _expanded(Path(named))
    # The XDG specification: a relative path is to be ignored.
    base = Path(environ.get("XDG_CONFIG_HOME") or "")
    if not base.is_absolute():
        base = home_directory(environ) / ".config"

    return base / "rltui" / "config.yaml"


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path}: {error}") from error


# -- the file -----------------------------------------------------------------------------


def _from_document(root: Node) -> Config:
    """The settings of a document. Raises DocumentError."""
    top = root.table()
    dialects = top.read("dialects", Node.texts) or ()
    config = Config(
        view=_section(top.get("view"), ViewConfig()),
        watch=_section(top.get("watch"), WatchConfig()),
        metrics={name: _metric(entry) for name, entry in _pairs(top.get("metrics"))},
        rules=_rules(top.get("rules")),
        dialects=tuple(root.path.parent / Path(text).expanduser() for text in dialects),
        hooks=_section(top.get("hooks"), HooksConfig()),
        keys={action: keys.texts() for action, keys in _pairs(top.get("keys"))},
        keys_node=top.get("keys"),
    )
    top.finish()

    return config


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
    if wrong := problem(value, limits):
        node.fail(wrong)
    return value


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
        override={rule: given.table().node for rule, given in _pairs(override)},
        add=tuple(given.table().node for given in add.items()) if add else (),
        mute_node=mute,
    )


def _pairs(node: Node | None) -> Iterator[tuple[str, Node]]:
    """The entries of a mapping with free names."""
    return iter(()) if node is None else node.table().pairs()


# -- environment and flags over it ---------------------------------------------------------


def _with_environment(config: Config, environ: Mapping[str, str]) -> Config:
    """``config`` changed by ``RLTUI_SECTION_KEY`` variables. Raises UsageError."""
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
            paths = tuple(Path(part).expanduser() for part in text.split(os.pathsep) if part)
            config = replace(config, dialects=paths)
        elif section in _FILE_ONLY:
            raise UsageError(f"{variable}: section {section!r} can be set in the config file only")
    return config


def _with_flags(config: Config, flags: Mapping[str, object]) -> Config:
    """``config`` changed by flags: ``section.key`` -> value, None for not given. Raises
    UsageError."""
    for name, value in flags.items():
        if value is None:
            continue
        section, _, key = name.partition(".")
        if section not in _SECTIONS:
            hint = nearest(section, _SECTIONS)
            raise UsageError(f"flag {name!r}: no such section", hint=hint)
        config = _assign(config, section, key, value, f"--{key.replace('_', '-')}")
    return config


def _assign(config: Config, section: str, key: str, value: object, origin: str) -> Config:
    known = {setting.name: setting for setting in fields(_SECTIONS[section])}
    if key not in known:
        raise UsageError(f"{origin}: unknown key {key!r}", hint=nearest(key, known))
    setting = known[key]
    choices = setting.metadata["choices"]
    if choices == MOUSE and str(value).lower() in _WORDS:
        value = "on" if _WORDS[str(value).lower()] else "off"
    checked = _converted(value, setting.default, origin)
    if choices and checked not in choices:
        words = ", ".join(choices)
        hint = nearest(str(checked), choices)
        raise UsageError(f"{origin}: unknown word {checked!r}; one of {words}", hint=hint)
    if wrong := problem(checked, setting.metadata):
        raise UsageError(f"{origin}: {wrong}")
    changed: Any = {key: checked}
    changes: Any = {section: replace(getattr(config, section), **changed)}

    return replace(config, **changes)


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
