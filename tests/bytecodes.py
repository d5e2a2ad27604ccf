"""How much work a function does, in bytecodes: the same in every run and on every machine.

NumPy's loops over the points count as one call each, a loop over the points in Python does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def bytecodes(function: Callable[[], object]) -> int:
    """Bytecodes that ``function`` executes in this thread."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        (lambda: None)()  # Python 3.13 counts from the second function on
        count = 0
        function()
    finally:
        sys.settrace(before)
    return count
