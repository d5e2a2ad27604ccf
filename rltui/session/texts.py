"""Texts that a run logged: samples and summaries, the newest ones within bounds."""

from __future__ import annotations

import math
from collections import deque
from pathlib import Path

from rltui.core.batch import Batch, TextPoint
from rltui.session.hyperparameters import NAMES
from rltui.sources.beside.sample import Sample, SampleRow
from rltui.sources.beside.sample_files import SampleTable

#: Texts of one run that are kept, characters of all of them, and of a preview.
_MOST = 2000
_MAX_CHARS = 4_000_000
_PREVIEW = 240


class Texts:
    """Of one run."""

    def __init__(self) -> None:
        self._points: deque[tuple[Path, TextPoint]] = deque()
        self._chars = 0

    def take(self, batch: Batch) -> None:
        """Take in those of a batch that are no hyperparameters; the oldest make room."""
        if batch.replaced and batch.texts:
            self._keep([(p, t) for p, t in self._points if p != batch.source.path])
        for point in batch.texts:
            if not NAMES.search(point.tag):
                self._points.append((batch.source.path, point))
                self._chars += len(point.text)
        while len(self._points) > _MOST or self._chars > _MAX_CHARS:
            self._chars -= len(self._points.popleft()[1].text)

    def move(self, path: Path, into: Texts) -> None:
        """Give those of a file to another run."""
        into._keep([*into._points, *((p, t) for p, t in self._points if p == path)])
        self._keep([(p, t) for p, t in self._points if p != path])

    def _keep(self, points: list[tuple[Path, TextPoint]]) -> None:
        self._points = deque(points)
        self._chars = sum(len(t.text) for _, t in points)

    def sets(self) -> list[TextSet]:
        """The texts by tag."""
        tags: dict[str, list[TextPoint]] = {}
        for _, point in self._points:
            tags.setdefault(point.tag, []).append(point)
        return [TextSet(tag.removesuffix("/text_summary"), tuple(p)) for tag, p in tags.items()]


class TextSet:
    """The texts of one tag, as samples."""

    def __init__(self, name: str, points: tuple[TextPoint, ...]) -> None:
        self.name = name
        self._points = points

    @property
    def steps(self) -> list[int]:
        """The steps with a text, ascending."""
        return sorted({p.step for p in self._points})

    def stamp(self, step: int | None) -> object:
        """Changes when there are other texts at a step."""
        return tuple(p.text for p in self._points if p.step == step)

    def load(self, step: int | None) -> SampleTable:
        """The texts at a step."""
        found = [(n, p) for n, p in enumerate(self._points) if p.step == step]
        return SampleTable(
            tuple(
                SampleRow(
                    n, 0, p.step, math.nan, len(p.text), " ".join(p.text[:480].split())[:_PREVIEW]
                )
                for n, p in found
            )
        )

    def read(self, step: int | None, row: SampleRow) -> Sample:
        """The whole text."""
        del step  # the row says which text it is
        return Sample(((self.name, self._points[row.place].text),), ())
