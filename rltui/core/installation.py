"""How rltui was installed: the files that it ships, the packages that it can use, and the command
that adds one."""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rltui.core.errors import RltuiError, UsageError

_PACKAGE = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
#: Extras for those who work on rltui.
_NOT_FOR_USERS = ("dev", "pictures")
#: An entry of the receipt that ``uv tool`` keeps beside the environment, and one of its values.
_ENTRY = re.compile(r'\{ name = "([^"]+)"(.*?) \}')
_VALUE = r'\b{} = (?:\[(.*?)\]|"(.*?)")'


def shipped(*parts: str) -> Path:
    """Path of a shipped file or directory, for example ``shipped("themes", "dark.yaml")``.

    In an installed wheel they are inside the package (``rltui/themes``); in a checkout or an
    editable install they are beside it (``themes/``): never create ``rltui/themes`` in the tree.
    Raises RltuiError when it is in neither.
    """
    for base in (_PACKAGE, _PACKAGE.parent):
        path = base.joinpath(*parts)
        if path.exists():
            return path
    raise RltuiError(f"the installation is incomplete: {'/'.join(parts)} is missing")


def is_shipped(path: Path) -> bool:
    """Whether a file is one of the package."""
    return str(path).startswith(f"{_PACKAGE}{os.sep}")


def need(what: str, *packages: str) -> None:
    """Raise UsageError, with the command that adds them, for packages that ``what`` needs and that
    are not installed. Each is named as for pip; its module has its name."""
    missing = [p for p in packages if find_spec(_NAME.findall(p)[0]) is None]
    if missing:
        names = " and ".join(_NAME.findall(p)[0] for p in missing)
        raise UsageError(f"{what} needs {names}: {to_add(*missing)}")


def to_add(*packages: str) -> str:
    """The command that adds packages to the environment in which this runs.

    It names packages, not an extra of rltui: no index need have rltui, and what it was installed
    from may be gone. Only ``uv tool`` builds the environment anew, from all that was asked for.
    """
    environment = Path(sys.prefix)
    receipt = environment / "uv-receipt.toml"
    if receipt.exists():
        words = ["uv", "tool", "install", *_asked(receipt.read_text("utf-8"), packages)]
    elif (environment / "pipx_metadata.json").exists():
        words = ["pipx", "inject", environment.name, *packages]
    elif find_spec("pip") is None:  # an environment of uv
        words = ["uv", "pip", "install", "--python", sys.executable, *packages]
    else:
        words = [sys.executable, "-m", "pip", "install", *packages]

    return shlex.join(words)


def _asked(receipt: str, packages: Sequence[str]) -> list[str]:
    """Requirement that ``uv tool install`` was given, and packages beside it."""
    source = ["rltui"]
    beside = []
    for name, rest in _ENTRY.findall(receipt.partition("entrypoints")[0]):
        extras = f"[{extras.replace(chr(34), '')}]" if (extras := _value(rest, "extras")) else ""
        if name != "rltui":
            beside.append(f"{name}{extras}{_value(rest, 'specifier')}")
        elif place := _value(rest, "(?:directory|path)"):
            source = [f"{place}{extras}"]
        elif place := _value(rest, "editable"):
            source = ["--editable", f"{place}{extras}"]
        elif place := _value(rest, "git"):
            place = re.sub(r"\?(?:rev|tag|branch)=", "@", place)
            source = [f"rltui{extras} @ git+{place}"]
        elif place := _value(rest, "url"):
            source = [f"rltui{extras} @ {place}"]
    added = dict.fromkeys((*beside, *packages))

    return [*source, *(word for package in added for word in ("--with", package))]


def _value(entry: str, key: str) -> str:
    found = re.search(_VALUE.format(key), entry)
    return "" if found is None else found[1] or found[2] or ""


def packages() -> dict[str, Any]:
    """Versions of what rltui requires, which extras are installed, and how what is not is added."""
    from importlib import metadata  # not before the first paint: it takes long to import

    try:
        required = metadata.requires("rltui") or []
    except metadata.PackageNotFoundError:  # run from a checkout
        required = []
    packages: dict[str, str | None] = {}
    version: str | None
    extras: dict[str, list[str]] = {}
    lacking: set[str] = set()
    missing: dict[str, str] = {}
    for line in required:
        name = _NAME.match(line)
        extra = _EXTRA.search(line)
        if name is None or (extra and extra[1] in _NOT_FOR_USERS):
            continue
        try:
            version = metadata.version(name[0])
        except metadata.PackageNotFoundError:
            version = None
        packages[name[0]] = version
        requirement = line.partition(";")[0].strip()
        if extra:
            extras.setdefault(extra[1], []).append(requirement)
            lacking.update([extra[1]] if version is None else [])
        elif version is None:
            missing[name[0]] = to_add(requirement)

    missing |= {x: to_add(*wanted) for x, wanted in extras.items() if x in lacking}
    return {
        "packages": packages,
        "extras": {extra: extra not in lacking for extra in extras},
        "missing": missing,
    }


def home_directory(environ: Mapping[str, str]) -> Path:
    """``HOME``, or what the user database says.

    A container may run under a number that is no user, without either: then a path below which
    nothing exists nor can be written.
    """
    found = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - it does not raise
    return Path(found if os.path.isabs(found) else os.devnull)  # noqa: PTH117 - a text


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where rltui keeps what is the user's: ``$XDG_STATE_HOME/rltui``."""
    return _directory(environ, "XDG_STATE_HOME", ".local/state")


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Where it keeps what it can make again: ``$XDG_CACHE_HOME/rltui``."""
    return _directory(environ, "XDG_CACHE_HOME", ".cache")


def _directory(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    base = Path(environ.get(variable) or "")
    return (base if base.is_absolute() else home_directory(environ) / usual) / "rltui"


def write_private(path: Path, text: str) -> None:
    """Write a file for the user alone, in place of the one before. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    fresh.replace(path)


def release() -> None:
    """Give memory that is no longer used back to the system, where the C library can (glibc): by
    itself it keeps what lies below anything that is still used."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
