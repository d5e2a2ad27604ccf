"""The samples of a run: texts that it logged, and files beside its logs, read on demand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path

from rltui.core.address import PIPE
from rltui.files.disk import is_directory, listing
from rltui.files.trouble import is_missing
from rltui.files.trouble import reason_of as failure_of
from rltui.session.hyperparameters import TextSet
from rltui.session.run import JudgedRun
from rltui.sources.side_files.sample_files import (
    PART,
    UNREADABLE,
    SampleSet,
    find_samples,
    printed_in,
    reason_of,
    without_parquet,
)
from rltui.sources.side_files.trajectory import MARKS, Sample, SampleRow, SampleTable

#: Seconds between two searches for samples that a live run has written meanwhile, and after which
#: what was read of a large file is shown.
_SEARCH_S = 10.0
_FIRST_S = 0.05

#: Shows what was read; called by the owner of the browser.
Apply = Callable[[], None]
#: Reads something, on any thread.
Read = Callable[[], Apply]
#: Samples of one kind. Reading them may take long: it belongs on a thread of its own.
Samples = SampleSet | TextSet
_MadeOf = tuple[Hashable, int | None, object]
#: The filters of the list.
HIGH_WRONG = "high reward, wrong"
FILTERS = (HIGH_WRONG, *MARKS)
#: Steps that are read for one prompt, the nearest first.
_MOST_STEPS = 24


def passing(rows: Sequence[SampleRow], name: str) -> list[SampleRow]:
    """The samples that pass a filter; high is a reward from the mean of ``rows`` on."""
    if name != HIGH_WRONG:
        return [r for r in rows if name in r.marks]
    rewards = [r.reward for r in rows if math.isfinite(r.reward)]
    mean = sum(r / len(rewards) for r in rewards) if rewards else math.nan

    wrong = [r for r in rows if r.right is False]
    return [r for r in wrong if r.reward > mean or (r.reward > 0 and math.isclose(r.reward, mean))]


def _answers(rows: Iterable[SampleRow]) -> dict[int, tuple[float, int]]:
    """Prompt -> share of right answers (mean reward where no column says so), and how many."""
    of: dict[int, list[float]] = {}
    for row in rows:
        of.setdefault(row.prompt, []).append(row.reward if row.right is None else row.right)
    return {prompt: (sum(v) / len(v), len(v)) for prompt, v in of.items()}


def root_of(run: JudgedRun, runs: Iterable[JudgedRun], logdir: Path) -> Path:
    """The largest directory within ``logdir`` that holds files of no other run; standard input is
    in none. Asks the disk, or a host."""
    if logdir == PIPE:
        return PIPE
    root = run.data.path if is_directory(run.data.path) else run.data.path.parent
    others = [r.data.path for r in runs if r.key != run.key]
    while root != logdir and logdir in root.parents:
        parent = root.parent
        if any(o == parent or (parent in o.parents and root not in o.parents) for o in others):
            break
        root = parent

    return root


def folders_of(run: JudgedRun, runs: Iterable[JudgedRun], logdir: Path) -> list[Path]:
    """The directories from :func:`root_of` down to that of the run. Asks the disk, or a host."""
    root = root_of(run, runs, logdir)
    if root == PIPE:
        return []
    folder = run.data.path if is_directory(run.data.path) else run.data.path.parent
    between = [p for p in folder.parents if p == root or root in p.parents]
    return [*reversed(between), folder]


class SampleBrowser:
    """One kind of samples at one step. Does no I/O: :meth:`request` returns what is to be read,
    which the owner calls on a thread, and the result of that where the browser lives."""

    def __init__(self, run: JudgedRun, root: Callable[[], Path], step: int | None) -> None:
        """``root`` finds the directory to search, on any thread; ``step``: show the samples nearest
        to it; None for the newest."""
        self.root = run.data.path
        """The directory that was searched last."""
        self.more = ""
        """Samples that cannot be read, and the command that adds what they need; or why it could
        not be listed."""
        self._root = root
        self.kinds: Sequence[Samples] | None = None
        """None before the first search is over."""
        self.kind = 0
        """Which of them is shown."""
        self.step: int | None = None
        self.steps: Sequence[int] = ()
        """The steps that have samples, up to that at which the run is shown."""
        self._run = run
        self._as_of = run.as_of
        self._wanted = step
        self._table: SampleTable | None = None
        self._made_of: _MadeOf | None = None
        """Kind, step of the file and its stamp that the table is of."""
        self._sample: tuple[object, SampleRow, Sample | str] | None = None
        """The sample that was read last, and of what; a text says why it could not be read."""
        self.prompt = 0
        """The prompt whose answers alone are of interest; 0 for all."""
        self._answers: dict[int, dict[int, tuple[float, int]]] = {}
        """Step -> answers, where a prompt was looked at."""
        self._printed: dict[Path, int] = {}
        self._searched: tuple[int, float] | None = None
        """Version of the run and time of the newest search."""

    # -- what there is ---------------------------------------------------------------------

    @property
    def current(self) -> Samples | None:
        """The kind that is shown."""
        return self.kinds[self.kind] if self.kinds else None

    @property
    def path(self) -> Path | None:
        """The file that they are read from, where it is one of their own."""
        kind = self.current
        return kind.file_of(self.step) if isinstance(kind, SampleSet) else None

    @property
    def names(self) -> list[str]:
        """Display names of the kinds, each different."""
        kinds = self.kinds or ()
        counts = Counter(k.name for k in kinds)
        return [k.name if counts[k.name] == 1 else f"{k.name} ({k.origin})" for k in kinds]

    @property
    def rows(self) -> Sequence[SampleRow]:
        """The samples of the step."""
        current = self.current
        rows = self._table.rows if self._table is not None else ()
        if current is None or current.steps:
            return rows
        if self.step is None:  # rows without a step, or later ones only
            return [r for r in rows if r.step is None] if self._as_of is not None else rows
        return [r for r in rows if r.step == self.step]

    @property
    def over_steps(self) -> list[tuple[int, float, int]]:
        """(step, share of right answers or mean reward, answers) of :attr:`prompt`, as far as the
        steps have been read, ascending."""
        found = self._answers
        if not self.prompt:
            return []
        if self.current is not None and not self.current.steps and self._table is not None:
            rows: dict[int, list[SampleRow]] = {}
            for row in self._table.rows:
                if row.step is not None and row.prompt == self.prompt:
                    rows.setdefault(row.step, []).append(row)
            found = {step: _answers(some) for step, some in rows.items()}
        return [(s, *found[s][self.prompt]) for s in self.steps if self.prompt in found.get(s, ())]

    @property
    def note(self) -> str:
        """Why there is no sample, or not every one."""
        if self.kinds is not None and not self.kinds:
            return ""
        if self._is_later:
            return "none so early in the run"
        return "reading" if self._table is None else self._table.note

    @property
    def _is_later(self) -> bool:
        """Whether all files of the kind are of later steps than the run is shown at."""
        return self.current is not None and bool(self.current.steps) and self.step is None

    def sample(self, row: SampleRow) -> Sample | str | None:
        """The whole sample or why it cannot be read; None while it has not been read."""
        known = self._sample
        return known[2] if known is not None and known[:2] == (self._made_of, row) else None

    # -- reading ---------------------------------------------------------------------------

    def request(self, row: SampleRow | None, now: float) -> Read | None:
        """Choose what to read next: the kinds, the table of the step, the sample ``row``. ``now``
        is in seconds of any clock."""
        searched = self._searched
        version = self._run.version
        if searched is None or (searched[0] != version and now - searched[1] >= _SEARCH_S):
            self._searched = version, now
            return self._search()

        current = self.current
        if current is None or self._is_later:
            return None
        step = self.step if current.steps else None
        part = self._table
        made_of = self._made_of
        if part is None or part.note == PART:
            return lambda: self._load(current, step, part, made_of)
        if row is not None and self.sample(row) is None:
            return lambda: self._read(current, step, row, made_of)

        # the nearest step whose answers to the prompt are not known
        steps = current.steps if self.prompt else ()
        nearest = sorted(steps, key=lambda s: abs(s - (self.step or 0)))[:_MOST_STEPS]
        wanted = next((s for s in nearest if s not in self._answers), None)
        return None if wanted is None else lambda: self._load(current, wanted)

    def _search(self) -> Read:
        files = self._run.data.files
        logs = frozenset(files.sources)
        consoles = [p for p in files.tails if p != PIPE]
        texts = self._run.texts.sets()

        def read() -> Apply:
            root = self._root()
            found, more = without_parquet(find_samples(root, logs))
            kinds: list[Samples] = [*found, *texts, *printed_in(consoles, self._printed)]
            stamps = {k.key: k.stamp(self.step if k.steps else None) for k in kinds}
            if not kinds:
                try:
                    listing(root)
                except OSError as error:
                    if not is_missing(error):
                        more = (
                            f"No texts in the logs, and the files beside them {failure_of(error)}."
                        )

            def apply() -> None:
                self.root = root
                self.more = more
                before = self.current
                keys = [k.key for k in kinds]
                self.kinds = kinds
                self.kind = keys.index(before.key) if before and before.key in keys else 0
                if self._made_of is not None and stamps.get(self._made_of[0]) != self._made_of[2]:
                    self._table = self._made_of = None
                if self.current is not None and self.current.steps:
                    self._choose(self.current.steps)

            return apply

        return read

    def _load(
        self,
        kind: Samples,
        step: int | None,
        part: SampleTable | None = None,
        part_of: _MadeOf | None = None,
    ) -> Apply:
        """``part``: the table that is read on, ``part_of``: what it is of."""
        seconds = math.inf if self.prompt else _FIRST_S
        stamp = kind.stamp(step) if part is None or part_of is None else part_of[2]
        table = next(part.rest) if part is not None else kind.load(step, seconds)

        def apply() -> None:
            current = self.current
            wanted = current and (current.key, self.step if current.steps else None)
            if self.prompt and wanted and wanted[0] == kind.key and step is not None:
                self._answers[step] = _answers(table.rows)
            if current is not None and wanted == (kind.key, step):  # no other was chosen meanwhile
                self._table = table
                self._made_of = (kind.key, step, stamp)
                if not current.steps:
                    self._choose(self._all_steps())

        return apply

    def _read(self, kind: Samples, step: int | None, row: SampleRow, made_of: object) -> Apply:
        found: Sample | str
        try:
            found = kind.read(step, row)
        except UNREADABLE as error:
            found = f"cannot be read: {reason_of(error)}"

        def apply() -> None:
            self._sample = made_of, row, found

        return apply

    def _all_steps(self) -> Sequence[int]:
        """The steps of the kind, also those after the one that the run is shown at."""
        if self.current is not None and self.current.steps:
            return self.current.steps
        rows = self._table.rows if self._table is not None else ()
        return sorted({r.step for r in rows if r.step is not None})

    def follow(self) -> None:
        """Hide what is later than the step that the run is shown at."""
        if self._as_of != self._run.as_of:
            self._as_of = self._run.as_of
            self._choose(self._all_steps())

    # -- moving ----------------------------------------------------------------------------

    def step_by(self, by: int) -> None:
        """Go to an earlier or later step that has samples; from the last one on the newest is
        shown, whichever that will be."""
        known = [s for s, *_ in self.over_steps]
        steps = known if self.step in known else self.steps
        if self.step is not None and self.step in steps:
            last = len(steps) - 1
            at = max(0, min(last, steps.index(self.step) + by))
            self._wanted = steps[at] if steps[at] != self.steps[-1] else None
            self._choose(self.steps)

    def kind_by(self, by: int) -> None:
        """Go to another kind of samples, at about the same step."""
        if self.kinds:
            self._wanted = self.step if self._wanted is not None else None
            self.kind = (self.kind + by) % len(self.kinds)
            self._table = self._made_of = None
            self.step = None
            self.steps = ()
            self.prompt = 0
            self._answers = {}
            self._choose(self.kinds[self.kind].steps)

    def _choose(self, steps: Sequence[int]) -> None:
        """Show the step nearest to the wanted one, the newest when none is wanted."""
        before = self.step
        wanted = self._wanted
        as_of = self._as_of
        self.steps = steps = [s for s in steps if as_of is None or s <= as_of]
        if not steps:
            self.step = None
        else:
            self.step = steps[-1] if wanted is None else min(steps, key=lambda s: abs(s - wanted))
        if self.current is not None and self.current.steps and self.step != before:
            self._table = self._made_of = None
