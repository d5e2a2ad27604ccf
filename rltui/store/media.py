"""Where the histograms, pictures and curves of a run stand in its logs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rltui.core.batch import Batch, MediaKind

#: Steps of one tag that are kept besides the newest, and places of all tags of a run: with many
#: tags each keeps fewer steps.
_MOST_STEPS = 127
_LEAST_STEPS = 8
_MOST = 1 << 14
#: Tags of a run.
_MOST_TAGS = 4096


class MediaKey(NamedTuple):
    """Names the values of one kind under one tag."""

    tag: str
    kind: MediaKind

    @property
    def id(self) -> str:
        """Id of its line in a list of tags; no tag has a NUL."""
        return f"{self.tag}\0{self.kind.value}"


class Kept(NamedTuple):
    """Where one value stands: bytes of a file."""

    path: Path
    step: int
    offset: int
    length: int


class _Places:
    """The places of one key, thinned as they become many: every ``stride``-th and the newest."""

    __slots__ = ("count", "kept", "newest", "stride")

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self.newest: Kept | None = None
        self.stride = 1
        self.count = 0

    def add(self, place: Kept, most: int) -> None:
        self.newest = place
        if self.count % self.stride == 0:
            self.kept.append(place)
        self.count += 1
        while len(self.kept) > most:
            self.kept = self.kept[::2]
            self.stride *= 2


class Media:
    """The places of one run. Owned by one RunData."""

    def __init__(self) -> None:
        self._places: dict[MediaKey, _Places] = {}

    def add(self, batch: Batch) -> None:
        """Note those of a batch."""
        path = batch.source.path
        for tag, kind, step, offset, length in batch.media:
            self._add(MediaKey(tag, kind), Kept(path, step, offset, length))

    def _add(self, key: MediaKey, place: Kept) -> None:
        places = self._places.get(key)
        if places is None:
            if len(self._places) == _MOST_TAGS:
                return
            places = self._places[key] = _Places()
        most = max(_LEAST_STEPS, min(_MOST_STEPS, _MOST // len(self._places)))
        places.add(place, most)

    def move(self, path: Path, into: Media) -> None:
        """Give those of a file to another run."""
        before = self._places
        self._places = {}
        for key, places in before.items():
            for place in dict.fromkeys(_all(places)):
                (into if place.path == path else self)._add(key, place)

    @property
    def keys(self) -> list[MediaKey]:
        """List the keys, sorted by tag."""
        return sorted(self._places)

    def steps(self, key: MediaKey, as_of: int | None = None) -> list[Kept]:
        """The places of a key, ascending by step, up to a step; of several at one step the last."""
        found = self._places.get(key)
        by_step = {p.step: p for p in (_all(found) if found else ())}
        return [by_step[s] for s in sorted(by_step) if as_of is None or s <= as_of]


def _all(places: _Places) -> list[Kept]:
    return places.kept if places.newest is None else [*places.kept, places.newest]
