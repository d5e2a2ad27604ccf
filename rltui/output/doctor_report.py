"""``rltui doctor`` as text: one fact a line, what is wrong marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rltui.core.text import clean
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
    extras: Mapping[str, bool] = document["extras"]
    there = [extra for extra, found in extras.items() if found]
    if extras:
        lines.append(_fact("extras", ", ".join(there) or "none"))
    missing: Mapping[str, str] = document["missing"]
    commands = [f"{extra}: {command}" for extra, command in missing.items()]
    return lines + [_fact("" if n else "missing", text) for n, text in enumerate(commands)]


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
        return [*lines, _wrong(facts["error"]), *_cluster(facts["cluster"])]
    if facts["streamed"]:
        lines.append(_fact("read by", facts["why"]))
    else:
        lines.append(_fact("file system", facts["filesystem"] or "unknown"))
        mode = "inotify, and polling" if facts["inotify"] else "polling"
        lines.append(_fact("watched by", f"{mode}: {facts['why']}"))
    lines += _requests(facts["requests"])
    lines += _cluster(facts["cluster"])
    lines += _runs(facts["runs"])
    lines += [_wrong(f"no permission to read {path}") for path in facts["unreadable"]]
    unread = [f"{n['path']}: {n['reason']}" for n in facts["not_read"]]
    lines += [_fact("not read", text) for text in _first(unread, facts["not_named"])]

    return lines


def _requests(costs: Mapping[str, Any] | None) -> list[str]:
    """What a search of a server took, and what following it takes."""
    if costs is None:
        return []
    size = numbers.exact(costs["bytes_read"])
    so_far = f"{costs['lists']} lists and {costs['reads']} reads with {size} bytes for this search"
    later = (
        f"then {costs['least']} to {costs['most']} lists a minute, one read for each file that "
        "has grown"
    )
    lines = [_fact("requests", so_far), _fact("", later)]
    if costs["whole_files"]:
        lines.append(
            _fact("", "the server sends whole files only: each read costs all of the file")
        )

    return lines


def _cluster(cluster: Mapping[str, Any] | None) -> list[str]:
    """The nodes of a cluster, what was found on each, and what that cost."""
    if cluster is None:
        return []
    nodes = cluster["nodes"]
    readers = [node for node in nodes if node["reader"]]
    lines = [
        _fact("cluster", f"{cluster['address']}, Ray {cluster['ray']}"),
        _fact("nodes", f"{len(nodes)}, {len(readers)} of them with a reader"),
        *(_fact("", f"{node['name']}: {_on_node(node)}") for node in readers),
        *(_wrong(f"{n['name']}: {n['trouble']}") for n in nodes if n["trouble"]),
    ]
    memory = max((node["memory_bytes"] for node in readers), default=0) >> 20
    size = numbers.exact(cluster["bytes_received"])
    actors = f"{_count(len(readers), 'actor')} without a CPU, each of at most {memory} MiB"

    return [*lines, _fact("cost", f"{actors}; {size} bytes received for this search")]


def _on_node(node: Mapping[str, Any]) -> str:
    if not node["places"]:
        return "does not have the path"
    if not node["runs"]:
        return "no log"
    size = numbers.exact(node["size"])
    return f"{_count(node['runs'], 'run')}, from {_count(node['files'], 'file')} with {size} bytes"


def _count(number: int, noun: str) -> str:
    return f"{numbers.exact(number)} {noun}{'' if number == 1 else 's'}"


def _runs(runs: list[Mapping[str, Any]]) -> list[str]:
    if not runs:
        return [_wrong("no log was found")]
    files = [f for run in runs for f in run["files"]]
    sizes = [f["bytes"] for f in files if f["bytes"] is not None]
    size = f" with {numbers.exact(sum(sizes))} bytes" if len(sizes) == len(files) else ""
    word = "file" if len(files) == 1 else "files"
    found = f", from {len(files)} {word}{size}" if files else ""
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
