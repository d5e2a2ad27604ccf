"""One judged run: its points, their meaning, the verdict of the rules, its progress."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rltui.catalogue import Catalogue, select
from rltui.catalogue.model import Category, Recognition, TagInfo
from rltui.core.batch import Note, RunKey
from rltui.core.fault import Fault, wall
from rltui.core.level import ExitKind, Level, RunState
from rltui.files.trouble import lasting
from rltui.health.badges import doubt
from rltui.health.model import Judgement, MutedFinding, Report
from rltui.session.hyperparameters import Hyperparameters, Texts
from rltui.session.naming import Naming
from rltui.session.progress import Progress
from rltui.sources.side_files.settings_files import NO_FACTS
from rltui.store import RunData, Series
from rltui.store.series import SeriesCache

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus


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
        self._tags_by_metric: dict[str, list[str]] = {}
        """Metric key -> its tags that have points, in display order."""
        self._sorted_at: tuple[dict[str, TagInfo], int | None] | None = None
        """The infos that they were sorted by, and the version; None where every tag has points:
        it keeps them until the set of tags changes."""

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
                from rltui.health.muting import without_muted  # heavy: diagnoses

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
        at = self._sorted_at
        if at is None or at[0] is not self.infos or at[1] not in (None, self.version):
            self._sort_tags()
        known = self._tags_by_metric
        return [t for k in select(keys, known.keys()) for t in known[k]]

    def _sort_tags(self) -> None:
        found: dict[str, list[str]] = {}
        version, begun = None, self.version
        for tag, info in sorted(self.infos.items(), key=lambda item: item[1].order):
            if info.metric is None:
                continue
            if self.points.count(tag):
                found.setdefault(info.metric.key, []).append(tag)
            else:
                version = begun
        self._tags_by_metric, self._sorted_at = found, (self.infos, version)

    def headline(self) -> str | None:
        """Tag of the most meaningful curve: the first headline metric that the run has."""
        if self.recognition is None:
            return None
        best = self.tags_of_metrics(self.recognition.scenario.headline)
        return best[0] if best else next(iter(self.infos), None)


class Pins:
    """Tags in the order in which they were pinned; the runs of a session share them."""

    def __init__(self, tags: Iterable[str] = ()) -> None:
        self.tags: tuple[str, ...] = tuple(dict.fromkeys(tags))

    def toggle(self, tag: str) -> bool:
        """Pin a tag, or unpin it; whether it is pinned now."""
        pinned = tag not in self.tags
        others = tuple(t for t in self.tags if t != tag)
        self.tags = (*others, tag) if pinned else others
        return pinned


_NOT_JUDGED = Judgement(Level.UNKNOWN)


#: States of runs that may go on.
_GOES_ON = ("live", "stalled", "quiet", "no points")


def _word_of(known: Progress) -> str:
    """The state of a run that has not crashed, and whose log is there."""
    if known.state is not RunState.UNKNOWN:
        return str(known.state.value)
    if known.last_step is None:
        return "no points"
    age = known.age_s
    return "quiet" if age is not None and age < known.limits.ended_after_s else "ended"


class Doubts:
    """What the newest rows of the tags of a run say against their ticks: a verdict is older than
    they are. Found once per tag until its points or its judgement change."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Judgement, int, int, str]] = {}

    def of(self, info: TagInfo, series: Series, judgement: Judgement) -> str:
        """See :func:`rltui.health.badges.doubt`."""
        kept = self._kept.get(info.tag)
        if kept is not None and kept[0] is judgement and kept[1:3] == (series.epoch, series.count):
            return kept[3]
        reason = doubt(info, series, judgement)
        self._kept[info.tag] = (judgement, series.epoch, series.count, reason)
        return reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules found in a run, and how the run ended."""

    report: Report | None
    progress: Progress | None
    infos: Mapping[str, TagInfo]
    points: RunData
    doubts: Doubts

    @property
    def level(self) -> Level:
        """The worst of the firing findings and the exit; UNKNOWN when nothing is known."""
        return max(self.report.level if self.report else Level.UNKNOWN, self.exit_level)

    @property
    def crash(self) -> ExitStatus | None:
        """How a run ended that crashed or was cancelled, where the logs show it; else None."""
        if self.progress is None or self.progress.state is not RunState.CRASHED:
            return None
        return self.progress.exit_status

    @property
    def state_word(self) -> str:
        """The state in the word that every view shows: live, stalled, finished, crashed,
        cancelled; what else is known of a run whose state is not: waiting (not read yet),
        no points, quiet, ended (quiet for a day), log deleted; unreachable where its host is and
        it may go on."""
        known = self.progress
        if known is None:
            return "waiting"
        if self.crash is not None:
            return str(self.crash.kind.value)
        if known.gone:
            return "log deleted"
        word = _word_of(known)

        return "unreachable" if known.lost_at is not None and word in _GOES_ON else word

    @property
    def exit_level(self) -> Level:
        """BAD for a run that crashed, or that was cancelled before its first row; WATCH for
        another one that was cancelled; else UNKNOWN."""
        crash = self.crash
        if crash is None:
            return Level.UNKNOWN
        logged = self.progress is not None and self.progress.last_step is not None
        return Level.WATCH if crash.kind is ExitKind.CANCELLED and logged else Level.BAD

    def category_level(self, category: Category) -> Level:
        """Worst level of a category."""
        if self.report is None:
            return Level.UNKNOWN
        return self.report.categories.get(category.value, Level.UNKNOWN)

    def has_doubt(self, category: Category) -> bool:
        """Whether the newest rows of a tag of a category contradict its tick."""
        return any(
            category in (info.category, info.also) and self.doubt(tag)
            for tag, info in self.infos.items()
        )

    def judgement(self, tag: str) -> Judgement:
        """The judgement of a tag; of unknown level when no rule reads it."""
        return _NOT_JUDGED if self.report is None else self.report.tags.get(tag, _NOT_JUDGED)

    def tag_level(self, tag: str) -> Level:
        """The badge of a tag. No tick where the newest rows contradict it, even before a rule is
        certain."""
        return Level.UNKNOWN if self.doubt(tag) else self.judgement(tag).level

    def doubt(self, tag: str) -> str:
        """Why a tag without a finding gets no tick, for people; "" for none."""
        judgement, info = self.judgement(tag), self.infos.get(tag)
        if judgement.doubt or judgement.level is not Level.OK or info is None:
            return judgement.doubt
        return self.doubts.of(info, self.points.series(tag), judgement)

    def limits(self, tag: str) -> tuple[float | None, float | None]:
        """Watch limits (low, high) of a tag in the units of :meth:`RunView.shown`."""
        judgement = self.judgement(tag)
        return self._shown(tag, judgement.low, judgement.high)

    def bad_limits(self, tag: str) -> tuple[float | None, float | None]:
        """Bad limits (low, high) beyond those, in the same units."""
        judgement = self.judgement(tag)
        return self._shown(tag, judgement.bad_low, judgement.bad_high)

    def _shown(
        self, tag: str, low: float | None, high: float | None
    ) -> tuple[float | None, float | None]:
        info = self.infos.get(tag)
        if info is None or info.sign >= 0:
            return low, high
        return (None if high is None else -high), (None if low is None else -low)


class Mutes(Collection[MutedFinding]):
    """Names of findings; they are muted in all runs of a session."""

    def __init__(self, runs: Callable[[], Iterable[RunView]]) -> None:
        """``runs`` returns the records of all runs, shown or not."""
        self._runs = runs
        self.names: frozenset[MutedFinding] = frozenset()

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[MutedFinding]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def replace(self, names: Iterable[MutedFinding]) -> None:
        """Leave the findings of these names, and no others, out of the verdict of every run."""
        self.names = frozenset(names)
        for run in self._runs():
            run.mutes = self.names
            run.version += 1

    def toggle(self, name: MutedFinding) -> bool:
        """Mute a finding, or no longer; whether it is muted now."""
        self.replace(self.names ^ {name})
        return name in self.names
