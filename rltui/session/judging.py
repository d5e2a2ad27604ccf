"""Keeps verdict and progress of the runs up to date, at bounded cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING

from rltui.catalogue import Catalogue
from rltui.config import Config
from rltui.core.batch import LogTail, RunKey
from rltui.core.clock import Clock
from rltui.core.level import RunState
from rltui.health.configured import open_rules, open_stall_rule
from rltui.health.model import Evidence, Finding, FindingState, Numbers, Report, Words
from rltui.health.stalled import StallRule, StoppedRule, WarnsRule
from rltui.session.progress import OLD_S, Progress, aged, progress, renewed
from rltui.session.run import JudgedRun, RunList
from rltui.session.tag_resolution import Interpreter

if TYPE_CHECKING:
    from rltui.health.engine import Engine

#: Verdicts take the main thread for about this long at a time: keys are answered in between.
_SLICE_S = 0.02
#: After the verdicts of live runs the next ones wait this many times as long as it took, and at
#: most this many seconds: a stream of steps is judged all the time, but for 0.5 % of it.
_REST = 200.0
_REST_S = 2.0
#: The ages of runs that are older than a day are updated this often, seconds.
_OLD_EVERY_S = 60.0
#: Most characters of a warning that is quoted.
_QUOTED = 120
#: What a fault in the making of a verdict is called.
NOT_JUDGED = "could not be judged"


class Judge:
    """Applies the rules to runs that changed, and updates their progress. Owned by the session;
    main thread only."""

    def __init__(
        self,
        config: Config,
        catalogue: Catalogue,
        interpreter: Interpreter,
        runs: RunList,
        clock: Clock,
        align: str,
    ) -> None:
        """``align``: what makes the rows of a run and of the reference run comparable."""
        self._config = config
        self._catalogue = catalogue
        self._interpreter = interpreter
        self._runs = runs
        self._align = align
        self._clock = clock
        self.stall = open_stall_rule(config)
        """How long a run may be silent, with the user's changes."""
        self._engine: Engine | None = None
        self._reference: JudgedRun | None = None
        self._dirty: dict[RunKey, None] = {}
        """Runs to be judged, in that order; those in sight come first."""
        self._unread: set[RunKey] = set()
        """Runs to be judged once they have been read to their end; the last batch marks them."""
        self.in_sight: tuple[RunKey, ...] = ()
        """Runs on the screen: they are judged before the others."""
        self._grown: set[RunKey] = set()
        """Runs that changed since their progress was last updated."""
        self._young: dict[RunKey, None] = {}
        """Runs whose age moves often."""
        self._all_aged_at = -math.inf
        """When the ages of all runs are updated next, monotonic seconds."""
        self._not_before = -math.inf
        self._took = 0.0
        """Seconds spent on the unfinished verdicts, in all their slices."""
        self._done: set[RunKey] = set()
        """Runs that were judged in these slices: what they log meanwhile waits for the next
        verdicts, or a stream of rows would be judged without a pause."""
        self._lost: Mapping[int, float] = {}
        """Numbers of the logdirs out of reach -> since when."""
        self.unfinished = False
        """Whether judging stopped because it had taken long: there is more to do at once."""

    @property
    def waiting(self) -> bool:
        """Whether some run has yet to be judged."""
        return bool(self._dirty or self._unread)

    def prepare(self) -> Engine:
        """Load the rules, if they are not. Raises DocumentError."""
        if self._engine is None:
            from rltui.health.engine import Engine  # heavy: not before the first paint

            self._engine = Engine(open_rules(self._config, self._catalogue))
        return self._engine

    def compare(self, view: JudgedRun | None) -> None:
        """Judge all runs anew, by comparison with a reference run; None: with none."""
        reference = None
        if view is not None:
            from rltui.health.reference import Alignment, Reference  # not for most runs

            current = self._runs.current_of(view)
            tokens = self._catalogue.roles.tokens
            alignment = Alignment(self._align)
            reference = Reference(current.data, current.infos, current.name, alignment, tokens)
        self.prepare().compare(reference)
        self._reference = view
        self._not_before = -math.inf
        self._took = 0.0
        self._done.clear()
        self._dirty.update(dict.fromkeys(self._runs.all))

    def mark(self, runs: Iterable[RunKey]) -> None:
        """Note that these runs changed."""
        found = dict.fromkeys(runs)
        self._dirty.update(found)
        self._grown.update(found)
        self._unread.difference_update(found)

    def judge(
        self, *, verdicts: bool = True, pace: bool = False, last: bool = False
    ) -> frozenset[RunKey]:
        """Update the runs that changed or whose rules still wait; returns which were judged.

        Without ``verdicts`` only progress is updated. With ``pace``, this takes a bounded time,
        however many runs wait, and a run that has a verdict waits for a new one after the pause
        that follows each verdict. ``last``: nothing more will come, so that no rule waits for more
        rows.
        """
        for key in self._grown:
            with self._runs.all[key].isolate_faults("progress could not be read"):
                self.renew(self._runs.all[key])
        self._young.update(dict.fromkeys(self._grown))
        self._grown.clear()
        if not verdicts:
            return frozenset()
        if not pace:
            self._done.clear()
        judged, again = self._judge_some(math.inf if last else self._clock.now(), pace=pace)
        self._done |= judged
        if self._done and not self.unfinished:
            self._not_before = self._clock.monotonic() + min(_REST_S, _REST * self._took)
            self._took = 0.0
            self._done.clear()
        self._dirty.update(dict.fromkeys(again))

        return frozenset(judged)

    def _judge_some(self, now: float, *, pace: bool) -> tuple[set[RunKey], list[RunKey]]:
        """Judge runs until the time is up; returns those that were judged, and those with rules
        that wait for more rows."""
        begun = self._clock.monotonic()
        all_rest = pace and begun < self._not_before
        resting: Container[RunKey] = self._runs.all if all_rest else self._done
        judged: set[RunKey] = set()
        again: list[RunKey] = []
        self.unfinished = False

        def enough() -> bool:
            return pace and self._clock.monotonic() - begun >= _SLICE_S

        first = filter(self._dirty.__contains__, self.in_sight)
        for key in dict.fromkeys((*first, *self._dirty)):
            view = self._runs.all[key]
            reading = view.data.files.reading
            # all points are in memory, and known what they mean
            if not (reading or view.data.unloaded or view.recognition is None):
                if key in resting and view.report is not None:
                    continue
                if (judged and enough()) or not self._evaluate(view, now, enough):
                    self.unfinished = True
                    break
                judged.add(key)
            del self._dirty[key]
            if reading:
                self._unread.add(key)
            elif self._engine is not None and self._engine.waiting(key):
                again.append(key)

        return judged, again

    @property
    def recent(self) -> list[JudgedRun]:
        """The runs that may have been written recently."""
        return [self._runs.all[key] for key in self._young]

    def renew(self, view: JudgedRun) -> None:
        """Update the progress of a run that grew, or about which an inspection found something."""
        now = self._clock.now()
        known = view.progress
        if not view.data.unloaded:
            hyper = view.hyperparameters.values
            roles = self._catalogue.roles
            points = view.points
            limits = self.stall.limits
            fresh = progress(
                *(points, view.infos, hyper, roles, now, limits), facts=view.facts, before=known
            )
        elif known is None:
            return
        else:
            fresh = renewed(known, view.data, now, view.facts)
        lost_at = self._lost.get(view.key.logdir)
        if lost_at is not None and known is not None:  # nobody knows whether it goes on
            fresh = fresh._replace(age_s=known.age_s, state=known.state, lost_at=lost_at)
        view.progress = fresh
        self._note_stall(view)

    def _evaluate(self, view: JudgedRun, now: float, enough: Callable[[], bool]) -> bool:
        """Judge a run; returns False if there was not enough time for it."""
        begun = self._clock.monotonic()
        report = None
        engine = self.prepare()
        fault = view.faults.pop(NOT_JUDGED, None)
        with view.isolate_faults(NOT_JUDGED):
            if view.sample is not None:
                view.sample = None
                self._interpreter.interpret(view)
            assert view.recognition is not None
            report = engine.advance(view.data, view.infos, view.recognition, now, enough)
            if report is not None:
                known = self._reference
                reference = None if known is None else self._runs.current_of(known)
                view.reference = None if reference is view else reference
                tails = view.data.files.tails.values()
                said = with_warning(report, tails, self.stall.warns, self._config.rules.mute)
                view.full_report = said
                view.rules = engine.rules
                self._note_stall(view)
                view.version += 1
        if NOT_JUDGED in view.faults:
            engine.forget(view.key)
            view.full_report = None
        if view.faults.get(NOT_JUDGED) != fault:
            view.version += 1
        self._took += self._clock.monotonic() - begun

        return report is not None or NOT_JUDGED in view.faults

    def _note_stall(self, view: JudgedRun) -> None:
        """Report a run that stopped writing, or that it goes on."""
        if view.full_report is None or view.progress is None:
            return
        mute = self._config.rules.mute
        report = with_stall(view.full_report, view.progress, self.stall, mute=mute)
        if report is not view.full_report:
            view.full_report = report
            view.version += 1

    def refresh_ages(self, lost: Mapping[int, float]) -> bool:
        """Update ages and states to the present time, but for runs of the logdirs that are
        ``lost`` (number -> since when); returns whether anything shown changed."""
        views = self.recent
        now = self._clock.monotonic()
        if lost != self._lost or now >= self._all_aged_at:  # else only the recent ones
            self._all_aged_at = now + _OLD_EVERY_S
            known = [(key, view.progress) for key, view in self._runs.all.items()]
            young = [key for key, p in known if p is None or (p.age_s or 0.0) < OLD_S]
            self._young = dict.fromkeys(young)
            views = list(self._runs.all.values())
        self._lost = lost
        now = self._clock.now()
        changed = False

        for view in views:
            if view.progress is None:
                continue
            with view.isolate_faults("age could not be told"):
                fresh = view.progress
                lost_at = lost.get(view.key.logdir)
                if fresh.lost_at != lost_at:
                    fresh = fresh._replace(lost_at=lost_at)
                if lost_at is None:
                    fresh = aged(fresh, now)
                if fresh is view.progress:
                    continue
                view.progress = fresh
                self._note_stall(view)
                changed = True

        return changed


def with_warning(
    report: Report, tails: Iterable[LogTail], known: WarnsRule, mute: Collection[str]
) -> Report:
    """``report`` with the finding that the log warns of it again and again, where it does."""
    from rltui.session.complaints import complaints  # heavy: most logs warn of nothing

    every = (c for tail in tails for c in complaints(tail))
    often = (c for c in every if c.times >= known.least and known.fits(c.text))
    said = None if known.id in mute else next(often, None)
    if said is None:
        return report
    facts: Numbers = {"said": shorten(said.text, _QUOTED), "times": said.times}
    evidence = Evidence("times", said.times, known.least, 0, 0, facts)
    words = Words(known.summary, known.summary, "", "")
    finding = Finding(
        *(known.id, known.title, known.level, FindingState.FIRING, None, None),
        *(None, None, None, evidence, words, known.advice),
    )
    return _with_findings(report, [*report.findings, finding])


def with_stall(
    report: Report,
    progress: Progress,
    known: StallRule,
    *,
    mute: Collection[str] = (),
) -> Report:
    """``report`` with the finding that the run is stalled or stopped too early, or without when it
    is neither; the same object when nothing changes. It stands behind all that fires: the state of
    the run shows it already, and it must not hide what went wrong before."""
    ids = [known.id, known.stopped.id]
    held = next((f for f in report.findings if f.rule in ids), None)
    found = _finding(progress, known, mute)
    if found == held:
        return report
    others = [f for f in report.findings if f.rule not in ids]

    return _with_findings(report, others if found is None else [*others, found])


def _with_findings(report: Report, findings: Iterable[Finding]) -> Report:
    """``report`` with these findings, firing ones first."""
    ordered = tuple(sorted(findings, key=lambda f: not f.fires))
    return replace(report, findings=ordered, level=report.level_with(ordered))


def _finding(progress: Progress, known: StallRule, mute: Collection[str]) -> Finding | None:
    """The finding on a run that is stalled or stopped too early; None for others."""
    step = progress.last_step or 0
    total = progress.total_steps
    if progress.state is RunState.STALLED:
        limit = progress.quiet_s
        age = max(progress.age_s or 0.0, limit)  # the age that is shown is rounded down
        pace: Numbers = {"interval_s": progress.interval_s, "limit_s": limit}
        if progress.phase is not None:
            pace |= {"phase": progress.phase.words, "phase_usual_s": progress.phase.usual_s}
        evidence = Evidence("seconds since the newest row", age, limit, step, step, pace)
        rule: StallRule | StoppedRule = known
    elif progress.state is RunState.STOPPED and total and progress.held is False:
        evidence = Evidence("last step", step, total, step, step, {"total_steps": total})
        rule = known.stopped
    else:
        return None
    if rule.id in mute:
        return None

    return Finding(
        *(rule.id, rule.title, rule.level, FindingState.FIRING, None, None),
        *(progress.last_step, progress.written_at, None, evidence, None, rule.advice),
    )
