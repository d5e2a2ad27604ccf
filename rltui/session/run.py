"""One judged run: its points, their meaning, the verdict of the rules, its progress."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rltui.catalogue import Catalogue, select
from rltui.catalogue.model import Recognition, TagInfo
from rltui.core.batch import Note, RunKey
from rltui.core.fault import Fault, wall
from rltui.core.level import Level
from rltui.files.trouble import lasting
from rltui.session.hyperparameters import Hyperparameters
from rltui.session.naming import Naming
from rltui.session.pins import Pins
from rltui.session.progress import Progress
from rltui.session.texts import Texts
from rltui.session.verdict import Doubts, Verdict
from rltui.sources.side_files.settings_files import NO_FACTS
from rltui.store import RunData, Series
from rltui.store.series_cache import SeriesCache

if TYPE_CHECKING:
    from rltui.health.model import MutedFinding, Report


class RunView:
    """What screens and documents read of a run. Owned by the session, main thread only.

    The session alone writes its attributes. It has more public members than other classes because
    it is the one record of a run: what was logged, what it means, how it is judged.
    """

    def __init__(self, data: RunData, naming: Naming, catalogue: Catalogue) -> None:
        self.data = data
        self.catalogue = catalogue
        self._naming = naming
        self.sample: RunData | None = None
        """A sample of large files, shown until they have been read; never judged."""
        self.hyperparameters = Hyperparameters()
        self.texts = Texts()
        self.infos: dict[str, TagInfo] = {}
        """Meaning of each tag, in the order of the log."""
        self.recognition: Recognition | None = None
        """None until the first tag was seen."""
        self.full_report: Report | None = None
        """With the findings that the user muted. None until the run has been read to its end once:
        no verdict on a part."""
        self.mutes: frozenset[MutedFinding] = frozenset()
        """Findings that the user does not want to see."""
        self._report: tuple[Report | None, frozenset[MutedFinding], Report | None] | None = None
        self.facts = NO_FACTS
        """What files beside its logs say, as far as they have been read."""
        self.progress: Progress | None = None
        self.reference: RunView | None = None
        """The run that it is compared with; None for that run itself."""
        self.pins = Pins()
        """The metrics that the user wants to see first."""
        self.as_of: int | None = None
        """The step at which it is shown as it was; None: as it is."""
        self.version = 0
        """Grows with every change of points, meaning, report or progress."""
        self.faults: dict[str, Fault] = {}
        """What rltui itself failed in, for this run."""
        self._doubts = Doubts()
        self._negated: SeriesCache[Series] = SeriesCache()
        self._tags_by_metric: _TagsByMetric | None = None

    def twin(self) -> RunView:
        """Another record of the same run, with caches of its own."""
        other = RunView(self.data, self._naming, self.catalogue)
        other.become(self)
        return other

    def become(self, other: RunView) -> None:
        """Take over what ``other``, a record of the same run, has; the caches stay."""
        self.data, self.sample = other.data, other.sample
        self.hyperparameters, self.infos = other.hyperparameters, other.infos
        self.texts, self.mutes = other.texts, other.mutes
        self.recognition, self.full_report = other.recognition, other.full_report
        self.progress, self.reference = other.progress, other.reference
        self.facts, self.faults = other.facts, other.faults
        self.pins, self.version = other.pins, other.version

    @property
    def key(self) -> RunKey:
        """Key of the run."""
        return self.data.key

    @property
    def report(self) -> Report | None:
        """The verdict without what the user muted; the same object until either changes."""
        kept, full, mutes = self._report, self.full_report, self.mutes
        if kept is None or kept[0] is not full or kept[1] is not mutes:
            report = full
            if full is not None and mutes:
                from rltui.health.muting import without_muted

                report = without_muted(full, self.infos, mutes)
            kept = self._report = full, mutes, report
        return kept[2]

    @property
    def points(self) -> RunData:
        """What is shown: the points, or a sample of them while they are being read."""
        return self.data if self.sample is None else self.sample

    @property
    def name(self) -> str:
        """Name for people: see :meth:`~rltui.session.naming.Naming.name_of`."""
        return self._naming.name_of(self.key)

    @property
    def names(self) -> tuple[str, ...]:
        """All that it answers to, its name first."""
        return self._naming.names_of(self.key)

    @property
    def troubles(self) -> list[Note]:
        """What of its files could not be read as it is, and still cannot; and in what rltui itself
        failed."""
        own = [Note(self.data.path, None, Level.WATCH, f.text) for f in self.faults.values()]
        return [*own, *lasting(self.data.files.notes)]

    def blank(self) -> RunView:
        """The same run as if it had logged nothing."""
        return RunView(RunData(self.key, self.data.path), self._naming, self.catalogue)

    def walled(self, what: str) -> AbstractContextManager[None]:
        """A block that works on this run: a fault in it is noted here instead of raised."""
        return wall(what, self.failed)

    def failed(self, fault: Fault) -> None:
        """Note a fault; what it concerned is shown as not known."""
        self.faults[fault.what] = fault

    @property
    def step_word(self) -> str:
        """What its steps are called: "row" where the rows were counted for want of steps."""
        return "row" if self.points.table.counts_rows else "step"

    @property
    def verdict(self) -> Verdict:
        """The levels to show."""
        return Verdict(self.report, self.progress, self.infos, self.points, self._doubts)

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to say of it: points, or how it ended without any."""
        return bool(self.infos) or self.verdict.crash is not None

    def series(self, tag: str) -> Series:
        """The points of a tag as logged."""
        return self.points.series(tag)

    def shown(self, tag: str) -> Series:
        """The points as people read them: negated where a framework logs minus the metric.

        The same object until the points change. Scale is left as logged, so that the number can
        be found again.
        """
        info, series = self.infos.get(tag), self.series(tag)
        if info is None or info.sign >= 0:
            return series
        return self._negated.get(series, Series.negated)

    def tags_of_metrics(self, keys: tuple[str, ...]) -> list[str]:
        """Tags of the metrics that ``keys`` choose (see :func:`rltui.catalogue.select`)."""
        known = self._tags_by_metric
        if known is None or not known.holds_for(self):
            known = self._tags_by_metric = _TagsByMetric(self)
        return [t for k in select(keys, known.tags.keys()) for t in known.tags[k]]

    def headline(self) -> str | None:
        """Tag of the most meaningful curve: the first headline metric that the run has."""
        if self.recognition is None:
            return None
        best = self.tags_of_metrics(self.recognition.scenario.headline)
        return best[0] if best else next(iter(self.infos), None)


class _TagsByMetric:
    """Metric key -> its tags that have points, in display order."""

    def __init__(self, run: RunView) -> None:
        self.tags: dict[str, list[str]] = {}
        self._infos, self._version = run.infos, run.version
        self._complete = True
        for tag, info in sorted(run.infos.items(), key=lambda item: item[1].order):
            if info.metric is None:
                continue
            if run.points.count(tag):
                self.tags.setdefault(info.metric.key, []).append(tag)
            else:
                self._complete = False

    def holds_for(self, run: RunView) -> bool:
        """Whether it is up to date: a tag keeps its points until the set of tags changes."""
        return self._infos is run.infos and (self._complete or self._version == run.version)
