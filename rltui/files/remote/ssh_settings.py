"""How the user's ssh connects to a host, for a connection that is not made by ssh.

``ssh -G`` says it, with everything in ``~/.ssh/config`` resolved. Of that these are honoured: name,
port and user of the host, keys, known hosts, jump hosts and proxy commands.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Seconds for ``ssh -G``, which connects to nobody.
_LONG_S = 10.0
#: What stands for host, port, user and name on the command line in a proxy command.
_TOKEN = re.compile(r"%([%hnpr])")


@dataclass(frozen=True, slots=True)
class SshSettings:
    """What ssh would do."""

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
    """A command of the shell whose input and output is the connection; "" for none."""


def ssh_settings(
    host: str, port: int | None, user: str | None, environ: Mapping[str, str]
) -> SshSettings:
    """What ``~/.ssh/config`` makes of a host; just the arguments where ssh does not say."""
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
    """The output of ``ssh -G``; ``words`` run ssh."""
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
