"""To which run an event file below another run's directory belongs.

- ``add_scalars`` of torch and tensorboardX writes one directory per series below the run; its
  points belong to the run, with the tag ``main/series`` (see :func:`series_of`).
- ``add_hparams`` writes a directory named by a time; its hyperparameters belong to the run, its
  metrics (one last value each) are left out, since the run usually logs them itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rltui.core.text import clean
from rltui.formats import Format
from rltui.sources.discovery.log_head import HeadReader, Role, series_of
from rltui.sources.discovery.tree import Candidate, parents_of

_TIME = re.compile(r"\d{9,}(\.\d+)?")


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Where an event file belongs."""

    owner: str
    """Directory of the run, relative to the logdir."""
    series: tuple[str, str] | None = None
    """(main tag, series) of an ``add_scalars`` file."""
    hparams_only: bool = False


class EventPlaces:
    """Remembers the place of each event file once it is known."""

    def __init__(self, heads: HeadReader) -> None:
        self._heads = heads
        self._known: dict[Path, EventPlace] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, candidate: Candidate) -> EventPlace:
        """The place of a file; its own directory where nothing else is known."""
        return self._known.get(candidate.path) or EventPlace(candidate.directory)

    def owners(self) -> Mapping[str, str]:
        """Path of an event file -> directory of its run."""
        return {str(path): place.owner for path, place in self._known.items()}

    def forget(self, path: Path) -> None:
        """A file vanished long ago."""
        self._known.pop(path, None)

    def locate(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Find the runs of new event files; returns the candidates whose run is known."""
        candidates = list(candidates)
        events: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            if _may_be_part(candidate):
                events.setdefault(candidate.directory, []).append(candidate)
        known = []
        for candidate in candidates:
            if _may_be_part(candidate) and candidate.path not in self._known:
                place = self._place(candidate, events)
                if place is None:
                    continue
                self._known[candidate.path] = place
            known.append(candidate)
        return known

    def _place(
        self, candidate: Candidate, events: Mapping[str, list[Candidate]]
    ) -> EventPlace | None:
        """The place of an event file; None while it is not known."""
        name, heads = candidate.directory, self._heads
        for parent in parents_of(name):
            if parent not in events:
                continue
            relative = name[len(parent) :].lstrip("/")
            role = heads.role(candidate.path, format_of(candidate))
            if role is Role.HPARAMS and _TIME.fullmatch(relative):
                return EventPlace(parent, hparams_only=True)
            if isinstance(role, str):
                series = series_of(relative, role)
                if series is not None:
                    return EventPlace(parent, (clean(role), clean(series)))
            if role is Role.EMPTY and not any(
                heads.role(c.path, format_of(c)) is Role.RUN for c in events[name]
            ):
                return None  # nothing beside it shows that the directory is a run
        return EventPlace(name)


def _may_be_part(candidate: Candidate) -> bool:
    return candidate.format is not None and candidate.format.sub_runs


def format_of(candidate: Candidate) -> Format:
    """The log format of a file."""
    assert candidate.format is not None
    return candidate.format
