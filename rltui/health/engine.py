"""Applies the rules to runs. Owned by the main thread; reads no clock."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from rltui.catalogue.model import Recognition, TagInfo
from rltui.core.batch import RunKey
from rltui.core.level import Level
from rltui.health.judge import Columns, Outcome, judge
from rltui.health.model import Judgement, Report
from rltui.health.plan import Task, make_plan
from rltui.health.reference import Reference
from rltui.health.report import Answer, make_report
from rltui.health.rule import Rule
from rltui.store import RunData

#: A tag with more rows is judged again only after it has grown by a thousandth, or after
#: :data:`PATIENCE_S` per this many rows: the cost of a long live run stays bounded (240,000 rows of
#: 76 judged tags take 2 s).
LONG_ROWS = 20_000
#: The answer of a variant that found nothing and gives no badge.
QUIET = Outcome(True, (), Judgement(Level.OK), 0)
#: Seconds per :data:`LONG_ROWS` rows after which a tag is judged again, however little it grew.
PATIENCE_S = 5.0
#: Sets of tags whose plan is kept.
_MOST_PLANS = 32


@dataclass(slots=True, eq=False)
class _Memory:
    """The last answers for one run, and what they were computed from."""

    run: RunData
    infos: Mapping[str, TagInfo]
    recognition: Recognition
    known: int
    version: int = -1
    plan: tuple[Task, ...] = ()
    planned: tuple[str, ...] = ()
    answers: dict[tuple[str, str], _Kept] = field(default_factory=dict)
    report: Report | None = None
    waiting: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """An answer and the series that it was computed from."""

    content: tuple[tuple[int, int], ...]
    """Epoch and length of each series."""
    answer: Answer
    made_at: float


class Engine:
    """Judges runs by a fixed set of rules.

    Caches the answer of each variant for each tag of a run, keyed by epoch and length of the
    series: only what changed is computed again, and an unchanged run costs nothing.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._memory: dict[RunKey, _Memory] = {}
        self._reference: Reference | None = None
        self._plans: dict[Hashable, tuple[Task, ...]] = {}

    def compare(self, reference: Reference | None) -> None:
        """Have rules that need one judge by this reference run; None: by none."""
        if reference is not self._reference:
            self._reference = reference
            compared = {v.id for r in self.rules for v in r.variants if v.detector.reference}
            for memory in self._memory.values():
                memory.planned, memory.report = (), None
                memory.answers = {k: a for k, a in memory.answers.items() if k[0] not in compared}

    def waiting(self, key: RunKey) -> bool:
        """Whether very long tags of a run still have rows to be judged: evaluate it again a little
        later, even if nothing was added."""
        memory = self._memory.get(key)
        return memory is not None and memory.waiting

    def evaluate(
        self, run: RunData, infos: Mapping[str, TagInfo], recognition: Recognition, now: float
    ) -> Report:
        """The judgement of ``run`` by all rows it has now.

        ``infos`` gives the meaning of each tag; tags without an entry are not judged. ``now``
        (seconds since the epoch) paces the judging of very long tags.
        """
        memory = self._recall(run, infos, recognition)
        if memory.report is not None and memory.version == run.version and not memory.waiting:
            return memory.report
        tags = tuple(infos)
        if memory.planned != tags:
            compared = self._reference is not None and self._reference.run is not run
            memory.plan = self._plan(tags, infos, recognition, compared=compared)
            memory.planned = tags
        memory.waiting = False
        columns: Columns = {}
        answers = [
            (task, tuple(self._answer(memory, task, tag, now, columns) for tag in task.tags))
            for task in memory.plan
        ]
        memory.version = run.version
        vital = tuple(k for q in recognition.scenario.questions for k in q.metrics)
        memory.report = make_report(run, infos, answers, vital)
        if self._reference is not None and self._reference.run is not run:
            memory.report = replace(memory.report, reference=self._reference.name)
        return memory.report

    def _plan(
        self,
        tags: tuple[str, ...],
        infos: Mapping[str, TagInfo],
        recognition: Recognition,
        *,
        compared: bool,
    ) -> tuple[Task, ...]:
        """The tasks of a run; kept, for the runs of a sweep have the same ones."""
        meant = tuple(
            (info.metric.key if info.metric else None, info.estimator) for info in infos.values()
        )
        kind = (recognition.framework, recognition.algorithm, recognition.scenario.id)
        key = (tags, meant, kind, compared)
        if key not in self._plans:
            while len(self._plans) >= _MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = make_plan(self.rules, tags, infos, recognition, compared=compared)
        return self._plans[key]

    def _recall(
        self, run: RunData, infos: Mapping[str, TagInfo], recognition: Recognition
    ) -> _Memory:
        memory = self._memory.get(run.key)
        if (
            memory is None
            or memory.run is not run
            or memory.infos is not infos
            or memory.recognition != recognition
            or memory.known != len(infos)
        ):
            fresh = _Memory(run, infos, recognition, len(infos))
            if memory is not None and memory.run is run and memory.recognition == recognition:
                # Known tags rarely change their meaning when tags are added: keep those answers.
                fresh.answers = {
                    key: kept
                    for key, kept in memory.answers.items()
                    if memory.infos is not infos and memory.infos.get(key[1]) == infos.get(key[1])
                }
            memory = self._memory[run.key] = fresh
        return memory

    def _answer(
        self, memory: _Memory, task: Task, tag: str, now: float, columns: Columns
    ) -> Answer:
        run, variant, key = memory.run, task.variant, (task.variant.id, tag)
        quiet = variant.detector.finite_is_quiet and not variant.badge_ok
        if quiet and variant.min_points == 1 and run.table.is_finite(tag):
            return Answer(tag, 1, QUIET, None)
        series = [run.series(t) for t in (tag, *task.roles.values())]
        content = tuple((s.epoch, s.count) for s in series)
        kept = memory.answers.get(key)
        if kept is not None:
            if kept.content == content:
                return kept.answer
            rows, judged = series[0].count, kept.answer.rows
            if (
                rows > LONG_ROWS
                and not task.variant.detector.all_rows
                and 0 <= rows - judged < rows // 1000
                and 0 <= now - kept.made_at < PATIENCE_S * rows / LONG_ROWS
            ):
                memory.waiting = True
                return kept.answer
        if series[0].count > LONG_ROWS:
            columns = {}  # kept for a whole pass, the medians of long tags would take too much
        answer = _judge(memory, task, tag, columns, self._reference)
        memory.answers[key] = _Kept(content, answer, now)
        return answer


def _judge(
    memory: _Memory, task: Task, tag: str, columns: Columns, reference: Reference | None
) -> Answer:
    run, infos = memory.run, memory.infos
    series = run.series(tag)
    others = {
        role: (run.series(t), infos[t])
        for role, t in task.roles.items()
        if t != tag and (t in run.off_axis) == (tag in run.off_axis)
    }
    outcome: Outcome | None = None
    error: str | None = None
    given = None
    try:
        if reference is not None and task.variant.detector.reference:
            given = reference.at_rows(run, infos, tag)
        outcome = judge(task.rule, task.variant, infos[tag], series, others, columns, given)
    except Exception as problem:  # noqa: BLE001  a broken rule must not stop the program
        error = f"{type(problem).__name__}: {problem}"
    return Answer(tag, series.count, outcome, error)
