"""How rltui was installed, and so the command that adds a package which it can use."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

#: An entry of the receipt that ``uv tool`` keeps beside the environment, and one of its values.
_ENTRY = re.compile(r'\{ name = "([^"]+)"(.*?) \}')
_VALUE = r'\b{} = (?:\[(.*?)\]|"(.*?)")'


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
    """What ``uv tool install`` was given, and packages beside it."""
    source, beside = ["rltui"], []
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
