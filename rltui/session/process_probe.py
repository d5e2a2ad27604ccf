"""Finds out what logs do not say: whether a process still writes a run, what files near it hold.

The processes are those of the machine where the logs lie, also of a host that ssh reaches.

One pass over all processes inspects many runs: those that have fallen silent, and each run once
while it is live, since only a writer that was seen to hold its file open can be expected to keep it
open. Inspections are rare, and in a thread while runs are watched, since a disk may hang.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue

from rltui.core.address import PIPE, is_remote
from rltui.core.batch import RunKey
from rltui.core.clock import Clock
from rltui.core.level import RunState
from rltui.files.disk import hold_on_host, is_on_host
from rltui.files.trouble import contained
from rltui.session.progress import Look, Progress
from rltui.session.run import JudgedRun
from rltui.sources.discovery.processes import FileHold, look
from rltui.sources.side_files.settings_files import FactFiles, Facts

#: Seconds between two inspections, except of runs that have just fallen silent; doubled each time
#: for a run that a process holds open, up to the second.
_PAUSE_S = 5.0
_LONGEST_S = 80.0
#: Longest wait for the thread, seconds: an inspection usually takes some hundredths of one.
_PATIENCE_S = 0.25
#: Event files lag other logs of the same training by up to this (flush_secs of
#: torch.utils.tensorboard.SummaryWriter).
_FLUSH_S = 120.0


@dataclass(slots=True)
class _Writers:
    """Knowledge about the processes that write one run."""

    files: frozenset[Path] = frozenset()
    """Files inspected while the run was live."""
    seen_held: set[Path] = field(default_factory=set)
    """Files of ``files`` that a process had open."""
    facts_read: bool = False
    """Whether the files next to its logs were read."""
    again_at: float = 0.0
    """When a run that is held open is inspected next, monotonic seconds."""
    pause_s: float = _PAUSE_S


@dataclass(slots=True)
class _Inspection:
    """Inspection of one run: what to find out, and what was found."""

    key: RunKey
    written_at: float | None
    files: Mapping[Path, str]
    """Path -> name of the format; empty where the writers need not be found."""
    silent: bool
    """Whether the run has fallen silent."""
    facts_from: tuple[Path, list[Path]] | None
    """Arguments of :meth:`FactFiles.read`; None where the facts are known."""
    holds: Mapping[Path, FileHold] = field(default_factory=dict)
    facts: Facts | None = None


class Vitals:
    """Owned by the session; main thread only, but for what :meth:`_look` does."""

    def __init__(
        self,
        logdirs: Sequence[Path],
        views: Mapping[RunKey, JudgedRun],
        clock: Clock,
        tell: Callable[[JudgedRun], None],
    ) -> None:
        """``tell`` is called for each run about which an inspection has found something new."""
        self._logdirs = logdirs
        self._views = views
        self._clock = clock
        self._tell = tell
        self._known: dict[RunKey, _Writers] = {}
        self._found: SimpleQueue[list[_Inspection]] = SimpleQueue()
        self._looking = False
        self._not_before = 0.0

    def renew(self, runs: Iterable[JudgedRun], *, live: bool) -> bool:
        """Apply what inspections found, and begin the next one if it is due, in a thread if
        ``live``; returns whether anything is new."""
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
        """Apply what inspections found; returns whether that may change what is shown."""
        told = False
        while not self._found.empty():
            self._looking = False
            for inspection in self._found.get():
                view = self._views.get(inspection.key)
                if view is None or view.progress is None:
                    continue
                facts = inspection.facts or view.facts
                news = facts != view.facts or (inspection.silent and bool(inspection.files))
                view.facts = facts
                if inspection.files:
                    known = self._known[view.key]
                    known.seen_held |= {
                        path for path, hold in inspection.holds.items() if hold.held
                    }
                    held = _held(view, inspection, known.seen_held)
                    known.pause_s = min(_LONGEST_S, 2 * known.pause_s) if held else _PAUSE_S
                    known.again_at = self._clock.monotonic() + known.pause_s
                    if inspection.silent:
                        view.progress = view.progress._replace(
                            look=Look(inspection.written_at, held)
                        )
                if news:
                    self._tell(view)
                    told = True

        return told

    def _due(self, runs: Iterable[JudgedRun], now: float, *, rests: bool) -> list[_Inspection]:
        """The inspections that are due; if ``rests``, only of runs that have just fallen silent."""
        found: list[_Inspection] = []
        for view in runs:
            progress = view.progress
            data = view.data
            if progress is None or progress.gone or data.files.reading:
                continue
            knows = is_on_host(data.path) if is_remote(data.path) else data.path != PIPE
            if knows:
                found += self._due_of(view, progress, now, rests=rests)
        if not any(inspection.facts_from for inspection in found):
            return found

        # facts may be in the directories from the path of a run up to the logdir, the nearest
        # first, that hold no other run
        above: dict[RunKey, list[Path]] = {}
        for key, view in self._views.items():
            path = view.data.path
            logdir = self._logdirs[key.logdir]
            above[key] = list(path.parents)[: max(0, len(path.parts) - len(logdir.parts))]
        runs_in = Counter((key.logdir, p) for key, paths in above.items() for p in paths)
        for inspection in found:
            if inspection.facts_from is not None:
                alone = (p for p in above[inspection.key] if runs_in[inspection.key.logdir, p] == 1)
                inspection.facts_from[1].extend(alone)

        return found

    def _due_of(
        self, view: JudgedRun, progress: Progress, now: float, *, rests: bool
    ) -> Iterator[_Inspection]:
        known = self._known.setdefault(view.key, _Writers())
        silent = progress.silent(self._clock.now())
        fresh = silent and not progress.is_looked_at
        if rests and not fresh:
            return
        again = progress.held is True and now >= known.again_at
        # for the first time while it is live; a question to a host costs a connection
        paths = view.data.files.by_path.keys()
        is_here = not is_remote(view.data.path)
        first = progress.state is RunState.LIVE and not known.files >= paths
        looks = (fresh or again) if silent else (first and is_here)
        needs_facts = is_here and (fresh or not (known.facts_read or progress.total_steps))
        if not (looks or needs_facts):
            return

        known.facts_read = True
        files = view.data.files.by_path
        kinds = {p: f.source.format for p, f in files.items() if looks and not f.gone}
        if looks and not silent:
            known.files = frozenset(kinds)
        facts_from: tuple[Path, list[Path]] | None = (view.data.path, []) if needs_facts else None
        yield _Inspection(view.key, progress.written_at, kinds, silent, facts_from)

    def _look(self, looks: list[_Inspection]) -> None:
        """Inspect processes and files, on any thread. A failure finds nothing, so that reading logs
        goes on."""
        files = {path: kind for inspection in looks for path, kind in inspection.files.items()}
        try:
            with contained():
                here = {path: kind for path, kind in files.items() if not is_remote(path)}
                holds = look(here) if here else {}
                for path in files.keys() - here.keys():
                    hold = hold_on_host(path, files[path])
                    if hold is not None:
                        holds[path] = FileHold(*hold)

                fact_files = FactFiles()
                found = [
                    replace(
                        inspection,
                        holds={path: holds[path] for path in inspection.files if path in holds},
                        facts=None
                        if inspection.facts_from is None
                        else fact_files.read(*inspection.facts_from),
                    )
                    for inspection in looks
                ]
        except OSError:
            found = looks
        self._found.put(found)


def _held(view: JudgedRun, look: _Inspection, seen_held: set[Path]) -> bool | None:
    """Whether a process writes a run; None where that cannot be told. No process does when nothing
    holds the file that the training wrote last, or one written about then."""
    holds = look.holds
    if any(hold.held for hold in holds.values()):
        return True
    if holds.keys() < look.files.keys() or any(hold.held is None for hold in holds.values()):
        return None
    modified = {p: f.source.modified for p, f in view.data.files.by_path.items() if p in holds}
    newest = max(modified.values(), default=0.0)
    telling = [p for p, hold in holds.items() if hold.tells or p in seen_held]
    return False if any(modified[p] >= newest - _FLUSH_S for p in telling) else None
