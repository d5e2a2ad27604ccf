"""The argument tree of all commands, and what it says about a mistake."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Container, Iterable, Sequence
from itertools import takewhile
from typing import Any, NoReturn

from rltui import __version__, commands
from rltui.commands.command import Command, Exit
from rltui.commands.standard_output import emit, tell
from rltui.core.errors import did_you_mean
from rltui.core.text import clean

SHELLS = ("bash", "zsh", "fish")

EXIT_CODES = (
    (Exit.OK, "done; `check`: no run at or above --fail-on"),
    (Exit.BAD, "`check`: a run at or above --fail-on, or crashed"),
    (Exit.USAGE, "wrong option, path, configuration or rule"),
    (Exit.NOTHING, "nothing readable below the paths, or a host out of reach"),
    (Exit.INTERNAL, "internal error, or output that cannot be written"),
    (Exit.INTERRUPTED, "interrupted; after another signal 128 + its number"),
)

_EPILOG = """\
examples:
  rltui                        choose among the logs that are found
  rltui watch runs/            live screen of every run below runs/
  rltui runs/                  the same
  rltui check runs/ --json     the verdict for scripts
  rltui demo                   watch a made-up run

exit codes:
{codes}

`rltui help COMMAND` has the options and an example of each command.
"""


class Parser(argparse.ArgumentParser):
    """No abbreviated options, and a hint at what was meant.

    A shell may fill in names of files that hold anything: messages show control characters as
    text.
    """

    def __init__(self, **settings: Any) -> None:
        """``settings`` as of :class:`argparse.ArgumentParser`."""
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(**settings, allow_abbrev=False, formatter_class=raw)

    def error(self, message: str) -> NoReturn:
        super().error(clean(message))

    def _print_message(self, message: str, file: object = None) -> None:
        """As argparse prints help and errors, but an error on the way there counts."""
        (emit if file is sys.stdout else tell)(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(c) for c in action.choices]
        hint = did_you_mean(_nearest(str(value), choices))
        if action.dest == "command":
            raise argparse.ArgumentError(None, f"no command or path {value!r}{hint}")
        known = ", ".join(choices)
        raise argparse.ArgumentError(action, f"invalid choice {value!r}, not of {known}{hint}")


class _PrintCompletion(argparse.Action):
    """Print the completion script of a shell, and exit."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del namespace, option_string
        from rltui.cli.completion import completion_script
        from rltui.cli.synopsis import synopsis_of

        emit(completion_script(str(values), synopsis_of(parser)))
        parser.exit()


def build_parser(commands: Sequence[Command]) -> Parser:
    """The argument tree of ``commands``."""
    codes = "\n".join(f"  {code.value:<4} {words}" for code, words in EXIT_CODES)
    parser = Parser(
        prog="rltui",
        description="Live verdict and curves of RL and LLM post-training runs, from their logs.",
        epilog=_EPILOG.format(codes=codes),
    )
    parser.add_argument("--version", action="version", version=f"rltui {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=SHELLS,
        metavar="SHELL",
        help="print the completion script of bash, zsh or fish",
    )
    _add_common(parser)
    parser.set_defaults(color="auto", debug=False)
    # With ``prog``, argparse need not format a usage to find it.
    tree = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog=parser.prog
    )
    for command in commands:
        child = tree.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=f"example:\n  {command.example}",
        )
        command.add_arguments(child)
        _add_common(child.add_argument_group("options of every command"))
        child.set_defaults(run=command.run)
    _add_help(parser, tree)
    return parser


def _add_common(parser: argparse._ActionsContainer) -> None:
    """Options that stand before a command or after it; neither overwrites the other."""
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        metavar="WHEN",
        default=argparse.SUPPRESS,
        help="write colours: always, never, or auto, on terminals, as NO_COLOR and FORCE_COLOR say",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="write a log for a bug report, and say where it is",
    )


def _add_help(parser: Parser, tree: argparse._SubParsersAction[Parser]) -> None:
    summary = "show the options and an example of a command"
    child = tree.add_parser("help", help=summary, epilog="example:\n  rltui help check")
    names = tuple(tree.choices)
    child.add_argument("topic", nargs="?", choices=names, metavar="COMMAND", help="which command")

    def run(options: argparse.Namespace) -> int:
        (tree.choices[options.topic] if options.topic else parser).print_help()
        return Exit.OK

    child.set_defaults(run=run)


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; exits with a message that names the option that was
    probably meant."""
    children = parsers_of(parser)
    words = spelled_out(arguments, children)
    name = next((w for w in words[_after_common(words) :] if not w.startswith("-")), "")
    child = children.get(name)
    if child is not None:
        _check_options(words, child, parser)
    options, surplus = parser.parse_known_args(words)
    if surplus:
        (child or parser).error(f"unexpected argument {surplus[0]!r}")
    return options


def needed_commands(words: Sequence[str]) -> Sequence[Command]:
    """The commands that the parser of a command line, spelled out, has to know: the one that it
    names, or all where the help or an error may be about any."""
    rest = list(words[_after_common(words) :])
    if rest and rest[0] in commands.NAMES:
        return (commands.verb(rest[0]),)
    return () if rest == ["--version"] else commands.COMMANDS


def _check_options(
    words: Iterable[str], child: argparse.ArgumentParser, parser: argparse.ArgumentParser
) -> None:
    """Exit at the first option that the command does not have. argparse would first ask for what
    else is missing."""
    known = {*child._option_string_actions, *parser._option_string_actions}
    for word in takewhile(lambda w: w != "--", words):
        name = word.partition("=")[0]
        if name.startswith("--") and " " not in word and name not in known:
            child.error(f"no option {name}{did_you_mean(_nearest(name, known))}")


def spelled_out(arguments: Sequence[str], names: Container[str]) -> list[str]:
    """``rltui PATH`` is short for ``rltui watch PATH``, ``rltui`` for ``rltui watch``; ``names``
    are those of the commands."""
    start = _after_common(arguments)
    common, rest = list(arguments[:start]), list(arguments[start:])
    if not rest:
        return [*common, "watch"] if start == len(arguments) else common
    first = next((a for a in rest if not a.startswith("-")), None)
    main = ("-h", "--help", "--version", "--print-completion")
    if first in names or rest[0].partition("=")[0] in main:
        return list(arguments)
    is_path = first is not None and (os.path.exists(first) or os.sep in first)  # noqa: PTH110
    return [*common, "watch", *rest] if is_path or rest[0].startswith("-") else list(arguments)


def _after_common(arguments: Sequence[str]) -> int:
    """How many arguments from the first are options of every command, with their values."""
    at = 0
    while at < len(arguments) and arguments[at].partition("=")[0] in ("--color", "--debug"):
        at += 2 if arguments[at] == "--color" else 1
    return at


def parsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    tree = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(tree.choices)


def _nearest(word: str, known: Iterable[str]) -> str | None:
    from rltui.core.yaml_document import nearest

    return nearest(word, sorted(known))
