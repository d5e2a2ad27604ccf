"""Keeps verdict and progress of the runs up to date, at bounded cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from rltui.catalogue import Catalogue
from rltui.config import Config
from rltui.core.batch import RunKey
from rltui.core.clock import Clock
from rltui.core.level import RunState
from rltui.session.documents import open_rules, open_stall_rule
from rltui.session.meaning import Interpreter
from rltui.session.progress import aged, progress, renewed
from rltui.session.run import RunView

if TYPE_CHECKING:
    from rltui.health.engine import Engine
    from rltui.health.stalled import StallLimits

#: Verdicts take the main thread for about this long at a time: keys are answered in between.
_SLICE_S = 0.02
#: After the verdicts of live runs the next ones wait this many times as long as it took, and at
#: most this many seconds: a stream of steps is judged all the time, but for 1 % of it.
_REST, _REST_S = 100.0, 2.0


class Judging:
    """Owned by the session; main thread only."""

    def __init__(
        self,
        config: Config,
        catalogue: Catalogue,
        interpreter: Interpreter,
        views: Mapping[RunKey, RunView],
        clock: Clock,
    ) -> None:
        self._config = config
        self._catalogue = catalogue
        self._interpreter = interpreter
        self._views = views
        self._clock = clock
        self._stall = open_stall_rule(config)
        self._watches = False
        """Whether time passes: a single look at logs has no finding for a stall, only a level."""
        self._engine: Engine | None = None
        self._reference: RunView | None = None
        self._dirty: dict[RunKey, None] = {}
        """In the order in which they are judged."""
        self._grown: set[RunKey] = set()
        """Runs that changed since their progress was last updated."""
        self._not_before = -math.inf
        self._took = 0.0
        """Seconds that the verdicts in the making have taken, in all their slices; what else
        happens in between does not count."""
        self.unfinished = False
        """Whether judging stopped because it had taken long: there is more to do at once."""

    @property
    def stall_limits(self) -> StallLimits:
        """How long a run may be silent, with the user's changes."""
        return self._stall.limits

    @property
    def waiting(self) -> bool:
        """Whether some run has yet to be judged."""
        return bool(self._dirty)

    def prepare(self) -> Engine:
        """Load the rules, if they are not. Raises DocumentError."""
        if self._engine is None:
            from rltui.health.engine import Engine

            self._engine = Engine(open_rules(self._config, self._catalogue))
        return self._engine

    def compare(self, view: RunView | None, align: str) -> None:
        """Judge all runs anew, by comparison with a reference run; None: with none."""
        reference = None
        if view is not None:
            from rltui.health.reference import Alignment, Reference

            tokens = self._catalogue.roles.tokens
            reference = Reference(view.data, view.infos, view.name, Alignment(align), tokens)
        self.prepare().compare(reference)
        self._reference = view
        self._not_before, self._took = -math.inf, 0.0
        self.mark(self._views)

    def swap(self, other: Callable[[RunView], RunView]) -> None:
        """The reference run is another record of the same run from now on."""
        if self._reference is not None:
            self._reference = other(self._reference)

    def mark(self, runs: Iterable[RunKey]) -> None:
        """Note that these runs changed."""
        found = dict.fromkeys(runs)
        self._dirty.update(found)
        self._grown.update(found)

    def judge(
        self, *, verdicts: bool = True, pace: bool = False, last: bool = False
    ) -> frozenset[RunKey]:
        """Update the runs that changed or whose rules still wait; returns which were judged.

        Without ``verdicts`` only progress is updated. With ``pace``, this takes a bounded time, and
        a run that has a verdict waits for a new one after the pause that follows each verdict.
        ``last``: nothing more will come, so that no rule waits for more rows.
        """
        now, begun = self._clock.now(), self._clock.monotonic()
        at = math.inf if last else now
        judged: set[RunKey] = set()
        put_off: dict[RunKey, None] = {}
        resting = pace and begun < self._not_before
        self.unfinished = False

        def enough() -> bool:
            return pace and self._clock.monotonic() - begun >= _SLICE_S

        for key in self._dirty:
            view = self._views[key]
            if key in self._grown:
                self._grown.discard(key)
                self._update_progress(view, now)
            if not verdicts or not _may_be_judged(view):
                continue
            if view.report is not None and resting:
                put_off[key] = None
            elif not (self.unfinished or (judged and enough())) and self._timed_evaluate(
                view, at, enough
            ):
                judged.add(key)
            else:
                put_off[key] = None
                self.unfinished = True
        if judged and not self.unfinished:
            self._not_before = self._clock.monotonic() + min(_REST_S, _REST * self._took)
            self._took = 0.0
        if verdicts:
            self._dirty = {**put_off, **{k: None for k in self._dirty if self._waits(k)}}
        return frozenset(judged)

    def _update_progress(self, view: RunView, now: float) -> None:
        data, points = view.data, view.points
        if data.memory.unloaded:
            if view.progress is not None:
                view.progress = renewed(view.progress, data, now)
                self._note_stall(view)
            return
        hyper, roles = view.hyperparameters.values, self._catalogue.roles
        seen_live = view.progress is not None and view.progress.seen_live
        limits = self._stall.limits
        view.progress = progress(points, view.infos, hyper, roles, now, limits, seen_live=seen_live)
        self._note_stall(view)

    def _timed_evaluate(self, view: RunView, now: float, enough: Callable[[], bool]) -> bool:
        begun = self._clock.monotonic()
        done = self._evaluate(view, now, enough)
        self._took += self._clock.monotonic() - begun
        return done

    def _evaluate(self, view: RunView, now: float, enough: Callable[[], bool]) -> bool:
        """Judge a run; returns False if there was not enough time for it."""
        if view.sample is not None:
            view.sample = None
            self._interpreter.interpret(view)
        assert view.recognition is not None
        engine = self.prepare()
        report = engine.advance(view.data, view.infos, view.recognition, now, enough)
        if report is None:
            return False
        view.reference = None if self._reference is view else self._reference
        view.full_report = report
        self._note_stall(view)
        view.version += 1
        return True

    def _note_stall(self, view: RunView) -> None:
        """Report a run that stopped writing, or that it goes on."""
        if view.full_report is None or view.progress is None:
            return
        if self._stall.rule.id in self._config.rules.mute:
            return
        from rltui.session.stall import with_stall

        report = with_stall(view.full_report, view.progress, self._stall, watches=self._watches)
        if report is not view.full_report:
            view.full_report = report
            view.version += 1

    def _waits(self, key: RunKey) -> bool:
        if self._views[key].data.files.reading:
            return True
        return self._engine is not None and self._engine.waiting(key)

    def refresh_ages(self, lost: Collection[int] = ()) -> bool:
        """Update ages and states to the present time, but for runs of the logdirs that are
        ``lost``; returns whether anything shown changed."""
        now, changed, began = self._clock.now(), False, not self._watches
        self._watches = True
        for view in self._views.values():
            if view.progress is None or view.key.logdir in lost:
                continue
            fresh = aged(view.progress, now)
            if fresh is not view.progress or (began and fresh.state is RunState.STALLED):
                changed, view.progress = True, fresh
                self._note_stall(view)
        return changed


def _may_be_judged(view: RunView) -> bool:
    """Whether all points of a run are in memory, and known what they mean."""
    data = view.data
    unread = data.memory.unloaded or data.files.reading
    return not unread and view.recognition is not None
