"""Verdicts as gauges for Prometheus: ``check --format openmetrics`` and ``serve-metrics``.

Only gauges, without timestamps, so that the same text is valid OpenMetrics and is taken by the
textfile collector of node_exporter. The number of series is bounded: :data:`MOST_RUNS` runs, the
worst first, then those that wrote last; :data:`MOST_METRICS` metrics of each; label values of at
most :data:`MOST_LETTERS` letters without control characters; of a longer one the end is replaced by
a checksum of the whole. A run is named by its logdir and its
path below it, which no other run can change. Needs the extra ``metrics``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from rltui.core.errors import UsageError
from rltui.core.level import Level, RunState, worst
from rltui.core.text import clean
from rltui.session import RunView, Session

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

MOST_RUNS = 200
MOST_METRICS = 20
MOST_LETTERS = 200

_LEVELS = "-1 not judged, 0 ok, 1 watch, 2 bad"


def need_prometheus() -> None:
    """Raise UsageError when the extra is missing."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise UsageError("metrics need the extra 'metrics': pip install 'rltui[metrics]'") from None


def openmetrics(session: Session, metrics: Sequence[str] = ()) -> bytes:
    """The verdict on all runs as UTF-8 text, ending in ``# EOF``.

    ``metrics`` are keys of the catalogue whose newest values are given; without them the headline
    metrics of each run.
    """
    from prometheus_client.openmetrics.exposition import generate_latest

    text: bytes = generate_latest(_Collected(families(session, metrics)))
    return text


class _Collected:
    """What the client's writer takes for a registry."""

    def __init__(self, families: Iterator[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterator[GaugeMetricFamily]:
        return self._families


class _Gauge:
    """A family of gauges; label values are made harmless. One of runs (``run_...``) has the labels
    that name the run before its own."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        from prometheus_client.core import GaugeMetricFamily

        named = ("logdir", "run") if name.startswith("run_") else ()
        self.family = GaugeMetricFamily(f"rltui_{name}", text, labels=(*named, *labels))
        self._seen: set[tuple[str, ...]] = set()

    def add(self, value: float | None, *labels: str) -> None:
        """A sample; none where the value is not known. Two with the same labels would make the
        whole page invalid: the first counts."""
        known = tuple(map(_label, labels))
        if value is not None and known not in self._seen:
            self._seen.add(known)
            self.family.add_metric(known, value)


def _label(text: str) -> str:
    """A text as the value of a label: different texts give different values."""
    label = clean(text)
    if len(label) <= MOST_LETTERS:
        return label
    ending = f"~{crc32(label.encode()):08x}"
    return label[: MOST_LETTERS - len(ending)] + ending


def families(session: Session, metrics: Sequence[str]) -> Iterator[GaugeMetricFamily]:
    """All families of gauges."""
    runs = session.runs()
    shown = _Shown(session, _chosen(runs))
    yield from _totals(session, runs, len(runs) - len(shown.runs))
    yield from _verdicts(shown)
    yield from _standing(shown)
    yield from _values(shown, metrics)


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
        self._logdirs = session.labels

    def __iter__(self) -> Iterator[tuple[RunView, str, str]]:
        return ((run, self._logdirs[run.key.logdir], run.key.name) for run in self.runs)


def _totals(session: Session, runs: Sequence[RunView], dropped: int) -> Iterator[GaugeMetricFamily]:
    level = _Gauge("level", f"Level of the worst run: {_LEVELS}")
    level.add(_number(worst(r.verdict.level for r in runs)))
    yield level.family
    count = _Gauge("runs", "Runs at each level", "level")
    counts = Counter(r.verdict.level for r in runs)
    for known in Level:
        count.add(counts[known], known.word)
    yield count.family
    rest = _Gauge("runs_without_series", f"Runs beyond the {MOST_RUNS} that are listed")
    rest.add(dropped)
    yield rest.family
    troubles = _Gauge("read_troubles", "Files and directories that could not be read as they are")
    troubles.add(sum(n.level >= Level.WATCH for n in session.troubles()))
    yield troubles.family
    updated = _Gauge("updated_timestamp_seconds", "When this was written, in Unix time")
    updated.add(session.clock.now())
    yield updated.family


def _verdicts(shown: _Shown) -> Iterator[GaugeMetricFamily]:
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
    yield from (level.family, category.family, firing.family)


def _standing(shown: _Shown) -> Iterator[GaugeMetricFamily]:
    info = _Gauge("run_info", "What trains; always 1", "framework", "algorithm", "path")
    state = _Gauge("run_state", "1 for the state that a run is in", "state")
    step = _Gauge("run_step", "Newest step")
    total = _Gauge("run_planned_steps", "Planned number of steps")
    age = _Gauge("run_age_seconds", "Time since the newest write, in coarse steps")
    eta = _Gauge("run_eta_seconds", "Estimated time to the last planned step")
    for run, *name in shown:
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
    yield from (g.family for g in (info, state, step, total, age, eta))


def _values(shown: _Shown, metrics: Sequence[str]) -> Iterator[GaugeMetricFamily]:
    value = _Gauge("run_metric", "Newest value of a metric, as logged", "metric", "tag")
    for run, *name in shown:
        if run.recognition is None:
            continue
        keys = tuple(metrics or run.recognition.scenario.headline)
        for tag in run.tags_of_metrics(keys)[:MOST_METRICS]:
            last, metric = run.shown(tag).last, run.infos[tag].metric
            if last is not None and metric is not None:
                value.add(float(last[2]), *name, metric.key, tag)
    yield value.family
