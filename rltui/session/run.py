"""One judged run: points, what they mean, what the rules think, how far it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rltui.catalogue import select
from rltui.catalogue.model import Category, Metric, Recognition, Roles, TagInfo
from rltui.core.batch import RunKey
from rltui.core.level import Level, RunState
from rltui.health.crash import Ending, EndingKind
from rltui.health.model import Judgement, Report
from rltui.session.progress import Progress
from rltui.store import RunData, Series

#: Directories that many frameworks give the same name.
_NAMELESS = frozenset({"run", "runs", "log", "logs", "tb", "tensorboard", "tensorboard_log"})
_UNJUDGED = Judgement(Level.UNKNOWN)


class RunView:
    """What screens and documents read of a run. Owned by the session, main thread only."""

    def __init__(
        self,
        data: RunData,
        logdir_label: str,
        metrics: Mapping[str, Metric] | None = None,
        roles: Roles | None = None,
    ) -> None:
        self.data = data
        self.metrics: Mapping[str, Metric] = metrics or {}
        """The metrics of the catalogue by key."""
        self.roles = roles or Roles()
        """Which of them tell something of the run as a whole."""
        self.sample: RunData | None = None
        """A sample of large files, shown until they have been read; no verdict rests on it."""
        self.logdir_label = logdir_label
        """Name of the logdir for people: its last path part."""
        self.hyper: dict[str, object] = {}
        """Hyperparameters, as far as the logs tell them."""
        self._told: dict[Path, dict[str, object]] = {}
        """The hyperparameters of each file."""
        self.loading = False
        """Whether its points were unloaded and are being read again."""
        self.infos: dict[str, TagInfo] = {}
        """Meaning of each tag, in the order of the log."""
        self.recognition: Recognition | None = None
        """None until the first tag was seen."""
        self.report: Report | None = None
        """None until the run has been read to its end once: no verdict on a part."""
        self.progress: Progress | None = None
        self.memo: dict[object, tuple[int, Any]] = {}
        """What the floors above derived from series: key -> (version of the series, value)."""
        self.shown_at = -math.inf
        """When a screen last showed the run, monotonic seconds."""
        self.grew_at = -math.inf
        """When it last grew after it had been read, monotonic seconds."""
        self.version = 0
        """Grows with every change of points, meaning, report or progress."""

    @property
    def key(self) -> RunKey:
        """Names the run."""
        return self.data.key

    @property
    def points(self) -> RunData:
        """What is shown: the points, or a sample of them while they are being read."""
        return self.data if self.sample is None else self.sample

    @property
    def name(self) -> str:
        """Name for people: the path below the logdir.

        The logdir's own name for the logdir itself, and in front of a name that says nothing.
        """
        if self.key.name == "." or self.key.name.startswith(".#"):
            return self.logdir_label + self.key.name[1:]
        if self.key.name.lower() in _NAMELESS:
            return f"{self.logdir_label}/{self.key.name}"
        return self.key.name

    @property
    def level(self) -> Level:
        """Worst firing level, and that of its end: BAD when it crashed, WATCH when it was
        cancelled; UNKNOWN without a report."""
        known = self.report.level if self.report else Level.UNKNOWN
        return max(known, self.end_level)

    @property
    def end_level(self) -> Level:
        """BAD for a run that crashed, WATCH for one that was cancelled, else UNKNOWN."""
        ending = self.ending
        if ending is None:
            return Level.UNKNOWN
        return Level.WATCH if ending.kind is EndingKind.CANCELLED else Level.BAD

    @property
    def ending(self) -> Ending | None:
        """How a run that is over ended, when it did not end well."""
        if self.progress is None or self.progress.state is not RunState.CRASHED:
            return None
        return self.progress.ending

    @property
    def restarts(self) -> tuple[int, ...]:
        """Steps at which the run was resumed or started again."""
        return self.points.restarts

    def learn(self, path: Path, told: Mapping[str, object]) -> bool:
        """Take the hyperparameters of a file in; whether any is new or has another value."""
        self._told.setdefault(path, {}).update(told)
        return self._sum_up()

    def strangers(self, data: RunData) -> list[Path]:
        """Files that told hyperparameters here and belong to another run."""
        mine = self.data.sources
        return [p for p in self._told if p in data.sources and p not in mine]

    def hand_over(self, path: Path, to: RunView) -> None:
        """Give what a file told to the run that it turned out to be."""
        to._told[path] = self._told.pop(path, {})
        for view in (self, to):
            view._sum_up()

    def _sum_up(self) -> bool:
        before = self.hyper
        self.hyper = {k: v for told in self._told.values() for k, v in told.items()}
        return self.hyper != before

    def series(self, tag: str) -> Series:
        """The points of a tag as logged."""
        return self.points.series(tag)

    def shown(self, tag: str) -> Series:
        """The points as people read them: turned round where a framework logs minus the metric.

        The same object until the points change. Scale is left as logged, so that the number can
        be found again.
        """
        info, series = self.infos.get(tag), self.series(tag)
        if info is None or info.sign >= 0:
            return series
        held = self.memo.get(("shown", tag))
        if held is None or held[0] != series.version:
            turned = replace(series, values=-series.values, old_values=-series.old_values)
            held = self.memo[("shown", tag)] = (series.version, turned)
        return held[1]

    def limits(self, tag: str) -> tuple[float | None, float | None]:
        """Watch limits (low, high) of a tag in the units of :meth:`shown`."""
        judgement, info = self.judgement(tag), self.infos.get(tag)
        low, high = judgement.low, judgement.high
        if info is None or info.sign >= 0:
            return low, high
        return (None if high is None else -high), (None if low is None else -low)

    def judgement(self, tag: str) -> Judgement:
        """What the rules say of a tag; unknown when none reads it."""
        if self.report is None:
            return _UNJUDGED
        return self.report.tags.get(tag, _UNJUDGED)

    def category_level(self, category: Category) -> Level:
        """Worst level of a category."""
        if self.report is None:
            return Level.UNKNOWN
        return self.report.categories.get(category.value, Level.UNKNOWN)

    def tags_of_metrics(self, keys: tuple[str, ...]) -> list[str]:
        """Tags of the metrics that ``keys`` choose (see :func:`rltui.catalogue.select`)."""
        by_key = self._logged_metrics()
        return [t for k in select(keys, by_key.keys()) for t in by_key[k]]

    def _logged_metrics(self) -> dict[str, list[str]]:
        """Metric key -> its tags that have points, in display order."""
        held = self.memo.get("logged metrics")
        if held is not None and held[1][0] is self.infos:
            known: dict[str, list[str]] = held[1][1]
            # a tag that has points keeps them until the set of tags changes
            if held[0] == self.version or held[1][2]:
                return known
        by_key: dict[str, list[str]] = {}
        complete = True
        for tag, info in sorted(self.infos.items(), key=lambda item: item[1].order):
            if info.metric is None:
                continue
            if self.points.count(tag):
                by_key.setdefault(info.metric.key, []).append(tag)
            else:
                complete = False
        self.memo["logged metrics"] = (self.version, (self.infos, by_key, complete))
        return by_key

    def title_of(self, key: str) -> str:
        """Title of a metric key, for people; the key itself when nobody knows it."""
        metric = self.metrics.get(key)
        return metric.title if metric is not None else key

    def headline(self) -> str | None:
        """Tag of the one curve that says most: the first headline metric that the run has."""
        if self.recognition is None:
            return None
        best = self.tags_of_metrics(self.recognition.scenario.headline)
        return best[0] if best else next(iter(self.infos), None)
