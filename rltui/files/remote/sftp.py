"""SFTP that connects as the user's ssh does; imported when it is used.

It trusts the hosts which ssh knows, and no others.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from typing import Any

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem

from rltui.core.address import RemotePath
from rltui.files.remote.ssh_settings import ssh_settings

#: Seconds to connect, and for one answer.
_CONNECT_S = 10.0
_ANSWER_S = 30.0


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
        """The bytes of a range; its parts are asked for at once, not one after the other."""
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
