"""How far a run is, whether it is live, and how it ended: step, total, elapsed, ETA, age, state.

Many text logs carry no time. Then their rows have those of the durations that they log, summed up
to the change time of the file, and elapsed is marked as derived.

Only rows show that a training goes on: a log may grow by health checks and bars alone. The change
time of a file is new after a copy, so the times that the log itself has decide when its newest row
was written. They are of the clock of the training machine, which may be off: a run whose rows come
while it is watched is alive, whatever they say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rltui.catalogue.model import Category, Infos, Roles, tags_of
from rltui.core.batch import LogTail, Phase
from rltui.core.block import MACHINE, FloatArray
from rltui.core.level import ExitKind, RunState
from rltui.core.medians import median
from rltui.health.stalled import StallLimits
from rltui.session.hyperparameters import positive
from rltui.sources.side_files.settings_files import NO_FACTS, STOP, Facts
from rltui.store import RunData, Series
from rltui.store.run import LogFileState

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus

#: A log of the run that is written this much later shows that the training went on, seconds.
_LATER_S = 60.0
#: Ages are shown in days from here on.
OLD_S = 86_400.0
#: Newest intervals that the usual one is taken from, so that a slow start does not count.
_RECENT = 200
#: Clocks of two machines differ by less, and writers hold rows back for less, seconds.
_SKEW_S = 900.0
#: Times from here on are dates, seconds since the epoch.
_DATED_S = 1e8
#: ... or for this many usual intervals: a file may be written between two rows.
_INTERVALS = 5.0
#: The same while there is no usual interval.
_UNKNOWN_INTERVAL_S = 24 * 3600.0
#: A time without a zone is off by less than this, seconds.
_ZONES_S = 26 * 3600.0
#: Number of tags, the densest first, among which the run's own clock is searched.
_CLOCKS = 40


def exit_status_of(run: RunData, *, copied: bool, facts: Facts) -> ExitStatus | None:
    """How the run ended, or None when no log shows an end.

    ``copied``: whether the change times of its files say nothing; ``facts``: what lies beside its
    logs.
    """
    last = -math.inf if copied else (run.files.modified or 0.0)
    found = [f for f in run.files.by_path.values() if f.source.modified >= last - _LATER_S]
    found.sort(key=lambda f: (0.0 if copied else f.source.modified, f.source.order))
    found.reverse()
    recorded = facts.recorded_at >= last - _LATER_S  # else it was restored and goes on
    codes = (*(f.exit_code for f in found), facts.exit_code if recorded else None)
    code = next(filter(lambda c: c is not None, codes), None)
    logs = [(f.source.path.with_suffix(""), f.tail) for f in found if f.tail is not None]
    if not logs and code is None:
        return None
    from rltui.health.crash import exit_status  # heavy: most runs go on

    # what a job printed may be parted: slurm-7.out, slurm-7.err
    tails: list[LogTail | None] = [tail for job, tail in logs if job == logs[0][0]]
    endings = (exit_status(tail, code, logged=bool(run.tags)) for tail in tails or (None,))

    return next(filter(None, endings), None)


class Look(NamedTuple):
    """Result of inspecting the processes that write a silent run."""

    written_at: float | None
    """When the newest write was at that time: a later one makes the inspection void."""
    held: bool | None
    """Whether one of them is running; None where that cannot be told."""


class Progress(NamedTuple):
    """Steps, age and state of a run at one moment."""

    first_step: int | None
    last_step: int | None
    total_steps: int | None
    """Planned total, from hyperparameters; None when no log has it."""
    elapsed_s: float | None
    elapsed_derived: bool
    """True when the logs have no times and the figure is a sum of durations: rows are no younger
    than their times, and as much older as the file was changed after the newest of them."""
    eta_s: float | None
    interval_s: float | None
    """Usual time between two logged steps."""
    quiet_s: float
    """Time without a write after which the run is not live."""
    limits: StallLimits
    """When a silent run is stalled, and when it has ended."""
    age_s: float | None
    """Time since the newest row, in the coarse steps that are shown: 0, 5, 10, 30 s, minutes,
    from :data:`OLD_S` on days."""
    state: RunState
    written_at: float | None = None
    """When its newest row was written, as far as that is known, seconds since the epoch."""
    done: bool = False
    """The last planned step, or the trainer's closing row, has been logged."""
    gone: bool = False
    """Every log file of the run has vanished; what was read is still shown."""
    exit_status: ExitStatus | None = None
    """How it ended and why, where its console log or a tracker shows it."""
    look: Look | None = None
    """The newest inspection of the processes that write it."""
    phase: Phase | None = None
    """Activity since its newest row, where its console says so."""
    stride: int = 1
    """Usual steps between two logged rows."""
    lost_at: float | None = None
    """When its host got out of reach, seconds since the epoch; None while it is not. Age and state
    are those of then: nobody knows whether the run goes on."""

    @property
    def held(self) -> bool | None:
        """Whether a process still writes it, by an inspection since its newest write; None where
        that is not known."""
        return self.look.held if self.look is not None and self.is_looked_at else None

    @property
    def is_looked_at(self) -> bool:
        """Whether its processes were inspected since its newest write."""
        return self.look is not None and self.look.written_at == self.written_at

    def silent(self, now: float) -> bool:
        """Whether it is silent though no log shows its end, so that its processes are worth an
        inspection."""
        if self.done or self.written_at is None or self.last_step is None:
            return False
        return self.limits.least_s < now - self.written_at <= self.limits.ended_after_s

    @property
    def is_waiting(self) -> bool:
        """Whether a live run is between two rows: nothing is new, which is usual at its pace."""
        return self.state is RunState.LIVE and (self.age_s or 0.0) >= self.limits.least_s

    @property
    def share(self) -> float | None:
        """Share of the planned steps done, 0 to 1."""
        if not self.total_steps or self.last_step is None:
            return None
        return min(1.0, max(0.0, self.last_step / self.total_steps))


def progress(
    run: RunData,
    infos: Infos,
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
    clock = clock_series(run)
    interval, per_step, pause = _intervals(clock)
    paced = run.table.paced
    derived = bool(paced) and paced.keys() >= run.extent.last_wall_times.keys()
    elapsed = max(log.clock.newest for log in paced.values()) if derived else None
    if clock is not None and clock.count > 1 and not derived:
        elapsed = float(np.nanmax(clock.wall_times) - np.nanmin(clock.wall_times))
    if interval is None:  # that of the only row, or as it was seen
        interval, pause = _usual_gap(np.array([elapsed]) if elapsed else np.diff(run.files.grown))

    written_at, copied = _last_row(run, interval, now)
    last = run.last_step
    planned = (positive(hyper.get(name)) for name in roles.total_steps)
    total = next(filter(None, planned), None)
    total = total or _planned_in_files(run, infos, facts.settings, roles.total_steps)
    # a trainer's closing row (train_runtime, ...) is the newest that was logged
    ends = (run.series(tag).last for tag in tags_of(infos, roles.closing))
    eta = None
    done = any(end is not None and end[0] == last for end in ends)
    if total and last is not None:
        eta = None if per_step is None else max(0.0, (total - last) * per_step)
        from_zero = run.first_step == 0  # then the step counts the steps before
        done = done or last + _stride_of(run, infos) + from_zero > total

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
        written_at,
        done,
        run.files.all_gone,
        exit_status_of(run, copied=copied, facts=facts),
        None if before is None else before.look,
        _phase_of(run, last, total),
        _row_stride(clock),
    )

    return aged(_completed(fresh, run), now)


def renewed(known: Progress, run: RunData, now: float, facts: Facts = NO_FACTS) -> Progress:
    """``known`` with everything updated that needs no points: the newest write, the exit
    status, whether the logs are gone."""
    written_at, copied = _last_row(run, known.interval_s, now)
    fresh = known._replace(
        written_at=_newest(known.written_at, written_at),
        gone=run.files.all_gone,
        exit_status=exit_status_of(run, copied=copied, facts=facts),
        phase=_phase_of(run, known.last_step, known.total_steps),
        age_s=None,
    )

    return aged(_completed(fresh, run), now)


def aged(known: Progress, now: float) -> Progress:
    """``known`` with age and state at another time; the same object when neither differs."""
    age = None if known.written_at is None else max(0.0, now - known.written_at)
    state = _state(known, age, now)
    ended = known.exit_status
    if ended is not None and ended.kind is ExitKind.FINISHED:
        state = RunState.FINISHED
    elif ended is not None and (ended.certain or state is not RunState.LIVE):
        # what the process may have survived counts only once its logs stay quiet
        state = RunState.CRASHED

    # An age moves rarely, so that an idle screen is not repainted every second.
    shown = age
    if age is not None and age < 60:
        shown = max(step for step in (0.0, 5.0, 10.0, 30.0) if step <= age)
    elif age is not None:
        unit = OLD_S if age >= OLD_S else 60
        ended_after_s = known.limits.ended_after_s
        shown = max(float(age // unit * unit), ended_after_s if age >= ended_after_s else 0.0)

    if shown == known.age_s and state is known.state:
        return known

    return known._replace(age_s=shown, state=state)


def _state(known: Progress, age: float | None, now: float) -> RunState:
    """The state of a run of which no log shows an end."""
    if known.done:
        return RunState.FINISHED
    if age is None or known.last_step is None:
        return RunState.UNKNOWN
    if known.held is False and known.silent(now):
        return RunState.STOPPED
    if age <= known.quiet_s:
        return RunState.LIVE

    return RunState.STOPPED if age > known.limits.ended_after_s else RunState.STALLED


def clock_series(run: RunData) -> Series | None:
    """The series with the most points that carries wall times: the run's own clock."""
    tags = [t for t in run.tags if t not in run.off_axis and not t.startswith(MACHINE)]
    tags = tags or list(run.tags)
    longest = sorted(tags, key=run.table.logged, reverse=True)[:_CLOCKS]
    found = None
    for tag in filter(run.table.may_have_times, longest):
        series = run.series(tag)
        if series.count and np.isfinite(series.wall_times[-1]):
            found = found or series
            if series.count > 1:
                return series

    return found


def _intervals(clock: Series | None) -> tuple[float | None, float | None, float | None]:
    """Seconds: usual between two logged rows, usual per step, second longest between two rows."""
    if clock is None or clock.count < 2:
        return None, None, None
    steps = clock.steps[-_RECENT:]
    walls = clock.wall_times[-_RECENT:]
    ahead = np.diff(steps) > 0
    gaps = np.diff(walls)[ahead]
    keep = gaps > 0
    if not keep.any():
        return None, None, None
    per_step = gaps[keep] / np.diff(steps)[ahead][keep]
    interval, pause = _usual_gap(gaps)

    return interval, median(per_step), pause


def _usual_gap(gaps: FloatArray) -> tuple[float | None, float | None]:
    """The usual and the second longest of some pauses, in seconds; None with too few of them."""
    found = np.sort(gaps[gaps > 0])
    if not len(found):
        return None, None
    return median(found), float(found[-2]) if len(found) > 1 else None


def _planned_in_files(
    run: RunData, infos: Infos, plan: Mapping[str, object], names: tuple[str, ...]
) -> int | None:
    """The planned total from files beside the logs: unless the run has gone beyond it, for then it
    counts something else. Tune's criteria name what they count."""
    last = run.last_step
    if last is None:
        return None
    stops = [n for n in plan if n.startswith(STOP)]
    for name in (*stops, *names):
        total = positive(plan.get(name))
        if not total or last >= total + _stride_of(run, infos):
            continue
        if name in names:
            return total
        counted = name.removeprefix(STOP)
        tag = next((t for t in run.tags if t == counted or t.endswith(f"/{counted}")), "")
        series = run.series(tag)
        if series.count and np.array_equal(series.steps, series.values):
            return total

    return None


def _stride_of(run: RunData, infos: Infos) -> int:
    """Usual steps between two updates: a run ends when the next one would pass the total.

    CleanRL and SB3 log environment steps in strides of a rollout, which rarely hit the total.
    """
    strides = [1]
    for tag, info in infos.items():
        if info.category is Category.ACTOR and tag not in run.off_axis:
            gaps = np.diff(run.series(tag).steps[-_RECENT:])
            gaps = gaps[gaps > 0]
            if len(gaps) > 3:
                strides.append(int(median(gaps)))

    return max(strides)


def _newest(*times: float | None) -> float | None:
    """The newest of some times; None where none is known."""
    return max((t for t in times if t is not None), default=None)


def _last_row(run: RunData, interval: float | None, now: float) -> tuple[float | None, bool]:
    """When the newest row of a run was written, seconds since the epoch, None where not known; and
    whether the change times of its files are those of a copy. ``interval``: usual seconds between
    two rows."""
    files = run.files
    # a time in the future is no time, nor one that counts from another begin
    walls = run.extent.last_wall_times
    walls = {p: t for p, t in walls.items() if _DATED_S < t <= now + _SKEW_S}
    # those that count from a begin lead up to the change of their file: they show no copy
    counted = {p for p, f in files.by_path.items() if f.source.clock.counts or p in run.table.paced}
    dated = {p: t for p, t in walls.items() if p not in counted}
    own = max(dated.values(), default=None)

    if own is not None:
        allowed = _UNKNOWN_INTERVAL_S if interval is None else _INTERVALS * interval
        newest = files.by_path.get(max(dated, key=lambda p: dated[p]))
        late = 0.0 if newest is None else newest.source.modified - own
        copied = late > max(_SKEW_S, allowed)
    else:
        # Rows have no times: the newest time in a log is that of a copy if the file was changed
        # much later. A row behind it may be days younger: many a log has times at its start alone.
        sources = (f.source for f in files.by_path.values())
        logs = [s for s in sources if not s.clock.rows_behind and s.clock.newest > _DATED_S]
        last = max(logs, key=lambda source: source.modified, default=None)
        copied = last is not None and last.modified - last.clock.newest > _ZONES_S
        own = last.clock.newest if last is not None and copied else None

    times = [own] if copied else [_row_time(f, walls.get(p)) for p, f in files.by_path.items()]

    return _newest(*files.grown, *times), copied


def _completed(known: Progress, run: RunData) -> Progress:
    """``known`` as done if the bar of its steps has come to its end after the last row: a bar that
    counts from 0 has no row at its total, nor has a loop that logs every tenth step."""
    bar = _newest_phase(run)
    last = known.last_step
    total = known.total_steps
    if bar is None or bar.done is None or last is None or not bar.done == bar.total == total:
        return known
    return known._replace(done=known.done or last + known.stride >= bar.done)


def _row_stride(clock: Series | None) -> int:
    """Usual steps between two rows of a series."""
    gaps = np.diff(clock.steps[-_RECENT:]) if clock is not None else np.empty(0)
    gaps = gaps[gaps > 0]
    return int(median(gaps)) if len(gaps) else 1


def _newest_phase(run: RunData) -> Phase | None:
    """Phase that the console written last names after its last row."""
    logs = [f for f in run.files.by_path.values() if f.tail is not None]
    newest = max(logs, key=lambda f: f.source.modified, default=None)
    return newest.tail.phase if newest is not None and newest.tail is not None else None


def _phase_of(run: RunData, last: int | None, total: int | None) -> Phase | None:
    """Activity of a run by the console that was written last, unless that counts its steps."""
    phase = _newest_phase(run)
    if phase is None or phase.done is None:
        return phase
    counts = phase.total == total or abs(phase.done - (last or 0)) <= 1 < (last or 0)
    return None if counts else phase


def _row_time(file: LogFileState, wall: float | None) -> float | None:
    """When the newest row of a file was written, None for a file without rows; ``wall``: its time
    in the log. Rows come late by the delay of the writer and by what two clocks differ, unless
    lines with times or measurements of the machine stand behind them."""
    if file.row_modified is None:
        return wall
    latest = file.row_modified
    if file.tail is not None:
        latest = min(latest, file.source.modified - file.tail.lasted_s)
    if wall is not None:
        latest = min(latest, file.source.modified - max(0.0, file.measured - wall))
    apart = 0.0 if wall is None else latest - wall

    return wall if apart > (_SKEW_S if file.tail is None else 0.0) else latest
