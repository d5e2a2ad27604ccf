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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from rltui.core.block import Block
from rltui.core.text import clean
from rltui.files.disk import status as status_of
from rltui.files.trouble import contained
from rltui.formats import HEAD_BYTES, Format
from rltui.sources.discovery.log_head import Recent, read_head
from rltui.sources.discovery.run_files import LogFile, parents_of

_TIME = re.compile(r"\d{9,}(\.\d+)?")


class _Role(Enum):
    """What an event file below another run's directory is; a str is the only tag it holds."""

    RUN = "run"
    HPARAMS = "hparams"
    EMPTY = "empty"


class EventPlaces:
    """Remembers to which run each event file belongs, once that is known."""

    def __init__(self) -> None:
        self.known: dict[Path, dict[str, Any]] = {}
        """Fields of :class:`LogFile` by path: ``directory`` of the run, ``series``,
        ``hparams_only``."""
        self.roles: Recent[Path, tuple[_Role | str, int]] = Recent()
        """What each file is, and its size."""

    def locate(self, files: Sequence[LogFile]) -> list[LogFile]:
        """The files whose run is known, as parts of that."""
        events: dict[str, list[LogFile]] = {}
        for file in files:
            if file.format is not None and file.format.sub_runs:
                events.setdefault(file.directory, []).append(file)

        located = []
        for file in files:
            if file.format is not None and file.format.sub_runs and file.path not in self.known:
                place = self._place(file, events)
                if place is None:
                    continue
                self.known[file.path] = place
            changes = self.known.get(file.path)
            located.append(replace(file, **changes) if changes else file)
        return located

    def _place(self, file: LogFile, events: Mapping[str, list[LogFile]]) -> dict[str, Any] | None:
        """The place of an event file; None while it is not known."""
        name = file.directory
        for parent in parents_of(name):
            if parent not in events:
                continue
            relative = name[len(parent) :].lstrip("/")
            role = self._role(file)
            if role is _Role.HPARAMS and _TIME.fullmatch(relative):
                return {"directory": parent, "hparams_only": True}
            if isinstance(role, str):
                for prefix in (role.replace("/", "_") + "_", role + "/"):
                    if relative.startswith(prefix) and len(relative) > len(prefix):
                        series = clean(relative[len(prefix) :])
                        return {"directory": parent, "series": (clean(role), series)}
            if role is _Role.EMPTY and all(self._role(f) is not _Role.RUN for f in events[name]):
                return None  # no file of its directory shows that this is a run
        return {}

    def _role(self, file: LogFile) -> _Role | str:
        """What an event file is; it is read again as long as it holds nothing."""
        known = self.roles.get(file.path)
        if known is not None and known[0] is not _Role.EMPTY:
            return known[0]

        assert file.format is not None
        try:
            size = status_of(file.path).st_size
            if known is not None and known[1] == size:
                return _Role.EMPTY
            with contained():
                role = _role_of(read_head(file.path), file.format)
        except OSError:
            return _Role.RUN

        self.roles[file.path] = (role, size)
        return role


def _role_of(head: bytes, form: Format) -> _Role | str:
    if b"_hparams_/" in head:
        return _Role.HPARAMS
    decoded = form.decoder().feed(head)
    tags = {t for item in decoded.items if isinstance(item, Block) for t in item.tags}
    if not tags:
        return _Role.RUN if decoded.texts or len(head) >= HEAD_BYTES else _Role.EMPTY
    return tags.pop() if len(tags) == 1 else _Role.RUN
