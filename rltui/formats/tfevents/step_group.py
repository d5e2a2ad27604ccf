"""Which records share a wall time."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

_F8, _I8 = Struct("<d"), Struct("<q")
_MASK64 = (1 << 64) - 1
#: Doubles of the years 2004 to 2038 that lie a second apart differ by this many units.
SECOND_BITS = 1 << 22


class Moment(NamedTuple):
    """Records in a row that carry the same step and lie within a second of the first of them.

    They all get the wall time of the first, so that a row needs one wall time only. The rule
    looks only at what came before, hence it does not depend on how a file is split. Wall
    times are compared as the integers of their bits: a second is 2**22 in the years 2004 to
    2038, and less of a second before that.
    """

    step: int
    bits: int
    """Bits of the wall time's double as a signed integer."""
    open: bool = True
    """False before the first record."""

    def next(self, step: int, bits: int) -> Moment:
        """The moment of a record that follows."""
        if self.open and step == self.step and self.holds(bits):
            return self
        return Moment(step, bits)

    def holds(self, bits: int) -> bool:
        """Whether a wall time lies within a second of the moment's."""
        return (bits - self.bits + SECOND_BITS - 1) & _MASK64 < 2 * SECOND_BITS - 1

    @property
    def wall(self) -> float:
        """Seconds since the epoch."""
        return float(_F8.unpack(_I8.pack(self.bits))[0])


BEGINNING = Moment(0, 0, False)
