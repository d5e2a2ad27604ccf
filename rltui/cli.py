"""The command line: argument tree, exit codes, errors to standard error.

Imports nothing heavy before it knows the command.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from rltui import __version__
from rltui.commands import COMMANDS, Command
from rltui.core.errors import RltuiError
from rltui.core.text import clean

#: Exit code of an internal error, distinct from those that are about runs.
_BROKEN = 70

_EPILOG = """\
examples:
  rltui                        choose among the logs that are found
  rltui watch runs/            live screen of every run below runs/
  rltui runs/                  the same
  rltui check runs/ --json     the verdict for scripts
  rltui demo                   watch a made-up run

`rltui COMMAND --help` has the options and an example of each command.
"""


class _Parser(argparse.ArgumentParser):
    """A shell may fill in names of files that hold anything."""

    def error(self, message: str) -> NoReturn:
        super().error(clean(message))


def build_parser() -> argparse.ArgumentParser:
    """The argument tree of all commands."""
    parser = _Parser(
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
    """``rltui PATH`` is short for ``rltui watch PATH``, ``rltui`` for ``rltui watch``."""
    if not arguments:
        return ["watch"]
    names = {c.name for c in commands}
    first = next((a for a in arguments if not a.startswith("-")), None)
    known = first in names or any(a in ("-h", "--help", "--version") for a in arguments[:1])
    if known:
        return arguments
    looks_like_path = first is not None and (os.path.exists(first) or os.sep in first)  # noqa: PTH110
    if looks_like_path or arguments[0].startswith("-"):
        return ["watch", *arguments]
    return arguments


def _harmless(text: str) -> str:
    """A message with control characters (from a path, say) made visible."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A limited locale or a file name that is not UTF-8 must not cause a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    _be_modest()
    parser = build_parser()
    options = parser.parse_args(_with_watch(arguments, COMMANDS))
    if options.command is None:
        parser.print_help()
        return 2
    return _guarded(options)


def _be_modest() -> None:
    """Settings of a process that shares its machine with a training.

    numpy's OpenBLAS would start a thread per core, which rltui has no use for, and the garbage
    collector would scan the imported modules over and over.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(20_000, 20, 20)


def _guarded(options: argparse.Namespace) -> int:
    """Run the command; an expected error is one line and never returns the exit code of a bad
    run."""
    code = _BROKEN
    try:
        code = options.run(options)
        sys.stdout.flush()
    except RltuiError as error:
        _complain(str(error))
        code = 2
    except KeyboardInterrupt:
        code = 130
    except OSError as error:
        _complain(f"{error.filename or 'output'}: {error.strerror or error}")
    except Exception as error:
        if os.environ.get("RLTUI_TRACEBACK"):
            raise
        _complain(f"internal error: {type(error).__name__}: {error}")
        _complain("set RLTUI_TRACEBACK=1 to see where")
    return code


def _complain(text: str) -> None:
    with suppress(OSError):  # a terminal that is gone
        sys.stderr.write(f"rltui: {_harmless(text)}\n")
