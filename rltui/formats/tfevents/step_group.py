"""Which records share a wall time."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

_F8, _I8 = Struct("<d"), Struct("<q")
_MASK64 = (1 << 64) - 1
#: Doubles of the years 2004 to 2038 that lie a second apart differ by this many units.
SECOND_BITS = 1 << 22


class StepGroup(NamedTuple):
    """Consecutive records with the same step, within a second of the first of them.

    All get the wall time of the first, so that a row needs only one. The rule depends only on
    earlier records, hence not on how a file is split. Wall times are compared as the integers of
    their bits: a second is 2**22 units in the years 2004 to 2038, and more before 2004.
    """

    step: int
    bits: int
    """Bits of the wall time's double as a signed integer."""
    open: bool = True
    """False before the first record."""

    def next(self, step: int, bits: int) -> StepGroup:
        """The group of the next record."""
        if self.open and step == self.step and self.holds(bits):
            return self
        return StepGroup(step, bits)

    def holds(self, bits: int) -> bool:
        """Whether a wall time lies within a second of the group's."""
        return (bits - self.bits + SECOND_BITS - 1) & _MASK64 < 2 * SECOND_BITS - 1

    @property
    def wall(self) -> float:
        """Seconds since the epoch."""
        return float(_F8.unpack(_I8.pack(self.bits))[0])


NO_GROUP = StepGroup(0, 0, False)
