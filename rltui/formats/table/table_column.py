"""The columns of a table: step, wall time, metrics.

Decided by the header alone (and by the file name for Monitor files), so that all rows of a file
are read in the same way: :func:`columns_of`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from rltui.formats.base import clean_tag
from rltui.formats.naming import RAY_LEFT_OUT, is_ray_result, ray_tag
from rltui.formats.quantity import TIME_KEYS
from rltui.formats.step_name import may_count, plain, step_names

_TIME_NAMES = (*TIME_KEYS, "wall time", "walltime", "date")
#: Files with these names hold one phase of a training (DrQ-v2), which becomes the prefix of
#: their tags, as in its event file.
_PHASES = re.compile(r"(train|eval|test|val|validation)\.(csv|tsv)")
_MONITOR_FILE = re.compile(r"(?:(?P<env>.*)\.)?monitor\.csv")
_MONITOR_COLUMNS = {"r", "l", "t"}


class TableKind(Enum):
    """How the rows of a table are read."""

    PLAIN = "plain"
    RAY = "ray"
    """Ray Tune's progress.csv: the step is ``timesteps_total`` where that is not zero."""
    MONITOR = "monitor"
    """SB3's Monitor: one row per episode; the step is the sum of the lengths so far."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table, by position."""

    kind: TableKind
    names: tuple[str, ...]
    """As in the header."""
    steps: tuple[int, ...]
    """Columns of the step, best first; empty when there is none."""
    wall: int
    """Column that may contain the wall time, -1 for none."""
    metrics: tuple[int, ...]
    tags: tuple[str, ...]
    """Of the metrics; cleaned, no two equal."""
    candidates: tuple[int, ...] = ()
    """Columns that may be the step of a plain table, best first."""
    doubtful: frozenset[int] = frozenset()
    """Those among them that are a step only if they count up."""

    @property
    def size(self) -> int:
        """Cells of a row."""
        return len(self.names)


def columns_of(
    names: Sequence[str],
    step_keys: Sequence[str],
    file_name: str = "",
    step: int | None = None,
) -> Columns:
    """The columns of a table with this header; ``step`` is that of a plain table, -1 for none,
    when its rows have shown it."""
    stripped = tuple(n.strip() for n in names)
    if _MONITOR_COLUMNS.issubset(stripped):
        return _monitor(stripped, file_name)
    if is_ray_result(stripped):
        return _ray(stripped)
    sure = step_names(stripped, step_keys)
    maybe = [i for i, n in enumerate(stripped) if i not in sure and may_count(n)]
    candidates = (*sure, *maybe)
    if step is None:
        step = candidates[0] if candidates else -1
    phase = _PHASES.fullmatch(file_name)
    prefix = f"{phase[1]}/" if phase else ""
    metrics = tuple(i for i, n in enumerate(stripped) if n and i != step)
    tags = [n if n.startswith(prefix) else prefix + n for n in (stripped[i] for i in metrics)]
    wall = _wall_column(stripped)
    if [plain(stripped[i]) for i in metrics if i != wall] == ["value"]:
        tags = [_named_by_file(tag, file_name) for tag in tags]
    steps = (step,) if step >= 0 else ()
    return Columns(
        *(TableKind.PLAIN, stripped, steps, wall, metrics, _distinct(tags)),
        candidates,
        frozenset(maybe),
    )


def _named_by_file(tag: str, file_name: str) -> str:
    """The name of the only metric where its column says just "Value": TensorBoard's downloads
    (``run-NAME-tag-TAG.csv``)."""
    _, found, stem = file_name.rpartition(".")[0].rpartition("-tag-")
    return stem if found and plain(tag) == "value" else tag


def _wall_column(names: Sequence[str]) -> int:
    found = [plain(n) for n in names]
    return next((found.index(w) for n in _TIME_NAMES if (w := plain(n)) in found), -1)


def _ray(names: tuple[str, ...]) -> Columns:
    steps = tuple(names.index(n) for n in ("timesteps_total", "training_iteration") if n in names)
    metrics = tuple(
        i
        for i, name in enumerate(names)
        if name and name not in RAY_LEFT_OUT and not name.startswith("config/")
    )
    tags = _distinct([ray_tag(names[i]) for i in metrics])
    wall = names.index("timestamp") if "timestamp" in names else -1
    return Columns(TableKind.RAY, names, steps, wall, metrics, tags)


def _monitor(names: tuple[str, ...], file_name: str) -> Columns:
    """``monitor/r`` for the first environment (``monitor.csv``, ``0.monitor.csv``), with its
    name in between for the others, so that the files of one run do not mix."""
    found = _MONITOR_FILE.fullmatch(file_name)
    env = (found["env"] or "") if found else ""
    prefix = "monitor/" if env in ("", "0") else f"monitor/{env}/"
    metrics = tuple(i for i, n in enumerate(names) if n and n != "t")
    tags = _distinct([prefix + names[i] for i in metrics])
    return Columns(TableKind.MONITOR, names, (names.index("l"),), names.index("t"), metrics, tags)


def _distinct(tags: Sequence[str]) -> tuple[str, ...]:
    """Cleaned, and numbered where a name repeats."""
    out: dict[str, None] = {}
    for raw in tags:
        tag, count = clean_tag(raw), 1
        name = tag
        while name in out:
            count += 1
            name = f"{tag}~{count}"
        out[name] = None
    return tuple(out)
