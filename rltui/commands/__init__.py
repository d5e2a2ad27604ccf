"""One module per verb. Module level imports are cheap; the work is imported in run().

To add a verb, write a module with a ``COMMAND`` and name it in ``COMMANDS``.
"""

from rltui.commands import (
    check,
    demo,
    doctor,
    explain,
    export,
    lint,
    plot,
    replay,
    serve_metrics,
    snapshot,
    stream,
    watch,
)
from rltui.commands.command import Command

COMMANDS: tuple[Command, ...] = (
    watch.COMMAND,
    check.COMMAND,
    snapshot.COMMAND,
    plot.COMMAND,
    export.COMMAND,
    explain.COMMAND,
    lint.COMMAND,
    doctor.COMMAND,
    demo.COMMAND,
    replay.COMMAND,
    stream.COMMAND,
    serve_metrics.COMMAND,
)

__all__ = ["COMMANDS", "Command"]
