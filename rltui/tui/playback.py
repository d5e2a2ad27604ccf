"""Plays a run as it was: goes to a step, moves on by itself, returns to the present."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from textual.message_pump import MessagePump
from textual.timer import Timer

from rltui.facts import numbers
from rltui.session import JudgedRun, Session

#: Logged steps per second that the keys walk through.
SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
#: Two frames are at least this far apart, and this many times what the last one took, seconds.
_FRAME_S = 0.1
_REST = 4.0
#: The first part of a verdict that takes long is shown after this many seconds; the rest follows.
_SLICE_S = 0.1


@dataclass(frozen=True)
class ReplayStart:
    """Options of a replay."""

    speed: float = 10.0
    """Logged steps per second."""
    until: int | None = None
    """Step at which it pauses."""
    playing: bool = True


class Playback:
    """Moves a replay on the event loop of ``owner``, and calls ``show`` to paint it."""

    def __init__(
        self,
        owner: MessagePump,
        session: Session,
        show: Callable[[], None],
        start: ReplayStart | None = None,
    ) -> None:
        self._start = start = start or ReplayStart(playing=False)
        self._owner = owner
        self._session = session
        self._replay = session.replay
        self._show = show
        self.speed = start.speed
        self._until = start.until
        self.playing = False
        self._timer: Timer | None = None
        self._due = 0.0
        """Steps that are due by the clock and not shown yet, with a fraction."""
        self._last = 0.0
        self._unjudged = False
        """Whether the rest of a verdict is due."""

    @property
    def run(self) -> JudgedRun | None:
        """The run that is shown as it was."""
        return self._replay.run

    @property
    def words(self) -> str:
        """The words at the right end of the footer; "" for the present."""
        if self.run is None:
            return ""
        if self.playing:
            return f"{numbers.short(self.speed)} steps/s"
        return "replay paused, :now ends it"

    def begin(self) -> None:
        """Play a session that was opened for a replay."""
        if self._start.playing and self.run is not None:
            self.play()

    # -- where it stands -------------------------------------------------------------------

    def goto(self, run: JudgedRun, step: int) -> None:
        """Show a run as it was at a step. Raises ValueError where that cannot be known."""
        self._replay.goto(run, step)
        self._judge()

    def move(self, by: int) -> bool:
        """Go ``by`` logged steps on or back; returns whether there was one."""
        moved = self._replay.move(by)
        if moved:
            self._judge()
        return moved

    def end(self) -> None:
        """Show the present."""
        self.stop()
        self._replay.end()
        self._show()

    def _judge(self, *, rest: bool = False) -> None:
        """Judge the run for a short time and show it; the ``rest`` follows between keys. If the run
        moves meanwhile, the rest is not scheduled twice."""
        clock = self._session.clock
        end = clock.monotonic() + _SLICE_S
        done = self._replay.judge(lambda: clock.monotonic() >= end)
        if not done and (rest or not self._unjudged):
            self._owner.call_later(partial(self._judge, rest=True))
        if rest or not done:
            self._unjudged = not done
        if done or not rest:
            self._show()

    # -- moving on by itself ---------------------------------------------------------------

    def play(self) -> None:
        """Move on by itself, from the beginning when it is at the end."""
        run = self.run
        steps = self._replay.steps
        if run is None:
            return
        if self._replay.step == int(steps[-1]):
            self.goto(run, int(steps[0]))
        self.playing = True
        self._due = 0.0
        self._last = self._session.clock.monotonic()
        self._timer = self._owner.set_timer(_FRAME_S, self.frame)
        self._show()

    def stop(self) -> None:
        """Stop moving on by itself."""
        self.playing = False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def toggle(self) -> None:
        """Play or pause."""
        if self.playing:
            self.stop()
            self._show()
        else:
            self.play()

    def change_speed(self, by: int) -> None:
        """Choose the next faster or slower speed; the fastest and the slowest one stay."""
        if by > 0:
            self.speed = next((s for s in SPEEDS if s > self.speed), self.speed)
        else:
            self.speed = next((s for s in reversed(SPEEDS) if s < self.speed), self.speed)
        self._due = 0.0
        self._show()

    def frame(self) -> None:
        """Show the step that is due after the time that has passed."""
        self._timer = None
        run = self.run
        clock = self._session.clock
        if not self.playing or run is None:
            return
        now = clock.monotonic()
        self._due += (now - self._last) * self.speed
        self._last, whole = now, int(self._due)
        self._due -= whole

        before = self._replay.step or 0
        until = self._until
        goes_on = not whole or self.move(whole)
        reached = self._replay.step or 0
        if until is not None and before < until <= reached:
            self._until = None
            self.goto(run, until)
            goes_on = False
        if whole and (not goes_on or reached >= int(self._replay.steps[-1])):
            self.stop()
            self._show()
            return
        rest = max((1.0 - self._due) / self.speed, _REST * (clock.monotonic() - now))
        self._timer = self._owner.set_timer(max(_FRAME_S, rest), self.frame)
