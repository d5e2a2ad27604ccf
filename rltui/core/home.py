"""The user's home directory, where there is one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def home_directory(environ: Mapping[str, str]) -> Path:
    """``HOME``, or what the user database says.

    A container may run under a number that is no user, without either: then a path below which
    nothing exists nor can be written.
    """
    found = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - it does not raise
    return Path(found if os.path.isabs(found) else os.devnull)  # noqa: PTH117 - a text
