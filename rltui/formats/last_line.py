"""The last line of a text log that has no end, once nothing more will be written."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from rltui.core.batch import Restart
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.formats.base import Decoded


class LastLine(ABC):
    """Base of the decoders of lines."""

    _parts: list[bytes]
    """Of the unfinished line."""
    _skipping: bool
    """Whether the unfinished line is dropped."""
    _given: dict[str, list[int | None]] | None = None
    """Tag -> steps of the points that come once more when their line or block is complete, in
    order; None for those of the unfinished line, whose step may not be complete."""
    _restarted: tuple[int, ...] = ()
    """Steps of the restarts that come once more."""
    _ended = False
    """Whether nothing came since :meth:`finish` gave points."""

    @abstractmethod
    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        """Decode the next bytes."""

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        """See :class:`rltui.formats.base.Decoder`."""
        given = self._given
        if given is None or not data:
            return self._feed(data, more=more)
        self._ended = False
        decoded = self._feed(data, more=more)
        items: list[Block | Restart] = []
        for item in decoded.items:
            if not isinstance(item, Restart):
                items.append(_without(item, given))
            elif item.step not in self._restarted:
                items.append(item)
            else:
                self._restarted = tuple(s for s in self._restarted if s != item.step)
        if b"\n" in data:
            left: dict[str, list[int | None]] = {
                tag: [s for s in steps if s is not None] for tag, steps in given.items()
            }
            self._given = {tag: steps for tag, steps in left.items() if steps} or None
            self._restarted = self._restarted if self._given else ()
        return replace(decoded, items=tuple(items))

    def _close(self) -> Decoded:
        """The rows that wait for a line that never comes. The decoder is not used any more."""
        return Decoded()

    def finish(self) -> Decoded:
        """See :class:`rltui.formats.base.Decoder`."""
        if self._ended:
            return Decoded()
        ended = copy.deepcopy(self)  # the line may go on after all
        line = any(self._parts) and not self._skipping
        last = ended.feed(b"\n") if line else Decoded()
        closed = ended._close()
        decoded = last.then(closed)
        blocks = [i for i in decoded.items if isinstance(i, Block)]
        if not blocks:
            # the program may just be writing it: no reason to worry
            return Decoded(notes=tuple(replace(n, level=Level.OK) for n in decoded.notes))
        self._ended = True
        self._given = self._given or {}
        for part, sure in ((last, False), (closed, True)):
            for item in part.items:
                if isinstance(item, Restart):
                    self._restarted += (item.step,)
                    continue
                for column, tag in enumerate(item.tags):
                    steps = item.steps[_rows_of(item, column)].tolist()
                    self._given.setdefault(tag, []).extend(s if sure else None for s in steps)
        return decoded


def _rows_of(block: Block, column: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The rows in which a column has a value."""
    if block.absent is None:
        return np.arange(len(block.steps))
    return np.flatnonzero(~block.absent[:, column])


def _without(item: Block, given: dict[str, list[int | None]]) -> Block:
    """A block without the first points of some tags that were given; takes them off. A point of
    another step shows that the given ones do not come again."""
    if not any(given.get(tag) for tag in item.tags):
        return item
    absent = np.zeros(item.values.shape, bool) if item.absent is None else item.absent.copy()
    for column, tag in enumerate(item.tags):
        steps = given.get(tag, [])
        for row in _rows_of(item, column)[: len(steps)]:
            if steps[0] not in (None, item.steps[row]):
                steps.clear()
                break
            steps.pop(0)
            absent[row, column] = True
    return replace(item, absent=absent)
