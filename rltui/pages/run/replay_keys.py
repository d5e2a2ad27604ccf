"""The keys and commands that show a run as it was: back, on, to a step, to the present."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand

from rltui.facts import numbers
from rltui.session import RunView
from rltui.tui.crosshair_keys import typed_step
from rltui.tui.screen import ShellScreen

if TYPE_CHECKING:
    from rltui.pages.app import RltuiApp


class ReplayKeys(ShellScreen[Any]):
    """A screen of one run."""

    run: RunView

    @property
    def app_of_session(self) -> RltuiApp:
        """The app that shows a session."""
        from rltui.pages.app import RltuiApp

        app = self.app
        assert isinstance(app, RltuiApp)
        return app

    def _goto(self, text: str) -> None:
        if text == "now":
            self._now()
        elif (step := typed_step(self.shell, text)) is not None:
            self.app_of_session.go_back_to(self.run, step)
            shown = self.run.as_of
            if shown is not None and shown != step:
                wanted, at = numbers.step(step), numbers.step(shown)
                self.shell.say(f"step {wanted} is not in the log: this is step {at}")

    def _now(self) -> None:
        if self.run.as_of is None:
            self.shell.say("this is how the run is now")
        else:
            self.app_of_session.playback.end()

    def _replay_by(self, by: int) -> None:
        playback = self.app_of_session.playback
        if self.run.as_of is None:
            last = self.run.points.last_step
            if by > 0 or last is None:
                self.shell.say("nothing is newer than this")
                return
            self.app_of_session.go_back_to(self.run, last)
        playback.stop()
        if not playback.move(by):
            end = "newest" if by > 0 else "first"
            hint = "; :now leaves the replay" if by > 0 else ""
            self.shell.say(f"this is the {end} step{hint}")

    def action_replay_back(self) -> None:
        """As it was one logged step earlier."""
        self._replay_by(-1)

    def action_replay_on(self) -> None:
        """As it was one logged step later."""
        self._replay_by(1)

    def action_replay_slower(self) -> None:
        self._change_speed(-1)

    def action_replay_faster(self) -> None:
        self._change_speed(1)

    def _change_speed(self, by: int) -> None:
        if self.run.as_of is None:
            self.shell.say("no replay: < leads a step back, :goto STEP to any step")
        else:
            playback = self.app_of_session.playback
            playback.change_speed(by)
            self.shell.say(f"replay: {playback.speed:g} steps a second")

    def commands(self) -> dict[str, Callable[[str], object]]:
        return {**super().commands(), "goto": self._goto, "now": lambda _: self._now()}

    def palette(self) -> Iterator[SystemCommand]:
        yield from super().palette()
        ask = partial(self.ask, "goto ")
        yield SystemCommand("Go to a step", "the whole run as it was then", ask)
        if self.run.as_of is not None:
            yield SystemCommand("Back to now", "the run as it is", self._now)
