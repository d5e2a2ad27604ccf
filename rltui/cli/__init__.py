"""The command line: exit codes, errors to standard error.

``program`` parses the arguments and runs a command, ``completion`` and ``manual`` write what shells
and ``man`` show of the verbs, ``debug_log`` what ``--debug`` writes. Nothing is imported that the
command does not need: a status bar asks every few seconds.
"""

from __future__ import annotations

import io
import os
import sys

from rltui.commands.line_cache import LineCache, may_be_kept
from rltui.commands.standard_output import emit, open_closed_streams

#: As of ``typing``, whose import takes longer than the answer to a status bar.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A limited locale or a file name that is not UTF-8 must not cause a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    kept = LineCache(arguments, os.environ).read() if may_be_kept(arguments) else None
    try:
        if kept is None:
            from rltui.cli.program import run  # not for a line that was kept

            return run(arguments)
        code, line = kept
        emit(line)
    except OSError as error:
        from rltui.cli.program import output_failed  # not for a line that was kept

        return output_failed(error)
    return code
