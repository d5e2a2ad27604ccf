"""The Python API: :func:`read`, :func:`judge` and :func:`follow`, also in :mod:`rltui` itself.

The reader, store and rules of the program, and nothing else: what ``rltui export``, ``rltui check
--json`` and ``rltui check --follow --json`` print, as objects. Errors are
:class:`~rltui.core.errors.RltuiError`.
"""

from rltui.api.functions import Verdicts, follow, judge, read
from rltui.api.runs import Points, Run, Runs
from rltui.core.errors import RltuiError
from rltui.output.documents import EventDocument, NoteDocument, RunVerdict

__all__ = [
    "EventDocument",
    "NoteDocument",
    "Points",
    "RltuiError",
    "Run",
    "RunVerdict",
    "Runs",
    "Verdicts",
    "follow",
    "judge",
    "read",
]
