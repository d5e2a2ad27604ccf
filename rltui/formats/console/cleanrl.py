"""CleanRL: ``global_step=2048, episodic_return=[21.]`` and ``SPS: 1234``.

Names are those of its event files. ``SPS`` has no step: it gets that of the newest episode, which
is at most one update too low; before the first episode, that of the first one.
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import NUMBER, plain

_EPISODE = re.compile(
    rb"global_step=(\d{1,18}), (?:\w+=[^,]{1,40}, )*?episodic_return=\[?\s*(" + NUMBER + rb")\s*\]?"
    rb"(?:, episodic_length=\[?\s*(" + NUMBER + rb"))?"
)
_SPEED = re.compile(rb"^SPS: (\d{1,12})$")
_RETURN = (b"charts/episodic_return",)
_BOTH = (b"charts/episodic_return", b"charts/episodic_length")
_SPS = (b"charts/SPS",)
#: Speeds that wait for the first episode.
_MAX_EARLY = 4096


class CleanRl(Dialect):
    """The dialect of CleanRL."""

    markers = (b"episodic_return=", b"SPS: ")

    def __init__(self) -> None:
        super().__init__()
        self._step: int | None = None
        self._early: list[float] = []

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        text = plain(line)
        found = _EPISODE.search(text)
        if found:
            self._step = step = int(found[1])
            names = _BOTH if found[3] else _RETURN
            values = [float(found[2])] + ([float(found[3])] if found[3] else [])
            for value in self._early:
                rows.guess(_SPS, step, [value])
            self._early.clear()
            self._restarts.add(rows, _RETURN, step)
            rows.add(names, step, values)
            return True
        speed = _SPEED.match(text)
        if speed and self._step is not None:
            rows.guess(_SPS, self._step, [float(speed[1])])
            return True
        if speed and len(self._early) < _MAX_EARLY:
            self._early.append(float(speed[1]))
        return False
