"""View options remembered from one start to the next, for each set of logdirs.

One JSON file each below ``$XDG_STATE_HOME/rltui/views``; nothing is written into a log directory.
A file that cannot be read, or a wrong field of one, is reported once and begun anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from rltui.core.address import identity
from rltui.core.installation import state_directory, write_private
from rltui.core.text import kept_clean
from rltui.draw.view import View
from rltui.facts.run_columns import column_names
from rltui.health.model import MutedFinding

_SCHEMA = "rltui.view/1"
#: Longer files are none of ours, bytes.
_MOST_BYTES = 1 << 20
#: Options of the view that keys change.
_OPTIONS = ("axis", "smooth", "log_y", "outliers", "columns")


class SavedMark(NamedTuple):
    """A run that was marked."""

    slot: int
    logdir: str
    """Its real path: the order of the logdirs may differ at the next start."""
    name: str


@dataclass
class ViewState:
    """The state that screens read when they open and write when they are drawn."""

    tabs: dict[str, str] = field(default_factory=dict)
    """Name of a run -> the tab that was open, but for the Overview."""
    filter: str = ""
    """Filter of the metrics."""
    runs_filter: str = ""
    order: str = ""
    """Order of the list of runs."""
    pins: list[str] = field(default_factory=list)
    """Tags in the order in which they were pinned."""
    marks: list[SavedMark] = field(default_factory=list)
    mutes: list[tuple[str, str]] = field(default_factory=list)
    """Rule and title of each muted finding."""
    options: dict[str, object] = field(default_factory=dict)
    """Options of the view that differ from the configuration, by name."""

    @classmethod
    def of(cls, document: object) -> tuple[ViewState, list[str]]:
        """The state in a document, and the names of the fields with invalid values, which are left
        out. Raises ValueError for anything but a document of ours."""
        if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
            raise ValueError(f"no {_SCHEMA}")
        state = cls()
        wrong = []
        for name, default in vars(state).items():
            value = document.get(name, default)
            kept = _usable(name, value) if isinstance(value, type(default)) else default
            setattr(state, name, kept)
            if not isinstance(value, type(default)) or len(kept) < len(value):
                wrong.append(name)
        return state, wrong

    def document(self) -> str:
        """The text of the file. While it is too long, the older half of each list is dropped."""
        while True:
            text = json.dumps({"schema": _SCHEMA, **asdict(self)}, indent=1)
            if len(text) <= _MOST_BYTES or not (self.tabs or self.pins or self.marks or self.mutes):
                return text
            self.tabs = dict(list(self.tabs.items())[(len(self.tabs) + 1) // 2 :])
            for values in (self.pins, self.marks, self.mutes):
                del values[: (len(values) + 1) // 2]


def _usable(name: str, value: Any) -> Any:
    """The valid part of the value of a field in a file."""
    if isinstance(value, str):
        return kept_clean(value)
    if name == "options":
        kept = {n: v for n, v in value.items() if _is_option(n, v)}
        return kept | {n: column_names(" ".join(v)) for n, v in kept.items() if n == "columns"}
    if name == "tabs":
        return {kept_clean(k): kept_clean(v) for k, v in value.items() if isinstance(v, str)}
    if name == "pins":
        return [kept_clean(tag) for tag in value if isinstance(tag, str)]
    return _usable_rows(name, value)


def _usable_rows(name: str, value: list[object]) -> list[Any]:
    """The valid rows of mutes or marks."""
    kinds = [str, str] if name == "mutes" else [int, str, str]
    rows = [row for row in value if isinstance(row, list) and [type(x) for x in row] == kinds]
    if name == "mutes":
        return [(kept_clean(rule), kept_clean(title)) for rule, title in rows]
    return [SavedMark(*row) for row in rows if row[0] >= 0]


def _is_option(name: str, value: object) -> bool:
    """Whether an option of the view can have this value."""
    if name == "axis":
        return isinstance(value, str) and value == kept_clean(value) != ""
    if name == "smooth":
        return isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value < 1
    if name == "columns":
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    return name in _OPTIONS and isinstance(value, bool)


class RememberedView:
    """The state of one set of logdirs, and the file that it is kept in."""

    def __init__(self, path: Path | None, configured: View) -> None:
        """``path`` None: nothing is remembered."""
        self._path = path
        self._configured = configured
        self.state = ViewState()
        self.note = ""
        """Why nothing could be read, for people; "" for no trouble."""
        if path is not None:
            self._read(path)

    @classmethod
    def of_logdirs(
        cls, logdirs: Sequence[Path], environ: Mapping[str, str], configured: View
    ) -> RememberedView:
        """The state that belongs to these logdirs, whatever they were called by."""
        names = "\0".join(sorted(identity(p) for p in logdirs))
        digest = hashlib.sha256(os.fsencode(names)).hexdigest()[:24]
        return cls(state_directory(environ) / "views" / f"{digest}.json", configured)

    def _read(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self.state, wrong = ViewState.of(json.loads(file.read(_MOST_BYTES)))
            if wrong:
                self.note = f"the view as you left it is lost in part: {path}: {', '.join(wrong)}"
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is broken"
            self.note = f"the view as you left it is lost: {path}: {reason}"

    @property
    def view(self) -> View:
        """The configured options with those that the user has changed since."""
        return self._configured._replace(**self.state.options)  # type: ignore[arg-type]

    @property
    def mutes(self) -> list[MutedFinding]:
        """The findings that the user muted."""
        return list(starmap(MutedFinding, self.state.mutes))

    def save(
        self,
        view: View,
        mutes: Collection[MutedFinding],
        pins: Iterable[str] = (),
        marks: Iterable[SavedMark] = (),
    ) -> None:
        """Write the file, whole or not at all. A disk that takes nothing is no reason to stop."""
        path = self._path
        state = self.state
        if path is None:
            return
        before = self._configured._asdict()
        state.options = {k: getattr(view, k) for k in _OPTIONS if getattr(view, k) != before[k]}
        state.pins = list(pins)
        state.marks = list(marks)
        state.mutes = sorted((m.rule, m.title) for m in mutes)
        with contextlib.suppress(OSError):
            write_private(path, state.document())
