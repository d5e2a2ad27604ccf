"""Wires the packages below together: files go in, judged runs come out. Draws nothing.

:class:`Session` opens logdirs, drains what the reader produced into the store, asks the
catalogue what the tags mean and the rules what they think, and hands out one
:class:`JudgedRun` per run. Headless commands call :meth:`Session.read_all`, the app calls
:meth:`Session.start`, :meth:`Session.drain` on every tick and :meth:`Session.stop`.
"""

from rltui.session.progress import Progress
from rltui.session.run import JudgedRun
from rltui.session.session import Session

__all__ = ["JudgedRun", "Progress", "Session"]
