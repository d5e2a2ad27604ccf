"""The stores in use, and how fsspec opens what an address names.

fsspec is an extra, and so is the package of most protocols: imported when an address needs it.
"""

from __future__ import annotations

import errno
import importlib
import logging
from pathlib import Path
from typing import Any

from rltui.core.address import RAY, SSH, RemotePath
from rltui.core.clock import Clock, SystemClock
from rltui.core.errors import UsageError
from rltui.core.text import clean
from rltui.files.remote.server import RemoteServer
from rltui.files.remote.store import PACE_S, RemoteStore

_EXTRA = "needs the extra remote: pip install 'rltui[remote]'"
#: Protocols whose packages are in that extra.
_INCLUDED = ("http", "https", "sftp")
_SILENT = logging.NullHandler()
_STORES: dict[tuple[str, ...], RemoteStore] = {}


def store_of(path: Path) -> RemoteStore:
    """The store of a path.

    Raises UsageError when what it needs is not installed, OSError when another reader has it."""
    assert isinstance(path, RemotePath)
    if path.scheme in (SSH, RAY):
        raise OSError(errno.EREMOTE, "the logs are read on another host")
    found = _STORES.get(path.parts[:2])
    return found or connect(path, SystemClock(), PACE_S)


def connect(path: Path, clock: Clock, pace_s: float) -> RemoteStore:
    """The store of a path, which from now on goes by this clock and pace. Makes no request.

    Raises UsageError when what it needs is not installed.
    """
    assert isinstance(path, RemotePath)
    store = _STORES.get(path.parts[:2])
    if store is None:
        check_installed(path)
        store = _STORES[path.parts[:2]] = RemoteStore(RemoteServer(path, filesystem_of))
    store.use(clock, pace_s)
    return store


def check_installed(path: RemotePath) -> None:
    """Raise UsageError when what an address needs is not installed."""
    shown = clean(str(path))
    try:
        from fsspec.registry import get_filesystem_class, known_implementations
    except ImportError as error:
        raise UsageError(f"{shown}: {_EXTRA}") from error
    try:
        get_filesystem_class(path.scheme)
    except ImportError as error:
        if path.scheme in _INCLUDED:
            raise UsageError(f"{shown}: {_EXTRA}") from error
        package = known_implementations.get(path.scheme, {}).get("class", "").partition(".")[0]
        package = getattr(error.__cause__, "name", None) or package
        raise UsageError(f"{shown}: needs the package {package}: {error}") from error
    except ValueError as error:
        raise UsageError(f"{shown}: fsspec knows no protocol {path.scheme}://") from error


def filesystem_of(path: RemotePath) -> Any:
    """A file system of fsspec for an address. Raises what its package raises."""
    if path.scheme == "sftp":
        module = importlib.import_module("rltui.files.remote.sftp")
        return module.connected(path)
    from fsspec.core import url_to_fs
    from fsspec.registry import get_filesystem_class

    # What goes wrong becomes a note; without a handler Python would print what the package logs,
    # tracebacks among it, over the screen. A debug log gets it all the same.
    package = get_filesystem_class(path.scheme).__module__.partition(".")[0]
    logging.getLogger(package).addHandler(_SILENT)
    options = {"use_listings_cache": False, "skip_instance_cache": True}
    if path.scheme in ("http", "https"):
        return importlib.import_module("rltui.files.remote.web").BoundedWeb(**options)
    return url_to_fs(str(path), **options)[0]
