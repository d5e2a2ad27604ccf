"""The one place that settles which level is shown for a run, a category and a tag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rltui.catalogue.model import Category, TagInfo
from rltui.core.level import Level, RunState
from rltui.health.crash import ExitKind, ExitStatus
from rltui.health.model import Judgement, Report
from rltui.session.progress import Progress

_NOT_JUDGED = Judgement(Level.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules found in a run, and how the run ended."""

    report: Report | None
    progress: Progress | None
    infos: Mapping[str, TagInfo]

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
        """The state for people: a run that was cancelled did not crash."""
        if self.progress is None:
            return RunState.UNKNOWN.value
        crash = self.crash
        return self.progress.state.value if crash is None else crash.kind.value

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

    def judgement(self, tag: str) -> Judgement:
        """The judgement of a tag; of unknown level when no rule reads it."""
        return _NOT_JUDGED if self.report is None else self.report.tags.get(tag, _NOT_JUDGED)

    def tag_level(self, tag: str) -> Level:
        """The badge of a tag. No tick where the newest rows speak against it, even before a rule
        is certain."""
        judgement = self.judgement(tag)
        return Level.UNKNOWN if judgement.doubt else judgement.level

    def limits(self, tag: str) -> tuple[float | None, float | None]:
        """Watch limits (low, high) of a tag in the units of :meth:`RunView.shown`."""
        judgement, info = self.judgement(tag), self.infos.get(tag)
        low, high = judgement.low, judgement.high
        if info is None or info.sign >= 0:
            return low, high
        return (None if high is None else -high), (None if low is None else -low)
