"""Converts errors of remote file systems to OSError, with a text that is safe to show.

Libraries quote the request that failed; keys, tokens and signatures are removed from it.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator

from rltui.core.address import spelled_out
from rltui.core.secrets import without_secrets
from rltui.core.text import clean

#: Characters of a message.
_MOST = 160
_MISSING = {404, 410}
_DENIED = {401, 403}
_THROTTLED = {429, 503}
_BEHIND = {416}
_ABSENT = (FileNotFoundError, NotADirectoryError)
_THROTTLES = re.compile(
    r"slow ?down|throttl|too ?many ?requests|rate ?exceeded|reduce your request rate|rate limit",
    re.IGNORECASE,
)
_NO_CREDENTIALS = re.compile(r"credential|anonymous caller|login", re.IGNORECASE)


class StoreError(OSError):
    """A server cannot be reached or used now; concerns everything that is on it."""


class ThrottledError(StoreError):
    """The server asks for fewer requests."""


class RangeError(OSError):
    """A range lies behind the end of the file."""


#: How asyncio's messages begin, which have an address in place of the reason.
_OF_ASYNCIO = "Connect call failed"


def translated(error: Exception) -> OSError:
    """Convert an error of a library to one of ours, FileNotFoundError or PermissionError."""
    causes = list(_causes(error))
    statuses = {s for c in causes if (s := _http_status(c))}
    if statuses & _THROTTLED or any(_THROTTLES.search(str(c)) for c in causes):
        return ThrottledError(errno.EBUSY, "the server asks for fewer requests")
    if statuses & _BEHIND or "InvalidRange" in str(error):
        return RangeError(errno.EINVAL, "it has become shorter")
    if statuses & _DENIED or any(isinstance(c, PermissionError) for c in causes):
        return PermissionError(errno.EACCES, f"permission denied: {shown(error)}")
    cut_off = next((c for c in causes if _is_cut_off(c)), None)  # fsspec may call that missing
    if statuses & _MISSING or (cut_off is None and any(isinstance(c, _ABSENT) for c in causes)):
        return FileNotFoundError(errno.ENOENT, "no such file or directory")
    said = shown((isinstance(error, _ABSENT) and cut_off) or error)
    if any(_NO_CREDENTIALS.search(type(c).__name__) for c in causes):
        said = f"no valid credentials ({said})"
    return StoreError(errno.EIO, said)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, at most 8."""
    for _ in range(8):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def shown(error: BaseException) -> str:
    """The message of an error, without secrets; one line."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
        if error.errno and text.startswith(_OF_ASYNCIO):
            text = os.strerror(error.errno).lower()
    text = spelled_out(text)
    name = type(error).__name__
    return redacted(text) if text else name


def redacted(text: str) -> str:
    """A text with everything removed that looks like a secret, cleaned and cut."""
    text = clean(without_secrets(text))
    return text if len(text) <= _MOST else f"{text[: _MOST - 3]}..."


def _is_cut_off(error: BaseException) -> bool:
    """Whether a server could not be reached."""
    if isinstance(error, OSError):
        return not isinstance(error, (*_ABSENT, PermissionError))
    return "Timeout" in type(error).__name__


def _http_status(error: BaseException) -> int:
    """The status code of an HTTP answer in an error of aiohttp, botocore, gcsfs or requests."""
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        found = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    else:
        found = getattr(answer, "status_code", 0)
        found = found or getattr(error, "status", 0) or getattr(error, "code", 0)
    try:
        return int(found)
    except (TypeError, ValueError):
        return 0
