"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rltui.core.errors import UsageError
from rltui.core.text import clean

#: Bytes per write to the system.
_BUFFER = 1 << 20


def check_target(path: Path, logdirs: Sequence[Path]) -> Path:
    """``path`` with links followed; raises UsageError for a place that must not be written to.

    That is the inside of a log directory, where other programs and rltui itself look for logs.
    """
    shown = clean(str(path))
    try:
        target = path.expanduser().resolve()
        if target.is_dir():
            raise UsageError(f"{shown} is a directory; name a file")
        if not target.parent.is_dir():
            if path.parts[0].endswith(":"):
                raise UsageError(f"{shown}: rltui writes to this machine only; name a file here")
            raise UsageError(f"{clean(str(path.parent))}: no such directory")
        for logdir in logdirs:
            inside = logdir.resolve()
            if target == inside or inside in target.parents:
                raise UsageError(
                    f"{shown} lies inside the log directory {clean(str(logdir))}, where rltui "
                    "never writes; name a file elsewhere"
                )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{shown} cannot be written: {error}") from error
    return target


@contextmanager
def target_file(path: Path) -> Iterator[BinaryIO]:
    """A stream into ``path``, which gets its content when the block ends without an exception.

    Until then the bytes are in a temporary file beside it. A device or pipe is written directly.
    Raises UsageError when nothing can be written there.
    """
    try:
        mode = path.stat().st_mode if path.exists() else None
        regular = mode is None or stat.S_ISREG(mode)
        out, part = _part_of(path) if regular else (path.open("wb", buffering=_BUFFER), None)
    except OSError as error:
        raise UsageError(f"{clean(str(path))} cannot be written: {error.strerror}") from error
    try:
        with out:
            yield out
            if part is not None:
                os.fchmod(out.fileno(), _new_mode() if mode is None else stat.S_IMODE(mode))
        if part is not None:
            part.replace(path)
    except BaseException:
        if part is not None:
            with suppress(OSError):
                part.unlink()
        raise


def _part_of(path: Path) -> tuple[BinaryIO, Path]:
    """A new file beside ``path``."""
    handle, name = tempfile.mkstemp(prefix=".rltui-", suffix=".part", dir=path.parent)
    return os.fdopen(handle, "wb", buffering=_BUFFER), Path(name)


def _new_mode() -> int:
    """The permissions of a new file under the user's umask."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
