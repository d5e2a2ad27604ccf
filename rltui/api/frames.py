"""Points as a data frame of pandas or polars. Imports either only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rltui.core.errors import UsageError
from rltui.core.installation import to_add

if TYPE_CHECKING:
    from rltui.api.runs import Points, Run

Shape = Literal["long", "wide"]
Library = Literal["pandas", "polars"]
Columns = Mapping[str, NDArray[Any]]


def frame_of(runs: Iterable[Run], shape: Shape, library: Library | None) -> Any:
    """The points of some runs, see :meth:`rltui.api.runs.Runs.frame`."""
    make = _maker(library)
    if shape == "long":
        return make(_long(runs))
    if shape == "wide":
        return make(_wide(runs))
    raise UsageError(f"unknown shape {shape!r} (known: long, wide)")


def _maker(library: Library | None) -> Callable[[Columns], Any]:
    if library not in (None, "pandas", "polars"):
        raise UsageError(f"unknown library {library!r} (known: pandas, polars)")
    if library in (None, "pandas"):
        try:
            import pandas
        except ImportError:
            if library is not None:
                raise UsageError(f"pandas is not installed: {to_add('pandas')}") from None
        else:
            return lambda columns: pandas.DataFrame(dict(columns))
    try:
        import polars
    except ImportError:
        missing = "polars is not installed" if library else "neither pandas nor polars is installed"
        raise UsageError(f"{missing}: {to_add(library or 'pandas')}") from None
    return lambda columns: polars.DataFrame({k: _for_polars(v) for k, v in columns.items()})


def _for_polars(column: NDArray[Any]) -> Any:
    """Polars takes texts as a list."""
    return column.tolist() if column.dtype == object else column


def _long(runs: Iterable[Run]) -> Columns:
    parts = [
        (run.name, points, old)
        for run in runs
        for tag in run
        for points, old in _with_superseded(run[tag])
    ]
    lengths = [len(points) for _, points, _ in parts]
    return {
        "run": np.repeat(_texts(name for name, _, _ in parts), lengths),
        "tag": np.repeat(_texts(points.tag for _, points, _ in parts), lengths),
        "step": _joined([p.steps for _, p, _ in parts], np.int64),
        "wall_time": _joined([p.wall_times for _, p, _ in parts], np.float64),
        "value": _joined([p.values for _, p, _ in parts], np.float64),
        "superseded": np.repeat(np.array([old for _, _, old in parts], np.bool_), lengths),
    }


def _with_superseded(points: Points) -> list[tuple[Points, bool]]:
    old = [] if points.superseded is None else [(points.superseded, True)]
    return [*old, (points, False)]


def _wide(runs: Iterable[Run]) -> Columns:
    runs = list(runs)
    tables = [{tag: run[tag] for tag in run} for run in runs]
    axes = [_axis(table.values()) for table in tables]
    tags = dict.fromkeys(tag for table in tables for tag in table)
    columns: dict[str, NDArray[Any]] = {
        "run": np.repeat(_texts(run.name for run in runs), [len(axis) for axis in axes]),
        "step": _joined(axes, np.int64),
    }
    for tag in tags:
        cells = [_placed(t.get(tag), axis) for t, axis in zip(tables, axes, strict=True)]
        columns[tag if tag not in columns else f"{tag} (tag)"] = _joined(cells, np.float64)
    return columns


def _axis(points: Iterable[Points]) -> NDArray[np.int64]:
    """All steps of a run, ascending, each once."""
    steps = [p.steps for p in points]
    return np.unique(_joined(steps, np.int64))


def _placed(points: Points | None, axis: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values at each step of a run, NaN where there is none; the last of several."""
    column = np.full(len(axis), np.nan)
    if points is not None:
        column[np.searchsorted(axis, points.steps)] = points.values
    return column


def _joined(parts: list[Any], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)


def _texts(texts: Iterable[str]) -> NDArray[np.object_]:
    return np.array([*texts, None], object)[:-1]
