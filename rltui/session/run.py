"""Judged runs: their points, what these mean, the verdict of the rules, their progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import TYPE_CHECKING

from rltui.catalogue import Catalogue, select
from rltui.catalogue.model import Category, Recognition, TagInfo
from rltui.core.batch import Note, RunKey
from rltui.core.fault import Fault, wall
from rltui.core.level import ExitKind, Level, RunState
from rltui.files.trouble import lasting
from rltui.health.badges import reading
from rltui.health.model import Finding, Judgement, MutedFinding, Report
from rltui.session.hyperparameters import Hyperparameters, TextLimit, Texts
from rltui.session.naming import Naming
from rltui.session.progress import Progress
from rltui.sources.side_files.settings_files import NO_FACTS
from rltui.store import RunData, Series
from rltui.store.series import SeriesCache

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus
    from rltui.health.rule import Rule


class JudgedRun:
    """The record of a run: what was logged, what it means, how it is judged.

    Screens and documents read it, only the session writes it. Owned by the session, main thread
    only. It has more public members than other classes because there is only one such record.
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
        self.rules: tuple[Rule, ...] = ()
        """Rules that it is judged by."""
        self.mutes: frozenset[MutedFinding] = frozenset()
        """Findings that the user does not want to see."""
        self._report: tuple[Report | None, frozenset[MutedFinding], Report | None] | None = None
        self.facts = NO_FACTS
        """Facts from files beside its logs, as far as they have been read."""
        self.progress: Progress | None = None
        self.reference: JudgedRun | None = None
        """The run that it is compared with; None for that run itself."""
        self.pins = Pins()
        """The metrics that the user wants to see first."""
        self.as_of: int | None = None
        """The step at which it is shown as it was; None: as it is."""
        self.version = 0
        """Grows with every change of points, meaning, report or progress."""
        self.faults: dict[str, Fault] = {}
        """Internal errors of rltui in working on this run, by what could not be done."""
        self._verdict = Verdict(self)
        self.levels: tuple[Report | None, Mapping[Category, Level]] = (None, {})
        """Report with which :attr:`Verdict.categories` were first asked for, and these."""
        self._negated: SeriesCache[Series] = SeriesCache()
        self._tags_by_metric: dict[str, list[str]] = {}
        """Metric key -> its tags that have points, in display order."""
        self._chosen: dict[tuple[str, ...], list[str]] = {}
        """Keys that were asked for -> the tags that they choose."""
        self._sorted_at: tuple[dict[str, TagInfo], int | None] | None = None
        """The infos that they were sorted by, and the version; None where every tag has points:
        it keeps them until the set of tags changes."""

    @property
    def key(self) -> RunKey:
        """Key of the run."""
        return self.data.key

    @property
    def report(self) -> Report | None:
        """The verdict without what the user muted; the same object until either changes."""
        kept = self._report
        full = self.full_report
        mutes = self.mutes
        if kept is None or kept[0] is not full or kept[1] is not mutes:
            report = full
            if full is not None and mutes:
                from rltui.health.muting import without_muted  # heavy: diagnoses

                report = without_muted(full, mutes)
            kept = self._report = full, mutes, report

        return kept[2]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings that are not muted, those that are over, too; none before the first verdict."""
        return self.report.findings if self.report else ()

    def firing(self) -> tuple[Finding, ...]:
        """Findings that fire now."""
        return self.report.firing() if self.report else ()

    @property
    def is_live(self) -> bool:
        """Whether more points are expected, judging by the age of the newest."""
        return self.progress is not None and self.progress.state is RunState.LIVE

    @property
    def points(self) -> RunData:
        """Points on show: all, or a sample of them while they are being read."""
        return self.data if self.sample is None else self.sample

    @property
    def name(self) -> str:
        """Name for people: see :meth:`~rltui.session.naming.Naming.name_of`."""
        return self._naming.name_of(self.key)

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which it can be chosen, its own first."""
        return self._naming.names_of(self.key)

    @property
    def settings(self) -> Mapping[str, object]:
        """Name -> value of its hyperparameters: in its logs, or else in files beside them."""
        return self.hyperparameters.values or self.facts.settings

    @property
    def troubles(self) -> list[Note]:
        """Problems with its files that persist, and internal errors of rltui."""
        own = [Note(self.data.path, None, Level.WATCH, f.text) for f in self.faults.values()]
        return [*own, *lasting(self.data.files.notes)]

    def blank(self) -> JudgedRun:
        """Empty copy of the run, as if it had logged nothing."""
        return JudgedRun(RunData(self.key, self.data.path), self._naming, self.catalogue)

    def isolate_faults(self, what: str) -> AbstractContextManager[None]:
        """A context in which an internal error becomes a fault of this run instead of being
        raised."""
        return wall(what, self.failed)

    def failed(self, fault: Fault) -> None:
        """Note a fault: its subject is shown as unknown."""
        self.faults[fault.what] = fault

    @property
    def step_word(self) -> str:
        """Name of its steps: "row" where the rows were counted for want of steps."""
        return "row" if self.points.table.counts_rows else "step"

    @property
    def verdict(self) -> Verdict:
        """The levels to show, of this version."""
        known = self._verdict
        if known.version != self.version or known.run is not self:
            known = self._verdict = Verdict(self)
        return known

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to say of it: points, or how it ended without any."""
        return bool(self.infos) or self.verdict.crash is not None

    def series(self, tag: str) -> Series:
        """The points of a tag as logged."""
        return self.points.series(tag)

    def shown(self, tag: str) -> Series:
        """The points to show: negated where a framework logs minus the metric.

        The same object until the points change. Scale is left as logged, so that the number can
        be found again.
        """
        info = self.infos.get(tag)
        series = self.series(tag)
        if info is None or info.sign >= 0:
            return series

        return self._negated.get(series, Series.negated)

    def tags_of_metrics(self, keys: tuple[str, ...]) -> Sequence[str]:
        """Tags of the metrics that ``keys`` choose (see :func:`rltui.catalogue.select`). Callers
        share them."""
        at = self._sorted_at
        if at is None or at[0] is not self.infos or at[1] not in (None, self.version):
            found: dict[str, list[str]] = {}
            version = None
            for tag, info in sorted(self.infos.items(), key=lambda item: item[1].order):
                if info.metric is None:
                    continue
                if self.points.count(tag):
                    found.setdefault(info.metric.key, []).append(tag)
                else:
                    version = self.version
            self._tags_by_metric, self._sorted_at = found, (self.infos, version)
            self._chosen = {}

        if keys not in self._chosen:
            known = self._tags_by_metric
            self._chosen[keys] = [t for k in select(keys, known.keys()) for t in known[k]]
        return self._chosen[keys]

    def headline(self) -> str | None:
        """Tag of the most meaningful curve: the first headline metric that the run has."""
        if self.recognition is None:
            return None
        best = self.tags_of_metrics(self.recognition.scenario.headline)
        return best[0] if best else next(iter(self.infos), None)


class Pins:
    """Pinned tags in the order of pinning; the runs of a session share them."""

    def __init__(self, tags: Iterable[str] = ()) -> None:
        self.tags: tuple[str, ...] = tuple(dict.fromkeys(tags))

    def toggle(self, tag: str) -> bool:
        """Pin a tag, or unpin it; returns whether it is pinned now."""
        pinned = tag not in self.tags
        others = tuple(t for t in self.tags if t != tag)
        self.tags = (*others, tag) if pinned else others
        return pinned


_NOT_JUDGED = Judgement(Level.UNKNOWN)
#: States of runs that may go on.
_GOES_ON = ("live", "waiting", "stalled", "no points")


class Verdict:
    """Verdict on a run: what the rules found, and how it ended."""

    def __init__(self, run: JudgedRun) -> None:
        self.run = run
        self.version = run.version
        self._judgements: dict[str, Judgement] = {}
        """Judgements of the tags that were asked for."""

    @property
    def level(self) -> Level:
        """The worst of the firing findings and the exit; UNKNOWN when nothing is known."""
        report = self.run.report
        return max(report.level if report else Level.UNKNOWN, self.exit_level)

    @property
    def mark(self) -> Level:
        """The badge: the level, but unsure instead of ok while one of its tags is."""
        unsure = self.level is Level.OK and Level.UNSURE in self.categories.values()
        return Level.UNSURE if unsure else self.level

    @property
    def crash(self) -> ExitStatus | None:
        """How a run ended that crashed or was cancelled, where the logs show it; else None."""
        known = self.run.progress
        return None if known is None or known.state is not RunState.CRASHED else known.exit_status

    @property
    def state_word(self) -> str:
        """The state in the word that every view shows: live, waiting (between two rows, within its
        usual pace), stalled, finished, stopped, crashed, cancelled; what else is known of a run
        whose state is not: not read, no points, log deleted; unreachable where its host is and it
        may go on."""
        known = self.run.progress
        if known is None:
            return "not read"
        if self.crash is not None:
            return str(self.crash.kind.value)
        if known.gone:
            return "log deleted"
        word = "no points" if known.state is RunState.UNKNOWN else str(known.state.value)
        word = "waiting" if known.is_waiting else word

        return "unreachable" if known.lost_at is not None and word in _GOES_ON else word

    @property
    def has_ended(self) -> bool:
        """Whether it writes no more, by the word of its state."""
        return self.state_word not in (*_GOES_ON, "not read", "unreachable")

    @property
    def exit_level(self) -> Level:
        """BAD for a run that crashed, or that was cancelled before its first row; WATCH for
        another one that was cancelled; else UNKNOWN."""
        crash = self.crash
        known = self.run.progress
        if crash is None or known is None:
            return Level.UNKNOWN
        logged = known.last_step is not None
        return Level.WATCH if crash.kind is ExitKind.CANCELLED and logged else Level.BAD

    @property
    def categories(self) -> Mapping[Category, Level]:
        """Level of each category that the run has, by the badges of its tags when first asked for
        since it was judged: a row that comes then waits for the next verdict. Empty without a
        report."""
        run = self.run
        if run.levels[0] is not run.report:
            found: dict[Category, Level] = {}
            for tag, info in run.infos.items() if run.report else ():
                level = self.tag_level(tag)
                for category in filter(None, (info.category, info.also)):
                    found[category] = max(found.get(category, Level.UNKNOWN), level)
            run.levels = run.report, found
        return run.levels[1]

    def judgement(self, tag: str) -> Judgement:
        """Judgement that badge, range and words of a tag show: that of the rules, unsure where rows
        speak against it that are younger than the verdict."""
        known = self._judgements
        if tag not in known:
            known[tag] = self._judgement(tag)
        return known[tag]

    def _judgement(self, tag: str) -> Judgement:
        run = self.run
        report = run.report
        info = run.infos.get(tag)
        judged = _NOT_JUDGED if report is None else report.tags.get(tag, _NOT_JUDGED)
        if judged.level > Level.OK or info is None or judged is _NOT_JUDGED:
            return judged
        series = run.points.series(tag)
        return judged if series.count == judged.rows else reading(info, series, judged)

    def tag_level(self, tag: str) -> Level:
        """The badge of a tag."""
        return self.judgement(tag).level


class Mutes:
    """Names of findings that are muted in all runs of a session."""

    def __init__(self, runs: Callable[[], Iterable[JudgedRun]]) -> None:
        """``runs`` returns the records of all runs, shown or not."""
        self._runs = runs
        self.names: frozenset[MutedFinding] = frozenset()

    def replace(self, names: Iterable[MutedFinding]) -> None:
        """Mute exactly the findings of these names, in the verdict of every run."""
        self.names = frozenset(names)
        for run in self._runs():
            run.mutes = self.names
            run.version += 1

    def toggle(self, name: MutedFinding) -> bool:
        """Mute a finding, or unmute it; returns whether it is muted now."""
        self.replace(self.names ^ {name})
        return name in self.names


#: Goals of the user -> says how a run meets it, "" where it does not.
Goals = Mapping[str, Callable[[JudgedRun], str]]


class RunList:
    """The runs of a session. Owned by it; main thread only."""

    def __init__(self, naming: Naming, catalogue: Catalogue) -> None:
        self.all: dict[RunKey, JudgedRun] = {}
        """Every run that was read, in its current state; copies while those on screen are
        frozen."""
        self.pins = Pins()
        """Pins of the user, in all runs."""
        self.mutes = Mutes(lambda: (*self.all.values(), *self.shown.values()))
        """Findings that the user does not want to see, in all runs."""
        self._naming = naming
        self._catalogue = catalogue
        self._text_limit = TextLimit()
        self._unchosen: set[RunKey] = set()
        """Runs that were not chosen by their names when they appeared."""
        self._frozen: Mapping[RunKey, JudgedRun] | None = None
        """The runs on screen while they are frozen; :attr:`all` has a copy of each then."""
        self._sorted: dict[bool, tuple[Mapping[RunKey, JudgedRun], list[JudgedRun]]] = {}
        """Whether the runs are frozen -> runs by key, and the same in order."""

    def add(self, data: RunData) -> JudgedRun:
        """Make the record of a run that appears."""
        self._naming.add(data.key)
        if not self._naming.is_chosen(data.key):
            self._unchosen.add(data.key)
        view = self.all[data.key] = JudgedRun(data, self._naming, self._catalogue)
        view.pins = self.pins
        view.mutes = self.mutes.names
        view.texts = Texts(self._text_limit)
        return view

    @property
    def hidden(self) -> set[RunKey]:
        """The runs that are not to be shown."""
        return {key for key in self._unchosen if not self._naming.is_chosen(key)}

    @property
    def shown(self) -> Mapping[RunKey, JudgedRun]:
        """The runs to show, by key."""
        return self._chosen(self.all if self._frozen is None else self._frozen)

    def _chosen(self, views: Mapping[RunKey, JudgedRun]) -> Mapping[RunKey, JudgedRun]:
        hidden = self.hidden if self._unchosen else ()
        return {k: v for k, v in views.items() if k not in hidden} if hidden else views

    @property
    def now(self) -> Mapping[RunKey, JudgedRun]:
        """The runs to show in their current state, also while those on screen are frozen."""
        return self._chosen(self.all)

    def in_order(self, *, now: bool = False) -> list[JudgedRun]:
        """The runs :attr:`shown`, or those of :attr:`now`, in the order of their keys. Sorted only
        when there are others."""
        views, still = (self.now, False) if now else (self.shown, self._frozen is not None)
        known = self._sorted.get(still)
        if known is None or views is not known[0] or len(views) != len(known[1]):
            known = self._sorted[still] = views, [views[key] for key in sorted(views)]
        return list(known[1])

    # -- freezing --------------------------------------------------------------------------

    def hold(self) -> None:
        """Freeze the runs on screen; their logs are still read and judged."""
        if self._frozen is not None:
            return
        self._frozen = dict(self.all)
        self.all.update({key: copy(view) for key, view in self._frozen.items()})
        for view in self.all.values():
            view.reference = None if view.reference is None else self.current_of(view.reference)
        for view in self._frozen.values():
            view.texts, view.hyperparameters = view.texts.copy(), view.hyperparameters.copy()
        self._sorted.clear()

    def release(self) -> None:
        """End the :meth:`hold`: the runs on screen show their current state again."""
        if self._frozen is None:
            return
        for key, view in self._frozen.items():
            vars(view).update(vars(self.all[key]))  # screens keep the object that they have
        for view in (self.all | dict(self._frozen)).values():
            view.reference = None if view.reference is None else self.frozen_of(view.reference)
        self.all.update(self._frozen)
        self._frozen = None
        self._sorted.clear()

    def current_of(self, view: JudgedRun) -> JudgedRun:
        """The copy of a frozen run that goes on being updated; other runs themselves."""
        is_frozen = self._frozen is not None and self._frozen.get(view.key) is view
        return self.all[view.key] if is_frozen else view

    def frozen_of(self, view: JudgedRun) -> JudgedRun:
        """The frozen run on screen of which a run is the current copy; other runs themselves."""
        is_copy = self._frozen is not None and self.all.get(view.key) is view
        return self._frozen.get(view.key, view) if self._frozen is not None and is_copy else view

    def before_growing(self, key: RunKey) -> None:
        """Copy the points of a frozen run before they change."""
        view = None if self._frozen is None else self._frozen.get(key)
        if view is None or view.data.unloaded or view.data.loading:
            return
        if view.data is self.all[key].data:
            view.data = view.data.copy()
