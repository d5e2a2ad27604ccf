"""How much work a function does, in bytecodes: the same in every run and on every machine.

NumPy's loops over the points count as one call each, a loop over the points in Python does not.
"""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def bytecodes(function: Callable[[], object]) -> int:
    """Bytecodes that ``function`` executes in this thread."""
    # from Python 3.12 on, a trace misses the first call of each function
    return _monitored(function) if sys.version_info >= (3, 12) else _traced(function)


def _monitored(function: Callable[[], object]) -> int:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    thread, count = threading.get_ident(), 0

    def instruction(*_: object) -> None:
        nonlocal count
        count += threading.get_ident() == thread

    tool, event = monitoring.PROFILER_ID, monitoring.events.INSTRUCTION
    monitoring.use_tool_id(tool, "bytecodes")
    monitoring.register_callback(tool, event, instruction)
    monitoring.set_events(tool, event)
    try:
        function()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
    return count


def _traced(function: Callable[[], object]) -> int:
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
        function()
    finally:
        sys.settrace(before)
    return count
