"""Receives new points from the reader, and decides when they are judged and painted.

Keys never wait for that. The reader wakes the pump; while nothing changes, only ages are renewed,
once a second.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module

from textual.message_pump import MessagePump

from rltui.core.clock import Clock
from rltui.core.errors import RltuiError
from rltui.core.kept_documents import keep_documents
from rltui.session import Session

#: While the reader is ahead of the screen: the pause between two drains, and the pause between two
#: paints as a multiple of what the last paint took.
_BUSY_S = 0.005
_BUSY_PAINT_REST = 10.0
#: Pause between two slices of verdicts that take long: less than half of a core.
_JUDGING_S = 0.025
#: While the user presses keys the next slice waits this many pauses at most.
_MOST_PUT_OFF = 40
#: Seconds between two updates of ages and states.
_AGE_INTERVAL_S = 1.0
#: With more runs than this their ages are renewed in every fifth interval only.
_MANY_RUNS = 100
_AGE_MANY = 5
#: Seconds between two paints of a stream of news: as few as keep the work at this share of a core,
#: in these limits. A step that comes sooner is painted with the next one; if none comes, after
#: twice that time. So the first step after a pause shows at once, any other within about a second.
_SHARE = 0.01
_APART_S = 0.25
_EVERY_S = 0.95
_LATEST_S = 1.05
#: What a paint takes is the least of so many: verdicts have a pace of their own.
_TIMES = 4
#: Keys that are this close belong together, seconds.
_TOGETHER_S = 0.3
#: New objects that are worth a collection when no key comes, and at any rate: 10,000 take 2.5 ms,
#: and most of what a paint leaves is replaced by the next ones.
_FEW = 10_000
_MANY = 100_000
#: Seconds between two looks at the number of new objects.
_LOOK_S = 0.25
#: Collections after which the next older generation is collected, too. All objects are collected
#: only after so many seconds without a key, because that takes a tenth of a second.
_OLDER = 10
_ALL = 50
_AWAY_S = 10.0
#: With thousands of runs a full collection takes seconds. If one takes this long, the objects that
#: remain are left out of the next full collections, this many.
_LONG_S = 0.05
_THAW = 20
#: Pause before each import, seconds: a key waits for one at most.
_IMPORT_PAUSE_S = 0.05


def import_later(owner: MessagePump, names: Sequence[str]) -> None:
    """Import modules on the loop of ``owner``, one after each pause; then documents are kept, which
    they read."""

    def import_next() -> None:
        import_module(names[0])
        import_later(owner, names[1:])

    if names:
        owner.set_timer(_IMPORT_PAUSE_S, import_next)
    else:
        keep_documents()


class PaintLimiter:
    """Limits paints by what they cost. Times are those of a monotonic clock."""

    def __init__(self) -> None:
        self.soonest = self.latest = -math.inf
        """When the next news may be painted, and when news that came before that are painted even
        if no others follow."""
        self._took_s = deque([0.0], maxlen=_TIMES)
        """Seconds of the newest paints, with what led to them."""

    def spend(self, now: float, took_s: float) -> None:
        """Record a paint that took so long of a core, with reading and judging what it shows."""
        self._took_s.append(took_s)
        apart = min(max(min(self._took_s) / _SHARE, _APART_S), _EVERY_S)
        self.soonest = now + apart
        self.latest = now + min(2 * apart, _LATEST_S)


class InputTimes:
    """Knows when the last key or click came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = -math.inf

    def note(self) -> None:
        """Record that one came now."""
        self._last = self._clock.monotonic()

    @property
    def since(self) -> float:
        """Seconds since the last one; infinite before the first."""
        return self._clock.monotonic() - self._last

    @property
    def recent(self) -> bool:
        """Whether more may be about to come."""
        return self.since < _TOGETHER_S


class Pump:
    """Drains a session and has changes shown, on the event loop of ``owner``."""

    def __init__(
        self,
        owner: MessagePump,
        session: Session,
        show: Callable[[bool], None],
        fail: Callable[[RltuiError], None],
        input_times: InputTimes,
        later: Sequence[str] = (),
    ) -> None:
        """``show`` paints; its argument says whether a run appeared. ``fail`` is called when it
        turns out while reading that there is nothing to read. ``later``: modules that keys need,
        to import once the first values stand on the screen."""
        self._owner = owner
        self._later = later
        self._session = session
        self._show = show
        self._fail = fail
        self._input_times = input_times
        self._garbage = Collector(input_times, session.clock)
        self._put_off = 0
        """Slices of verdicts that the last keys have put off."""
        self._limiter = PaintLimiter()
        self._rests_until = self._spent_s = 0.0
        self._seconds = 0
        self._due = math.inf
        """When the next drain is scheduled."""
        self._unpainted = self._new_runs = self._has_rows = self._joins = False
        self._begun = False
        """Whether something that was logged has been painted."""
        self.paused = False

    def start(self) -> None:
        """Start reading and ticking."""

        def wake() -> None:
            """Called on the reader thread; the loop may be closed already."""
            with contextlib.suppress(RuntimeError):
                self._owner.call_later(self.news)

        self._session.reader.on_batch = wake
        self._session.start()
        self._owner.set_interval(_AGE_INTERVAL_S, self.age)
        self.pull()

    def news(self) -> None:
        """Schedule a drain of what was read: at once after a quiet spell, else with the next paint.

        While files are read for the first time drains do not wait, or the reader would have to.
        """
        self._has_rows = True
        self._go_on()

    def _go_on(self) -> None:
        loading = self._session.reading() is not None
        wait = self._limiter.soonest - self._session.clock.monotonic()
        self._joins = wait > 0  # what is new is painted with the next news
        self._pull_in(_BUSY_S if loading else wait)

    def _pull_in(self, seconds: float) -> None:
        """Schedule a drain in ``seconds``, unless one is due before."""
        due = self._session.clock.monotonic() + max(0.0, seconds)
        if due >= self._due:
            return
        self._due = due
        if seconds <= 0:
            self._owner.call_later(self.pull)
        else:
            self._owner.set_timer(seconds, lambda: self.pull() if due == self._due else None)

    def pull(self) -> None:
        """Drain, and paint if that is due."""
        self._due = math.inf
        session = self._session
        if session.judge.unfinished and self._input_times.recent and self._put_off < _MOST_PUT_OFF:
            self._put_off += 1
            self._pull_in(_JUDGING_S)
            return
        self._put_off = 0
        begun = time.thread_time()
        in_slices = session.judge.unfinished
        # verdicts come after the first paint: the rules are loaded by the first of them
        try:
            changes = session.drain(verdicts=self._begun)
        except RltuiError as failure:
            self._fail(failure)
            return
        self._unpainted = self._unpainted or bool(changes)
        self._new_runs = self._new_runs or bool(changes.new_runs)
        now = session.clock.monotonic()
        self._spent_s += time.thread_time() - begun
        if session.busy:
            # More is queued: take it in soon, let keys in between, paint now and then.
            self._pull_in(_BUSY_S)
        elif session.judge.unfinished:
            self._pull_in(_JUDGING_S)
        reading = session.busy or session.reading() is not None
        loading = reading or session.judge.unfinished
        if self._unpainted and (not loading or now >= self._rests_until):
            self._paint(now, can_wait=(in_slices or self._joins) and not reading)
        self._garbage.collect_if_due()

    def _paint(self, now: float, *, can_wait: bool) -> None:
        """Paint; what came too soon, and a verdict on what is shown, can wait for the next step."""
        if can_wait and now < self._limiter.latest:
            self._pull_in(self._limiter.latest - now)
            return
        session = self._session
        begun = time.thread_time()
        # while logs are read for the first time, runs appear all the time: one notice at the end
        new_runs = self._new_runs and session.reading() is None
        self._unpainted, self._new_runs = False, self._new_runs and not new_runs
        self._show(new_runs)
        painted = session.clock.monotonic()
        self._rests_until = painted + max(_APART_S, _BUSY_PAINT_REST * (painted - now))
        if self._has_rows:  # the next row does not wait for a verdict that was painted alone
            self._limiter.spend(now, self._spent_s + time.thread_time() - begun)
        self._has_rows = False
        self._spent_s = 0.0
        if not self._begun and session.views:
            # The first values stand on the screen: judge them, and do what can wait.
            self._begun = True
            self._pull_in(_BUSY_S)
            import_later(self._owner, self._later)

    def age(self) -> None:
        """Update ages, and go on with verdicts that wait although the reader has no news."""
        waits = self._unpainted or self._session.unsettled
        # not between the rows of a stream: the next one brings the verdict along
        if waits and self._session.clock.monotonic() >= self._limiter.latest:
            self._go_on()
        self._seconds += 1
        slow = len(self._session.views) > _MANY_RUNS and self._seconds % _AGE_MANY
        if not slow and self._session.refresh_progress():
            self._show(False)
        self._garbage.collect_if_due()

    def pause(self) -> None:
        """Pause what is shown, or let it go on; logs are read and judged in any case."""
        self.paused = not self.paused
        if self.paused:
            self._session.run_list.hold()
        else:
            self._session.run_list.release()
            self._pull_in(0.0)


class Collector:
    """Runs Python's garbage collector, which is off, between keys: it would delay a key by 5 to
    100 ms."""

    def __init__(self, times: InputTimes, clock: Clock) -> None:
        self._times = times
        self._clock = clock
        self._looked = -math.inf
        self._since_freeze: int | None = None
        """Collections of all objects since most were left out; None while none are."""

    def collect_if_due(self) -> None:
        """Collect if there is enough garbage and the user presses no key; to be called after
        anything that leaves garbage. Counts objects at most four times a second."""
        now = self._clock.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        young, middle, old = gc.get_count()
        if young < _FEW or (young < _MANY and self._times.recent):
            return
        if old < _ALL or self._times.since < _AWAY_S:
            gc.collect(1 if middle >= _OLDER else 0)
            return

        if self._since_freeze is not None:
            self._since_freeze += 1
            if self._since_freeze >= _THAW:
                gc.unfreeze()
                self._since_freeze = None
        begun = self._clock.monotonic()
        gc.collect()
        if self._clock.monotonic() - begun >= _LONG_S:
            gc.freeze()
            self._since_freeze = 0
