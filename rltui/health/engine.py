"""Applies the rules to runs. Owned by the main thread; reads no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rltui.catalogue.model import Recognition, TagInfo
from rltui.core.batch import RunKey
from rltui.health.judge import Columns, Outcome, judge
from rltui.health.model import Report
from rltui.health.plan import Task, make_plan
from rltui.health.report import Answer, make_report
from rltui.health.rule import Rule
from rltui.store import RunData

#: A tag with more rows is judged again only after it has grown by a thousandth, or after
#: :data:`PATIENCE_S` per this many rows: the cost of a long live run stays bounded (240,000 rows of
#: 76 judged tags take 2 s).
LONG_ROWS = 20_000
#: Seconds per :data:`LONG_ROWS` rows after which a tag is judged again, however little it grew.
PATIENCE_S = 5.0


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
            memory.plan = make_plan(self.rules, tags, infos, recognition)
            memory.planned = tags
        memory.waiting = False
        columns: Columns = {}
        answers = [
            (task, tuple(self._answer(memory, task, tag, now, columns) for tag in task.tags))
            for task in memory.plan
        ]
        memory.version = run.version
        memory.report = make_report(run, infos, answers)
        return memory.report

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
        run, key = memory.run, (task.variant.id, tag)
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
        answer = _judge(memory, task, tag, columns)
        memory.answers[key] = _Kept(content, answer, now)
        return answer


def _judge(memory: _Memory, task: Task, tag: str, columns: Columns) -> Answer:
    run, infos = memory.run, memory.infos
    others = {role: (run.series(t), infos[t]) for role, t in task.roles.items() if t != tag}
    outcome: Outcome | None = None
    error: str | None = None
    try:
        outcome = judge(task.rule, task.variant, infos[tag], run.series(tag), others, columns)
    except Exception as problem:  # noqa: BLE001  a broken rule must not stop the program
        error = f"{type(problem).__name__}: {problem}"
    return Answer(tag, run.series(tag).count, outcome, error)
