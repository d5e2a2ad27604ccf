"""What the commands take, for completion scripts and the manual page."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from rltui.cli.parser import parsers_of
from rltui.core.shipped import shipped

#: Words for values that are paths.
_PATHS = ("FILE", "LOGDIR")


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or one operand: that has no names."""

    names: tuple[str, ...]
    value: str
    """The word for its value; empty where it has none."""
    choices: tuple[str, ...]
    """The only values that it takes; else empty."""
    known: tuple[str, ...]
    """The values to offer: its choices, or what is shipped of what users may add to."""
    help: str
    optional: bool
    many: bool
    """Whether it can have several values, or stand several times."""

    @property
    def is_path(self) -> bool:
        """Whether its value is a path."""
        return self.value in _PATHS


@dataclass(frozen=True, slots=True)
class Synopsis:
    """One command, or rltui itself."""

    name: str
    help: str
    options: tuple[Option, ...]
    operands: tuple[Option, ...]
    epilog: str
    commands: tuple[Synopsis, ...] = ()


def _themes() -> tuple[str, ...]:
    return _documents("themes")


def _frameworks() -> tuple[str, ...]:
    return _documents("catalogue", "data", "dialects")


def _documents(*parts: str) -> tuple[str, ...]:
    """What is shipped in a directory, by the names of the files."""
    return tuple(sorted(path.stem for path in shipped(*parts).glob("*.yaml")))


def _scenarios() -> tuple[str, ...]:
    text = shipped("demo", "scenario.py").read_text(encoding="utf-8")
    return tuple(re.findall(r'^    Scenario\(\s*"([\w-]+)"', text, re.MULTILINE))


def _explained() -> tuple[str, ...]:
    """Metrics, rules and symptoms. Statistics of a metric are names of their own."""
    metrics = shipped("catalogue", "data", "metrics.yaml").read_text(encoding="utf-8")
    found = re.findall(r"^ {6}([\w.]+): \{(?:.*\bstats: \[(.*?)\])?", metrics, re.MULTILINE)
    names = {f"{key}.{s}" if s else key for key, stats in found for s in stats.split(", ")}
    rules = shipped("health", "data", "rules").glob("*.yaml")
    for path in (shipped("health", "data", "diagnoses.yaml"), *rules):
        names.update(re.findall(r"^- id: (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    return tuple(sorted(names))


#: Arguments whose values are names, shipped ones or the user's own. The files are searched as text:
#: when rltui is built, there is nothing that could read them.
_SHIPPED = {
    "theme": _themes,
    "framework": _frameworks,
    "scenario": _scenarios,
    "name": _explained,
}


def synopsis_of(parser: argparse.ArgumentParser) -> Synopsis:
    """What rltui takes, with all its commands."""
    commands = parsers_of(parser)
    return _synopsis(
        parser,
        "rltui",
        parser.description or "",
        tuple(_synopsis(p, name, _summary(parser, name)) for name, p in commands.items()),
    )


def _synopsis(
    parser: argparse.ArgumentParser, name: str, help: str, commands: tuple[Synopsis, ...] = ()
) -> Synopsis:
    actions = [a for a in parser._actions if not isinstance(a, argparse._SubParsersAction)]
    options = tuple(_option(a) for a in actions if a.option_strings)
    operands = tuple(_option(a) for a in actions if not a.option_strings)
    return Synopsis(name, help, options, operands, parser.epilog or "", commands)


def _summary(parser: argparse.ArgumentParser, name: str) -> str:
    tree = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return next((a.help or "" for a in tree._choices_actions if a.dest == name), "")


def _option(action: argparse.Action) -> Option:
    choices = tuple(map(str, action.choices or ()))
    names = _SHIPPED.get(action.dest)
    word = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return Option(
        names=tuple(action.option_strings),
        value="" if action.nargs == 0 else word,
        choices=choices,
        known=choices or (names() if names is not None else ()),
        help=(action.help or "").replace("%%", "%"),
        optional=action.nargs in ("?", "*"),
        many=action.nargs in ("+", "*") or isinstance(action, argparse._AppendAction),
    )
