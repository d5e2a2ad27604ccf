"""Whether verdicts follow a run that is logged otherwise: ``-m benchmarks.verdicts.invariance``.

Each labelled run of the open origins (see ``across``) is changed in many ways:

- thinned: every 2nd or 3rd row;
- cut: ends at 50 and 80 % of what follows once all findings are certain (healthy: of the run);
- resumed: a gap in its steps, or a tenth of the rows logged a second time;
- scaled, shifted rewards: all that is earned, where no scale is natural (scores from 0 to 1);
- rows: means of 2 or 3 rows as one, steps counted in samples;
- 5 % noise;
- renamed: as another framework of the same kind of training calls what the rules read;
- spliced: the end from a tenth before the failure on, after a healthy run of the same framework.

Of a sick run, all failures that were found must be found again and the worst level be the same (a
spliced one may be worse). A healthy run without a false alarm must have none. Runs that are judged
wrongly as they are have nothing to follow and are left out.

LABELS are ``labels.yaml`` files, or directories with one.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from benchmarks.machine import table
from benchmarks.verdicts.figures import share
from benchmarks.verdicts.labels import Failure, Label, arguments, by_origin, judged_rules
from benchmarks.verdicts.replay import Judge, Logged, Points, Said, rows_of
from benchmarks.verdicts.score import alarms_of, level_of, met_by
from rltui.catalogue.model import Recognition, TagInfo, select

HEAD = ("changed", "sick", "same level", "found again", "healthy", "still quiet", "bad alarm")
#: What is earned, by the beginning of its key, and what of it is a share whatever the reward.
_EARNED = ("reward.", "episode_return.", "val.reward.", "return.")
_SHARES = ("reward.zero_std_frac", "reward.filter_pass", "reward.pass_at_k", "reward.dist")
_PLACES = (None, "mean", "max", "min")
_NO_PLACES = ("reward.std", "reward.spread", "reward.kl_penalty", "return.var")
#: Other frameworks, healthy starts: at most so many for each run.
_FRAMEWORKS, _STARTS = 3, 2


@dataclass(frozen=True, slots=True)
class Subject:
    """A labelled run that is judged rightly, with what its changes depend on."""

    label: Label
    logged: Logged
    infos: Mapping[str, TagInfo]
    recognition: Recognition
    said: Sequence[Said]
    """Of the run as it is."""
    found: Sequence[Failure]
    """Demanded failures that were found."""
    random: np.random.Generator


@dataclass(frozen=True, slots=True)
class Changed:
    """A run that is logged otherwise."""

    kind: str
    logged: Logged
    framework: str | None = None
    """Whose names it has; None: as recognised."""


@dataclass(frozen=True, slots=True)
class Followed:
    """Whether the verdict on a changed run is that on the run."""

    label: Label
    kind: str
    framework: str | None
    level: bool
    """The same worst level."""
    missed: tuple[str, ...]
    """Rules of failures that are not found again."""
    alarms: Mapping[str, bool]
    """Of a healthy run: rules that speak, and whether at level bad."""

    @property
    def words(self) -> str:
        """What is wrong; empty where nothing is."""
        parts = [f"lost {rule}" for rule in self.missed]
        parts += [f"alarm {rule}{'!' if bad else ''}" for rule, bad in self.alarms.items()]
        parts += [] if parts or self.level or self.label.healthy else ["another level"]
        how = f"{self.kind} {self.framework or ''}".strip()
        return f"{self.label.corpus}/{self.label.name}, {how}: {', '.join(parts)}" if parts else ""


def logged_otherwise(subject: Subject, judge: Judge, starts: Sequence[Logged]) -> Iterator[Changed]:
    """All changes of a run, see the module; ``starts``: healthy runs of the same framework."""
    run = subject.logged
    for every, offset in ((2, 0), (2, 1), (3, 0), (3, 2)):
        yield Changed(f"thinned by {every}", run.thinned(every, offset))
    for step in _ends(subject):
        yield Changed("cut", run.until(step))
    first, last = run.span
    middle = first + subject.random.uniform(0.2, 0.8) * (last - first)
    yield Changed("resumed after a gap", run.changed(lambda p: _gap(p, middle, last - first)))
    yield Changed("resumed, rows repeated", run.changed(lambda p: _repeated(p, middle)))
    for factor, spans in ((0.01, 0.0), (100.0, 0.0), (1.0, 2.0), (1.0, -2.0)):
        earned = _earned(subject, factor, spans)
        if earned is not None:
            yield Changed("rewards shifted" if spans else "rewards scaled", earned)
    for rows in (2, 3):
        yield Changed(f"{rows} rows as one", run.changed(partial(_means, rows=rows)))
    yield Changed("steps in samples", run.changed(lambda p: (p[0] * 2048, p[1], p[2])))
    for seed in (4, 5):
        yield Changed("5 % noise", run.noisy(0.05, seed))
    yield from _renamed(subject, judge)
    if subject.found:
        yield from (Changed("spliced", s) for start in starts if (s := _spliced(subject, start)))


def _ends(subject: Subject) -> list[float]:
    """Steps at which a run may end without changing its verdict."""
    first, last = subject.logged.span
    certain = max((s.certain or first for s in subject.said if subject.found), default=first)
    return [certain + part * (last - certain) for part in (0.5, 0.8)]


def _gap(points: Points, middle: float, span: int) -> Points:
    return points[0] + np.where(points[0] > middle, span, 0), points[1], points[2]


def _repeated(points: Points, middle: float) -> Points:
    """Resumed from a checkpoint: a tenth of the rows before the middle come again."""
    at = int(np.searchsorted(points[0], middle, side="right"))
    back = max(3, len(points[0]) // 10)
    again = np.arange(max(0, at - back), len(points[0]))
    return rows_of(points, np.concatenate([np.arange(at), again]) if at >= back else again)


def _means(points: Points, rows: int) -> Points:
    """``rows`` rows as one: their mean, at the step of the last one."""
    count = len(points[0]) // rows
    last = rows_of(points, np.arange(1, count + 1) * rows - 1)
    means = points[2][: count * rows].astype(np.float64).reshape(count, rows).mean(axis=1)
    return last[0], last[1], means


def _earned(subject: Subject, factor: float, spans: float) -> Logged | None:
    """With all that is earned multiplied by ``factor``, then moved by so many of its spans; None
    where nothing is, or its scale is natural."""
    keys = {t: info.metric for t, info in subject.infos.items() if t in subject.logged.tags}
    earned = {
        t: metric
        for t, metric in keys.items()
        if metric and metric.key.startswith(_EARNED) and metric.key not in _SHARES
    }
    places = [t for t, m in earned.items() if m.stat in _PLACES and m.key not in _NO_PLACES]
    known = [x[np.isfinite(x)] for t in places if len(x := subject.logged.tags[t][2])]
    if any(x.size and x.min() >= 0.0 and x.max() <= 1.0 for x in known):
        return None
    values = np.concatenate(known) if known else np.empty(0)
    if not values.size or (spans and len(places) < len(earned)):
        return None
    move = spans * float(values.max() - values.min())

    def change(tag: str, points: Points) -> Points:
        moved = move if tag in places else 0.0
        return points[0], points[1], points[2].astype(np.float64) * factor + moved

    tags = {t: change(t, p) if t in earned else p for t, p in subject.logged.tags.items()}
    return replace(subject.logged, tags=tags)


def _renamed(subject: Subject, judge: Judge) -> Iterator[Changed]:
    """By the names of other frameworks that have one for all that the findings rest on and for
    what shows success; what they have no name for is left out."""
    infos = [i for i in subject.infos.values() if i.metric]
    logged = {i.metric.key for i in infos if i.metric}
    keys = {s.metric for s in subject.said}
    keys |= set(select(subject.recognition.scenario.headline, logged)[:1])
    needed = {(i.metric.key, i.estimator) for i in infos if i.metric and i.metric.key in keys}
    others = [d for d in judge.catalogue.dialects if d != subject.recognition.framework]
    count = 0
    for framework in subject.random.permutation(others).tolist():
        names = _names(judge, framework, subject.recognition)
        if count < _FRAMEWORKS and names and needed <= names.keys():
            tags = dict(_under(names, subject))
            count += 1
            yield Changed("renamed", replace(subject.logged, tags=tags), framework)


@lru_cache(maxsize=2000)
def _names(
    judge: Judge, framework: str, known: Recognition
) -> Mapping[tuple[str, str | None], TagInfo]:
    """(metric key, estimator) -> how a framework logs it; empty for another kind of training."""
    found = judge.catalogue.recognise((), framework=framework, algorithm=known.algorithm)
    if found.scenario.id != known.scenario.id:
        return {}
    resolver = judge.catalogue.resolver(framework, known.algorithm, known.scenario.id)
    out: dict[tuple[str, str | None], TagInfo] = {}
    for name in sorted(resolver.names):
        info = resolver.resolve(name)
        if info.metric is not None:
            out.setdefault((info.metric.key, info.estimator), info)
    return out


def _under(
    names: Mapping[tuple[str, str | None], TagInfo], subject: Subject
) -> Iterator[tuple[str, Points]]:
    for tag, (steps, walls, values) in subject.logged.tags.items():
        info = subject.infos.get(tag)
        if info is None or info.metric is None:
            yield tag, (steps, walls, values)
        elif (other := names.get((info.metric.key, info.estimator))) is not None:
            factor = info.sign * info.scale / (other.sign * other.scale)
            yield other.tag, (steps, walls, values.astype(np.float64) * factor)


def _spliced(subject: Subject, start: Logged) -> Logged | None:
    """A healthy run that ends like the sick one; None where that was sick from its beginning, or
    the healthy one does not log what is sick."""
    first, last = subject.logged.span
    begins = min(f.visible_from for f in subject.found) - 0.1 * (last - first)
    rules = {rule for f in subject.found for rule in f.rules}
    read = {s.metric for s in subject.said if s.rule in rules}
    sick = {t for t, i in subject.infos.items() if i.metric and i.metric.key in read}
    if begins <= first or not sick or not sick <= start.tags.keys():
        return None
    shift = start.span[1] + 1 - int(begins)

    def joined(tag: str, end: Points) -> Points:
        at = int(np.searchsorted(end[0], begins))
        tail = end[0][at:] + shift, end[1][at:], end[2][at:]
        if tag not in start.tags:
            return tail
        steps, walls, values = (np.concatenate(x) for x in zip(start.tags[tag], tail, strict=True))
        return steps, walls, values

    tags = {t: joined(t, p) for t, p in subject.logged.tags.items()}
    return replace(subject.logged, tags={t: p for t, p in tags.items() if len(p[0])})


def follow(subject: Subject, changed: Changed, judge: Judge, known: frozenset[str]) -> Followed:
    """Judge a changed run, and compare."""
    algorithm = subject.recognition.algorithm if changed.framework else None
    said = judge.judge(changed.logged, changed.framework, algorithm)
    rules = {s.rule for s in said}
    level, before = level_of(said), level_of(subject.said)
    return Followed(
        subject.label,
        changed.kind,
        changed.framework,
        level == before or (changed.kind == "spliced" and level > before),
        tuple(f.rule for f in subject.found if not rules & set(f.rules)),
        alarms_of(subject.label, said, known) if subject.label.healthy else {},
    )


_judge: Judge | None = None
_read: Callable[[Path], list[Logged]]


def _follow_all(job: tuple[Label, Sequence[Label], frozenset[str]]) -> list[Followed]:
    global _judge, _read  # noqa: PLW0603 - one per process: documents and starts are read once
    if _judge is None:
        _judge = Judge()
        _read = lru_cache(maxsize=20)(_judge.read)
    label, healthy, known = job
    runs = _read(label.path)
    starts = [run for x in healthy for run in _read(x.path)[:1]]
    if len(runs) != 1 or (subject := _subject(label, runs[0], _judge, known)) is None:
        return []
    changes = logged_otherwise(subject, _judge, starts)
    return [follow(subject, changed, _judge, known) for changed in changes if changed.logged.tags]


def _subject(label: Label, logged: Logged, judge: Judge, known: frozenset[str]) -> Subject | None:
    said = judge.judge(logged)
    found = [failure for failure, by in met_by(label, said) if by]
    if alarms_of(label, said, known) if label.healthy else not found:
        return None
    view = judge.view(logged)
    assert view.recognition is not None
    random = np.random.default_rng(zlib.crc32(label.name.encode()))
    return Subject(label, logged, view.infos, view.recognition, said, found, random)


def _jobs(
    origins: Mapping[str, Sequence[Label]],
) -> Iterator[tuple[Label, Sequence[Label], frozenset[str]]]:
    """Each run with healthy ones of its framework, those of its origin first."""
    labels = [label for found in origins.values() for label in found]
    known = judged_rules(labels)
    healthy = [x for x in labels if x.healthy]
    for found in origins.values():
        for label in found:
            near = [x for x in found if x.healthy]
            near += [x for x in healthy if x.framework == label.framework and x not in near]
            yield label, () if label.healthy else near[:_STARTS], known


def report(found: Sequence[Followed]) -> list[str]:
    """The table: a row for each kind of change, then one for all."""
    kinds = dict.fromkeys(f.kind for f in found)
    rows = [_row(kind, [f for f in found if f.kind == kind]) for kind in kinds]
    return table(HEAD, [*rows, _row("all", found)])


def _row(name: str, found: Sequence[Followed]) -> tuple[str, ...]:
    sick = [f for f in found if not f.label.healthy]
    healthy = [f for f in found if f.label.healthy]
    return (
        name,
        str(len(sick)),
        share(sum(f.level for f in sick), len(sick)),
        share(sum(not f.missed for f in sick), len(sick)),
        str(len(healthy)),
        share(sum(not f.alarms for f in healthy), len(healthy)),
        str(sum(any(f.alarms.values()) for f in healthy)),
    )


def main() -> int:
    """Judge all variants of the labelled runs, and print the table."""
    parser = arguments(".invariance", __doc__)
    parser.add_argument("--details", action="store_true", help="also what does not follow")
    options = parser.parse_args()
    jobs = list(_jobs(by_origin(options.labels, sealed=False)))
    with ProcessPoolExecutor(options.jobs) as pool:
        found = [f for each in pool.map(_follow_all, jobs) for f in each]
    lines = [*report(found), *(f.words for f in found if options.details and f.words)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
