"""The Python API: :func:`read`, :func:`judge` and :func:`follow`, also in :mod:`rltui` itself.

The reader, store and rules of the program, and nothing else: what ``rltui export``, ``rltui check
--json`` and ``rltui check --follow --json`` print, as objects. Errors are
:class:`~rltui.core.errors.RltuiError`.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any, Literal, cast, overload

import numpy as np
from numpy.typing import NDArray

from rltui.config import load_config
from rltui.core.address import parse_logdir
from rltui.core.block import FloatArray, IntArray, ValueArray
from rltui.core.errors import RltuiError, UsageError
from rltui.core.installation import to_add
from rltui.core.text import Json
from rltui.facts.goals import open_goals
from rltui.output.json_document import EventDocument, check_document, event_line, note_document
from rltui.output.json_text import dump
from rltui.output.points import export_names
from rltui.output.verdict_types import LevelWord, NoteDocument, RunVerdict
from rltui.session import JudgedRun, Session
from rltui.session.event import changes
from rltui.session.naming import called
from rltui.session.session import Choice
from rltui.store.points import Points as Columns

__all__ = [
    "EventDocument",
    "NoteDocument",
    "Points",
    "RltuiError",
    "Run",
    "RunVerdict",
    "Runs",
    "Verdicts",
    "follow",
    "judge",
    "read",
]

#: A path, an address (``host:/path``, ``s3://bucket/path``), or several of them.
Logdirs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Shape = Literal["long", "wide"]
Library = Literal["pandas", "polars"]
_Frame = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Points:
    """The n points of one tag of one run, by step. The arrays are read-only."""

    tag: str
    steps: IntArray
    """(n,) int64, non-decreasing; two points may have one step."""
    wall_times: FloatArray
    """(n,) float64, seconds since the epoch; NaN where the log has none."""
    values: ValueArray
    """(n,) as logged, float32 or float64; NaN and Inf included."""
    superseded: Points | None = None
    """(m points) Points that the run overwrote when it was resumed, None without any."""

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        n = len(self)
        if not n:
            return f"<Points {self.tag}: none>"
        first, last = (f"{self.values[i]:.6g} at step {self.steps[i]}" for i in (0, -1))
        count = "1 point" if n == 1 else f"{n} points"
        return f"<Points {self.tag}: {count}, {first}{f' to {last}' if n > 1 else ''}>"


class Run(Mapping[str, Points]):
    """One run: tag -> points. A metric of the catalogue is a key, too, where one tag has it."""

    def __init__(self, view: JudgedRun, name: str) -> None:
        self._view = view
        self.name = name
        """Name as in ``rltui export``: the path below the logdir, in front of it that of the logdir
        where there are several."""
        self.names = tuple(dict.fromkeys((name, *view.names)))
        """All that it answers to."""
        self.path = str(view.data.path)
        known = view.recognition
        self.framework: str | None = known.framework if known else None
        """Id of the dialect: verl, trl, sb3, ..., generic."""
        self.algorithm: str | None = known.algorithm if known else None
        """PPO, GRPO, DPO, ..."""
        self.hyperparameters: Json = dict(view.hyperparameters.values)
        """Settings that the run logged, by name."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags that the run logged, in the order of the log."""
        return tuple(self._view.data.tags)

    @property
    def metrics(self) -> dict[str, str]:
        """Metric of the catalogue -> the tag that logs it first."""
        found: dict[str, str] = {}
        for tag in self._view.data.tags:
            info = self._view.infos.get(tag)
            if info is not None and info.metric is not None:
                found.setdefault(info.metric.key, tag)
        return found

    def __getitem__(self, name: str) -> Points:
        tag = name if self._logs(name) else self.metrics.get(name)
        if tag is None:
            raise KeyError(name)
        series = self._view.series(tag)
        old = _points(tag, series.old_points) if series.superseded else None
        return _points(tag, series.points, old)

    def __iter__(self) -> Iterator[str]:
        return iter(self._view.data.tags)

    def __len__(self) -> int:
        return len(self._view.data.tags)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._logs(name) or name in self.metrics)

    def _logs(self, tag: str) -> bool:
        return bool(self._view.data.table.some_tags(0, (tag,)))

    def frame(self, shape: Shape = "long", *, library: Library | None = None) -> Any:
        """The points as a data frame; see :meth:`Runs.frame`."""
        return _frame_of([self], shape, library)

    def __repr__(self) -> str:
        return f"<Run {self.name}: {len(self)} tags>"


class Runs(Sequence[Run]):
    """The runs that were read, in the order of their names; also by name: ``runs["exp/a"]``."""

    def __init__(self, runs: Sequence[Run], notes: Sequence[NoteDocument]) -> None:
        self._runs = list(runs)
        self.notes = tuple(notes)
        """Notes on what could not be read as it is."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the runs."""
        return tuple(run.name for run in self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int | str) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | str | slice) -> Run | list[Run]:
        """By number, or by a name that the commands take for ``--run``; no globs."""
        if not isinstance(index, str):
            return self._runs[index]
        found = called(index, {n: run.names for n, run in enumerate(self._runs)}, globs=False)
        if len(found) != 1:
            raise KeyError(index)
        return self._runs[found[0]]

    def frame(self, shape: Shape = "long", *, library: Library | None = None) -> Any:
        """All points as a data frame of pandas or polars, whichever is installed (pandas first).

        ``long``: columns ``run``, ``tag``, ``step``, ``wall_time`` (seconds since the epoch),
        ``value``, ``superseded``; a row for each point. ``wide``: ``run``, ``step`` and a column
        for each tag; a row for each step, with the last of several values at one step, without
        superseded points. Raises UsageError when neither library is installed.
        """
        return _frame_of(self._runs, shape, library)

    def __repr__(self) -> str:
        return f"<Runs: {', '.join(self.names[:6])}{', ...' if len(self) > 6 else ''}>"


class Verdicts(Sequence[RunVerdict]):
    """The verdicts on some runs, in the order of their names."""

    def __init__(self, document: Json) -> None:
        self.document = document
        """The whole document, as ``rltui check --json`` prints it."""
        self.level: LevelWord = document["level"]
        """Level of the worst run."""
        self.notes: list[NoteDocument] = document["notes"]
        """Trouble that concerns no single run: directories that cannot be read."""

    def __len__(self) -> int:
        return len(self.document["runs"])

    @overload
    def __getitem__(self, index: int) -> RunVerdict: ...
    @overload
    def __getitem__(self, index: slice) -> list[RunVerdict]: ...
    def __getitem__(self, index: int | slice) -> RunVerdict | list[RunVerdict]:
        runs: list[RunVerdict] = self.document["runs"]
        return runs[index]

    def __repr__(self) -> str:
        runs = ", ".join(f"{r['run']}: {r['level']}" for r in self[:6])
        return f"<Verdicts {self.level}: {runs}{', ...' if len(self) > 6 else ''}>"


def read(
    logdir: Logdirs,
    *,
    run: str | None = None,
    framework: str | None = None,
    algorithm: str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> Runs:
    """Every point of all runs below ``logdir``.

    ``run`` chooses runs by name or glob; ``framework`` and ``algorithm`` overrule what is
    recognised; ``config`` is a configuration file (default: that of the user). Raises
    :class:`~rltui.core.errors.RltuiError` for a path that is missing or no log, an unknown
    framework or algorithm, and a bad configuration.
    """
    session = _session(logdir, Choice(run, framework, algorithm), config)
    session.read_all(judge=False)
    views = [view for view in session.runs() if view.data.tags]
    runs = list(starmap(Run, zip(views, export_names(session, views), strict=True)))
    return Runs(runs, [cast(NoteDocument, note_document(note)) for note in session.troubles()])


def judge(
    logdir: Logdirs,
    *,
    run: str | None = None,
    framework: str | None = None,
    algorithm: str | None = None,
    reference: str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> Verdicts:
    """The verdicts on all runs below ``logdir``: the objects of ``rltui check --json``.

    ``reference`` names a run, or the path of one, that the others are compared with; the rest is as
    in :func:`read`.
    """
    choice = Choice(run, framework, algorithm, reference=reference)
    session = _session(logdir, choice, config)
    try:
        session.read_all()
        return Verdicts(json.loads(dump(check_document(session))))
    finally:
        session.stop()


def follow(
    logdir: Logdirs,
    *,
    run: str | None = None,
    framework: str | None = None,
    algorithm: str | None = None,
    config: str | os.PathLike[str] | None = None,
    stop: threading.Event | None = None,
) -> Generator[EventDocument, None, None]:
    """Changes of the verdicts as they happen, as ``rltui check --follow --json`` prints them.

    Begins with what fires already. Waits for more until ``stop`` is set (noticed within a second)
    or the generator is closed. The logs are opened when the first event is asked for.
    """
    session = _session(logdir, Choice(run, framework, algorithm, waits=True), config)
    with closing(changes(session, stop)) as events:
        for event in events:
            yield json.loads(event_line(event))


def _session(logdir: Logdirs, choice: Choice, config: str | os.PathLike[str] | None) -> Session:
    path = None if config is None else Path(config)
    logdirs = (logdir,) if isinstance(logdir, (str, os.PathLike)) else logdir
    paths = [p if isinstance(p, Path) else parse_logdir(os.fspath(p)) for p in logdirs]
    settings = load_config(path, os.environ, {})
    session = Session(paths, settings, choice=choice)
    session.goals = open_goals(settings) if settings.hooks.goals else {}
    session.scan()
    return session


def _points(tag: str, columns: Columns, superseded: Points | None = None) -> Points:
    """Views of columns that cannot be written to: the store shares its arrays."""
    steps, wall_times, values = (column.view() for column in columns)
    for view in (steps, wall_times, values):
        view.flags.writeable = False
    return Points(tag, steps, wall_times, values, superseded)


# -- data frames; pandas and polars are imported only when asked for -----------------------


def _frame_of(runs: Sequence[Run], shape: Shape, library: Library | None) -> Any:
    make = _maker(library)
    if shape not in ("long", "wide"):
        raise UsageError(f"unknown shape {shape!r} (known: long, wide)")
    return make((_long if shape == "long" else _wide)(runs))


def _maker(library: Library | None) -> Callable[[_Frame], Any]:
    """Make the maker of a frame of columns: pandas first where ``library`` is None."""
    if library not in (None, "pandas", "polars"):
        raise UsageError(f"unknown library {library!r} (known: pandas, polars)")
    if library in (None, "pandas"):
        try:
            import pandas  # an extra
        except ImportError:
            if library is not None:
                raise UsageError(f"pandas is not installed: {to_add('pandas')}") from None
        else:
            return lambda columns: pandas.DataFrame(dict(columns))

    try:
        import polars  # an extra
    except ImportError:
        missing = "polars is not installed" if library else "neither pandas nor polars is installed"
        raise UsageError(f"{missing}: {to_add(library or 'pandas')}") from None

    def frame(columns: _Frame) -> Any:
        texts = {k: v.tolist() for k, v in columns.items() if v.dtype == object}
        return polars.DataFrame({**columns, **texts})

    return frame


def _long(runs: Sequence[Run]) -> _Frame:
    parts = []

    for run in runs:
        for points in run.values():
            old = points.superseded
            parts += [] if old is None else [(run.name, old, True)]
            parts.append((run.name, points, False))

    lengths = [len(points) for _, points, _ in parts]
    return {
        "run": np.repeat(_texts(name for name, _, _ in parts), lengths),
        "tag": np.repeat(_texts(points.tag for _, points, _ in parts), lengths),
        "step": _joined([p.steps for _, p, _ in parts], np.int64),
        "wall_time": _joined([p.wall_times for _, p, _ in parts], np.float64),
        "value": _joined([p.values for _, p, _ in parts], np.float64),
        "superseded": np.repeat(np.array([old for _, _, old in parts], np.bool_), lengths),
    }


def _wide(runs: Sequence[Run]) -> _Frame:
    tables = [dict(run) for run in runs]
    # All steps of each run, ascending, each once.
    axes = [np.unique(_joined([p.steps for p in t.values()], np.int64)) for t in tables]
    columns: dict[str, NDArray[Any]] = {
        "run": np.repeat(_texts(run.name for run in runs), [len(axis) for axis in axes]),
        "step": _joined(axes, np.int64),
    }

    for tag in dict.fromkeys(tag for table in tables for tag in table):
        cells = []
        for table, axis in zip(tables, axes, strict=True):
            column = np.full(len(axis), np.nan)
            if (points := table.get(tag)) is not None:
                column[np.searchsorted(axis, points.steps)] = points.values  # the last of several
            cells.append(column)
        columns[tag if tag not in columns else f"{tag} (tag)"] = _joined(cells, np.float64)

    return columns


def _joined(parts: list[Any], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)


def _texts(texts: Iterable[str]) -> NDArray[np.object_]:
    return np.array([*texts, None], object)[:-1]
