"""Finds the config file, reads it, and applies every source in its order; every error has its
place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rltui.config.records import Config, ConfigDirs, HooksConfig, ViewConfig, WatchConfig
from rltui.core.errors import DocumentError, UsageError
from rltui.core.installation import home_directory
from rltui.core.yaml_document import Node, nearest, read_document
from rltui.core.yaml_record import fields_of, read_record

_SECTIONS: dict[str, type[ViewConfig | WatchConfig | HooksConfig]] = {
    "view": ViewConfig,
    "watch": WatchConfig,
    "hooks": HooksConfig,
}
#: Sections with free names, which have no environment variable.
_FILE_ONLY = ("rules", "metrics", "keys")
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
        config = read_record(read_document(location), Config, path=location, dirs=None)
    config = replace(config, dirs=config_dirs(path, environ))

    config = _with_environment(config, environ)
    for name, value in flags.items():
        if value is None:
            continue
        section, _, key = name.partition(".")
        if section not in _SECTIONS:
            hint = nearest(section, _SECTIONS)
            raise UsageError(f"flag {name!r}: no such section", hint=hint)
        config = _assign(config, section, key, value, f"--{key.replace('_', '-')}")

    return config


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


def _assign(config: Config, section: str, key: str, value: object, origin: str) -> Config:
    kind = _SECTIONS[section]
    readers = {name: read for name, _, read, _ in fields_of(kind)}  # type: ignore[arg-type]
    if key not in readers:
        raise UsageError(f"{origin}: unknown key {key!r}", hint=nearest(key, readers))
    default = getattr(kind(), key)
    node = Node(_typed(value, True if key == "mouse" else default), Path(origin), 0, 0)
    try:
        changed: Any = {key: readers[key](node)}
    except DocumentError as error:
        raise UsageError(f"{origin}: {error.message}", hint=error.hint) from None
    changes: Any = {section: replace(getattr(config, section), **changed)}

    return replace(config, **changes)


def _typed(value: object, default: object) -> object:
    """A text as the type of ``default``, where it can be read so."""
    text = str(value).strip()
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        with suppress(ValueError):
            return type(default)(text)
    return _WORDS.get(text.lower(), text) if isinstance(default, bool) else text
