"""When a run is to be stopped: what is reason enough, and whether it has held for long enough.

For ``rltui guard``, which looks at a live run, and for its rehearsal on a recorded one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Level
from rltui.health.model import Diagnosis, Finding, Report
from rltui.health.symptoms import Harm
from rltui.session.progress import clock_series
from rltui.session.run import JudgedRun
from rltui.session.session import Session

#: Technical signs. Only beside one of them is a poor outcome reason enough: by itself a reward may
#: fall, or stay low, for a while in a run that ends well.
_SIGNS = frozenset({Harm.DEFECT, Harm.HINDRANCE, Harm.SIGN, Harm.EXHAUSTED})
#: Looks at a recorded run in the time for which a reason must hold.
_LOOKS = 20


class Reason(NamedTuple):
    """Why a run is to be stopped."""

    diagnosis: Diagnosis
    finding: Finding
    """The first of its findings that is bad, certain and holds."""
    sign: Diagnosis | None
    """The technical sign beside it; None where the harm is fatal by itself."""


def reason_to_stop(report: Report | None) -> Reason | None:
    """The first diagnosis of fatal harm, or of harm to the outcome beside a technical sign, where
    each is bad now, and certain; None where there is none. How a run ended is none: there is
    nothing left to stop."""
    bad: list[tuple[Diagnosis, Finding]] = []
    for diagnosis in report.diagnosed.diagnoses if report else ():
        holding = (f for f in diagnosis.findings if f.fires and f.error is None)
        certain = (f for f in holding if f.level is Level.BAD and f.certain_step is not None)
        finding = next(certain, None)
        if finding is not None:
            bad.append((diagnosis, finding))

    sign = next((d for d, _ in bad if d.symptom.harm in _SIGNS), None)
    for diagnosis, finding in bad:
        if diagnosis.symptom.harm is Harm.FATAL:
            return Reason(diagnosis, finding, None)
        if diagnosis.symptom.harm is Harm.OUTCOME and sign is not None:
            return Reason(diagnosis, finding, sign)
    return None


class Hold(NamedTuple):
    """How long a reason must hold without a gap: rows of the run, or seconds."""

    rows: int = 0
    seconds: float = 0.0

    def lasted(self, rows: int, seconds: float) -> bool:
        """Whether that many rows, or seconds, are long enough."""
        return rows >= self.least_rows and seconds >= self.seconds

    def end(self, row: int, times: FloatArray) -> int:
        """The first row that is long enough after another one; their number where none is.
        ``times``: of each row, shape (rows,), seconds, ascending."""
        late = int(np.searchsorted(times, times[row] + self.seconds)) if self.seconds else 0
        return min(max(row + self.least_rows, late), len(times))

    @property
    def least_rows(self) -> int:
        """New rows that confirm the reason: while nothing new is logged, time proves nothing."""
        return max(self.rows, 1) if self.seconds else self.rows

    @property
    def words(self) -> str:
        """ "20 rows", "10 min"."""
        return f"{self.seconds / 60:g} min" if self.seconds else f"{self.rows} rows"


class Held:
    """Whether the reasons that verdicts on one run gave have held for long enough."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._since: tuple[int, float] | None = None

    def look(self, reason: Reason | None, rows: int, at: float) -> bool:
        """Whether there has been a reason in all verdicts for long enough; ``rows``: those of the
        run now, ``at``: seconds of a clock that never runs backwards."""
        if reason is None:
            self._since = None
            return False
        if self._since is None or rows < self._since[0]:  # resumed from a checkpoint
            self._since = rows, at
        return self._hold.lasted(rows - self._since[0], at - self._since[1])


def first_held(
    reason: Callable[[int], Reason | None], times: FloatArray, hold: Hold
) -> tuple[int, int] | None:
    """The rows from which on a reason held, and at which that was long enough; None for never.

    ``reason`` is asked for few rows: steps that are no longer than the hold miss nothing. While it
    holds, one of 20 rows of the hold is asked at least. ``times``: see :meth:`Hold.end`.
    """
    row = 0
    calm = -1
    count = len(times)
    while row < count:
        if reason(row) is None:
            row, calm = max(row + 1, hold.end(row, times)), row
            continue
        stride = max(1, (hold.end(row, times) - row) // _LOOKS)
        begun = row
        while begun - stride > calm and reason(begun - stride) is not None:
            begun -= stride
        end = hold.end(begun, times)
        # rows from the first one that was asked on; those before it were asked on the way back
        looks = [*range(row, end, stride), *([end] if end < count else [])]
        calm = next((look for look in looks if reason(look) is None), -1)
        if calm < 0:
            return (begun, end) if end < count else None
        row = calm + 1
    return None


class Rehearsal(NamedTuple):
    """Action of a guard, had it watched a recorded run."""

    begun: int
    """Step from which on the reason held."""
    step: int
    """Step at which it would have acted."""
    rows_left: int
    """Rows that were logged after that."""
    last_step: int
    reason: Reason


def rehearsed(session: Session, run: JudgedRun, hold: Hold) -> Rehearsal | str:
    """Rehearse a guard on a recorded run; where it would not have acted, say why in a few words.
    The run is shown as it was then until the session's replay ends. Raises ValueError for a run
    that has no step, or not the times that ``hold`` asks for."""
    replay = session.replay
    replay.goto(run, 0 if run.data.last_step is None else run.data.last_step)
    steps = replay.steps
    times = times_of(run, steps) if hold.seconds else np.zeros(len(steps))
    asked = dict[int, Reason | None]()

    def reason(row: int) -> Reason | None:
        if row not in asked:
            replay.goto(run, int(steps[row]))
            replay.judge()
            asked[row] = reason_to_stop(run.report)
        return asked[row]

    found = first_held(reason, times, hold)
    if found is None:
        last = len(steps) - 1
        first = int(np.searchsorted(times, times[-1] - hold.seconds))
        first = first if hold.seconds else max(0, last - hold.rows)
        for row in range(last, first, -max(1, (last - first) // _LOOKS)):  # few looks come so far
            if reason(row) is None:
                break
        # the longest time for which there was a reason, by the rows that were asked
        longest = -1.0
        since = None
        for row in sorted(asked):
            since = (row if since is None else since) if asked[row] else None
            if since is not None:
                held = (times[row] - times[since]) / 60 if hold.seconds else row - since
                longest = max(longest, float(held))
        words = f"held {longest:.{1 if hold.seconds else 0}f} of {hold.words}"
        return f"no reason held for {hold.words}" if longest < 0 else words
    begun, end = found
    why = reason(end)
    assert why is not None
    replay.goto(run, int(steps[end]))
    replay.judge()
    return Rehearsal(int(steps[begun]), int(steps[end]), len(steps) - 1 - end, int(steps[-1]), why)


def times_of(run: JudgedRun, steps: IntArray) -> FloatArray:
    """When each of these steps was logged: seconds since the epoch, ascending, same shape. Raises
    ValueError for a run whose rows have no times."""
    clock = clock_series(run.data)
    if clock is None:
        raise ValueError("its rows have no times, so --hold must be a number of rows")
    known = np.isfinite(clock.wall_times)
    times = np.interp(steps, clock.steps[known], clock.wall_times[known])
    return np.maximum.accumulate(times)
