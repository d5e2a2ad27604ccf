"""Texts that runs logged: samples and summaries, the newest ones within bounds."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from rltui.core.batch import Batch, TextPoint
from rltui.session.hyperparameters import NAMES

if TYPE_CHECKING:
    from rltui.sources.side_files.sample import Sample, SampleRow
    from rltui.sources.side_files.sample_files import SampleTable

#: Texts of one run that are kept, bytes of all of them, bytes of those of all runs, characters of
#: a preview.
_MOST = 2000
_MAX_BYTES = 4 << 20
_MAX_BYTES_OF_ALL = 64 << 20
_PREVIEW = 240
#: TensorBoard adds it to the tag of a text.
_SUFFIX = "/text_summary"
_numbers = count()


class _Kept(NamedTuple):
    path: Path
    number: int
    """Identity of the text, in all runs."""
    point: TextPoint

    @property
    def nbytes(self) -> int:
        return sys.getsizeof(self.point.text)


class TextLimit:
    """What the texts of all runs may take together. Owned by the session."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._all: WeakSet[Texts] = WeakSet()

    def add(self, texts: Texts) -> None:
        """Count those of one more run."""
        self._all.add(texts)

    def enforce(self) -> None:
        """Let the runs with most text drop their oldest ones."""
        while self.nbytes > _MAX_BYTES_OF_ALL:
            max(self._all, key=lambda t: t.nbytes).drop()


class Texts:
    """Of one run."""

    def __init__(self, limit: TextLimit | None = None) -> None:
        """``limit``: of the texts of all runs; None for a run alone."""
        self.nbytes = 0
        """Of all texts."""
        self._limit = limit or TextLimit()
        self._limit.add(self)
        self._kept: list[_Kept] = []  # a deque takes 0.6 kB while it is empty

    def copy(self) -> Texts:
        """What is kept by now, whatever is logged later."""
        other = Texts()
        other._kept, other.nbytes = self._kept.copy(), self.nbytes
        return other

    def take(self, batch: Batch) -> None:
        """Take in those of a batch that are no hyperparameters; the oldest make room."""
        path = batch.source.path
        if batch.replaced:
            self._keep([k for k in self._kept if k.path != path])
        for point in batch.texts:
            if not NAMES.search(point.tag):
                self._kept.append(_Kept(path, next(_numbers), point))
                self._count(self._kept[-1].nbytes)
        while len(self._kept) > _MOST or self.nbytes > _MAX_BYTES:
            self.drop()
        self._limit.enforce()

    def drop(self) -> None:
        """Drop the oldest text."""
        self._count(-self._kept.pop(0).nbytes)

    def move(self, path: Path, into: Texts) -> None:
        """Give those of a file to another run."""
        into._keep([*into._kept, *(k for k in self._kept if k.path == path)])
        self._keep([k for k in self._kept if k.path != path])

    def _keep(self, kept: list[_Kept]) -> None:
        self._kept = list(kept)
        self._count(sum(k.nbytes for k in kept) - self.nbytes)

    def _count(self, nbytes: int) -> None:
        self.nbytes += nbytes
        self._limit.nbytes += nbytes

    def sets(self) -> list[TextSet]:
        """The texts by tag."""
        tags: dict[str, dict[int, TextPoint]] = {}
        for _, number, point in self._kept:
            tags.setdefault(point.tag, {})[number] = point
        return [TextSet(tag, _name_of(tag, tags), points) for tag, points in tags.items()]


def _name_of(tag: str, tags: dict[str, dict[int, TextPoint]]) -> str:
    name = tag.removesuffix(_SUFFIX)
    return tag if name in tags else name


class TextSet:
    """The texts of one tag, as samples; the place of a row is the number of its text."""

    def __init__(self, tag: str, name: str, points: dict[int, TextPoint]) -> None:
        self.key: Hashable = ("text", tag)
        self.origin = "logged"
        self.name = name
        self._points = points

    @property
    def steps(self) -> list[int]:
        """The steps with a text, ascending."""
        return sorted({p.step for p in self._points.values()})

    def stamp(self, step: int | None) -> object:
        """Changes when there are other texts at a step."""
        return tuple(number for number, p in self._points.items() if p.step == step)

    def load(self, step: int | None) -> SampleTable:
        """The texts at a step."""
        from rltui.sources.side_files.sample import SampleRow
        from rltui.sources.side_files.sample_files import SampleTable

        return SampleTable(
            tuple(
                SampleRow(
                    n, 0, p.step, math.nan, len(p.text), " ".join(p.text[:480].split())[:_PREVIEW]
                )
                for n, p in self._points.items()
                if p.step == step
            )
        )

    def read(self, step: int | None, row: SampleRow) -> Sample:
        """The whole text. Raises ValueError for one that is no longer kept."""
        del step  # the row says which text it is
        point = self._points.get(row.place)
        if point is None:
            raise ValueError("newer texts took its place")
        from rltui.sources.side_files.sample import Sample

        return Sample(((self.name, point.text),), ())
