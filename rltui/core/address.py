"""Addresses of logdirs elsewhere: ``s3://bucket/runs``, ``node7:/data/runs``, ``ray://head:10001/p``.

Such an address is a :class:`RemotePath`, so that all code that joins and compares paths works with
it; whoever does I/O asks :func:`is_remote` first.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PosixPath
from urllib.parse import quote, urlsplit

from rltui.core.errors import UsageError
from rltui.core.text import clean

#: Standard input as a log: on the command line, and on the screen.
PIPE = Path("-")
PIPE_NAME = "standard input"
#: Parts of a RemotePath: scheme with a colon, authority (host, bucket; may hold user and port),
#: path. Where :data:`AUTO` is the authority, Ray finds the cluster.
SSH = "ssh"
RAY = "ray"
AUTO = "auto"
#: Schemes of logs that an rltui reads where they are.
_STREAMED = (SSH, RAY)
#: Reading over these costs a request for each name; ssh tells more of a host.
_UNREAD = ("http", "https", "sftp")
_INSTEAD = "is not read over {}: name HOST:PATH (ssh), s3://.. or gs://.. instead"
#: Protocols that are written with two slashes: no host is called like them.
_PROTOCOLS = (
    *(*_UNREAD, *_STREAMED, "s3", "s3a", "gs", "gcs"),
    *("az", "abfs", "abfss", "hdfs", "hf"),
)
#: An address as the socket module has it; of IPv6 with flow and scope.
_TUPLE = re.compile(r"\('([^']{1,255})', (\d{1,5})(?:, \d{1,10}, \d{1,10})?\)")
_URL = re.compile(r"([a-z][a-z0-9+.-]+)://(.*)", re.DOTALL | re.IGNORECASE)
_HOST_PATH = re.compile(r"((?:[\w.+-]+@)?(?:\w[\w.-]*|\[[0-9a-fA-F:.]+\])):([^:]*)", re.DOTALL)


class RemotePath(PosixPath):
    """The path of a directory or file elsewhere; ``str`` gives it as on the command line.

    Children and parents are RemotePaths. It is never looked up on this machine.
    """

    def __str__(self) -> str:
        parts = self.parts
        if not (parts and parts[0].endswith(":")):  # relative to another one
            return "/".join(parts) or "."
        scheme, *rest = parts
        if scheme != f"{SSH}:":
            return f"{scheme}//{'/'.join(rest)}"
        if re.sub(r".*\]|[^:]*", "", self.authority, count=1).lstrip(":"):  # a port
            return f"{SSH}://{'/'.join(rest)}"
        return f"{self.authority}:{self.place}"

    def __fspath__(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    @property
    def scheme(self) -> str:
        """How it is reached: ``ssh``, ``ray``, or a protocol of fsspec."""
        return self.parts[0][:-1]

    @property
    def authority(self) -> str:
        """Host with user and port, or bucket; empty where the address has neither."""
        return self.parts[1] if len(self.parts) > 1 else ""

    @property
    def place(self) -> str:
        """The path on the host: absolute, or below the home directory (``~/runs``)."""
        path = "/".join(self.parts[2:])
        return path if path == "~" or path.startswith("~/") else f"/{path}"

    def resolve(self, strict: bool = False) -> RemotePath:  # noqa: ARG002 - as of Path
        """Itself."""
        return self

    def expanduser(self) -> RemotePath:
        """Itself."""
        return self

    def absolute(self) -> RemotePath:
        """Itself."""
        return self


def is_remote(path: Path) -> bool:
    """Whether a path leads elsewhere."""
    return isinstance(path, RemotePath)


def is_streamed(path: Path) -> bool:
    """Whether a path is read where it is, by an rltui there: nothing else of it can be read."""
    return isinstance(path, RemotePath) and path.scheme in _STREAMED


def file_url(path: Path) -> str:
    """``file://HOST/...`` for a file of this machine, every odd byte percent-encoded; "" for others
    and for standard input."""
    if is_remote(path) or path == PIPE:
        return ""
    return f"file://{quote(os.uname().nodename)}{quote(os.fsencode(path.absolute()))}"


def identity(path: Path) -> str:
    """Text that is equal for all names of one place: the real path, or the address."""
    return str(path) if is_remote(path) else os.path.realpath(path)


def parse_logdir(text: str) -> Path:
    """Parse LOGDIR of the command line; something local of that name comes first.

    Raises UsageError for no text at all, such as that of a variable that is not set, and for an
    address with a password, without a host, of a web server, or of a protocol without its slashes.
    """
    if not text:
        raise UsageError("the path is empty; the directory where you are is '.'")
    url = _URL.fullmatch(text)
    if url is not None and url[1].lower() == "file":
        return Path(urlsplit(text).path)
    host = _HOST_PATH.fullmatch(text)
    try:
        exists = os.path.lexists(text)
    except ValueError:  # a NUL
        exists = False

    if (url is None and host is None) or exists:
        return Path(text)
    if url is None:
        assert host is not None
        path = host[2]
        if host[1].lower() in _PROTOCOLS:
            meant = f"{host[1].lower()}://{path.lstrip('/')}"
            raise UsageError(f"{clean(text)}: no address; did you mean {clean(meant)}?")
        below = path if path.startswith(("/", "~")) else f"~/{path}"
        return RemotePath(f"{SSH}:", host[1], below.lstrip("/"))

    scheme = url[1].lower()
    rest = url[2]
    authority, _, path = rest.partition("/")
    _check(scheme, authority, text)
    return RemotePath(f"{scheme}:", authority or (AUTO if scheme == RAY else ""), path.lstrip("/"))


def _check(scheme: str, authority: str, text: str) -> None:
    user = authority.rpartition("@")[0]
    if ":" in user:
        raise UsageError(
            f"{scheme}://{clean(authority.rpartition('@')[2])}: a password in an address is seen "
            "by everyone on this machine; use a key, or the configuration of the protocol"
        )
    if scheme in _UNREAD:
        raise UsageError(f"{clean(text.partition('?')[0])}: {_INSTEAD.format(scheme)}")
    if not authority and scheme == SSH:
        raise UsageError(f"{clean(text)}: has no host")


def spelled_out(text: str) -> str:
    """Rewrite a library's message on an address, with ``host:port`` in place of Python's tuple:
    ``Connect call failed ('127.0.0.1', 1)``. An address of IPv6 has brackets."""

    def address(found: re.Match[str]) -> str:
        host, port = found.groups()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    return _TUPLE.sub(address, text)
