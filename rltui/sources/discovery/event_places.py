"""To which run an event file below another run's directory belongs.

- ``add_scalars(main, {series: value})`` of torch writes the tag ``main`` into the directory
  ``RUN/<main with / replaced by _>_<series>``, tensorboardX's into ``RUN/<main>/<series>``
  (torch/utils/tensorboard/writer.py, tensorboardX/writer.py); its points belong to the run, with
  the tag ``main/series``.
- ``add_hparams`` writes into ``RUN/<unix time>``; its hyperparameters belong to the run, its
  metrics (one last value each) are left out, since the run usually logs them itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from rltui.core.block import Block
from rltui.core.text import clean
from rltui.files.disk import status as status_of
from rltui.files.trouble import contained
from rltui.formats import HEAD_BYTES, Format
from rltui.sources.discovery.log_head import Recent, read_head
from rltui.sources.discovery.run_files import Candidate, parents_of

_TIME = re.compile(r"\d{9,}(\.\d+)?")


class Role(Enum):
    """What an event file below another run's directory is; a str is the only tag it holds."""

    RUN = "run"
    HPARAMS = "hparams"
    EMPTY = "empty"


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

    def __init__(self) -> None:
        self._known: dict[Path, EventPlace] = {}
        self._roles: Recent[Path, tuple[Role | str, int]] = Recent()

    def turn(self) -> None:
        """A search begins: forget files that the last one did not see."""
        self._roles.turn()

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
        name = candidate.directory
        for parent in parents_of(name):
            if parent not in events:
                continue
            relative = name[len(parent) :].lstrip("/")
            role = self._role(candidate.path, format_of(candidate))
            if role is Role.HPARAMS and _TIME.fullmatch(relative):
                return EventPlace(parent, hparams_only=True)
            if isinstance(role, str):
                series = _series_of(relative, role)
                if series is not None:
                    return EventPlace(parent, (clean(role), clean(series)))
            if role is Role.EMPTY and not any(
                self._role(c.path, format_of(c)) is Role.RUN for c in events[name]
            ):
                return None  # nothing beside it shows that the directory is a run
        return EventPlace(name)

    def _role(self, path: Path, form: Format) -> Role | str:
        """What an event file is; it is read again as long as it holds nothing."""
        known = self._roles.get(path)
        if known is not None and known[0] is not Role.EMPTY:
            return known[0]
        try:
            size = status_of(path).st_size
            if known is not None and known[1] == size:
                return Role.EMPTY
            with contained():
                role = _role_of(read_head(path), form)
        except OSError:
            return Role.RUN
        self._roles[path] = (role, size)

        return role


def _role_of(head: bytes, form: Format) -> Role | str:
    if b"_hparams_/" in head:
        return Role.HPARAMS
    decoded = form.decoder().feed(head)
    tags = {t for item in decoded.items if isinstance(item, Block) for t in item.tags}
    if not tags:
        return Role.RUN if decoded.texts or len(head) >= HEAD_BYTES else Role.EMPTY
    return tags.pop() if len(tags) == 1 else Role.RUN


def _series_of(relative: str, main: str) -> str | None:
    """The series of an ``add_scalars`` directory, or None when it is none.

    ``relative`` is its path below the run, ``main`` the only tag of its event file.
    """
    for prefix in (main.replace("/", "_") + "_", main + "/"):
        if relative.startswith(prefix) and len(relative) > len(prefix):
            return relative[len(prefix) :]
    return None


def _may_be_part(candidate: Candidate) -> bool:
    return candidate.format is not None and candidate.format.sub_runs


def format_of(candidate: Candidate) -> Format:
    """The log format of a file."""
    assert candidate.format is not None
    return candidate.format
