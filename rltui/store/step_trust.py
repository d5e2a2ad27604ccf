"""How far the steps of a log format can be trusted: precise, rounded, guessed, another axis."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rltui.core.batch import SourceInfo
from rltui.core.block import IntArray


class Scale(NamedTuple):
    """The steps of one axis on another one: those of every row lie on a straight line."""

    begin: int
    to: int
    factor: int

    def of(self, steps: IntArray) -> IntArray:
        """Steps (n,) of the log as steps of the run."""
        scaled: IntArray = self.to + (steps - self.begin) * self.factor
        return scaled


class StepTrust:
    """What the files of one lineage say of their own steps. Owned by the Lineage."""

    def __init__(self) -> None:
        self.precision_rank = 0
        """Of several lineages the highest wins (see ``Format``)."""
        self.aside_of: str | None = None
        """The log format that has the same values at other steps, where this one stands aside
        (see :mod:`rltui.store.axis`)."""
        self.scale: Scale | None = None
        """How its steps become those of the other log, if that is certain."""
        self.exact = True
        """Whether all of its files give the steps of all tags."""
        self._row_numbered: dict[Path, bool] = {}
        self._guessed: dict[Path, frozenset[str]] = {}

    def take(self, source: SourceInfo) -> bool:
        """Take the state of a file; returns whether this changes what its steps mean."""
        path, before = source.path, self.off_axis
        known = self._row_numbered.get(path), self._guessed.get(path, frozenset())
        new = source.steps_are_row_numbers, source.guessed
        self.precision_rank = source.precision_rank
        if known == new:
            return False
        self._row_numbered[path], self._guessed[path] = new
        self._weigh()
        return known[0] is not None or bool(source.guessed) or self.off_axis is not before

    def _weigh(self) -> None:
        self.exact = not any(self._row_numbered.values()) and not any(self._guessed.values())

    def forget(self, path: Path) -> None:
        """A file has gone to another run."""
        self._row_numbered.pop(path, None)
        self._guessed.pop(path, None)
        self._weigh()

    @property
    def off_axis(self) -> bool:
        """Whether the steps are not those of the run."""
        return self.aside_of is not None or self.row_numbered

    @property
    def is_known(self) -> bool:
        """Whether any file has said what its steps are."""
        return bool(self._row_numbered)

    @property
    def row_numbered(self) -> bool:
        """Whether none of its files has steps of its own."""
        return bool(self._row_numbered) and all(self._row_numbered.values())

    def guesses(self, path: Path, tag: str) -> bool:
        """Whether a file does not give the steps of a tag."""
        return self._row_numbered.get(path, False) or tag in self._guessed.get(path, ())
