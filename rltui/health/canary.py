"""Would an alarm fire? Failures are put into a copy of a run, and its rules judge that.

How a failure looks stands in the cases of its rules. They are brought to level, range and noise of
the run, as ``data/canary.yaml`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Infos, Limits, Recognition, TagInfo
from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Direction, Level
from rltui.core.medians import usual_change
from rltui.core.text import Names, counted
from rltui.core.yaml_record import shipped_record
from rltui.health.cases import case_run, parse_series, run_of, series_parts
from rltui.health.judge import Outcome, judge
from rltui.health.limits import COURSE_ROWS, NOISE_ROWS, VISIBLE
from rltui.health.plan import Task, make_plan
from rltui.health.rule import Case, Rule, Variant, When
from rltui.health.symptoms import Harm, Symptom, symptoms
from rltui.store import RunData

#: Rows of a run that say how it is, and for which a failure develops at most; fewest of them.
NEWEST = 200
LEAST = COURSE_ROWS
#: Beyond the limit it is so many times as far from zero.
_FAR = 2.0
#: Steps and values (n,), in the unit of the metric.
_Rows = tuple[IntArray, FloatArray]


class Measure(Enum):
    """Yardstick by which a detector measures a value; see ``data/canary.yaml``."""

    UNIT = "unit"
    LEVEL = "level"
    RANGE = "range"
    COURSE = "course"


class Knowledge(NamedTuple):
    """``data/canary.yaml``; see there for the meaning of each field."""

    measure: Mapping[str, Measure]
    needs: Mapping[str, Names]


def knowledge() -> Knowledge:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(Knowledge, "health", "data", "canary.yaml")


def _measure(task: Task) -> Measure:
    known = knowledge().measure
    return next(
        (known[r] for r in task.variant.roles if r in known), known[task.variant.detector.name]
    )


class Failure(NamedTuple):
    """A symptom, and what there is in a run to see it by."""

    symptom: Symptom
    watched: tuple[Task, ...]
    """Rules that can see it, each with the tags that show it."""
    lacking: Names
    """Metric keys, the first of which would show it; empty where it can be seen."""


class Trial(NamedTuple):
    """Response of a rule to a failure."""

    rule: Rule
    variant: Variant
    tag: str
    level: Level
    """OK where it stayed silent."""
    rows: int | None
    """Rows of the failure until it spoke; 0 where it fires in the run already, None for never."""
    why: str = ""
    """Why it stayed silent, where the tag shows it."""
    early: bool = False
    """Whether the tag has too few rows to try it."""


def failures(rules: Iterable[Rule], infos: Infos, run: Recognition) -> tuple[Failure, ...]:
    """The failures that such a run can have, and by its names can show or not: the worst first.

    Not those of what it does not have: of whose metrics it logs none, and its kind of training is
    asked for none.
    """
    keys = {i.key for i in infos.values()} - {""}
    plan = make_plan(rules, infos, infos, run)
    gaps = _gaps(plan, keys, run)
    known = [s for s in symptoms().values() if s.together == 1 and s.is_about(keys)]
    found: dict[str, Failure] = {}
    for task in plan:
        absent = _absent(task)
        for name, shown in _shown(task, infos, known).items():
            before = found.get(name, Failure(symptoms()[name], (), ()))
            if task.tags and not absent:
                watched = (*before.watched, task._replace(tags=shown))
                found[name] = before._replace(watched=watched, lacking=())
            elif not before.watched:
                more = gaps(task, before.symptom, absent if task.tags else shown)
                found[name] = before._replace(lacking=(*dict.fromkeys([*before.lacking, *more]),))
    worst = list(Harm)
    every = sorted(found.values(), key=lambda f: (worst.index(f.symptom.harm), f.symptom.order))
    return tuple(f for f in every if f.watched or f.lacking)


def _gaps(
    plan: Iterable[Task], keys: Iterable[str], run: Recognition
) -> Callable[[Task, Symptom, Iterable[str]], list[str]]:
    """Picks of the metrics that a run does not log those that it lacks."""
    common = {_kind(k) for t in plan if t.tags and not t.rule.seldom for k in t.variant.metrics}
    own = {_kind(k) for k in keys} - common
    asked = {*run.scenario.reward}.union(*(q.keys for q in run.scenario.questions))
    training = {(run.algorithm or "").lower(), run.scenario.id}

    def gaps(task: Task, symptom: Symptom, absent: Iterable[str]) -> list[str]:
        """Metrics that its kind of training is asked for, or of whose kind the run logs others."""
        if task.variant.detector.finite_is_quiet:
            return []  # what is not logged is not wrong
        meant = not (task.rule.seldom or training & {*symptom.not_for})
        return [k for k in absent if _kind(k) in own or (meant and k in asked)]

    return gaps


def _kind(key: str) -> str:
    return key.partition(".")[0]


def _absent(task: Task) -> Names:
    """The metrics that a task needs beside its tags and does not have, any of which would do."""
    alone = {*task.tags} if len(task.tags) == 1 else set()
    needs = knowledge().needs
    for need in (*needs["any"], *needs.get(task.variant.detector.name, ())):
        roles = [r for r in need.split("|") if r in task.variant.roles]
        here = {t for r, t in task.roles.items() if {r, f"{r.split()[0]}*"} & {*roles}}
        if roles and not here - alone:
            return task.variant.roles[roles[0]]
    return ()


def _shown(task: Task, infos: Infos, known: Sequence[Symptom]) -> dict[str, Names]:
    """Id of the symptoms that a task shows -> its tags that do; without tags, of those that it
    would show -> the metrics that would."""
    found: dict[str, Names] = {}
    for name in task.tags or [k for k in task.variant.metrics if "*" not in k]:
        key = infos[name].key if task.tags else name
        for symptom in known:
            if symptom.shown_by(task.rule.id, key, task.variant.title):
                found[symptom.id] = (*found.get(symptom.id, ()), name)
                break
    return found


class _Picture(NamedTuple):
    """How a failure looks to one variant of a rule: a case."""

    case: Case
    series: Mapping[str, FloatArray]
    key: str
    """The series that is judged."""
    begin: int
    """Rows before it begins; 0 where the whole case is the failure."""
    level: Level
    rows: int
    """Rows of it until the variant speaks."""
    found: bool
    """Whether it speaks: the user may have set limits wider than any case goes."""


class Canary:
    """Tries the rules on one run after the other; remembers how failures look."""

    def __init__(self) -> None:
        self._pictures: dict[str, list[_Picture]] = {}

    def tries(
        self, failure: Failure, run: RunData, infos: Infos, known: Recognition
    ) -> list[Trial]:
        """Inject a failure, once for each rule that can see it: the rule that speaks first leads.

        Leaves out rules without a case.
        """
        found = []
        for task in failure.watched:
            pictures = self._pictures.get(task.variant.id)
            if pictures is None:
                pictures = self._pictures[task.variant.id] = [*_pictures(task)]
            first = sorted(pictures, key=lambda p: _order(p, task, known))[:1]
            found += [_tried(task, p, run, infos) for p in first]
        return sorted(found, key=lambda t: (t.rows is None, -t.level, t.rows or 0))


def _pictures(task: Task) -> Iterator[_Picture]:
    """The cases in which the variant finds something, and those that it reads."""
    variant = task.variant._replace(when=When())  # it applies to the run; that is enough
    rule = replace(task.rule, variants=(variant,))
    for case in task.rule.read_cases():
        if case.expect is Level.OK or case.reference:
            continue
        series = {key: parse_series(text) for key, text in case.series.items()}
        _, infos, training = case_run(series, estimator=case.estimator)
        plan = make_plan((rule,), infos, infos, training)
        tried = (part._replace(tags=(tag,)) for part in plan for tag in part.tags)
        shown = [_picture(part, case, series, infos) for part in tried]
        yield from sorted(shown, key=lambda picture: not picture.found)[:1]


def _picture(task: Task, case: Case, series: Mapping[str, FloatArray], infos: Infos) -> _Picture:
    """The case as one of its series shows it; after its first word where nothing is found."""
    rows = {k: (np.arange(1, len(x) + 1, dtype=np.int64), x) for k, x in series.items()}
    key = task.tags[0]
    begin = 0
    certain = len(series[key])
    level = case.expect
    since = 0
    finding = next(iter(_judged(task, rows, infos).findings), None)
    ends = np.cumsum([len(part) for part in series_parts(case.series[key])]).tolist()
    if finding is not None:
        certain = certain if finding.certain_step is None else finding.certain_step
        level = finding.evidence.worst or finding.level
        since = finding.since_step or 0
    elif ends[1:]:
        since = ends[0] + 1
    if _measure(task) is not Measure.COURSE:
        begin = max((n for n in ends if n < since), default=0)
    return _Picture(case, series, key, begin, level, certain - begin, finding is not None)


def _order(p: _Picture, task: Task, run: Recognition) -> tuple[float, ...]:
    """The place of a picture by how much it shows about such a run: first those that begin in a
    healthy run, with what it logs beside, of its kind of training, bad, and at once."""
    other = p.case.scenario != run.scenario.id
    return not p.found, not p.begin, -len(_players(task, p)), other, -p.level, p.rows


def _players(task: Task, picture: _Picture) -> dict[str, str]:
    """Series of the case -> tag of the run that plays its part."""
    players = {picture.key: task.tags[0]}
    for key in picture.series:
        name = key.partition("#")[0]
        for role, tag in task.roles.items():
            patterns = task.variant.roles.get(role) or task.variant.roles.get(
                f"{role.split()[0]}*", ()
            )
            free = key not in players and tag not in players.values()
            if free and any(fnmatchcase(name, pattern) for pattern in patterns):
                players[key] = tag
    return players


class _Copy(NamedTuple):
    """Newest rows of a run, with those of a failure after them, or a failure from the start."""

    rows: Mapping[str, _Rows]
    """Tag -> steps and values (n,), in the unit of the metric."""
    steps: IntArray
    """(m,) of the failure."""


def _injected(task: Task, picture: _Picture, run: RunData, infos: Infos) -> _Copy:
    """The copy of a run in which a failure begins."""
    tag = task.tags[0]
    measure = _measure(task)
    players = _players(task, picture)
    steps, own = _newest(run, infos[tag], NEWEST)
    stride = max(1, int(np.median(np.diff(steps)))) if len(steps) > 1 else 1
    if not picture.begin:
        after = steps[0] + stride * np.arange(len(picture.series[picture.key]), dtype=np.int64)
        whole = {t: _padded(picture.series[k], len(after)) for k, t in players.items()}
        return _Copy({t: (after, x) for t, x in whole.items()}, after)

    base = {t: _newest(run, infos[t], 0, int(steps[0])) for t in task.roles.values()}
    base = {tag: (steps, own), **{t: rows for t, rows in base.items() if len(rows[0])}}
    cases = {t: np.split(picture.series[k], [picture.begin]) for k, t in players.items()}
    stretch = max(1.0, len(steps) / picture.begin)
    length = len(_lasting(cases[tag][1], stretch))
    last = max(int(before[-1]) for before, _ in base.values())
    after = last + stride * np.arange(1, length + 1, dtype=np.int64)
    by = {t: m for t, m in _measures(task).items() if t in cases}
    out = {}
    for name, (before, x) in base.items():
        values = np.resize(x[-NOISE_ROWS:], length)  # it goes on as before
        if name in by:
            healthy, ill = cases[name]
            values = _scaled(by[name], healthy, _padded(_lasting(ill, stretch), length), x)
        if name == tag and measure is not Measure.RANGE:
            every = np.concatenate([x, *cases[tag]])
            most = 1.0 if every.min() >= 0 and every.max() <= 1 else np.inf  # a share
            values = _beyond(values, x, _limits(task, base, infos), most)
        out[name] = np.concatenate([before, after]), np.concatenate([x, values])
    return _Copy(out, after)


def _measures(task: Task) -> dict[str, Measure]:
    """Tag -> what its failure is measured by: of a second sign with a limit of its own, the
    unit."""
    measure = _measure(task)
    beside = Measure.RANGE if measure is Measure.UNIT else measure
    limits = {name for level in task.variant.levels.values() for name in level}
    roles = task.roles.items()
    found = {t: Measure.UNIT if f"least_{r}" in limits else beside for r, t in roles}
    return found | {task.tags[0]: measure}


def _newest(run: RunData, info: TagInfo, most: int, since: int | None = None) -> _Rows:
    """Steps and finite values of the newest rows, in the unit of the metric: of ``most``, or since
    a step, with the one before it."""
    steps, x = run.series(info.tag).finite()
    first = -most if since is None else max(0, int(np.searchsorted(steps, since)) - 1)
    return steps[first:], x[first:] * info.factor


def _padded(x: FloatArray, length: int) -> FloatArray:
    """(``length``,) of these values, the last one again and again."""
    return np.pad(x[:length], (0, max(0, length - len(x))), "edge")


def _level(x: FloatArray) -> float:
    return float(np.median(x[-NOISE_ROWS:]))


def _lasting(ill: FloatArray, stretch: float) -> FloatArray:
    """A failure that develops so many times as slowly, and then stays."""
    n = min(NEWEST, round(len(ill) * stretch))
    x = np.interp(np.linspace(0.0, len(ill) - 1.0, n), np.arange(len(ill)), ill)
    return np.concatenate([x, np.resize(ill[-max(1, len(ill) // 4) :], max(NEWEST - n, n // 2))])


def _scaled(measure: Measure, healthy: FloatArray, ill: FloatArray, own: FloatArray) -> FloatArray:
    """The values (n,) of a failure in a run whose values were ``own``, where in its case they were
    ``healthy``."""
    level = _level(own)
    usual = float(np.median(healthy))
    noise = np.resize(own[-NOISE_ROWS:], len(ill))
    if measure is Measure.UNIT or (measure is Measure.LEVEL and not (level and usual)):
        return ill
    if measure is Measure.LEVEL:
        return ill / usual * noise
    differ = usual_change(own) if len(own) > 1 else 0.0
    reach = max(float(np.ptp(own)), VISIBLE * differ) or abs(level) or 1.0
    lost = (float(healthy.max()) - ill) / (float(np.ptp(healthy)) or 1.0)
    x = float(own.max()) - lost * reach
    if np.ptp(ill):
        x += noise - level
    return np.where((ill == 0) & (own.min() >= 0), 0.0, x)  # nothing is nothing everywhere


def _limits(task: Task, base: Mapping[str, _Rows], infos: Infos) -> Limits:
    """(low, high) that the variant gives the tag now, the worst ones, in the unit of the metric."""
    info = infos[task.tags[0]]
    said = _judged(task, base, infos).judgement.limits
    ends = [limit.shown for limit in reversed(said)]
    low = next((low * info.scale for low, _ in ends if low is not None), None)
    high = next((high * info.scale for _, high in ends if high is not None), None)
    if low is high is None:  # not every one draws the least value that counts
        return None, task.variant.levels[max(task.variant.levels)].get("floor")
    return low, high


def _beyond(values: FloatArray, own: FloatArray, limits: Limits, most: float) -> FloatArray:
    """Values that go well beyond the limit on their side, if there is one; ``most`` is as far as
    they can go."""
    low, high = limits
    level = _level(own)
    end = _level(values)
    up = high is not None and (low is None or end > level)
    limit = high if up else low
    if limit is None or not np.isfinite(values).all():
        return values
    far = min(most, limit * _FAR if (limit > 0) == up else limit / _FAR)
    if (end >= far) if up else (end <= far):
        return values
    if end == level:
        return np.full(len(values), far)
    return level + (values - level) * (far - level) / (end - level)


def _judged(task: Task, rows: Mapping[str, _Rows], infos: Infos) -> Outcome:
    """Judge these rows, which are in the unit of the metric, by the variant."""
    run = run_of({t: (n, x / infos[t].factor) for t, (n, x) in rows.items()})
    tag = task.tags[0]
    beside = rows.keys() - {task.tags[0]}
    others = {r: (run.series(t), infos[t]) for r, t in task.roles.items() if t in beside}
    return judge(task.rule, task.variant, infos[tag], run.series(tag), others)


def _tried(task: Task, picture: _Picture, run: RunData, infos: Infos) -> Trial:
    tag = task.tags[0]
    if task.variant.detector.rising and infos[tag].direction is Direction.DOWN:
        flipped = replace(infos[tag], sign=-infos[tag].sign, direction=Direction.UP)
        infos = {**infos, tag: flipped}
    _, own = _newest(run, infos[tag], NEWEST)
    silent = Trial(task.rule, task.variant, tag, Level.OK, None)
    if len(own) < COURSE_ROWS:
        return silent._replace(why=f"{counted(len(own), 'row')} so far", early=True)
    copy = _injected(task, picture, run, infos)
    for finding in _judged(task, copy.rows, infos).findings:
        certain = copy.steps[-1] if finding.certain_step is None else finding.certain_step
        if certain >= copy.steps[0] or finding.fires:
            level = finding.evidence.worst or finding.level
            rows = int(np.searchsorted(copy.steps, certain, "right"))
            return silent._replace(level=level, rows=rows)
    usual = _level(own)
    reach = float(np.ptp(own))
    is_low = reach > 0 and 4 * (usual - own.min()) <= reach
    if _measure(task) is Measure.RANGE and is_low:
        return silent._replace(why="it is near its lowest")
    return silent._replace(why="" if usual else "it is 0 now")
