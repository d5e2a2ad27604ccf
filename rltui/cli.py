"""The command line (floor 8): argument tree, exit codes, errors to standard error.

Imports nothing heavy before it knows the command.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from rltui import __version__
from rltui.commands import COMMANDS, Command
from rltui.core.errors import RltuiError

_EPILOG = """\
examples:
  rltui watch runs/            live screen of every run below runs/
  rltui runs/                  the same
  rltui check runs/ --json     the verdict for scripts
  rltui demo                   watch a made-up run

`rltui COMMAND --help` has the options and an example of each command.
"""


def build_parser() -> argparse.ArgumentParser:
    """The argument tree of all commands."""
    parser = argparse.ArgumentParser(
        prog="rltui",
        description="Live verdict and curves of RL and LLM post-training runs, from their logs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rltui {__version__}")
    tree = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS:
        child = tree.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=f"example:\n  {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(child)
        child.set_defaults(run=command.run)
    return parser


def _with_watch(arguments: list[str], commands: Sequence[Command]) -> list[str]:
    """``rltui PATH`` is short for ``rltui watch PATH``."""
    names = {c.name for c in commands}
    first = next((a for a in arguments if not a.startswith("-")), None)
    known = first in names or any(a in ("-h", "--help", "--version") for a in arguments[:1])
    if not arguments or known:
        return arguments
    looks_like_path = first is not None and (os.path.exists(first) or os.sep in first)  # noqa: PTH110
    if looks_like_path or arguments[0].startswith("-"):
        return ["watch", *arguments]
    return arguments


def _harmless(text: str) -> str:
    """A message with what could control the terminal (in a path of the user) made visible."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A locale without these characters, or a file name that is no UTF-8: never a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    if not arguments:
        parser.print_help()
        return 2
    options = parser.parse_args(_with_watch(arguments, COMMANDS))
    if options.command is None:
        parser.print_help()
        return 2
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except RltuiError as error:
        print(f"rltui: {_harmless(str(error))}", file=sys.stderr)  # noqa: T201 - diagnostics of the command line
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output left (`| head`): not an error; keep the interpreter from
        # complaining about the same pipe again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
