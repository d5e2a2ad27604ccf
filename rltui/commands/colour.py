"""Whether to write colours: ``--color``, then NO_COLOR, FORCE_COLOR, then the terminal."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import TextIO


def choose_colour(when: str, environ: MutableMapping[str, str]) -> None:
    """Apply ``--color`` (auto, always or never) to the environment, where libraries that write
    to the terminal look, too."""
    if when == "auto":
        return
    environ.pop("NO_COLOR", None)
    environ.pop("FORCE_COLOR", None)
    environ["NO_COLOR" if when == "never" else "FORCE_COLOR"] = "1"


def has_colours(environ: Mapping[str, str]) -> bool:
    """Whether the user allows colours."""
    return not environ.get("NO_COLOR")


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to write colours to ``stream``. An empty variable counts as unset; NO_COLOR wins."""
    if not has_colours(environ):
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] != "0"
    return stream.isatty() and environ.get("TERM") != "dumb"
