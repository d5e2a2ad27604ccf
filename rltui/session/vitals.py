"""What is known of runs beside their logs: who writes them, what lies next to them.

A look at all processes is taken for many runs at once: when runs fall silent, and once while they
are live, since only a writer that was seen to have its file open is certain to keep it open. Looks
are rare, and on a thread of their own while runs are watched: a disk may hang.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue

from rltui.core.address import is_remote
from rltui.core.batch import RunKey
from rltui.core.clock import Clock
from rltui.core.level import RunState
from rltui.core.stdin import PIPE
from rltui.files.trouble import contained
from rltui.session.progress import Look
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
class _Known:
    """What was found out about one run."""

    files: frozenset[Path] = frozenset()
    """That were looked at while it was live."""
    seen_held: set[Path] = field(default_factory=set)
    """Those of them that a process had open."""
    beside: bool = False
    """Whether the files beside its logs were read."""
    again_at: float = 0.0
    """When the next look at a run that is held is due, monotonic seconds."""
    pause_s: float = _PAUSE_S


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a look is to find out about one run."""

    key: RunKey
    written_at: float | None
    files: Mapping[Path, str]
    """Path -> name of the format; empty where nobody needs to know who writes it."""
    silent: bool
    """Whether the run has fallen silent."""
    beside: tuple[Path, list[Path]] | None
    """Where facts lie beside the logs, see :meth:`FactFiles.read`; None where they are known."""


@dataclass(frozen=True, slots=True)
class _Seen:
    wish: _Wish
    holds: Mapping[Path, Hold]
    facts: Facts | None


class Vitals:
    """Owned by the session; main thread only, but for what :func:`_looked` does."""

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
        self._known: dict[RunKey, _Known] = {}
        self._found: SimpleQueue[list[_Seen]] = SimpleQueue()
        self._looking = False
        self._not_before = 0.0

    def take_turn(self, runs: Iterable[RunView], *, live: bool) -> bool:
        """Take in what a look has found, and take the next one if it is due, on a thread while
        runs are ``live``; returns whether more is known of any run."""
        news = self._take()
        now = self._clock.monotonic()
        wishes = [] if self._looking else self._wishes(runs, now, rests=live)
        if not wishes:
            return news
        if not all(wish.silent for wish in wishes):
            self._not_before = now + _PAUSE_S
        if not live:
            self._found.put(_looked(wishes, self._plan))
            return self._take() or news
        self._looking = True
        target = lambda: self._found.put(_looked(wishes, self._plan))  # noqa: E731
        thread = threading.Thread(target=target, name="rltui-vitals", daemon=True)
        thread.start()
        if any(wish.silent for wish in wishes):
            thread.join(_PATIENCE_S)
        return self._take() or news

    def _take(self) -> bool:
        news = False
        while not self._found.empty():
            self._looking = False
            for seen in self._found.get():
                view = self._views.get(seen.wish.key)
                if view is not None and view.progress is not None and self._learn(view, seen):
                    self._tell(view)
                    news = True
        return news

    def _learn(self, view: RunView, seen: _Seen) -> bool:
        """Note what was seen of a run; returns whether that may change what is said of it."""
        known, wish = self._known[view.key], seen.wish
        news = seen.facts is not None and seen.facts != view.facts
        view.facts = seen.facts or view.facts
        if not wish.files or view.progress is None:
            return news
        known.seen_held |= {path for path, hold in seen.holds.items() if hold.held}
        held = _held(view, wish, seen.holds, known.seen_held)
        known.pause_s = min(_LONGEST_S, 2 * known.pause_s) if held else _PAUSE_S
        known.again_at = self._clock.monotonic() + known.pause_s
        if wish.silent:
            view.progress = replace(view.progress, look=Look(wish.written_at, held))
        return news or wish.silent

    def _wishes(self, runs: Iterable[RunView], now: float, *, rests: bool) -> list[_Wish]:
        """What is to be looked at; while it ``rests``, only what has just fallen silent."""
        wishes, homes = [], None
        rests = rests and now < self._not_before
        for view in runs:
            progress, files = view.progress, view.data.files
            if progress is None or progress.gone or files.reading:
                continue
            if is_remote(view.data.path) or view.data.path == PIPE:
                continue
            known = self._known.setdefault(view.key, _Known())
            silent = progress.silent(self._clock.now())
            fresh = silent and not _is_looked_at(view)
            if rests and not fresh:
                continue
            look_at = fresh or self._looks(view, known, now, silent=silent)
            beside = fresh or not (known.beside or progress.total_steps)
            if not (look_at or beside):
                continue
            known.beside = True
            homes = homes or _Homes(self._logdirs, self._views.values())
            place = (view.data.path, homes.above(view)) if beside else None
            kinds = {p: f.source.format for p, f in files.by_path.items() if not f.gone}
            if look_at and not silent:
                known.files = frozenset(kinds)
            looked_at = kinds if look_at else {}
            wishes.append(_Wish(view.key, progress.written_at, looked_at, silent, place))
        return wishes

    def _looks(self, view: RunView, known: _Known, now: float, *, silent: bool) -> bool:
        """Whether to look again who writes a run, or for the first time while it is live."""
        progress = view.progress
        assert progress is not None
        if silent:
            return bool(progress.held) and now >= known.again_at
        paths = view.data.files.by_path.keys()
        return progress.state is RunState.LIVE and not known.files >= paths


def _is_looked_at(view: RunView) -> bool:
    """Whether somebody has looked since the newest write of a silent run."""
    progress = view.progress
    if progress is None or progress.look is None:
        return False
    return progress.look.written_at == progress.written_at


def _looked(wishes: Sequence[_Wish], plan: Container[str]) -> list[_Seen]:
    """What a look finds; nothing where it fails: that must not end what reads the logs."""
    try:
        with contained():
            return _look(wishes, plan)
    except OSError:
        return [_Seen(wish, {}, None) for wish in wishes]


def _look(wishes: Sequence[_Wish], plan: Container[str]) -> list[_Seen]:
    files = {path: kind for wish in wishes for path, kind in wish.files.items()}
    holds, beside = look(files) if files else {}, FactFiles(plan)
    return [
        _Seen(
            wish,
            {path: holds[path] for path in wish.files if path in holds},
            None if wish.beside is None else beside.read(*wish.beside),
        )
        for wish in wishes
    ]


def _held(
    view: RunView, wish: _Wish, holds: Mapping[Path, Hold], seen_held: set[Path]
) -> bool | None:
    """Whether a process writes a run; None where that cannot be told. That nobody does is told by
    the file that the training wrote last, or about then."""
    if any(hold.held for hold in holds.values()):
        return True
    if holds.keys() < wish.files.keys() or any(hold.held is None for hold in holds.values()):
        return None
    modified = {p: f.source.modified for p, f in view.data.files.by_path.items() if p in holds}
    newest = max(modified.values(), default=0.0)
    telling = [p for p, hold in holds.items() if hold.tells or p in seen_held]
    return False if any(modified[p] >= newest - _FLUSH_S for p in telling) else None


class _Homes:
    """Which directories hold only one run."""

    def __init__(self, logdirs: Sequence[Path], views: Iterable[RunView]) -> None:
        self._logdirs = logdirs
        self._above = {v.key: self._all_above(v) for v in views}
        self._runs = Counter((k.logdir, p) for k, above in self._above.items() for p in above)

    def _all_above(self, view: RunView) -> list[Path]:
        parents = view.data.path.parents
        depth = len(view.data.path.parts) - len(self._logdirs[view.key.logdir].parts)
        return [parents[i] for i in range(min(depth, len(parents)))]

    def above(self, view: RunView) -> list[Path]:
        """Those above the path of a run, up to the logdir, the nearest first."""
        return [p for p in self._above[view.key] if self._runs[view.key.logdir, p] == 1]
