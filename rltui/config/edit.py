"""Values of the user, written into the config file; all else in it stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rltui.config.records import Config
from rltui.core.errors import UsageError
from rltui.core.yaml_document import parse_document
from rltui.core.yaml_edit import with_entry
from rltui.core.yaml_record import read_record
from rltui.files.disk import target_file


def write_range(
    config: Config, name: str, low: float | None, high: float | None
) -> tuple[Config, Callable[[], Any]]:
    """Give a metric or tag a range, which has an end at least; see :func:`write_value`."""
    return write_value(config, ("metrics", name, "range"), [low, high])


def write_value(
    config: Config, keys: Sequence[str], value: object
) -> tuple[Config, Callable[[], Any]]:
    """Write a value below some keys; returns the settings with it, and what puts the file back as
    it was, byte by byte, or away where there was none, and returns the same.

    Raises DocumentError or UsageError where it is not allowed, cannot be written, or where the file
    was changed before it was to be put back.
    """
    if config.dirs is None:
        raise UsageError("there is no config file to write to")
    path = config.path or config.dirs.base / "config.yaml"
    before = _text_of(path)
    parse_document(before or "", path)  # which may have changed since it was read
    text = with_entry(before or "", keys, value)
    return _written(config, path, before, text)


def _text_of(path: Path) -> str | None:
    return path.read_bytes().decode() if path.is_file() else None


def _written(
    config: Config, path: Path, before: str | None, text: str | None
) -> tuple[Config, Callable[[], Any]]:
    """The settings with the ``text`` of the config file, None for none, which was ``before``."""
    if _text_of(path) != before:
        raise UsageError(f"{path} was changed since, and stays as it is")
    read = read_record(parse_document(text or "", path), Config, path=path, dirs=None)
    if text is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        with target_file(path.resolve()) as file:
            file.write(text.encode())
    heeded = replace(config, metrics=read.metrics, hooks=read.hooks, path=path)
    return heeded, partial(_written, heeded, path, text, before)
