"""The samples of a run: texts that it logged, and files beside its logs, read on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from rltui.core.address import PIPE
from rltui.files.disk import is_directory, listing
from rltui.files.trouble import is_missing
from rltui.files.trouble import reason_of as failure_of
from rltui.session.run import RunView
from rltui.sources.side_files.sample_files import (
    UNREADABLE,
    Sample,
    SampleRow,
    SampleTable,
    find_samples,
    reason_of,
)

#: Seconds between two searches for samples that a live run has written meanwhile.
_SEARCH_S = 10.0

#: Takes in what was read; called by the owner of the browser.
Take = Callable[[], None]
#: Reads something, on any thread.
Read = Callable[[], Take]
_MadeOf = tuple[Hashable, int | None, object]


class Samples(Protocol):
    """Samples of one kind. Reading may take long: it belongs on a thread of its own."""

    @property
    def key(self) -> Hashable:
        """The same for the same samples in every search."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def origin(self) -> str:
        """Where they come from, for people."""

    @property
    def steps(self) -> list[int]:
        """The steps with samples, ascending; empty where only the rows know them."""

    def stamp(self, step: int | None) -> object:
        """Changes when the samples at a step do."""

    def load(self, step: int | None) -> SampleTable:
        """The samples at a step, or of all steps where :attr:`steps` is empty."""

    def read(self, step: int | None, row: SampleRow) -> Sample:
        """Everything of a sample. Raises one of :data:`UNREADABLE`."""


def root_of(run: RunView, runs: Iterable[RunView], logdir: Path) -> Path:
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


def folders_of(run: RunView, runs: Iterable[RunView], logdir: Path) -> list[Path]:
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

    def __init__(self, run: RunView, root: Callable[[], Path], step: int | None) -> None:
        """``root`` finds the directory to search, on any thread; ``step``: show the samples nearest
        to it; None for the newest."""
        self.root = run.data.path
        """The directory that was searched last."""
        self.trouble = ""
        """Why it could not be listed."""
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
        self._searched: tuple[int, float] | None = None
        """Version of the run and time of the newest search."""

    # -- what there is ---------------------------------------------------------------------

    @property
    def current(self) -> Samples | None:
        """The kind that is shown."""
        return self.kinds[self.kind] if self.kinds else None

    @property
    def names(self) -> list[str]:
        """What the kinds are called, each differently."""
        kinds = self.kinds or ()
        counts = Counter(k.name for k in kinds)
        return [k.name if counts[k.name] == 1 else f"{k.name} ({k.origin})" for k in kinds]

    @property
    def rows(self) -> Sequence[SampleRow]:
        """The samples of the step."""
        current, rows = self.current, self._table.rows if self._table is not None else ()
        if current is None or current.steps:
            return rows
        if self.step is None:  # rows without a step, or later ones only
            return [r for r in rows if r.step is None] if self._as_of is not None else rows
        return [r for r in rows if r.step == self.step]

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
        """What is to be read next: the kinds, the table of the step, the sample ``row``. ``now``
        are seconds of any clock."""
        current = self.current
        if self._is_old(now):
            self._searched = self._run.version, now
            logs = frozenset(self._run.data.files.sources)
            return partial(self._find, logs, self._run.texts.sets())
        if current is None or self._is_later:
            return None
        step = self.step if current.steps else None
        if self._table is None:
            return partial(self._load, current, step)
        if row is not None and self.sample(row) is None:
            return partial(self._read, current, step, row, self._made_of)

        return None

    def _is_old(self, now: float) -> bool:
        if self._searched is None:
            return True
        version, at = self._searched
        return version != self._run.version and now - at >= _SEARCH_S

    def _find(self, logs: frozenset[Path], texts: Sequence[Samples]) -> Take:
        root = self._root()
        kinds: list[Samples] = [*find_samples(root, logs), *texts]
        stamps = {k.key: k.stamp(self.step if k.steps else None) for k in kinds}
        trouble = "" if kinds else _trouble_of(root)
        return partial(self._take_kinds, kinds, stamps, (root, trouble))

    def _take_kinds(
        self,
        kinds: Sequence[Samples],
        stamps: Mapping[Hashable, object],
        searched: tuple[Path, str],
    ) -> None:
        self.root, self.trouble = searched
        before, keys = self.current, [k.key for k in kinds]
        self.kinds = kinds
        self.kind = keys.index(before.key) if before and before.key in keys else 0
        made_of = self._made_of
        if made_of is not None and stamps.get(made_of[0]) != made_of[2]:
            self._forget()
        if self.current is not None and self.current.steps:
            self._choose(self.current.steps)

    def _load(self, kind: Samples, step: int | None) -> Take:
        stamp = kind.stamp(step)
        return partial(self._take_table, kind.load(step), (kind.key, step, stamp))

    def _take_table(self, table: SampleTable, made_of: _MadeOf) -> None:
        current = self.current
        if current is None or made_of[:2] != (current.key, self.step if current.steps else None):
            return  # another step was chosen meanwhile
        self._table, self._made_of = table, made_of
        if not current.steps:
            self._choose(self._all_steps())

    def _all_steps(self) -> Sequence[int]:
        """The steps of the kind, also those after the one that the run is shown at."""
        if self.current is not None and self.current.steps:
            return self.current.steps
        rows = self._table.rows if self._table is not None else ()
        return sorted({r.step for r in rows if r.step is not None})

    def _read(self, kind: Samples, step: int | None, row: SampleRow, made_of: object) -> Take:
        found: Sample | str
        try:
            found = kind.read(step, row)
        except UNREADABLE as error:
            found = f"cannot be read: {reason_of(error)}"
        return partial(self._take_sample, (made_of, row, found))

    def _take_sample(self, sample: tuple[object, SampleRow, Sample | str]) -> None:
        self._sample = sample

    def follow(self) -> None:
        """Hide what is later than the step that the run is shown at."""
        if self._as_of != self._run.as_of:
            self._as_of = self._run.as_of
            self._choose(self._all_steps())

    # -- moving ----------------------------------------------------------------------------

    def step_by(self, by: int) -> None:
        """Go to an earlier or later step that has samples; from the last one on the newest is
        shown, whichever that will be."""
        if self.step is not None and self.step in self.steps:
            last = len(self.steps) - 1
            at = max(0, min(last, self.steps.index(self.step) + by))
            self._wanted = self.steps[at] if at < last else None
            self._choose(self.steps)

    def kind_by(self, by: int) -> None:
        """Go to another kind of samples, at about the same step."""
        if self.kinds:
            self._wanted = self.step if self._wanted is not None else None
            self.kind = (self.kind + by) % len(self.kinds)
            self._forget()
            self.step, self.steps = None, ()
            self._choose(self.kinds[self.kind].steps)

    def _choose(self, steps: Sequence[int]) -> None:
        """Show the step nearest to the wanted one, the newest when none is wanted."""
        before, wanted, as_of = self.step, self._wanted, self._as_of
        self.steps = steps = [s for s in steps if as_of is None or s <= as_of]
        if not steps:
            self.step = None
        else:
            self.step = steps[-1] if wanted is None else min(steps, key=lambda s: abs(s - wanted))
        if self.current is not None and self.current.steps and self.step != before:
            self._forget()

    def _forget(self) -> None:
        self._table = self._made_of = None


def _trouble_of(root: Path) -> str:
    """Why a directory cannot be listed; empty where it can, or where there is none."""
    try:
        listing(root)
    except OSError as error:
        return "" if is_missing(error) else failure_of(error)
    return ""
