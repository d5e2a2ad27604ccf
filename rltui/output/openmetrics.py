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
from collections.abc import Sequence
from zlib import crc32

from rltui.core.fault import NOT_SHOWN
from rltui.core.level import Level, RunState, worst
from rltui.core.text import Names, clean
from rltui.session import JudgedRun, Session

MOST_RUNS = 200
MOST_METRICS = 20
MOST_LETTERS = 200

#: Numbers that Python spells differently.
_SPELLED = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}
_LEVELS = "-1 not judged or not yet sure, 0 ok, 1 watch, 2 bad"
#: Level -> its number: what cannot be judged is below what is well.
_NUMBERS = {Level.UNKNOWN: -1, Level.OK: 0, Level.WATCH: 1, Level.BAD: 2}
#: The families in the order of the page: what each says, and its labels. One of runs (``run_...``)
#: has the labels that name the run before its own.
_GAUGES: dict[str, Names] = {
    "level": (f"Level of the worst run: {_LEVELS}",),
    "runs": ("Runs at each level", "level"),
    "runs_without_series": (f"Runs beyond the {MOST_RUNS} that are listed",),
    "read_troubles": ("Files and directories that could not be read as they are",),
    "updated_timestamp_seconds": ("When this was written, in Unix time",),
    "run_level": (f"Level of a run: {_LEVELS}",),
    "run_category_level": (f"Level of a category: {_LEVELS}", "category"),
    "run_findings_firing": ("Findings that fire", "rule", "level"),
    "run_info": ("What trains; always 1", "framework", "algorithm", "path"),
    "run_state": ("1 for the state that a run is in", "state"),
    "run_step": ("Newest step",),
    "run_planned_steps": ("Planned number of steps",),
    "run_age_seconds": ("Time since the newest write, in coarse steps",),
    "run_eta_seconds": ("Estimated time to the last planned step",),
    "run_metric": ("Newest value of a metric, as logged", "metric", "tag"),
}


class _Page:
    """The samples of all families; label values are made harmless."""

    def __init__(self) -> None:
        self._samples: dict[str, dict[Names, float]] = {name: {} for name in _GAUGES}

    def add(self, name: str, value: float | None, *labels: str) -> None:
        """A sample; none where the value is not known. Two with the same labels would make the
        whole page invalid: the first counts."""
        if value is not None:
            self._samples[name].setdefault(tuple(map(_label, labels)), float(value))

    def text(self) -> str:
        """Its lines, ending in ``# EOF``."""
        lines = []
        for family, (meaning, *own) in _GAUGES.items():
            labels = ["logdir", "run", *own] if family.startswith("run_") else own
            lines += [f"# HELP rltui_{family} {meaning}", f"# TYPE rltui_{family} gauge"]
            for values, value in self._samples[family].items():
                pairs = ",".join(f'{k}="{v}"' for k, v in zip(labels, values, strict=True))
                name = f"rltui_{family}{{{pairs}}}" if pairs else f"rltui_{family}"
                lines.append(f"{name} {_SPELLED.get(str(value), value)}")
        return "\n".join([*lines, "# EOF\n"])


def _label(text: str) -> str:
    """A text as the value of a label, escaped: different texts give different values."""
    label = clean(text)
    if len(label) > MOST_LETTERS:
        ending = f"~{crc32(label.encode()):08x}"
        label = label[: MOST_LETTERS - len(ending)] + ending
    return label.replace("\\", "\\\\").replace('"', '\\"')


def openmetrics(session: Session, metrics: Sequence[str] = ()) -> str:
    """The verdict on all runs, ending in ``# EOF``.

    ``metrics`` are keys of the catalogue whose newest values are given; without them the headline
    metrics of each run.
    """
    runs = shown = session.runs()
    if len(runs) > MOST_RUNS:

        def written_at(run: JudgedRun) -> float:
            return (run.progress.written_at if run.progress else None) or 0.0

        ranked = sorted(runs, key=lambda r: (-r.verdict.level, -written_at(r)))
        shown = sorted(ranked[:MOST_RUNS], key=lambda r: r.key)

    page = _Page()
    page.add("level", _NUMBERS[worst(r.verdict.level for r in runs)])
    counts = Counter(r.verdict.level for r in runs)
    for level in _NUMBERS:
        page.add("runs", counts[level], level.word)

    page.add("runs_without_series", len(runs) - len(shown))
    page.add("read_troubles", sum(n.level >= Level.WATCH for n in session.troubles()))
    page.add("updated_timestamp_seconds", session.clock.now())

    for run in shown:
        name = session.naming.labels[run.key.logdir], run.key.name
        page.add("run_level", _NUMBERS[run.verdict.level], *name)
        if run.report is not None:
            for category, level in run.verdict.categories.items():
                page.add("run_category_level", _NUMBERS.get(level, -1), *name, category.value)
            found = Counter((f.rule, f.level.word) for f in run.report.firing())
            for (rule, word), count in sorted(found.items()):
                page.add("run_findings_firing", count, *name, rule, word)
        with run.isolate_faults(NOT_SHOWN):
            known = run.recognition
            progress = run.progress
            trains = (known.framework or "", known.algorithm or "") if known else ("", "")
            page.add("run_info", 1, *name, *trains, str(run.data.path))
            page.add("run_step", run.data.last_step, *name)
            if progress is not None:
                for state in RunState:
                    page.add("run_state", progress.state is state, *name, state.value)
                page.add("run_planned_steps", progress.total_steps, *name)
                page.add("run_age_seconds", progress.age_s, *name)
                page.add("run_eta_seconds", progress.eta_s, *name)
        with run.isolate_faults(NOT_SHOWN):
            known = run.recognition
            keys = tuple(metrics or known.scenario.headline) if known else ()
            for tag in run.tags_of_metrics(keys)[:MOST_METRICS]:
                last = run.shown(tag).last
                if last is not None:
                    page.add("run_metric", last[2], *name, run.infos[tag].key, tag)

    return page.text()
