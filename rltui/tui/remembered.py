"""What of the view is remembered from one start to the next, for each set of logdirs.

One JSON file each below ``$XDG_STATE_HOME/rltui/views``; nothing is written into a log directory.
A file that cannot be read is reported once and begun anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rltui.config.records import X_AXES
from rltui.core.text import clean
from rltui.health.muting import MutedFinding
from rltui.present.screens.view import View
from rltui.tui.state_files import state_directory, write_private

_SCHEMA = "rltui.view/1"
#: Longer files are none of ours, bytes.
_MOST_BYTES = 1 << 20


@dataclass
class ViewState:
    """What screens remember. They read it when they open and write it when they are drawn."""

    tabs: dict[str, str] = field(default_factory=dict)
    """Name of a run -> the tab that was open, but for the Overview."""
    filter: str = ""
    """Of the metrics."""
    runs_filter: str = ""
    order: str = ""
    """Of the list of runs."""
    pins: list[str] = field(default_factory=list)
    """Tags in the order in which they were pinned."""
    mutes: list[tuple[str, str]] = field(default_factory=list)
    """Rule and title of each muted finding."""
    options: dict[str, object] = field(default_factory=dict)
    """Options of the view that differ from the configuration, by name."""

    @classmethod
    def of(cls, document: object) -> ViewState:
        """Raises ValueError for anything but a document of ours."""
        if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
            raise ValueError(f"no {_SCHEMA}")
        texts = {k: _text(document.get(k, "")) for k in ("filter", "runs_filter", "order")}
        tabs, mutes = document.get("tabs", {}), document.get("mutes", [])
        pins = document.get("pins", [])
        options = document.get("options", {})
        if not isinstance(tabs, dict) or not isinstance(mutes, list) or not isinstance(pins, list):
            raise ValueError("tabs, pins or mutes are wrong")
        if not isinstance(options, dict) or not all(map(_is_option, options.items())):
            raise ValueError("options are wrong")
        pairs = [(_text(rule), _text(title)) for rule, title in map(_pair, mutes)]
        named = {_text(k): _text(v) for k, v in tabs.items()}
        tags = [_text(tag) for tag in pins]
        return cls(named, **texts, pins=tags, mutes=pairs, options=options)


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
        names = "\0".join(sorted(os.path.realpath(p) for p in logdirs))
        digest = hashlib.sha256(os.fsencode(names)).hexdigest()[:24]
        return cls(state_directory(environ) / "views" / f"{digest}.json", configured)

    def _read(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self.state = ViewState.of(json.loads(file.read(_MOST_BYTES)))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is broken"
            self.note = f"the view as you left it is lost: {path}: {reason}"

    @property
    def view(self) -> View:
        """The configured options with those that the user has changed since."""
        return replace(self._configured, **self.state.options)  # type: ignore[arg-type]

    @property
    def mutes(self) -> list[MutedFinding]:
        """The findings that the user muted."""
        return [MutedFinding(*pair) for pair in self.state.mutes]

    def save(self, view: View, mutes: Collection[MutedFinding], pins: Iterable[str] = ()) -> None:
        """Write the file, whole or not at all. A disk that takes nothing is no reason to stop."""
        path, state = self._path, self.state
        if path is None:
            return
        before = asdict(self._configured)
        state.options = {k: getattr(view, k) for k in _OPTIONS if getattr(view, k) != before[k]}
        state.pins = list(pins)
        state.mutes = sorted((m.rule, m.title) for m in mutes)
        with contextlib.suppress(OSError):
            write_private(path, json.dumps({"schema": _SCHEMA, **asdict(state)}, indent=1))


#: Options of the view that keys change, with the type of each.
_OPTIONS: dict[str, type] = {"axis": str, "smooth": float, "log_y": bool, "outliers": bool}


def _is_option(item: tuple[object, object]) -> bool:
    name, value = item
    kind = _OPTIONS.get(str(name))
    if kind is None or not isinstance(value, kind):
        return False
    if name == "axis":
        return value in X_AXES
    return name != "smooth" or (isinstance(value, float) and 0.0 <= value < 1.0)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"not a text: {value!r}")
    return clean(value)


def _pair(value: object) -> tuple[object, object]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"not a pair: {value!r}")
    return value[0], value[1]
