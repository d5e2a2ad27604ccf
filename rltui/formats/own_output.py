"""What rltui itself wrote: results that lie among the logs, and are none.

A verdict or an export is easily written into a directory that is searched later. It is known by its
first bytes, whatever the file is called.
"""

from __future__ import annotations

import re

_TEXT = rb'"(?:[^"\\]|\\.)*"'
_ROW = rb'\{"run":%s,"tag":%s,"step":-?\d+,"wall_time":[^,]+,"value":' % (_TEXT, _TEXT)
#: (first bytes, what they are of); the columns of an export are those of ``CSV_HEAD`` in
#: ``rltui.output.points``, and the keys of its JSON lines.
_SIGNS = (
    (re.compile(rb'\{\s*"schema":\s*"rltui\.\w+/\d+"'), "a document of rltui"),
    (re.compile(rb"# HELP rltui_\w+ "), "a page of metrics of rltui"),
    (re.compile(rb"run,tag,step,wall_time,value,superseded\r?\n"), "an export of rltui"),
    (re.compile(_ROW), "an export of rltui"),
)


def own_output(head: bytes) -> str:
    """What a file with these first bytes is, for people; empty if rltui did not write it."""
    return next((f"is {what}, not a log" for sign, what in _SIGNS if sign.match(head)), "")
