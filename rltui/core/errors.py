"""The errors that rltui raises deliberately.

::

    RltuiError
    ├── UsageError      the command line asks for something that cannot be done
    ├── DocumentError   a config, dialect, rule or theme is wrong (path, line, column, hint)
    └── SourceError     a log cannot be read at all
        ├── UnreachableError    now: its host does not answer
        └── VanishedError       any more: it was deleted, cut off or written anew

A bad log never stops the program: readers turn problems into a
:class:`~rltui.core.batch.Note`. With a bad document the program does not start.
"""

from __future__ import annotations

from pathlib import Path


class RltuiError(Exception):
    """Base of all expected errors; the user sees its text unchanged."""


class UsageError(RltuiError):
    """The request is invalid: exit code 2. ``hint`` is the most similar valid word, if any."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message + did_you_mean(hint))


class SourceError(RltuiError):
    """A path given by the user cannot be read as a log: exit code 2."""


class UnreachableError(SourceError):
    """A host cannot be reached now; others can, perhaps: exit code 3."""


class VanishedError(SourceError):
    """A log does not hold any more what was read of it."""


class DocumentError(RltuiError):
    """A YAML document of the user or of rltui is invalid: exit code 2.

    ``line`` and ``column`` count from 1; ``hint`` is the most similar valid word, if any.
    """

    def __init__(
        self,
        message: str,
        *,
        path: Path | str,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.message = message
        self.path = Path(path)
        self.line = line
        self.column = column
        self.hint = hint
        where = str(path)
        if line is not None:
            where += f":{line}"
            if column is not None:
                where += f":{column}"
        super().__init__(f"{where}: {message}{did_you_mean(hint)}")


def did_you_mean(hint: str | None) -> str:
    """End of a message that has a hint."""
    return f"; did you mean {hint!r}?" if hint else ""
