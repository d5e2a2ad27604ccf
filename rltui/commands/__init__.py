"""One module per verb, imported when the verb is used.

To add a verb, write a module with a ``COMMAND`` and name it in ``NAMES``: the module of ``a-verb``
is ``a_verb``.
"""

from __future__ import annotations

#: As of ``typing``, whose import takes longer than the answer to a status bar.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from rltui.commands.command import Command

    COMMANDS: tuple[Command, ...]

NAMES = (
    "watch",
    "check",
    "snapshot",
    "plot",
    "export",
    "explain",
    "lint",
    "doctor",
    "demo",
    "replay",
    "stream",
    "serve-metrics",
)

__all__ = ["COMMANDS", "NAMES", "verb"]


def verb(name: str) -> Command:
    """The verb of this name, one of ``NAMES``."""
    from importlib import import_module

    found: Command = import_module(f"{__name__}.{name.replace('-', '_')}").COMMAND
    return found


def __getattr__(name: str) -> object:
    """``COMMANDS``: all verbs, in the order of the help."""
    if name != "COMMANDS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return tuple(map(verb, NAMES))
