"""Applies the rules to runs. Owned by the main thread; reads no clock."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

from rltui.catalogue.model import Infos, Recognition
from rltui.core.batch import RunKey
from rltui.core.text import Names
from rltui.health.columns import Columns, beside_others
from rltui.health.freshness import SHORT_ROWS, Freshness, Kept
from rltui.health.judge import QUIET, Outcome, judge
from rltui.health.model import Report
from rltui.health.plan import Task, make_plan, out_of_scope
from rltui.health.reference import Reference
from rltui.health.report import Answer, make_report
from rltui.health.rule import Rule
from rltui.store import RunData, Series

#: Sets of tags whose plan is kept.
_MOST_PLANS = 32
#: What variants compute of a longer tag is not kept for the next one: the medians take too much.
_SHARED_ROWS = 200_000


@dataclass(slots=True, eq=False)
class _Memory:
    """The last answers for one run, and what they were computed from."""

    run: RunData
    infos: Infos
    recognition: Recognition
    known: int
    off_axis: frozenset[str]
    version: int = -1
    plan: tuple[Task, ...] = ()
    planned: Names = ()
    unfit: frozenset[str] = frozenset()
    answers: dict[tuple[str, str], Kept] = field(default_factory=dict)
    report: Report | None = None
    waiting: bool = False


class _Item(NamedTuple):
    """A variant that is to judge a tag."""

    task: Task
    tag: str
    series: list[Series]
    """Series of the tag, and of those that it is compared with."""
    made_at: float
    """When that was done last, seconds since the epoch; 0 for never."""

    @property
    def key(self) -> tuple[str, str]:
        """Variant and tag."""
        return self.task.variant.id, self.tag


class Engine:
    """Judges runs by a fixed set of rules.

    Caches the answer of each variant for each tag of a run, keyed by epoch and length of the
    series: only what changed is computed again, and an unchanged run costs nothing.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._memory: dict[RunKey, _Memory] = {}
        self._reference: Reference | None = None
        self._plans: dict[Hashable, tuple[tuple[Task, ...], frozenset[str]]] = {}

    def apart(self) -> Engine:
        """Another engine with the same rules and reference, which has judged nothing."""
        other = Engine(self.rules)
        other.compare(self._reference)
        return other

    def compare(self, reference: Reference | None) -> None:
        """Have rules that need one judge by this reference run; None: by none."""
        if reference is not self._reference:
            self._reference = reference
            compared = {v.id for r in self.rules for v in r.variants if v.detector.reference}
            for memory in self._memory.values():
                memory.planned = ()
                memory.report = None
                memory.answers = {k: a for k, a in memory.answers.items() if k[0] not in compared}

    def forget(self, key: RunKey) -> None:
        """Begin anew with a run: judging it broke off in the middle."""
        self._memory.pop(key, None)

    def waiting(self, key: RunKey) -> bool:
        """Whether long tags of a run still have rows to be judged: evaluate it again a little
        later, even if nothing was added."""
        memory = self._memory.get(key)
        return memory is not None and memory.waiting

    def evaluate(self, run: RunData, infos: Infos, recognition: Recognition, now: float) -> Report:
        """The judgement of ``run`` by all rows it has now, but for rows of long tags that are
        :meth:`waiting`.

        ``infos`` gives the meaning of each tag; tags without an entry are not judged. ``now``
        (seconds since the epoch) paces the judging of long tags.
        """
        report = self.advance(run, infos, recognition, now, lambda: False)
        assert report is not None
        return report

    def advance(
        self,
        run: RunData,
        infos: Infos,
        recognition: Recognition,
        now: float,
        enough: Callable[[], bool],
    ) -> Report | None:
        """Judge a run in several calls: stop once ``enough`` is true, at the earliest after one
        variant has judged one tag, and go on from there when called again. None until done."""
        memory = self._recall(run, infos, recognition)
        if memory.report is not None and memory.version == run.version and not memory.waiting:
            return memory.report
        tags = tuple(infos)
        compared = self._reference is not None and self._reference.run is not run
        if memory.planned != tags:
            known = self._plan(tags, infos, recognition, compared=compared)
            memory.plan, memory.unfit = known
            memory.planned = tags
        if not self._answer_all(memory, now, enough):
            return None
        answers = [
            (task, tuple(_answer(memory, task, tag) for tag in task.tags)) for task in memory.plan
        ]
        memory.version = run.version
        questions = recognition.scenario.questions
        memory.report = make_report(run, infos, answers, questions, memory.unfit, recognition.kinds)
        if compared and self._reference is not None:
            memory.report = replace(memory.report, reference=self._reference.name)

        return memory.report

    def _answer_all(self, memory: _Memory, now: float, enough: Callable[[], bool]) -> bool:
        """Judge what must be judged, and what may wait as long as there is time. Returns False if
        something that must be judged was not."""
        stale, due = _work(memory, now)
        columns: Columns = {}
        done = 0
        last = ""
        for item in (*stale, *due):
            if done and enough():
                break
            if item.tag != last and item.series[0].count > SHORT_ROWS:
                columns = beside_others(columns)
            alone = item.series[0].count > _SHARED_ROWS
            answer = _judge(memory, item, {} if alone else columns, self._reference)
            memory.answers[item.key] = Kept.of(answer, item.series, now)
            done += 1
            last = item.tag
        memory.waiting = memory.waiting or done < len(stale) + len(due)

        return done >= len(stale)

    def _plan(
        self,
        tags: Names,
        infos: Infos,
        recognition: Recognition,
        *,
        compared: bool,
    ) -> tuple[tuple[Task, ...], frozenset[str]]:
        """The tasks of a run, and its tags that are :func:`out_of_scope`; kept, for the runs of a
        sweep have the same ones."""
        meant = tuple(
            (info.key, info.estimator, info.guessed, bool(info.own_range))
            for info in infos.values()
        )
        known = recognition
        kind = (known.framework, known.algorithm, known.scenario.id, known.scope)
        key = (tags, meant, kind, compared)
        if key not in self._plans:
            while len(self._plans) >= _MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            plan = make_plan(self.rules, tags, infos, recognition, compared=compared)
            self._plans[key] = plan, out_of_scope(self.rules, infos, recognition)

        return self._plans[key]

    def _recall(self, run: RunData, infos: Infos, recognition: Recognition) -> _Memory:
        memory = self._memory.get(run.key)
        if (
            memory is None
            or memory.run is not run
            or memory.infos is not infos
            or memory.recognition != recognition
            or memory.known != len(infos)
            or memory.off_axis != run.off_axis
        ):
            fresh = _Memory(run, infos, recognition, len(infos), run.off_axis)
            if memory is not None and memory.run is run and memory.recognition == recognition:
                # Known tags rarely change their meaning when tags are added: keep those answers.
                fresh.answers = {
                    key: kept
                    for key, kept in memory.answers.items()
                    if memory.infos is not infos and memory.infos.get(key[1]) == infos.get(key[1])
                }
            memory = self._memory[run.key] = fresh
        return memory


def _work(memory: _Memory, now: float) -> tuple[list[_Item], list[_Item]]:
    """Split the work into what must be judged now, the variants of a tag together, and what may be
    judged when there is time, the oldest answers first. Notes whether more rows wait."""
    stale = []
    due = []
    memory.waiting = False
    series_of = cache(memory.run.series)  # several variants read the same tags
    for task in memory.plan:
        for tag in task.tags:
            if _is_quiet(memory.run, task, tag):
                continue
            series = [series_of(t) for t in (tag, *task.roles.values())]
            kept = memory.answers.get((task.variant.id, tag))
            held = None if kept is None else kept.held(series)
            if held is not None:
                memory.answers[task.variant.id, tag] = held
                continue
            found = Freshness.STALE if kept is None else kept.freshness(series, now)
            if found is Freshness.CURRENT:
                continue
            item = _Item(task, tag, series, 0.0 if kept is None else kept.made_at)
            if found is Freshness.STALE or task.variant.detector.finite_is_quiet:
                stale.append(item)
            elif found is Freshness.DUE:
                due.append(item)
            else:
                memory.waiting = True
    stale.sort(key=lambda item: item.tag)
    due.sort(key=lambda item: (item.made_at, item.tag))

    return stale, due


def _is_quiet(run: RunData, task: Task, tag: str) -> bool:
    """Whether there can be nothing to find, and no badge to give."""
    quiet = task.variant.detector.finite_is_quiet and not task.variant.badge_ok
    return quiet and run.table.is_finite(tag)


def _answer(memory: _Memory, task: Task, tag: str) -> Answer:
    kept = memory.answers.get((task.variant.id, tag))
    if kept is None or _is_quiet(memory.run, task, tag):
        return Answer(tag, 1, QUIET, None)
    return kept.answer


def _judge(memory: _Memory, item: _Item, columns: Columns, reference: Reference | None) -> Answer:
    run = memory.run
    infos = memory.infos
    task = item.task
    tag = item.tag
    series = item.series[0]
    off_axis = run.off_axis if task.roles else ()
    others = {
        role: (one, infos[t])
        for (role, t), one in zip(task.roles.items(), item.series[1:], strict=True)
        if t != tag and (t in off_axis) == (tag in off_axis)
    }
    outcome: Outcome | None = None
    error: str | None = None
    given = None
    try:
        if reference is not None and task.variant.detector.reference:
            given = reference.at_rows(run, infos, tag)
        hidden = run.hidden_in_zero(tag) if task.variant.detector.exact else 0.0
        known = given, hidden, item.key in memory.answers
        outcome = judge(task.rule, task.variant, infos[tag], series, others, columns, *known)
    except Exception as problem:
        import logging  # seldom needed

        logging.getLogger(__name__).debug("rule %s failed", task.rule.id, exc_info=True)
        error = f"{type(problem).__name__}: {problem}"
    return Answer(tag, series.count, outcome, error)
