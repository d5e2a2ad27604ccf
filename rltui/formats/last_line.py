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
    _given: dict[str, int] | None = None
    """Tag -> points that the unfinished line has given: they come once more when it is complete."""

    @abstractmethod
    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        """Decode the next bytes."""

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        """See :class:`rltui.formats.base.Decoder`."""
        given = self._given
        if given is None or not data:
            return self._feed(data, more=more)
        decoded = self._feed(data, more=more)
        if b"\n" in data:
            self._given = None
        return replace(decoded, items=tuple(_without(i, given) for i in decoded.items))

    def finish(self) -> Decoded:
        """See :class:`rltui.formats.base.Decoder`."""
        if self._given is not None or self._skipping or not any(self._parts):
            return Decoded()
        ended = copy.deepcopy(self)  # the line may go on after all
        decoded = ended.feed(b"\n")
        blocks = [i for i in decoded.items if isinstance(i, Block)]
        if not blocks:
            # the program may just be writing it: no reason to worry
            return Decoded(notes=tuple(replace(n, level=Level.OK) for n in decoded.notes))
        self._given = {t: len(_rows_of(b, n)) for b in blocks for n, t in enumerate(b.tags)}
        return decoded


def _rows_of(block: Block, column: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The rows in which a column has a value."""
    if block.absent is None:
        return np.arange(len(block.steps))
    return np.flatnonzero(~block.absent[:, column])


def _without(item: Block | Restart, given: dict[str, int]) -> Block | Restart:
    """A block without the first points of some tags, as many as were given; counts them off."""
    if isinstance(item, Restart) or not any(given.get(tag) for tag in item.tags):
        return item
    absent = np.zeros(item.values.shape, bool) if item.absent is None else item.absent.copy()
    for column, tag in enumerate(item.tags):
        rows = _rows_of(item, column)[: given.get(tag, 0)]
        absent[rows, column] = True
        given[tag] = given.get(tag, 0) - len(rows)
    return replace(item, absent=absent)
