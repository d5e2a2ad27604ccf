"""The GPUs, engines and nodes of a run beside each other, and which of them is the odd one out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.core.block import FloatArray
from rltui.core.medians import median
from rltui.core.text import Names, natural
from rltui.core.yaml_record import shipped_record
from rltui.facts import numbers
from rltui.facts.cache import per_version
from rltui.facts.timers import newest
from rltui.session import JudgedRun

#: Standard deviations of a normal distribution in a median absolute deviation.
_MAD = 1.4826
#: A device is silent where its newest row is this much older than that of the others, seconds and
#: usual intervals: as a run that is not live.
_SILENT_S = 60.0
_INTERVALS = 5.0


class _Column(NamedTuple):
    title: str
    metrics: Names
    unit: str
    apart: float


class _Document(NamedTuple):
    """``data/devices.yaml``; see there for the meaning of each field."""

    limit: float
    limit_source: str
    least: int
    columns: tuple[_Column, ...]


def _known() -> _Document:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(_Document, "health", "data", "devices.yaml")


class Device(NamedTuple):
    """One GPU, engine or node."""

    name: str
    values: tuple[float, ...]
    """Medians of the newest rows of each column; NaN for what is not logged."""
    behind: float
    """Seconds by which its newest row is older than the newest of all; NaN without times."""
    odd: frozenset[int]
    """The columns in which it is far from the others of its kind."""
    is_silent: bool

    @property
    def is_odd(self) -> bool:
        """Whether anything about it is."""
        return self.is_silent or bool(self.odd)


class Devices(NamedTuple):
    """Devices of one kind, by node and number."""

    kind: str
    """ "GPU", "engine" or "node"."""
    heads: tuple[tuple[str, str], ...]
    """(title, unit) of each column."""
    devices: tuple[Device, ...]
    words: str
    """The odd one: "GPU 3: use 12 %, the others 97 %"; "" for none."""


#: (kind, node or server, number) of a device.
_Key = tuple[str, str, int]


@per_version
def devices_of(run: JudgedRun) -> Sequence[Devices]:
    """The kinds of which a run logs at least two, GPUs first."""
    columns = {m: at for at, c in enumerate(_known().columns) for m in c.metrics}
    found: dict[str, dict[_Key, dict[int, str]]] = {"GPU": {}, "engine": {}, "node": {}}
    for tag, info in run.infos.items():
        at = columns.get(info.key)
        key = _device(info) if at is not None else None
        if at is not None and key is not None and run.points.count(tag):
            found[key[0]].setdefault(key, {}).setdefault(at, tag)
    return [_compared(run, kind, own) for kind, own in found.items() if len(own) > 1]


def _device(info: TagInfo) -> _Key | None:
    """The device that a tag is about; None for none, or a figure in another unit."""
    labels = info.labels
    metric = info.metric
    if metric is None or (info.unit not in {"", metric.unit} and info.scale == 1):
        return None
    where = info.place
    if labels.get("n", "").isdecimal():
        return "GPU", where, int(labels["n"])
    if labels.get("server"):
        return "engine", labels["server"], -1
    return ("node", where, -1) if where else None


def _name(key: _Key) -> str:
    kind, where, number = key
    if where.isdecimal():
        where = f"{'node' if kind == 'GPU' else kind} {where}"
    return " ".join(x for x in (where, f"GPU {number}" if kind == "GPU" else "") if x)


def _compared(run: JudgedRun, kind: str, found: dict[_Key, dict[int, str]]) -> Devices:
    used = sorted(set().union(*found.values()))
    columns = [_known().columns[at] for at in used]
    keys = sorted(found, key=lambda k: (natural(k[1]), k[2]))
    rows = [[found[key].get(at) for at in used] for key in keys]
    table = np.array([[newest(run, t) if t else math.nan for t in row] for row in rows])
    odd = np.array([_odd(table[:, n], column.apart) for n, column in enumerate(columns)])

    behind = _behind(run, rows)
    interval = run.progress.interval_s if run.progress else None
    silent = behind > max(_SILENT_S, _INTERVALS * (interval or 0.0))

    devices = tuple(
        Device(
            _name(key),
            tuple(table[n].tolist()),
            float(behind[n]),
            frozenset(np.flatnonzero(odd[:, n]).tolist()),
            bool(silent[n]),
        )
        for n, key in enumerate(keys)
    )
    heads = tuple((column.title, column.unit) for column in columns)
    return Devices(kind, heads, devices, _words(devices, heads, table))


def _behind(run: JudgedRun, rows: Sequence[Sequence[str | None]]) -> FloatArray:
    """(n,) seconds since the newest row of all, NaN without times; ``rows``: tags of each."""
    series = [[run.series(tag) for tag in row if tag] for row in rows]
    walls = [max((s.wall_times[-1] for s in own if s.count), default=math.nan) for own in series]
    return np.asarray(np.nanmax(walls) - walls if np.isfinite(walls).any() else walls)


def _odd(values: FloatArray, apart: float) -> np.ndarray:
    """(n,) which of the values (n,) is far from the others; none where they are too few, or where
    more than a quarter is: then they are of two kinds."""
    known = np.isfinite(values)
    limits = _known()
    if known.sum() <= limits.least:
        return np.zeros(len(values), bool)
    distance = np.nan_to_num(np.abs(values - median(values[known])))
    spread = _MAD * median(distance[known])
    odd: np.ndarray = (distance >= apart) & (distance > limits.limit * spread)
    return np.asarray(odd & (4 * odd.sum() <= known.sum()))


def _words(devices: Sequence[Device], heads: Sequence[tuple[str, str]], table: FloatArray) -> str:
    """Describe the device with the most oddities, and count the other odd ones."""
    found = [d for d in devices if d.is_odd]
    if not found:
        return ""
    worst = max(found, key=lambda d: (d.is_silent, len(d.odd)))
    said = [f"silent for {numbers.duration(worst.behind)}"] if worst.is_silent else []
    for n in sorted(worst.odd):
        usual = median(table[np.isfinite(table[:, n]), n])
        own, others = (
            f"{numbers.short(x)} {heads[n][1]}".strip() for x in (worst.values[n], usual)
        )
        said.append(f"{heads[n][0]} {own}, the others {others}")
    more = f"; {len(found) - 1} more" if len(found) > 1 else ""
    return f"{worst.name}: {'; '.join(said)}{more}"
