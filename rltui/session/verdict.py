"""The one place that settles which level is shown for a run, a category and a tag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rltui.catalogue.model import Category, TagInfo
from rltui.core.level import ExitKind, Level, RunState
from rltui.health.model import Judgement, Report
from rltui.session.progress import Progress
from rltui.store import RunData, Series

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus

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
        from rltui.health.badges import doubt

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
