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
from rltui.core.installation import to_add
from rltui.core.text import clean
from rltui.files.remote.server import RemoteServer
from rltui.files.remote.store import PACE_S, RemoteStore

#: The package of a protocol, beside fsspec. Of others fsspec says it, once it is there.
_PACKAGES = {
    "sftp": "paramiko",
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
    "hf": "huggingface_hub",
    "hdfs": "pyarrow",
}
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


def needs(scheme: str) -> tuple[str, ...]:
    """The packages that an address with this protocol needs, as far as they are known."""
    own = _PACKAGES.get(scheme)
    return ("fsspec[http]",) if own is None else ("fsspec[http]", own)


def check_installed(path: RemotePath) -> None:
    """Raise UsageError when what an address needs is not installed."""
    shown = clean(str(path))
    try:
        from fsspec.registry import get_filesystem_class  # of an extra

        get_filesystem_class(path.scheme)
    except ImportError as error:
        packages = dict.fromkeys(needs(path.scheme))
        if path.scheme not in _PACKAGES and (missing := getattr(error.__cause__, "name", None)):
            packages[missing] = None
        names = " and ".join(package.partition("[")[0] for package in packages)
        raise UsageError(f"{shown}: needs {names}: {to_add(*packages)}") from error
    except ValueError as error:
        raise UsageError(f"{shown}: fsspec knows no protocol {path.scheme}://") from error


def filesystem_of(path: RemotePath) -> Any:
    """A file system of fsspec for an address. Raises what its package raises."""
    from fsspec.core import url_to_fs  # of an extra
    from fsspec.registry import get_filesystem_class  # of an extra

    # What goes wrong becomes a note; without a handler Python would print what the package logs,
    # tracebacks among it, over the screen. A debug log gets it all the same.
    by_sftp = path.scheme == "sftp"
    package = "paramiko" if by_sftp else get_filesystem_class(path.scheme).__module__
    logging.getLogger(package.partition(".")[0]).addHandler(_SILENT)
    if by_sftp:
        return importlib.import_module("rltui.files.remote.sftp").connected(path)
    options = {"use_listings_cache": False, "skip_instance_cache": True}
    if path.scheme in ("http", "https"):
        return importlib.import_module("rltui.files.remote.web").BoundedWeb(**options)
    return url_to_fs(str(path), **options)[0]
