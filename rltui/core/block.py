"""Blocks of values: what decoders return and the store keeps.

A block holds several logged rows with the same tags: one matrix of values instead of one Python
object per point. Where the tags of a row differ in step or time, a decoder returns blocks of a
single tag (m = 1) instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rltui.core.later import np
from rltui.core.record import entity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]
    ValueArray = NDArray[np.floating]
    BoolArray = NDArray[np.bool_]
else:
    IntArray = FloatArray = ValueArray = BoolArray = Any
#: How tags begin that hold what a tracker measures of the machine, also while a training hangs.
MACHINE = "system/"


@entity
class Block:
    """n rows of m tags, in the order of the file.

    Invariants: ``steps`` and ``wall_times`` have n entries,
    ``values`` is (n, m), ``absent`` is None (nothing missing) or (n, m).
    A NaN in ``values`` was logged as NaN; a missing cell is marked in ``absent`` and its value
    is meaningless.
    """

    tags: tuple[str, ...]
    """The m tags, cleaned, no two equal."""
    steps: IntArray
    """(n,) int64, the x axis of the log."""
    wall_times: FloatArray
    """(n,) float64, seconds since the epoch; NaN where the log has none."""
    values: ValueArray
    """(n, m): float32 for event-file floats, float64 for doubles and text logs."""
    absent: BoolArray | None = None
    """(n, m) True where the row has no value for the tag; None when nothing is missing."""

    def __deepcopy__(self, memo: object) -> Block:
        """Itself: it never changes."""
        return self

    @property
    def is_of_machine(self) -> bool:
        """Whether it tells of the machine alone, which does not show that a training goes on."""
        return all(tag.startswith(MACHINE) for tag in self.tags)

    @property
    def points(self) -> int:
        """Number of values that are present."""
        total = self.values.shape[0] * self.values.shape[1]
        return int(total if self.absent is None else total - np.count_nonzero(self.absent))

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        held = self.steps.nbytes + self.wall_times.nbytes + self.values.nbytes
        return int(held + (self.absent.nbytes if self.absent is not None else 0))
