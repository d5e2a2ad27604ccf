"""Runs one command: its parser, its exit code, errors as one line."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Container, Mapping, Sequence
from contextlib import nullcontext
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn

from rltui.commands.standard_output import emit, tell
from rltui.commands.terminal import choose_colour
from rltui.commands.verbs import (
    COMMON,
    DESCRIPTION,
    EXIT_CODES,
    HELP_VERB,
    MAIN,
    NAMES,
    VERBS,
    Exit,
    Verb,
)
from rltui.core.errors import RltuiError, UnreachableError, UsageError, did_you_mean
from rltui.core.installation import cache_directory, need, state_directory
from rltui.core.kept_documents import KEPT, keeping
from rltui.core.text import clean
from rltui.core.yaml_document import nearest

if TYPE_CHECKING:
    from rltui.cli.debug_log import DebugLog

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
        super().__init__(**settings, allow_abbrev=False, formatter_class=raw, add_help=False)
        self.commands: Mapping[str, Parser] = {}
        """The parser of each command."""

    def error(self, message: str) -> NoReturn:
        super().error(clean(message))

    def _print_message(self, message: str, file: object = None) -> None:
        """Print help and errors of argparse; an error on the way there counts."""
        (emit if file is sys.stdout else tell)(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(c) for c in action.choices]
        hint = did_you_mean(nearest(str(value), sorted(choices)))
        if action.dest == "command":
            raise argparse.ArgumentError(None, f"no command or path {value!r}{hint}")
        known = ", ".join(choices)
        raise argparse.ArgumentError(action, f"invalid choice {value!r}, not of {known}{hint}")


class _PrintCompletion(argparse.Action):
    """Print the completion script of a shell, and exit."""

    def __call__(
        self, parser: argparse.ArgumentParser, _: object, values: object, *__: object
    ) -> None:
        try:
            need("--print-completion", "shtab")
        except UsageError as error:
            parser.exit(Exit.USAGE, f"rltui: {error}\n")
        from rltui.cli.completion import completion_script  # only who asks for it needs it

        emit(completion_script(parser, str(values)))
        parser.exit()


def build_parser(verbs: Sequence[Verb] = VERBS) -> Parser:
    """The argument tree of some verbs."""
    codes = "\n".join(f"  {code.value:<4} {words}" for code, words in EXIT_CODES)
    parser = Parser(prog="rltui", description=DESCRIPTION, epilog=_EPILOG.format(codes=codes))
    for option in MAIN:
        printing = {"action": _PrintCompletion} if option.dest == "print_completion" else {}
        option.add_to(parser, **printing)
    parser.set_defaults(color="auto", debug=False)
    # With ``prog``, argparse need not format a usage to find it.
    tree = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog=parser.prog
    )
    for verb in (*verbs, HELP_VERB):
        about = f"{verb.summary[0].upper()}{verb.summary[1:]}."
        listed: dict[str, Any] = {} if verb.internal else {"help": verb.summary}
        child = tree.add_parser(
            verb.name, description=about, epilog=f"example:\n  {verb.example}", **listed
        )
        groups: dict[str, argparse._MutuallyExclusiveGroup] = {}
        for option in (MAIN[0], *verb.own):
            if option.group and option.group not in groups:
                groups[option.group] = child.add_mutually_exclusive_group()
            option.add_to(groups.get(option.group, child))
        if verb is not HELP_VERB:
            common = child.add_argument_group("options of every command")
            for option in COMMON:
                option.add_to(common)
        child.set_defaults(run=verb.run)
    parser.commands = dict(tree.choices)

    def show_help(options: argparse.Namespace) -> int:
        (parser.commands[options.topic] if options.topic else parser).print_help()
        return Exit.OK

    child.set_defaults(run=show_help)
    return parser


def parse(parser: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; exits with a message that names the option that was
    probably meant."""
    words = spelled_out(arguments, parser.commands)
    name = next((w for w in words[_after_common(words) :] if not w.startswith("-")), "")
    child = parser.commands.get(name)
    if child is not None:
        # the first option that the command does not have; argparse would first ask for what else
        # is missing
        known = {*child._option_string_actions, *parser._option_string_actions}
        for word in takewhile(lambda w: w != "--", words):
            option = word.partition("=")[0]
            if option.startswith("--") and " " not in word and option not in known:
                child.error(f"no option {option}{did_you_mean(nearest(option, sorted(known)))}")

    options, surplus = parser.parse_known_args(words)
    own = child._get_positional_actions() if child is not None else []
    several = [action for action in own if action.nargs in ("*", "+")]
    at = surplus.index("--") if "--" in surplus else len(surplus)
    wrong = [word for word in surplus[:at] if word.startswith("-") or not several]
    if wrong:
        (child or parser).error(f"unexpected argument {wrong[0]!r}")
    # argparse takes no more words of a list after an option
    for word in [*surplus[:at], *surplus[at + 1 :]]:
        try:
            value = parser._get_value(several[0], word)
        except argparse.ArgumentError as error:
            (child or parser).error(str(error))
        setattr(options, several[0].dest, [*getattr(options, several[0].dest), value])

    return options


def needed_verbs(words: Sequence[str]) -> Sequence[Verb]:
    """The verbs that the parser of a command line, spelled out, has to know: the one that it
    names, or all where the help or an error may be about any."""
    rest = list(words[_after_common(words) :])
    if rest and rest[0] in NAMES:
        return (VERBS[NAMES.index(rest[0])],)
    return () if rest == ["--version"] else VERBS


def spelled_out(arguments: Sequence[str], names: Container[str]) -> list[str]:
    """``rltui PATH`` is short for ``rltui watch PATH``, ``rltui`` for ``rltui watch``; ``names``
    are those of the commands."""
    start = _after_common(arguments)
    common = list(arguments[:start])
    rest = list(arguments[start:])
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


def run(arguments: Sequence[str]) -> int:
    """Run the command of a command line; returns the exit code."""
    # The process shares its machine with a training: numpy's OpenBLAS would start a thread per
    # core, and the garbage collector would scan imported modules and documents, none of them
    # garbage.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(400_000, 20, 20)

    words = spelled_out(arguments, (*NAMES, "help"))
    options = parse(build_parser(needed_verbs(words)), words)
    options.arguments = arguments
    choose_colour(options.color, os.environ)
    options.debug_log = None
    if options.debug:
        from rltui.cli.debug_log import DebugLog  # only who asks for it needs it

        directory = state_directory(os.environ) / "debug"
        try:
            options.debug_log = log = DebugLog(arguments, directory)
            _complain(f"debug log: {log.path}")
        except OSError as error:
            _complain(f"no debug log: {error.filename or directory}: {error.strerror or error}")

    kept = keeping(cache_directory(os.environ) / "documents")
    with kept, options.debug_log or nullcontext():
        return _guarded(options)


def _guarded(options: argparse.Namespace) -> int:
    """Run the command; an expected error is one line and never returns the exit code of a bad
    run."""
    code: int = Exit.INTERNAL
    log: DebugLog | None = options.debug_log
    try:
        code = options.run(options)
    except RltuiError as error:
        KEPT.clear()  # of a document that is wrong
        _complain(str(error))
        # a host that is down is no mistake of who typed the command
        code = Exit.NOTHING if isinstance(error, UnreachableError) else Exit.USAGE
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except OSError as error:
        code = output_failed(error)
        if log is not None:
            log.failed(error)
    except Exception as error:  # noqa: BLE001 - a traceback is for those who ask for it
        _complain(f"internal error: {type(error).__name__}: {error}")
        if log is None:
            _complain("--debug writes a log with the traceback")
        else:
            log.failed(error)

    return code


def output_failed(error: OSError) -> int:
    """Say what cannot be written or read; returns the exit code."""
    _complain(f"{error.filename or 'output'}: {error.strerror or error}")
    return Exit.INTERNAL


def _complain(text: str) -> None:
    """Control characters of a path, say, are made visible."""
    shown = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    tell(f"rltui: {shown}\n")
