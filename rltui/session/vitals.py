"""What is known of runs beside their logs: who writes them, what lies next to them.

A look at all processes is taken for many runs at once: when runs fall silent, and once while they
are live, since only a writer that was seen to have its file open is certain to keep it open. Looks
are rare, and on a thread of their own while runs are watched: a disk may hang.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue

from rltui.core.address import PIPE, is_remote
from rltui.core.batch import RunKey
from rltui.core.clock import Clock
from rltui.core.level import RunState
from rltui.files.trouble import contained
from rltui.session.progress import Look, Progress
from rltui.session.run import RunView
from rltui.sources.discovery.processes import Hold, look
from rltui.sources.side_files.settings_files import FactFiles, Facts

#: Seconds between two looks, but for runs that have just fallen silent; of a run that a process
#: holds the next one waits twice as long each time, at most this long.
_PAUSE_S, _LONGEST_S = 5.0, 80.0
#: A look takes some hundredths of a second: so long is waited for its thread, seconds.
_PATIENCE_S = 0.25
#: Event files are written this late (torch.utils.tensorboard.SummaryWriter, flush_secs), so that
#: the newest of them is of the training that wrote another log so much later.
_FLUSH_S = 120.0


@dataclass(slots=True)
class _Writers:
    """What is known of who writes one run."""

    files: frozenset[Path] = frozenset()
    """That were looked at while it was live."""
    seen_held: set[Path] = field(default_factory=set)
    """Those of them that a process had open."""
    facts_read: bool = False
    """Whether the files beside its logs were read."""
    again_at: float = 0.0
    """When the next look at a run that is held is due, monotonic seconds."""
    pause_s: float = _PAUSE_S


@dataclass(slots=True)
class _Inspection:
    """What a look is to find out about one run, and what it has found."""

    key: RunKey
    written_at: float | None
    files: Mapping[Path, str]
    """Path -> name of the format; empty where nobody needs to know who writes it."""
    silent: bool
    """Whether the run has fallen silent."""
    facts_from: tuple[Path, list[Path]] | None
    """Where facts lie beside the logs, see :meth:`FactFiles.read`; None where they are known."""
    holds: Mapping[Path, Hold] = field(default_factory=dict)
    facts: Facts | None = None


class Vitals:
    """Owned by the session; main thread only, but for what :meth:`_look` does."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        views: Mapping[RunKey, RunView],
        clock: Clock,
        plan: Container[str],
        tell: Callable[[RunView], None],
    ) -> None:
        """``plan``: names of hyperparameters that may hold the planned steps; ``tell`` is called
        for each run of which more is known now."""
        self._plan = plan
        self._logdirs = logdirs
        self._views = views
        self._clock = clock
        self._tell = tell
        self._known: dict[RunKey, _Writers] = {}
        self._found: SimpleQueue[list[_Inspection]] = SimpleQueue()
        self._looking = False
        self._not_before = 0.0

    def renew(self, runs: Iterable[RunView], *, live: bool) -> bool:
        """Take in what a look has found, and take the next one if it is due, on a thread while
        runs are ``live``; returns whether more is known of any run."""
        news = self._learn()
        now = self._clock.monotonic()
        looks = [] if self._looking else self._due(runs, now, rests=live and now < self._not_before)
        if not looks:
            return news
        silent = [look.silent for look in looks]
        if not all(silent):
            self._not_before = now + _PAUSE_S

        if live:
            self._looking = True
            thread = threading.Thread(
                target=self._look, args=(looks,), name="rltui-vitals", daemon=True
            )
            thread.start()
            if any(silent):
                thread.join(_PATIENCE_S)
        else:
            self._look(looks)

        return self._learn() or news

    def _learn(self) -> bool:
        """Note what was seen of the runs; returns whether that may change what is said of any."""
        told = False
        while not self._found.empty():
            self._looking = False
            for inspection in self._found.get():
                view = self._views.get(inspection.key)
                if view is None or view.progress is None:
                    continue
                news = inspection.silent and bool(inspection.files)
                news = news or (inspection.facts is not None and inspection.facts != view.facts)
                view.facts = inspection.facts or view.facts
                if inspection.files:
                    known = self._known[view.key]
                    known.seen_held |= {
                        path for path, hold in inspection.holds.items() if hold.held
                    }
                    held = _held(view, inspection, known.seen_held)
                    known.pause_s = min(_LONGEST_S, 2 * known.pause_s) if held else _PAUSE_S
                    known.again_at = self._clock.monotonic() + known.pause_s
                    if inspection.silent:
                        view.progress = replace(
                            view.progress, look=Look(inspection.written_at, held)
                        )
                if news:
                    self._tell(view)
                    told = True

        return told

    def _due(self, runs: Iterable[RunView], now: float, *, rests: bool) -> list[_Inspection]:
        """What is to be looked at; while it ``rests``, only what has just fallen silent."""
        found: list[_Inspection] = []
        for view in runs:
            progress, data = view.progress, view.data
            if progress is None or progress.gone or data.files.reading:
                continue
            if not (is_remote(data.path) or data.path == PIPE):
                found += self._due_of(view, progress, now, rests=rests)
        if any(inspection.facts_from for inspection in found):
            self._name_folders(found)

        return found

    def _name_folders(self, looks: list[_Inspection]) -> None:
        """Say in which directories facts may lie beside the logs: those that hold one run only."""
        above = {key: self._folders_of(view) for key, view in self._views.items()}
        runs_in = Counter((key.logdir, p) for key, paths in above.items() for p in paths)
        for inspection in looks:
            if inspection.facts_from is not None:
                alone = (p for p in above[inspection.key] if runs_in[inspection.key.logdir, p] == 1)
                inspection.facts_from[1].extend(alone)

    def _folders_of(self, view: RunView) -> list[Path]:
        """The directories above the path of a run, up to the logdir, the nearest first."""
        path, logdir = view.data.path, self._logdirs[view.key.logdir]
        return list(path.parents)[: max(0, len(path.parts) - len(logdir.parts))]

    def _due_of(
        self, view: RunView, progress: Progress, now: float, *, rests: bool
    ) -> Iterator[_Inspection]:
        known = self._known.setdefault(view.key, _Writers())
        silent = progress.silent(self._clock.now())
        fresh = silent and not progress.is_looked_at
        if rests and not fresh:
            return
        again = progress.held is True and now >= known.again_at
        # for the first time while it is live
        paths = view.data.files.by_path.keys()
        first = progress.state is RunState.LIVE and not known.files >= paths
        looks = (fresh or again) if silent else first
        beside = fresh or not (known.facts_read or progress.total_steps)
        if looks or beside:
            known.facts_read = True
            yield self._inspection(view, known, silent=silent, looks=looks, beside=beside)

    def _inspection(
        self, view: RunView, known: _Writers, *, silent: bool, looks: bool, beside: bool
    ) -> _Inspection:
        files = view.data.files.by_path
        kinds = {p: f.source.format for p, f in files.items() if looks and not f.gone}
        if looks and not silent:
            known.files = frozenset(kinds)
        place: tuple[Path, list[Path]] | None = (view.data.path, []) if beside else None
        written_at = None if view.progress is None else view.progress.written_at
        return _Inspection(view.key, written_at, kinds, silent, place)

    def _look(self, looks: list[_Inspection]) -> None:
        """Look, on any thread. Where it fails nothing is found: that must not end what reads the
        logs."""
        files = {path: kind for inspection in looks for path, kind in inspection.files.items()}
        try:
            with contained():
                holds, beside = look(files) if files else {}, FactFiles(self._plan)
                found = [
                    replace(
                        inspection,
                        holds={path: holds[path] for path in inspection.files if path in holds},
                        facts=None
                        if inspection.facts_from is None
                        else beside.read(*inspection.facts_from),
                    )
                    for inspection in looks
                ]
        except OSError:
            found = looks
        self._found.put(found)


def _held(view: RunView, look: _Inspection, seen_held: set[Path]) -> bool | None:
    """Whether a process writes a run; None where that cannot be told. That nobody does is told by
    the file that the training wrote last, or about then."""
    holds = look.holds
    if any(hold.held for hold in holds.values()):
        return True
    if holds.keys() < look.files.keys() or any(hold.held is None for hold in holds.values()):
        return None
    modified = {p: f.source.modified for p, f in view.data.files.by_path.items() if p in holds}
    newest = max(modified.values(), default=0.0)
    telling = [p for p, hold in holds.items() if hold.tells or p in seen_held]
    return False if any(modified[p] >= newest - _FLUSH_S for p in telling) else None
