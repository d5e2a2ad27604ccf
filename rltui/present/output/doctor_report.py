"""``rltui doctor`` as text: one fact a line, what is wrong marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rltui.core.text import clean
from rltui.present.kit import numbers
from rltui.present.kit.glyph import glyph_set

_GLYPHS = glyph_set("braille")
#: Cells of the names of facts.
_NAME = 12
#: Runs, and files that are not read, that are listed by name.
_LISTED = 20
_DEPTHS = {
    "truecolor": "16 million",
    "256": "256",
    "16": "16",
    "none": "none (NO_COLOR, or a terminal without)",
}
_MOUSE = {True: "on", False: "off: left to the terminal (over ssh, or by view.mouse)"}


def doctor_text(document: Mapping[str, Any]) -> str:
    """The document of ``rltui doctor --json`` for people."""
    lines = [
        f"rltui {document['rltui']}, Python {document['python']}, {document['platform']}",
        *_installed(document),
        "",
        *_terminal(document["terminal"]),
        "",
        *_config(document["config"]),
        "",
        "reads",
        _fact("logs", ", ".join(document["formats"]["logs"]) + ", packed with gzip, too"),
        _fact("trackers", ", ".join(document["formats"]["trackers"])),
    ]
    for logdir in document["logdirs"]:
        lines += ["", *_logdir(logdir)]
    return "".join(f"{clean(line)}\n" for line in lines)


def _fact(name: str, text: str) -> str:
    return f"  {name:<{_NAME}} {text}"


def _wrong(text: str) -> str:
    return f"  {_GLYPHS.bad} {text}"


def _installed(document: Mapping[str, Any]) -> list[str]:
    packages: Mapping[str, str | None] = document["packages"]
    known = [f"{name} {version}" for name, version in packages.items() if version is not None]
    lines = [_fact("packages", ", ".join(known))] if known else []
    extras = [
        extra if there else f"{extra} missing: pip install 'rltui[{extra}]'"
        for extra, there in document["extras"].items()
    ]
    return [*lines, *([_fact("extras", ", ".join(extras))] if extras else [])]


def _terminal(facts: Mapping[str, Any]) -> list[str]:
    away = [name for name, there in facts["is_terminal"].items() if not there]
    size = f"{facts['columns']} columns, {facts['rows']} rows"
    variables = [f"{name}={value}" for name, value in facts["environment"].items()]
    return [
        "terminal",
        _fact("size", size),
        _fact("colours", _DEPTHS[facts["colours"]]),
        _fact("curves", f"{facts['marker']} (encoding {facts['encoding']})"),
        _fact("mouse", _MOUSE[facts["mouse"]]),
        *([_fact("environment", " ".join(variables))] if variables else []),
        *([_fact("piped", f"{', '.join(away)}: watch needs a terminal")] if away else []),
    ]


def _config(facts: Mapping[str, Any]) -> list[str]:
    defaults = "" if facts["read"] else " (not there or not readable: defaults)"
    lines = ["configuration", _fact("file", facts["path"] + defaults)]
    if "theme" in facts:
        lines.append(_fact("theme", facts["theme"]))
        there = [name for name, exists in facts["directories"].items() if exists]
        lines.append(_fact("beside it", ", ".join(there) or "no dialects/, rules/ or themes/"))
        lines += [_fact("document", path) for path in facts["documents"]]
        if facts["variables"]:
            lines.append(_fact("environment", ", ".join(facts["variables"])))
    return lines + [_wrong(error) for error in facts["errors"]]


def _logdir(facts: Mapping[str, Any]) -> list[str]:
    lines = [facts["path"]]
    if facts["error"]:
        return [*lines, _wrong(facts["error"])]
    lines.append(_fact("file system", facts["filesystem"] or "unknown"))
    mode = "inotify, and polling" if facts["inotify"] else "polling"
    lines.append(_fact("watched by", f"{mode}: {facts['why']}"))
    lines += _requests(facts["requests"])
    lines += _runs(facts["runs"])
    lines += [_wrong(f"no permission to read {path}") for path in facts["unreadable"]]
    unread = [f"{n['path']}: {n['reason']}" for n in facts["not_read"]]
    lines += [_fact("not read", text) for text in _first(unread, facts["not_named"])]
    return lines


def _requests(costs: Mapping[str, int] | None) -> list[str]:
    """What a search of a server took, and what following it takes."""
    if costs is None:
        return []
    size = numbers.exact(costs["bytes_read"])
    so_far = f"{costs['lists']} lists and {costs['reads']} reads with {size} bytes for this search"
    later = (
        f"then {costs['least']} to {costs['most']} lists a minute, one read for each file that "
        "has grown"
    )
    return [_fact("requests", so_far), _fact("", later)]


def _runs(runs: list[Mapping[str, Any]]) -> list[str]:
    if not runs:
        return [_wrong("no log was found")]
    files = [f for run in runs for f in run["files"]]
    size = numbers.exact(sum(f["bytes"] for f in files))
    found = f", from {len(files)} files with {size} bytes" if files else ""
    lines = [_fact("runs", f"{len(runs)}{found}")]
    for run in runs[:_LISTED]:
        kinds = Counter(f["format"] for f in run["files"])
        words = ", ".join(k if n == 1 else f"{n} {k}" for k, n in kinds.items())
        lines.append(_fact("", f"{run['run']}: {words}" if words else run["run"]))
    if len(runs) > _LISTED:
        lines.append(_fact("", f"and {len(runs) - _LISTED} more"))
    return lines


def _first(texts: list[str], more: int) -> Iterable[str]:
    left = len(texts) - _LISTED + more if len(texts) > _LISTED else more
    return [*texts[:_LISTED], *([f"and {left} more"] if left else [])]
