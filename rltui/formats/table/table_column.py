"""The columns of a table: step, wall time, metrics.

Decided by the header alone (and by the file name for Monitor files), so that all rows of a file
are read in the same way: :func:`columns_of`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from rltui.formats.base import COARSE_KEYS, STEP_KEYS, clean_tag
from rltui.formats.naming import RAY_LEFT_OUT, is_ray_result, ray_tag
from rltui.formats.quantity import TIME_KEYS

#: Step columns of writers of tables, besides those of JSON lines; compared as plain words.
#: TotalEnvInteracts: Spinning Up; TotalEnvSteps: garage.
_MORE_STEP_NAMES = (
    *("TotalEnvInteracts", "TotalEnvSteps", "trainer_step", "env_frames", "total_frames"),
    *("evaluator_steps", "num_steps", "nsteps", "updates_total", "nupdates", "itr", "generation"),
)
_TIME_NAMES = (*TIME_KEYS, "wall time", "walltime", "date")
_WORDLESS = re.compile(r"[^a-z0-9]+")
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

    @property
    def size(self) -> int:
        """Cells of a row."""
        return len(self.names)


def columns_of(
    names: Sequence[str], step_keys: Sequence[str] = STEP_KEYS, file_name: str = ""
) -> Columns:
    """The columns of a table with this header."""
    stripped = tuple(n.strip() for n in names)
    if _MONITOR_COLUMNS.issubset(stripped):
        return _monitor(stripped, file_name)
    if is_ray_result(stripped):
        return _ray(stripped)
    step, wall = step_column(stripped, step_keys), _wall_column(stripped)
    phase = _PHASES.fullmatch(file_name)
    prefix = f"{phase[1]}/" if phase else ""
    metrics = tuple(i for i, n in enumerate(stripped) if n and i != step)
    tags = [n if n.startswith(prefix) else prefix + n for n in (stripped[i] for i in metrics)]
    return Columns(
        TableKind.PLAIN, stripped, (step,) if step >= 0 else (), wall, metrics, _distinct(tags)
    )


def step_column(names: Sequence[str], step_keys: Sequence[str]) -> int:
    """The position of the step column, -1 for none."""
    plain = [_plain(n) for n in names]
    coarse = next((i for i, k in enumerate(step_keys) if k in COARSE_KEYS), len(step_keys))
    keys = (*step_keys[:coarse], *_MORE_STEP_NAMES, *step_keys[coarse:])
    for key in keys:
        if (wanted := _plain(key)) in plain:
            return plain.index(wanted)
    # behind a prefix of any depth: train/epoch is a metric, misc/total_timesteps a step
    last = [_plain(n.rpartition("/")[2]) for n in names]
    for key in keys:
        if (wanted := _plain(key)) in last and "step" in wanted:
            return last.index(wanted)
    return -1


def _plain(name: str) -> str:
    return _WORDLESS.sub("", name.lower())


def _wall_column(names: Sequence[str]) -> int:
    plain = [_plain(n) for n in names]
    return next((plain.index(w) for n in _TIME_NAMES if (w := _plain(n)) in plain), -1)


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
