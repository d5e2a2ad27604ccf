"""A range of the user, written into the config file; all else in it stays as it is."""

from __future__ import annotations

from dataclasses import replace

from rltui.config.records import Config
from rltui.core.errors import UsageError
from rltui.core.yaml_document import parse_document, with_entry
from rltui.core.yaml_record import read_record
from rltui.files.disk import target_file


def write_range(config: Config, name: str, low: float | None, high: float | None) -> Config:
    """Give a metric or tag a range, none without ends; returns the settings with it.

    Raises DocumentError or UsageError where that is no range, or cannot be written.
    """
    if config.dirs is None:
        raise UsageError("there is no config file to write to")
    path = config.path or config.dirs.base / "config.yaml"
    ends = None if low is None and high is None else [low, high]
    known = path.read_text("utf-8") if path.is_file() else ""
    parse_document(known, path)  # which may have changed since it was read
    text = with_entry(known, ("metrics", name, "range"), ends)
    read = read_record(parse_document(text, path), Config, path=path, dirs=None)
    path.parent.mkdir(parents=True, exist_ok=True)
    with target_file(path.resolve()) as file:
        file.write(text.encode())
    return replace(config, metrics=read.metrics, path=path)
