"""Keras and keras-rl: ``469/469 [=====] - 3s 6ms/step - loss: 0.25 - accuracy: 0.92`` below
``Epoch 2/10``, and ``200/50000: episode: 1, duration: 0.5s, episode reward: -1.0, mean action:
0.9 [0.0, 2.0]``.

The bar is redrawn with running means: the last redraw of an epoch counts. What follows keras-rl's
bar of an interval (``33 episodes - episode_reward: -20.0 [-21.0, -19.0] - loss: 0.003``) belongs to
the end of the interval (keras-rl/rl/callbacks.py).
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import NUMBER, plain

_EPISODE = re.compile(rb"\s*(\d{1,15})/(\d{1,15}): episode: ")
_BAR = re.compile(
    rb"\s*(\d{1,15})/(\d{1,15}) (?:\[[=>.]{1,80}\]"
    rb"|[^\s\xe2]{0,40}(?:\xe2[\x80-\xbf]{2}){1,80}\S{0,40}) (.*)"
)
_EPOCH = re.compile(rb"Epoch (\d{1,9})/(\d{1,9})$")
_INTERVAL = re.compile(rb"Interval (\d{1,9}) \((\d{1,15}) steps performed\)")
_EPISODES = re.compile(rb"\d{1,9} episodes - (?=episode_reward: )")
_PAIR = re.compile(
    rb"(?<!\w)([A-Za-z_][\w/.-]{0,40}(?: [A-Za-z][\w/.-]{0,40}){0,4}): ("
    + NUMBER
    + rb")(?=[s,]|\s|$)"
)


class Keras(Dialect):
    """The dialect of Keras and keras-rl."""

    markers = (b": episode: ", b"=]", b" episodes - episode_reward: ", b"Epoch ", b"Interval ")

    def __init__(self) -> None:
        super().__init__()
        self._epoch: tuple[int, int] | None = None
        self._performed: int | None = None
        """Steps before the interval of keras-rl that runs."""
        self._end = 0
        """Its end."""
        self._fits = 0
        """Calls of ``fit`` with one epoch."""

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        text = plain(line.rsplit(b"\x08", 1)[-1])
        found = _EPISODE.match(text)
        if found:
            rows.total = int(found[2])
            cells = _pairs(text[found.end() - len(b"episode: ") :])
            self._add_cells(rows, int(found[1]), cells)
            return True
        found = _BAR.match(text)
        if found:
            return found[1] == found[2] and self._finished(int(found[2]), found[3], rows)
        found = _EPISODES.match(text)
        if found and self._performed is not None:
            self._add_cells(rows, self._end, _pairs(text[found.end() :]))
            return True
        self._heading(text)
        return False

    def _heading(self, text: bytes) -> None:
        found = _EPOCH.match(text)
        if found:
            self._epoch = int(found[1]), int(found[2])
        found = _INTERVAL.match(text)
        if found:
            self._performed, self._epoch = int(found[2]), None

    def _finished(self, steps: int, rest: bytes, rows: ConsoleRows) -> bool:
        """A bar at its end."""
        cells = _pairs(rest)
        if self._performed is not None:
            self._end = self._performed + steps
            if cells:
                self._add_cells(rows, self._end, cells)
            return bool(cells)
        if self._epoch is None or not cells:
            return False
        (step, total), self._epoch = self._epoch, None
        if total == 1:  # one call of fit after another
            self._fits += 1
            step = self._fits
        else:
            rows.total = total
        self._add_cells(rows, step, cells)
        return True


def _pairs(text: bytes) -> dict[bytes, float]:
    return {name.strip(): float(value) for name, value in _PAIR.findall(text)}
