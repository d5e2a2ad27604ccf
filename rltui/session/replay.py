"""One run as it was at an earlier step: values, badges, findings and diagnoses of that moment.

Screens keep the object they have; it stands on the first part of its points and is judged by the
same rules, which know nothing of what came later. Logs are read further meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rltui.catalogue.model import TagInfo
from rltui.core.block import IntArray
from rltui.core.clock import Clock
from rltui.session.judging import Judge
from rltui.session.progress import progress
from rltui.session.run import JudgedRun, RunList
from rltui.store.run import RunPrefix

if TYPE_CHECKING:
    from rltui.health.engine import Engine


class Replay:
    """Owned by the session; main thread only. One run at a time."""

    def __init__(self, runs: RunList, judge: Judge, clock: Clock) -> None:
        self._runs = runs
        self._judge = judge
        self._clock = clock
        self._engine: Engine | None = None
        self._data: RunPrefix | None = None
        self._infos: dict[str, TagInfo] = {}
        """Meaning of all tags of the run, also of those that it logged later."""
        self.run: JudgedRun | None = None
        """The run that is shown as it was; None while all are shown as they are."""
        self.steps: IntArray = np.empty(0, np.int64)
        """The steps that the run has logged, ascending."""

    @property
    def step(self) -> int | None:
        """Where the run stands."""
        return None if self._data is None else self._data.step

    def goto(self, run: JudgedRun, step: int) -> None:
        """Show a run as it was at its newest logged step up to ``step``, or at its first one.

        Its verdict is made by :meth:`judge`. Raises ValueError for a run that is being read or
        has no step.
        """
        if run is not self.run:
            self.end()
            if run.sample is not None or run.data.files.reading or run.data.unloaded:
                raise ValueError("the run is still being read")
            if run.data.last_step is None:
                raise ValueError("the run has no step yet")
            self._runs.hold()
            self._infos = dict(run.infos)
            self._data = RunPrefix(run.data, run.data.last_step)
            self.steps = self._data.table.steps
            self._engine = self._judge.prepare().apart()  # which judges with a memory of its own
            self.run = run

        data = self._data
        steps = self.steps
        assert data is not None
        at = int(np.searchsorted(steps, step, side="right")) - 1
        data.move_to(int(steps[max(0, at)]))
        infos = {t: info for t, info in self._infos.items() if data.series(t).count}
        if infos.keys() != run.infos.keys() or run.data is not data:
            run.infos = infos
        run.data = data
        run.sample = None
        run.full_report = None
        run.as_of = data.step
        moment = data.extent.last_wall_time or data.files.modified or self._clock.now()
        hyper = run.hyperparameters.values
        roles = run.catalogue.roles
        limits = self._judge.stall.limits
        run.progress = progress(data, run.infos, hyper, roles, moment, limits, facts=run.facts)
        run.version += 1

    def move(self, by: int) -> bool:
        """Go ``by`` logged steps on or back; returns whether there was one."""
        if self.run is None or self._data is None:
            return False
        at = int(np.searchsorted(self.steps, self._data.step))
        to = max(0, min(len(self.steps) - 1, at + by))
        if to == at:
            return False
        self.goto(self.run, int(self.steps[to]))
        return True

    def judge(self, enough: Callable[[], bool] = lambda: False) -> bool:
        """Judge the run as it was; returns False if ``enough`` was true before that was done."""
        run = self.run
        data = self._data
        engine = self._engine
        if run is None or data is None or engine is None or run.recognition is None:
            return True
        if run.report is not None:
            return True
        # at infinity no rule waits for more rows
        report = engine.advance(data, run.infos, run.recognition, math.inf, enough)
        if report is None:
            return False
        run.full_report = report
        run.version += 1

        return True

    def end(self) -> None:
        """Show the run as it is by now."""
        run = self.run
        if run is None:
            return
        version = run.version
        self.run = None
        self._data = None
        self._engine = None
        self._runs.release()
        run.as_of = None
        run.version = max(run.version, version) + 1
