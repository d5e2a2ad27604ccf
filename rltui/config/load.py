"""Finds the config file and applies every source in its order."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rltui.config.document import from_document
from rltui.config.overrides import with_environment, with_flags
from rltui.config.records import Config, ConfigDirs
from rltui.core.errors import UsageError
from rltui.core.home import home_directory
from rltui.core.yaml_document import read_document


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
        config = replace(from_document(read_document(location)), path=location)
    config = replace(config, dirs=config_dirs(path, environ))
    return with_flags(with_environment(config, environ), flags)


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
        base = home_directory(environ) / ".config"
    return base / "rltui" / "config.yaml"


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path}: {error}") from error
