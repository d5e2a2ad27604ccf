"""How many steps are planned, and whether they are done."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rltui.catalogue.model import Category, TagInfo
from rltui.core.block import FloatArray, IntArray
from rltui.session.hyperparameters import positive
from rltui.sources.side_files.settings_files import STOP
from rltui.store import RunData

#: Newest intervals that the usual one is taken from, so that a slow start does not count.
RECENT = 200


def planned_steps(hyper: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    """The planned total from hyperparameters."""
    for name in names:
        found = positive(hyper.get(name))
        if found:
            return found
    return None


def planned_beside(
    run: RunData,
    infos: Mapping[str, TagInfo],
    plan: Mapping[str, object],
    names: tuple[str, ...],
) -> int | None:
    """The planned total from files beside the logs: unless the run has gone beyond it, for then it
    counts something else. Tune's criteria name what they count."""
    last = run.last_step
    if last is None:
        return None
    stops = [n for n in plan if n.startswith(STOP)]
    for name in (*stops, *names):
        total = positive(plan.get(name))
        if not total or last >= total + stride_of(run, infos):
            continue
        if name in names or _is_axis(run, name.removeprefix(STOP)):
            return total
    return None


def stride_of(run: RunData, infos: Mapping[str, TagInfo]) -> int:
    """Usual steps between two updates: a run ends when the next one would pass the total.

    CleanRL and SB3 log environment steps in strides of a rollout, which rarely hit the total.
    """
    strides = [1]
    for tag, info in infos.items():
        if info.category is Category.ACTOR and tag not in run.off_axis:
            gaps = np.diff(run.series(tag).steps[-RECENT:])
            gaps = gaps[gaps > 0]
            if len(gaps) > 3:
                strides.append(int(median(gaps)))
    return max(strides)


def median(values: FloatArray | IntArray) -> float:
    """As ``numpy.median``, which imports numpy.ma: a twentieth of the time of a start."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[half] / 2 + ordered[~half] / 2)


def _is_axis(run: RunData, name: str) -> bool:
    """Whether the steps of a run are what its tag of this name counts."""
    for tag in run.tags:
        if tag == name or tag.endswith(f"/{name}"):
            series = run.series(tag)
            return bool(series.count) and np.array_equal(series.steps, series.values)
    return False
