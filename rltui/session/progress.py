"""How far a run is, whether it is live, and how it ended: step, total, elapsed, ETA, age, state.

Many text logs carry no time. Then elapsed and ETA come from the sum of step times and are
marked as derived; age is always that of the newest known write.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rltui.catalogue.model import Roles, TagInfo
from rltui.core.level import ExitKind, RunState
from rltui.health.stalled import StallLimits
from rltui.session.last_write import last_write
from rltui.session.planned import RECENT, median, planned_beside, planned_steps, stride_of
from rltui.sources.side_files.settings_files import NO_FACTS, Facts
from rltui.store import RunData, Series

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus

#: A log of the run that is written this much later shows that the training went on, seconds.
_LATER_S = 60.0
#: Ages are shown in days from here on.
OLD_S = 86_400.0


def exit_status_of(
    run: RunData, *, copied: bool = False, facts: Facts = NO_FACTS
) -> ExitStatus | None:
    """How the run ended, or None when no log shows an end.

    ``copied``: whether the change times of its files say nothing; ``facts``: what lies beside its
    logs.
    """
    files, logged = run.files, bool(run.tags)
    last = -math.inf if copied else (files.modified or 0.0)
    found = [f for f in files.by_path.values() if f.source.modified >= last - _LATER_S]
    found.sort(key=lambda f: (0.0 if copied else f.source.modified, f.source.order))
    codes = [f.exit_code for f in found if f.exit_code is not None]
    code = codes[-1] if codes else None
    if code is None and facts.recorded_at >= last - _LATER_S:  # else it was restored and goes on
        code = facts.exit_code
    logs = [f for f in reversed(found) if f.tail is not None]
    if not logs and code is None:
        return None
    from rltui.health.crash import exit_status

    if not logs:
        return exit_status(None, code, logged=logged)
    job = logs[0].source.path.with_suffix("")
    # what a job printed may be parted: slurm-7.out, slurm-7.err
    tails = [f.tail for f in logs if f.source.path.with_suffix("") == job]
    endings = (exit_status(tail, code, logged=logged) for tail in tails)
    return next((e for e in endings if e is not None), None)


#: Number of tags, the densest first, among which the run's own clock is searched.
_CLOCKS = 40


class Look(NamedTuple):
    """A look at the processes that write a run, once it was silent."""

    written_at: float | None
    """When the newest write was at that time: a later one makes the look void."""
    held: bool | None
    """Whether one of them is there; None where that cannot be told."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands at one moment."""

    first_step: int | None
    last_step: int | None
    total_steps: int | None
    """Planned total, from hyperparameters; None when no log has it."""
    elapsed_s: float | None
    elapsed_derived: bool
    """True when the log has no times and the figure is a sum of step times."""
    eta_s: float | None
    interval_s: float | None
    """Usual time between two logged steps."""
    quiet_s: float
    """Time without a write after which the run is not live."""
    limits: StallLimits
    """When a silent run is stalled, and when it has ended."""
    age_s: float | None
    """Time since the newest write, in the coarse steps that are shown: 0, 5, 10, 30 s, minutes,
    from :data:`OLD_S` on days."""
    state: RunState
    written_at: float | None = None
    """When the newest write was, seconds since the epoch."""
    row_at: float | None = None
    """The newest time that a row has, seconds since the epoch; None where rows have none."""
    seen_live: bool = False
    """Whether it was live at one time while it was watched."""
    done: bool = False
    """The last planned step, or the trainer's closing row, has been logged."""
    gone: bool = False
    """Every log file of the run has vanished; what was read is still shown."""
    exit_status: ExitStatus | None = None
    """How it ended and why, where its console log or a tracker shows it."""
    look: Look | None = None
    """The newest look at the processes that write it."""
    lost_at: float | None = None
    """When its host got out of reach, seconds since the epoch; None while it is not. Age and state
    are those of then: nobody knows whether the run goes on."""

    @property
    def held(self) -> bool | None:
        """Whether a process still writes it, as of a look since its newest write; None where that
        is not known."""
        look = self.look
        return look.held if look is not None and look.written_at == self.written_at else None

    def silent(self, now: float) -> bool:
        """Whether it is silent though no log shows its end, so that its processes tell more. The
        change times of files alone do not show that it went on: they may be those of a copy."""
        if self.done or self.written_at is None or self.last_step is None:
            return False
        known = self.seen_live or self.row_at is not None
        return known and self.quiet_s < now - self.written_at <= self.limits.ended_after_s

    @property
    def share(self) -> float | None:
        """Share of the planned steps done, 0 to 1."""
        if not self.total_steps or self.last_step is None:
            return None
        return min(1.0, max(0.0, self.last_step / self.total_steps))


def progress(
    run: RunData,
    infos: Mapping[str, TagInfo],
    hyper: Mapping[str, object],
    roles: Roles,
    now: float,
    limits: StallLimits,
    *,
    facts: Facts = NO_FACTS,
    before: Progress | None = None,
) -> Progress:
    """The progress of ``run`` at the time ``now`` (seconds since the epoch); ``facts``: what lies
    beside its logs; ``before``: as it was known until now."""
    clock = _clock_series(run)
    interval, per_step, pause = _intervals(clock)
    elapsed, derived = _elapsed(run, infos, roles.step_time, clock)
    if interval is None and (times := _values(run, infos, roles.step_time)) is not None:
        interval = median(times[-RECENT:])
        per_step = interval
    written = last_write(run, interval, now)
    last = run.last_step
    total = planned_steps(hyper, roles.total_steps)
    total = total or planned_beside(run, infos, facts.plan, roles.total_steps)
    eta = None
    if total and last is not None and per_step is not None:
        eta = max(0.0, (total - last) * per_step)
    done = bool(total and last is not None and last + stride_of(run, infos) > total)
    done = done or _has_summary(run, infos, roles.closing)
    fresh = Progress(
        run.first_step,
        last,
        total,
        elapsed,
        derived,
        eta,
        interval,
        limits.quiet_s(interval, pause),
        limits,
        None,
        RunState.UNKNOWN,
        written.at,
        written.row_at,
        before is not None and before.seen_live,
        done,
        run.files.all_gone,
        exit_status_of(run, copied=written.copied, facts=facts),
        None if before is None else before.look,
    )
    return aged(fresh, now)


def renewed(known: Progress, run: RunData, now: float, facts: Facts = NO_FACTS) -> Progress:
    """``known`` with everything updated that needs no points: the newest write, the exit
    status, whether the logs are gone."""
    written = last_write(run, known.interval_s, now)
    times = (known.written_at, written.at)
    fresh = replace(
        known,
        written_at=max((t for t in times if t is not None), default=None),
        gone=run.files.all_gone,
        row_at=written.row_at if known.row_at is None else known.row_at,
        exit_status=exit_status_of(run, copied=written.copied, facts=facts),
        age_s=None,
    )
    return aged(fresh, now)


def aged(known: Progress, now: float) -> Progress:
    """``known`` at another time; the same object when nothing that is shown differs."""
    age = None if known.written_at is None else max(0.0, now - known.written_at)
    state = _state(known, age, now)
    seen_live = known.seen_live or state is RunState.LIVE
    if known.exit_status is not None:
        state = _ended(known.exit_status, state)
    shown = _coarse(age, known.limits.ended_after_s)
    if shown == known.age_s and state is known.state:
        return known
    return replace(known, age_s=shown, state=state, seen_live=seen_live)


def _coarse(age: float | None, ended_after_s: float) -> float | None:
    """An age that moves rarely, so that an idle screen is not repainted every second; at least
    ``ended_after_s`` where it is."""
    if age is None:
        return None
    if age >= 60:
        least = ended_after_s if age >= ended_after_s else 0.0
        unit = OLD_S if age >= OLD_S else 60
        return max(float(age // unit * unit), least)
    return max(step for step in (0.0, 5.0, 10.0, 30.0) if step <= age)


def _state(known: Progress, age: float | None, now: float) -> RunState:
    if known.done:
        return RunState.FINISHED
    if age is None or known.last_step is None or age > known.limits.ended_after_s:
        return RunState.UNKNOWN
    if age <= known.quiet_s:
        return RunState.LIVE
    if known.held is False and known.silent(now):
        return RunState.STOPPED
    return RunState.STALLED if known.seen_live or _is_recent(known, now) else RunState.UNKNOWN


def _is_recent(known: Progress, now: float) -> bool:
    """Whether the run went on a short while ago for its pace. Only the times of its rows show
    that: the change time of a file is that of its copy after ``git clone`` or ``cp``."""
    since = math.inf if known.row_at is None else now - known.row_at
    return since <= known.limits.recent * known.quiet_s


def _ended(exit_status: ExitStatus, state: RunState) -> RunState:
    """The state of a run with an exit status. A sign of a crash that the process may have
    survived counts only once its logs stay quiet."""
    if exit_status.kind is ExitKind.FINISHED:
        return RunState.FINISHED
    if not exit_status.certain and state is RunState.LIVE:
        return state
    return RunState.CRASHED


def _clock_series(run: RunData) -> Series | None:
    """The series with the most points that carries wall times: the run's own clock."""
    tags = [t for t in run.tags if t not in run.off_axis] or run.tags
    for tag in sorted(tags, key=run.table.logged, reverse=True)[:_CLOCKS]:
        series = run.series(tag)
        if series.count and np.isfinite(series.wall_times[-1]):
            return series
    return None


def _intervals(clock: Series | None) -> tuple[float | None, float | None, float | None]:
    """Seconds: usual between two logged rows, usual per step, second longest between two rows."""
    if clock is None or clock.count < 2:
        return None, None, None
    steps, walls = clock.steps[-RECENT:], clock.wall_times[-RECENT:]
    ahead = np.diff(steps) > 0
    gaps = np.diff(walls)[ahead]
    keep = gaps > 0
    if not keep.any():
        return None, None, None
    per_step = gaps[keep] / np.diff(steps)[ahead][keep]
    longest = np.sort(gaps[keep])[-2:]
    return median(gaps[keep]), median(per_step), float(longest[0]) if len(longest) > 1 else None


def _elapsed(
    run: RunData, infos: Mapping[str, TagInfo], step_time: str, clock: Series | None
) -> tuple[float | None, bool]:
    if clock is not None and clock.count > 1:
        walls = clock.wall_times
        return float(np.nanmax(walls) - np.nanmin(walls)), False
    times = _values(run, infos, step_time)
    if times is None:
        return None, False
    with np.errstate(over="ignore"):
        total = float(times.sum())
    return (total, True) if np.isfinite(total) else (None, False)


def _values(
    run: RunData, infos: Mapping[str, TagInfo], key: str
) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    for tag, info in infos.items():
        if info.metric is not None and info.metric.key == key:
            _, values = run.series(tag).finite()
            if len(values):
                return np.asarray(values * info.scale, dtype=np.float64)
    return None


def _has_summary(run: RunData, infos: Mapping[str, TagInfo], closing: str) -> bool:
    """Whether a trainer's closing row (train_runtime, ...) is the newest that was logged."""
    for tag, info in infos.items():
        if info.metric is not None and info.metric.key == closing:
            last = run.series(tag).last
            if last is not None and last[0] == run.last_step:
                return True
    return False
