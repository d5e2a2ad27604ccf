"""Runs in a list: what it sorts, filters and counts by, and the words of their state.

Only runs that changed are examined again: to examine ten thousand takes a few milliseconds, by
which every key would be late.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rltui.core.address import RemotePath
from rltui.core.batch import RunKey
from rltui.core.errors import did_you_mean
from rltui.core.level import ExitKind, Level, RunState
from rltui.core.record import entity, record
from rltui.core.text import cell_width, clean, fit
from rltui.facts import numbers, sentences
from rltui.facts.cache import per_version
from rltui.facts.run_columns import column_of, conditions_in
from rltui.health.model import Finding
from rltui.session import JudgedRun
from rltui.session.notes import note_on, notes_version

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus

#: For the folder of a run in its name, such as "…gpu-a:logs/".
_FOLDER_CELLS = 12
#: Metrics named of those that are not sure yet.
_MOST_UNSURE = 3
#: Cells of the line of a crash.
_LINE_CELLS = 110
#: States that go on: their age is a duration.
_LASTING = ("stalled", "waiting")
#: Seconds without a write after which a run without a row has ended.
_PATIENCE_S = 3600
#: States without an age.
_AGELESS = ("not read", "no points", "log deleted")


@entity
class ListedRun:
    """A run as the list knows it."""

    run: JudgedRun
    stamp: tuple[object, ...]
    key: RunKey
    name: str
    cells: int
    """Width of the name."""
    own_cells: int
    """Width of the name without the folders above it, but for a few cells that tell them apart."""
    level: Level
    """Its badge."""
    state: str
    """Its word; empty for a run of which nothing is known yet."""
    is_read: bool
    is_judged: bool
    """Whether it is read, and has a verdict if it has a row."""
    words: str
    """Text that a filter looks for, in lower case."""
    by_verdict: tuple[bool, int, float, int, RunKey]
    by_newest: tuple[float, RunKey]
    says_more: bool
    """Whether the list has a finding or the like for it, in its line or in a second one."""


@record
class RunCounts:
    """How many runs there are of what kind."""

    runs: int = 0
    read: int = 0
    states: Counter[str] = field(default_factory=Counter)
    levels: Counter[Level] = field(default_factory=Counter)
    judged: int = 0


class Names(NamedTuple):
    """Names of some runs, and the widths that a column of them needs."""

    names: tuple[str, ...]
    cells: int
    """Width of the widest."""
    own_cells: int
    """Width of the widest without its folders."""
    state_cells: int
    """Width of the longest word for a state."""
    says_more: bool = False
    """Whether there is more to say of one of them."""
    is_one_kind: bool = False
    """Whether all have one framework and algorithm."""

    @classmethod
    def of(cls, listed: Sequence[ListedRun]) -> Names:
        """Names and widths of ``listed``."""
        return cls(
            tuple(x.name for x in listed),
            max((x.cells for x in listed), default=8),
            max((x.own_cells for x in listed), default=8),
            max((len(x.state) for x in listed), default=0),
            any(x.says_more for x in listed),
            len({(k.framework, k.algorithm) for x in listed if (k := x.run.recognition)}) == 1,
        )


class ListedRuns:
    """All runs; to be brought up to date when there is news."""

    def __init__(self, runs: Iterable[JudgedRun] = ()) -> None:
        self._kept: dict[JudgedRun, ListedRun] = {}
        self._ordered: dict[str, list[ListedRun]] = {}
        self.counts = RunCounts()
        """Counts over all runs."""
        self.names = Names.of(())
        """Names of all runs."""
        self.refresh(runs)

    def refresh(self, runs: Iterable[JudgedRun]) -> None:
        """Bring the list up to date: ``runs`` are all of them, in the order of their keys."""
        before = self._kept
        found = dict[JudgedRun, ListedRun]()
        noted = notes_version()

        for run in runs:
            # Differs when anything may differ that the list knows.
            notes = len(run.data.files.notes)
            stamp = run.version, run.progress, run.name, run.data.loading, notes, noted
            kept = before.get(run)
            found[run] = kept if kept and kept.stamp == stamp else _listed(run, stamp)

        listed = list(found.values())
        if listed == list(before.values()):
            return
        self._kept = found
        self._ordered = {}
        self.names = Names.of(listed)
        self.counts = RunCounts(
            len(listed),
            sum(x.is_read for x in listed),
            Counter(x.state for x in listed if x.state),
            Counter(x.level for x in listed),
            sum(x.is_judged for x in listed),
        )

    def __len__(self) -> int:
        return len(self._kept)

    def shown(self, order: str, text: str) -> list[ListedRun]:
        """The runs that pass the filter ``text``: words (see
        :func:`rltui.core.text.words_match`; all runs for one word after the other, which takes a
        tenth of the time) and conditions. ``order``: verdict, name, newest or a column, see
        :mod:`rltui.facts.run_columns`; behind a minus the other way round."""
        if order not in self._ordered:
            self._ordered[order] = self._sorted(order.removeprefix("-"), order.startswith("-"))

        found = self._ordered[order]
        conditions, text = conditions_in(text)
        for condition in conditions:
            found = [x for x in found if condition.holds(x.run)]

        for word in text.lower().split():
            if not word.startswith("!"):
                found = [x for x in found if word in x.words]
            elif len(word) > 1:
                found = [x for x in found if word[1:] not in x.words]

        return list(found)

    def _sorted(self, order: str, reverse: bool) -> list[ListedRun]:
        found = list(self._kept.values())  # by name
        if order in ("name", "verdict", "newest"):
            by = attrgetter("key" if order == "name" else f"by_{order}")
            return sorted(found, key=by, reverse=reverse)
        return [found[n] for n in column_of(order).ordered([x.run for x in found], reverse)]


@per_version
def by_verdict(run: JudgedRun) -> tuple[bool, int, float, int, RunKey]:
    """The order of what to look at: what crashed, then by level, by harm, by how many findings are
    loud, and by name."""
    report = run.report
    verdict = run.verdict
    loud = sum(f.level >= Level.WATCH for f in report.firing()) if report else 0
    harm = report.diagnosed.harm if report else math.inf
    return verdict.exit_level < Level.BAD, -verdict.level, harm, -loud, run.key


def runs_matching(runs: list[JudgedRun], text: str) -> list[JudgedRun]:
    """The runs that pass the filter ``text``, in their order."""
    return [x.run for x in ListedRuns(runs).shown("name", text)] if text else runs


def _listed(run: JudgedRun, stamp: tuple[object, ...]) -> ListedRun:
    name = run.name
    verdict = run.verdict
    known = run.recognition
    path = run.data.path
    reading = run.data.files.reading
    progress = run.progress
    state = verdict.state_word if progress else ""

    words = [name, run.key.name, verdict.level.word, state, note_on(run)]
    words += [path.authority] if isinstance(path, RemotePath) else []
    words += [known.framework, known.title, known.algorithm or ""] if known else []

    is_read = not (reading or run.data.loading)
    firing = run.firing()
    note = note_on(run)
    more = any((reading, verdict.crash, not run.infos, firing, run.troubles, note))
    written = (progress.written_at if progress else run.data.files.modified) or 0.0
    cells = cell_width(name)
    return ListedRun(
        run,
        stamp,
        run.key,
        name,
        cells,
        min(cells, cell_width(name.rpartition("/")[2]) + _FOLDER_CELLS),
        verdict.mark,
        state,
        is_read=is_read,
        is_judged=is_read and not (run.report is None and run.infos),
        words=" ".join(words).lower(),
        by_verdict=by_verdict(run),
        by_newest=(-written, run.key),
        says_more=bool(more),
    )


def state_words(run: JudgedRun) -> str:
    """ "live, 5 s ago", "stalled for 1 h, in actor_train since 17:02", "crashed 2 d ago"."""
    word = run.verdict.state_word
    age = age_words(run)
    joint = ", " if word == "live" else " for " if word in _LASTING else " "
    doing = phase_words(run)
    return f"{word}{joint}{age}{f', {doing}' if doing else ''}" if age else word


def phase_words(run: JudgedRun) -> str:
    """Activity of a run that is silent, as its console says; "" where that is not known."""
    known = run.progress.phase if run.progress is not None else None
    return known.words if known and run.verdict.state_word in _LASTING else ""


def why_unknown(run: JudgedRun) -> str:
    """Why a run has no verdict, or its level without a finding, for people; "" where findings, or
    their absence, say it."""
    report = run.report
    if run.verdict.level is not Level.UNKNOWN:
        hangs = run.verdict.state_word == RunState.STALLED.value
        return f"no row for {age_words(run)}" if hangs and not run.firing() else ""

    if not run.infos:
        return "no scalar yet"
    if report is None:
        return "no verdict before the run has been read"
    if report.few_rows is not None:
        return sentences.too_few(report.few_rows)
    if report.judged:
        return "no rule has a healthy range for its metrics; none is NaN or Inf"

    return "no rule can judge this run"


def until_judged(run: JudgedRun) -> str:
    """Action for a run without a verdict: wait for a row, see why it ended, "" while it is read."""
    few = run.report.few_rows if run.report else None
    if run.infos and few is None:
        named = "Name its metrics in the config (metrics:) to have them judged."
        return named if run.report else ""
    awaited = "the first row" if few is None else f"row {few.needed}"
    age = run.progress.age_s if run.progress is not None else None
    if run.verdict.has_ended and (run.infos or (age or 0) > _PATIENCE_S):
        return f"See at the end of its log (t) why it ended before {awaited}."
    return f"Nothing yet; {'wait for' if few is None else 'the verdict comes at'} {awaited}."


def calm_words(run: JudgedRun) -> str:
    """Describe a run without a finding, with the metrics that are not sure yet."""
    verdict = run.verdict
    titles = []
    if Level.UNSURE in verdict.categories.values():
        titles = [i.title for t, i in run.infos.items() if verdict.tag_level(t) is Level.UNSURE]
    if not titles:
        if verdict.crash is None:
            return "nothing to report"
        return "no other finding" if verdict.exit_level >= Level.WATCH else "no finding"
    more = f" and {len(titles) - _MOST_UNSURE} more" if len(titles) > _MOST_UNSURE else ""
    word = "not sure" if verdict.has_ended else "not yet sure"
    return f"{word}: {sentences.listed(titles[:_MOST_UNSURE])}{more}"


def since_step(run: JudgedRun, finding: Finding) -> str:
    """The step at which a finding began. It is named where that is a number of rows, and of what
    is about the run as a whole, where it could be a time: "31", "row 31", "step 31"."""
    word = f"{run.step_word} " if run.step_word != "step" or finding.tag is None else ""
    return f"{word}{numbers.step(finding.since_step)}"


def since_words(run: JudgedRun, finding: Finding) -> str:
    """ "since 80"; "the whole run" for a finding without an onset."""
    return "the whole run" if finding.since_step is None else f"since {since_step(run, finding)}"


def certain_words(finding: Finding) -> str:
    """ ", certain at 127"; "" for a finding without an onset, or certain at its onset."""
    onset = finding.since_step
    certain = finding.certain_step
    if onset is None or certain is None or certain <= onset:
        return ""
    return f", certain at {numbers.step(certain)}"


def age_words(run: JudgedRun) -> str:
    """How long ago the newest write was, behind the word of the state: "2 d ago"; of a state that
    goes on just how long: "1 h"; of a host out of reach since when. Empty where that says
    nothing."""
    word = run.verdict.state_word
    if word == "unreachable" and run.progress is not None:
        return f"since {numbers.clock(run.progress.lost_at)}"
    if run.progress is None or run.progress.age_s is None or word in _AGELESS:
        return ""
    age = numbers.age(run.progress.age_s)
    return age if word in _LASTING else f"{age} ago"


def exit_words(ending: ExitStatus) -> str:
    """``cancelled: Slurm time limit``, ``crashed: CUDA out of memory, then Slurm time limit``."""
    word = "cancelled" if ending.kind is ExitKind.CANCELLED else ending.kind.value
    reasons = ", then ".join((ending.reason, *ending.after))
    return f"{word}: {reasons}"


def reason_words(ending: ExitStatus) -> str:
    """Why a run ended, with the whole line where the reason is cut."""
    if ending.reason.endswith("…") and not ending.after:
        return fit(ending.line, _LINE_CELLS)
    return ", then ".join((ending.reason, *ending.after))


def last_lines(run: JudgedRun) -> tuple[str, ...]:
    """The last lines of the console log that was written last; none without such a log."""
    path = newest_log(run)
    return () if path is None else run.data.files.tails[path].lines


def newest_log(run: JudgedRun) -> Path | None:
    """The console log that was written last; None without one."""
    data = run.data.files
    return max(data.tails, key=lambda p: data.sources[p].modified, default=None)


def absent_words(similar: Path | None) -> str:
    """Words for a logdir that does not exist; ``similar``: a path like it that does."""
    return f"does not exist yet{did_you_mean(None if similar is None else clean(str(similar)))}"
