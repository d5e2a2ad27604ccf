"""The command that runs ``rltui stream`` on another host."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from rltui.core.errors import UsageError
from rltui.core.text import clean

#: No password is asked for, no terminal and no forwarding is wanted, and a dead connection is
#: noticed.
_OPTIONS = (
    *("-T", "-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=10"),
    *("-oServerAliveCountMax=3", "-oClearAllForwardings=yes", "-oRemoteCommand=none"),
)
_AUTHORITY = re.compile(r"(?:([\w.+@%-]+)@)?(?:\[([0-9a-fA-F:.%\w]+)\]|([\w.-]+))(?::(\d{1,5}))?")


def ssh_command(authority: str, places: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """``authority`` is ``[USER@]HOST[:PORT]``; ``places`` are paths there, ``~`` is the home
    directory. ``RLTUI_SSH`` and ``RLTUI_REMOTE_COMMAND`` replace ``ssh`` and ``rltui``.

    Raises UsageError for what is not a host.
    """
    found = _AUTHORITY.fullmatch(authority)
    if found is None or authority.startswith("-") or (found[3] or "").startswith("-"):
        raise UsageError(f"{clean(authority)}: is not a host")
    user, address, name, port = found.groups()
    try:
        words = shlex.split(environ.get("RLTUI_SSH") or "ssh")
    except ValueError as error:
        raise UsageError(f"RLTUI_SSH: {error}") from None
    options = [*_OPTIONS, *(("-p", port) if port else ()), *(("-l", user) if user else ())]
    there = environ.get("RLTUI_REMOTE_COMMAND") or "rltui"
    command = " ".join([there, "stream", "--", *map(shlex.quote, places)])
    return [*words, *options, "--", address or name, command]
