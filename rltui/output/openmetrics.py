"""Verdicts as gauges for Prometheus: ``check --format openmetrics`` and ``serve-metrics``.

Only gauges, without timestamps, so that the same text is valid OpenMetrics 1.0.0, and valid in the
text format 0.0.4, which the textfile collector of node_exporter takes.

The number of series is bounded: :data:`MOST_RUNS` runs, the worst first, then those that wrote
last; :data:`MOST_METRICS` metrics of each; label values of at most :data:`MOST_LETTERS` letters
without control characters; of a longer one the end is replaced by a checksum of the whole. A run is
named by its logdir and its path below it, which no other run can change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from zlib import crc32

from rltui.core.fault import NOT_SHOWN
from rltui.core.level import Level, RunState, worst
from rltui.core.text import clean
from rltui.session import RunView, Session

MOST_RUNS = 200
MOST_METRICS = 20
MOST_LETTERS = 200

#: Numbers that Python spells differently.
_SPELLED = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}
_LEVELS = "-1 not judged, 0 ok, 1 watch, 2 bad"


def openmetrics(session: Session, metrics: Sequence[str] = ()) -> str:
    """The verdict on all runs, ending in ``# EOF``.

    ``metrics`` are keys of the catalogue whose newest values are given; without them the headline
    metrics of each run.
    """
    runs = session.runs()
    shown = _Shown(session, _chosen(runs))
    gauges = chain(
        _totals(session, runs, len(runs) - len(shown.runs)),
        _verdicts(shown),
        _standing(shown),
        _values(shown, metrics),
    )
    return "".join(g.text() for g in gauges) + "# EOF\n"


class _Gauge:
    """A family of gauges; label values are made harmless. One of runs (``run_...``) has the labels
    that name the run before its own."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        named = ("logdir", "run") if name.startswith("run_") else ()
        self._name, self._help, self._labels = f"rltui_{name}", text, (*named, *labels)
        self._samples: dict[tuple[str, ...], float] = {}

    def add(self, value: float | None, *labels: str) -> None:
        """A sample; none where the value is not known. Two with the same labels would make the
        whole page invalid: the first counts."""
        if value is not None:
            self._samples.setdefault(tuple(map(_label, labels)), float(value))

    def text(self) -> str:
        """Its lines."""
        lines = [f"# HELP {self._name} {self._help}", f"# TYPE {self._name} gauge"]
        for values, value in self._samples.items():
            pairs = ",".join(f'{k}="{v}"' for k, v in zip(self._labels, values, strict=True))
            name = f"{self._name}{{{pairs}}}" if pairs else self._name
            lines.append(f"{name} {_SPELLED.get(str(value), value)}")
        return "".join(f"{line}\n" for line in lines)


def _label(text: str) -> str:
    """A text as the value of a label, escaped: different texts give different values."""
    label = clean(text)
    if len(label) > MOST_LETTERS:
        ending = f"~{crc32(label.encode()):08x}"
        label = label[: MOST_LETTERS - len(ending)] + ending
    return label.replace("\\", "\\\\").replace('"', '\\"')


def _chosen(runs: Sequence[RunView]) -> list[RunView]:
    """The runs that are worth a series, in the order of their keys."""
    if len(runs) <= MOST_RUNS:
        return list(runs)
    ranked = sorted(runs, key=lambda r: (-r.verdict.level, -_written_at(r)))
    return sorted(ranked[:MOST_RUNS], key=lambda r: r.key)


def _number(level: Level) -> int:
    """What cannot be judged is below what is well."""
    return int(level) - Level.OK


def _written_at(run: RunView) -> float:
    return (run.progress.written_at if run.progress else None) or 0.0


class _Shown:
    """The runs that have series, and the two labels that name each."""

    def __init__(self, session: Session, runs: Sequence[RunView]) -> None:
        self.runs = runs
        self._logdirs = session.naming.labels

    def __iter__(self) -> Iterator[tuple[RunView, str, str]]:
        return ((run, self._logdirs[run.key.logdir], run.key.name) for run in self.runs)


def _totals(session: Session, runs: Sequence[RunView], dropped: int) -> Iterator[_Gauge]:
    level = _Gauge("level", f"Level of the worst run: {_LEVELS}")
    level.add(_number(worst(r.verdict.level for r in runs)))
    yield level
    count = _Gauge("runs", "Runs at each level", "level")
    counts = Counter(r.verdict.level for r in runs)
    for known in Level:
        count.add(counts[known], known.word)
    yield count
    rest = _Gauge("runs_without_series", f"Runs beyond the {MOST_RUNS} that are listed")
    rest.add(dropped)
    yield rest
    troubles = _Gauge("read_troubles", "Files and directories that could not be read as they are")
    troubles.add(sum(n.level >= Level.WATCH for n in session.troubles()))
    yield troubles
    updated = _Gauge("updated_timestamp_seconds", "When this was written, in Unix time")
    updated.add(session.clock.now())
    yield updated


def _verdicts(shown: _Shown) -> Iterator[_Gauge]:
    level = _Gauge("run_level", f"Level of a run: {_LEVELS}")
    category = _Gauge("run_category_level", f"Level of a category: {_LEVELS}", "category")
    firing = _Gauge("run_findings_firing", "Findings that fire", "rule", "level")
    for run, *name in shown:
        level.add(_number(run.verdict.level), *name)
        if run.report is None:
            continue
        for key, known in run.report.categories.items():
            category.add(_number(known), *name, key)
        found = Counter((f.rule, f.level.word) for f in run.report.firing())
        for (rule, word), count in sorted(found.items()):
            firing.add(count, *name, rule, word)
    yield from (level, category, firing)


def _standing(shown: _Shown) -> Iterator[_Gauge]:
    info = _Gauge("run_info", "What trains; always 1", "framework", "algorithm", "path")
    state = _Gauge("run_state", "1 for the state that a run is in", "state")
    step = _Gauge("run_step", "Newest step")
    total = _Gauge("run_planned_steps", "Planned number of steps")
    age = _Gauge("run_age_seconds", "Time since the newest write, in coarse steps")
    eta = _Gauge("run_eta_seconds", "Estimated time to the last planned step")
    for run, *name in shown:
        with run.walled(NOT_SHOWN):
            known, progress = run.recognition, run.progress
            framework = (known.framework if known else None) or ""
            algorithm = (known.algorithm if known else None) or ""
            info.add(1, *name, framework, algorithm, str(run.data.path))
            step.add(run.data.last_step, *name)
            if progress is None:
                continue
            for word in RunState:
                state.add(progress.state is word, *name, word.value)
            total.add(progress.total_steps, *name)
            age.add(progress.age_s, *name)
            eta.add(progress.eta_s, *name)
    yield from (info, state, step, total, age, eta)


def _values(shown: _Shown, metrics: Sequence[str]) -> Iterator[_Gauge]:
    value = _Gauge("run_metric", "Newest value of a metric, as logged", "metric", "tag")
    for run, *name in shown:
        with run.walled(NOT_SHOWN):
            if run.recognition is None:
                continue
            keys = tuple(metrics or run.recognition.scenario.headline)
            for tag in run.tags_of_metrics(keys)[:MOST_METRICS]:
                last, metric = run.shown(tag).last, run.infos[tag].metric
                if last is not None and metric is not None:
                    value.add(float(last[2]), *name, metric.key, tag)
    yield value
