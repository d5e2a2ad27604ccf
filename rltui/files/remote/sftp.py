"""SFTP that connects as the user's ssh does; imported when it is used.

It trusts the hosts which ssh knows, and no others.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem

from rltui.core.address import RemotePath

#: Seconds to connect, and for one answer.
_CONNECT_S = 10.0
_ANSWER_S = 30.0
#: Seconds for ``ssh -G``, which makes no connection.
_LONG_S = 10.0
#: Placeholders for host, port, user and the name on the command line in a proxy command.
_TOKEN = re.compile(r"%([%hnpr])")


class KnownHostSftp(SFTPFileSystem):  # type: ignore[misc]
    """Keys come from the agent, ``~/.ssh`` and ``~/.ssh/config``; no password is asked for."""

    cachable = False

    def _connect(self) -> None:
        given: dict[str, Any] = self.ssh_kwargs
        known = ssh_settings(self.host, given.get("port"), given.get("username"), os.environ)
        self.client = paramiko.SSHClient()
        self.client.load_system_host_keys()
        for file in known.known_hosts:
            with suppress(OSError, paramiko.SSHException):
                self.client.load_system_host_keys(file)
        self.client.set_missing_host_key_policy(_Refuse())
        options: dict[str, Any] = {"timeout": _CONNECT_S, "auth_timeout": _CONNECT_S}
        if known.keys:
            options["key_filename"] = list(known.keys)
        if known.only_keys:
            options |= {"allow_agent": False, "look_for_keys": False}
        if known.proxy:
            options["sock"] = paramiko.ProxyCommand(shlex.join(["sh", "-c", known.proxy]))
        asked = {"port": known.port or paramiko.config.SSH_PORT, "username": known.user}
        self.client.connect(known.host, **options | given | asked)
        self.ftp = self.client.open_sftp()
        channel = self.ftp.get_channel()
        if channel is not None:
            channel.settimeout(_ANSWER_S)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        """The bytes of a range, by concurrent requests for its chunks."""
        with self.ftp.open(path, "rb") as file:
            size = file.stat().st_size or 0
            begin = min(start or 0, size)
            length = min(size if end is None else end, size) - begin
            return b"".join(file.readv([(begin, length)])) if length > 0 else b""


class _Refuse(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
    def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:  # noqa: ARG002
        raise paramiko.SSHException(
            f"the key of {hostname} is unknown; connect to it once with ssh, which asks"
        )


def connected(path: RemotePath) -> KnownHostSftp:
    """A connection to the host of an address. Raises what paramiko raises, and OSError."""
    return KnownHostSftp(**SFTPFileSystem._get_kwargs_from_urls(str(path)))


class SshSettings(NamedTuple):
    """How ssh would connect to a host."""

    host: str
    port: int | None = None
    user: str | None = None
    keys: tuple[str, ...] = ()
    """Files of private keys that exist."""
    only_keys: bool = False
    """Whether no other keys are to be tried."""
    known_hosts: tuple[str, ...] = ()
    """Files that exist."""
    proxy: str = ""
    """A shell command whose standard input and output are the connection; "" for none."""


def ssh_settings(
    host: str, port: int | None, user: str | None, environ: Mapping[str, str]
) -> SshSettings:
    """Resolve a host by ``~/.ssh/config``; just the arguments where ssh cannot be run."""
    try:
        words = shlex.split(environ.get("RLTUI_SSH") or "ssh")
    except ValueError:
        words = ["ssh"]
    options = [*(("-p", str(port)) if port else ()), *(("-l", user) if user else ())]
    try:
        said = subprocess.run(
            [*words, *options, "-G", "--", host],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LONG_S,
            check=True,
        ).stdout.decode("utf-8", "surrogateescape")
    except (OSError, subprocess.SubprocessError):
        said = ""

    return _parsed(said, SshSettings(host, port, user), words)


def _parsed(said: str, asked: SshSettings, words: Sequence[str]) -> SshSettings:
    """Parse the output of ``ssh -G``; ``words``: the command that runs ssh."""
    pairs = [line.partition(" ")[::2] for line in said.splitlines()]
    one = dict(reversed(pairs))  # the first of several counts
    if "hostname" not in one:
        return asked
    host, user = one["hostname"], one.get("user") or asked.user
    port = int(one["port"]) if one.get("port", "").isdigit() else asked.port
    hosts = f"{one.get('userknownhostsfile', '')} {one.get('globalknownhostsfile', '')}"
    proxy, jump = one.get("proxycommand", "none"), one.get("proxyjump", "none")
    if jump != "none":
        first, _, last = jump.rpartition(",")  # ssh reaches the last one through the others
        through = ["-J", first] if first else []
        to = f"[{host}]:{port or 22}" if ":" in host else f"{host}:{port or 22}"
        proxy = shlex.join([*words, *through, "-oBatchMode=yes", "-W", to, *_target(last)])
    elif proxy != "none":
        tokens = {"h": host, "n": asked.host, "p": str(port or 22), "r": user or "", "%": "%"}
        proxy = _TOKEN.sub(lambda found: shlex.quote(tokens[found[1]]), proxy)

    return SshSettings(
        host,
        port,
        user,
        _existing(path for name, path in pairs if name == "identityfile"),
        one.get("identitiesonly") == "yes",
        _existing(shlex.split(hosts)),
        "" if proxy == "none" else proxy,
    )


def _target(jump: str) -> list[str]:
    """``[USER@]HOST[:PORT]`` as arguments."""
    name, _, port = jump.rpartition(":")
    if not (name and port.isdigit() and (":" not in name or name.endswith("]"))):
        name, port = jump, ""
    user, _, host = name.rpartition("@")
    options = [*(["-p", port] if port else []), *(["-l", user] if user else [])]
    return [*options, "--", host.strip("[]")]


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    found = (Path(path).expanduser() for path in paths)
    return tuple(str(path) for path in found if path.is_file())
