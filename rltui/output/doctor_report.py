"""``rltui doctor`` as text: one fact a line, what is wrong marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rltui.core.text import clean, counted
from rltui.draw.glyph import glyph_set
from rltui.facts import numbers

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
    "unknown": "unknown: rich or textual is not installed, which watch needs",
}
_MOUSE = {True: "on", False: "off: left to the terminal (over ssh, or by view.mouse)"}


def doctor_text(document: Mapping[str, Any]) -> str:
    """The document of ``rltui doctor --json`` for people."""
    lines = [f"rltui {document['rltui']}, Python {document['python']}, {document['platform']}"]
    packages = [f"{name} {x}" for name, x in document["packages"].items() if x is not None]
    if packages:
        lines.append(_fact("packages", ", ".join(packages)))
    if document["extras"]:
        there = [extra for extra, found in document["extras"].items() if found]
        lines.append(_fact("extras", ", ".join(there) or "none"))
    commands = (f"{extra}: {command}" for extra, command in document["missing"].items())
    formats = document["formats"]
    lines += [
        *_facts("missing", list(commands)),
        "",
        *_terminal(document["terminal"]),
        "",
        *_config(document["config"]),
        "",
        "reads",
        _fact("logs", ", ".join(formats["logs"]) + ", packed with gzip, too"),
        _fact("trackers", ", ".join(formats["trackers"])),
    ]
    alerts = document["alerts"]
    targets = [target_words(target) for target in alerts["targets"]]
    lines += ["", "messages", *_facts("sent to", targets or ["nobody: rltui alerts add URL"])]
    if targets:
        lines += [_fact("about", ", ".join(alerts["events"]))]
        lines += [_fact("after logout", alerts["after_logout"])]
    for logdir in document["logdirs"]:
        lines += ["", *_logdir(logdir)]

    return "".join(f"{clean(line)}\n" for line in lines)


def _fact(name: str, text: str) -> str:
    return f"  {name:<{_NAME}} {text}"


def _facts(name: str, texts: list[str], more: int = 0, *, again: bool = False) -> list[str]:
    """Texts below each other, the name before the first, or ``again`` before each; of many the
    first and how many more there are, with ``more`` that are not in ``texts``."""
    more += max(0, len(texts) - _LISTED)
    texts = [*texts[:_LISTED], *([f"and {more} more"] if more else [])]
    return [_fact(name if again or not n else "", text) for n, text in enumerate(texts)]


def _wrong(text: str) -> str:
    return f"  {_GLYPHS.bad} {text}"


def _terminal(facts: Mapping[str, Any]) -> list[str]:
    away = [name for name, there in facts["is_terminal"].items() if not there]
    variables = [f"{name}={value}" for name, value in facts["environment"].items()]
    return [
        "terminal",
        _fact("size", f"{facts['columns']} columns, {facts['rows']} rows"),
        _fact("colours", _DEPTHS[facts["colours"]]),
        _fact("curves", f"{facts['marker']} (encoding {facts['encoding']})"),
        _fact("mouse", _MOUSE[facts["mouse"]]),
        *([_fact("environment", " ".join(variables))] if variables else []),
        *([_fact("piped", f"{', '.join(away)}: watch needs a terminal")] if away else []),
    ]


def _config(facts: Mapping[str, Any]) -> list[str]:
    defaults = "" if facts["read"] else " (missing or unreadable: defaults)"
    lines = ["configuration", _fact("file", facts["path"] + defaults)]
    if "theme" in facts:
        lines.append(_fact("theme", facts["theme"]))
        there = [name for name, exists in facts["directories"].items() if exists]
        lines.append(_fact("beside it", ", ".join(there) or "no dialects/, rules/ or themes/"))
        lines += [_fact("document", path) for path in facts["documents"]]
        if facts["variables"]:
            lines.append(_fact("environment", ", ".join(facts["variables"])))
    return lines + [_wrong(error) for error in facts["errors"]]


def target_words(facts: Mapping[str, Any]) -> str:
    """A target of messages, and how the last one went."""
    if facts["at"] is None:
        return f"{facts['target']}: nothing sent yet"
    at = datetime.fromtimestamp(facts["at"]).strftime("%Y-%m-%d %H:%M")
    return f"{facts['target']}: {facts['error'] or 'delivered'} ({at})"


def _logdir(facts: Mapping[str, Any]) -> list[str]:
    lines = [facts["path"]]
    if facts["error"]:
        return [*lines, _wrong(facts["error"])]
    if facts["streamed"]:
        lines.append(_fact("read by", facts["why"]))
    else:
        lines.append(_fact("file system", facts["filesystem"] or "unknown"))
        mode = "inotify, and polling" if facts["inotify"] else "polling"
        lines.append(_fact("watched by", f"{mode}: {facts['why']}"))

    costs = facts["requests"]
    if costs is not None:  # what a search of a server took, and what following it takes
        size = numbers.exact(costs["bytes_read"])
        texts = [
            f"{costs['lists']} lists and {costs['reads']} reads with {size} bytes for this search",
            f"then {costs['least']} to {costs['most']} lists a minute, one read for each file that "
            "has grown",
        ]
        lines += _facts("requests", texts)

    lines += _runs(facts["runs"])
    lines += [_wrong(f"no permission to read {path}") for path in facts["unreadable"]]
    unread = [f"{n['path']}: {n['reason']}" for n in facts["not_read"]]
    return lines + _facts("not read", unread, facts["not_named"], again=True)


def _runs(runs: list[Mapping[str, Any]]) -> list[str]:
    if not runs:
        return [_wrong("no log was found")]
    files = [f for run in runs for f in run["files"]]
    sizes = [f["bytes"] for f in files if f["bytes"] is not None]
    size = f" with {numbers.exact(sum(sizes))} bytes" if len(sizes) == len(files) else ""
    found = f", from {counted(len(files), 'file')}{size}" if files else ""
    texts = []
    for run in runs:
        kinds = Counter(f["format"] for f in run["files"])
        words = ", ".join(k if n == 1 else f"{n} {k}" for k, n in kinds.items())
        texts.append(f"{run['run']}: {words}" if words else run["run"])

    return [_fact("runs", f"{len(runs)}{found}"), *_facts("", texts)]
