"""What the screens with a chart of one run share: keys of charts, tabs, commands, the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from textual.app import SystemCommand

from rltui.core.block import IntArray
from rltui.present.kit import numbers
from rltui.present.kit.line import Line
from rltui.present.screens.header import run_header
from rltui.present.screens.tabs import TABS, tab_named, tabs_of
from rltui.present.screens.x_axis import axes_of
from rltui.session import RunView, Session
from rltui.tui.screens.chart_options import ChartOptions
from rltui.tui.screens.screen import compare
from rltui.tui.widgets.tab_bar import TabBar

if TYPE_CHECKING:
    from rltui.tui.app import RltuiApp


class ChartScreen(ChartOptions):
    """A screen of one run with the chart of a tag."""

    def __init__(self, session: Session, run: RunView) -> None:
        super().__init__()
        self.session = session
        self.run = run

    @property
    def tag(self) -> str | None:
        """The tag whose chart is shown."""
        raise NotImplementedError

    def header(self, width: int, _: int) -> list[Line]:
        """Line 1."""
        return [run_header(self.run, self.shell.view, width, self.session.reading())]

    def state_words(self) -> str:
        return self.shell.state_words()

    @property
    def axes(self) -> tuple[str, ...]:
        return axes_of(self.run)

    def action_pin(self) -> None:
        """Pin the tag, which then leads the Overview, or unpin it."""
        tag = self.tag
        if tag is not None:
            pinned = self.session.pins.toggle(tag)
            title = self.run.infos[tag].title
            self.shell.say(f"{title}: pinned to the Overview" if pinned else f"{title}: unpinned")
            self.update()

    def action_compare(self) -> None:
        """Make this run the reference, or clear it."""
        compare(self.shell, self.session, self.run)
        self.update()

    def action_comparison(self) -> None:
        """Show the marked runs side by side, at this metric."""
        from rltui.tui.screens.comparison import open_comparison

        at = None if self.tag is None else (self.run, self.tag)
        open_comparison(self.shell, self.session, self.open_elsewhere, at)

    def open_elsewhere(self, run: RunView, tag: str | None) -> None:
        """Show another run, at one of its tags."""
        raise NotImplementedError

    def action_mute(self) -> None:
        """A finding is muted where it is listed."""
        self.shell.say("M mutes the finding at the cursor: ! leads to one")

    # -- tabs, commands, the log ---------------------------------------------------------------

    def select_tab(self, tab: str) -> None:
        """Show a tab of the run."""
        raise NotImplementedError

    def action_tab(self, key: str) -> None:
        """Show the tab of a digit."""
        self.select_tab(next(t.id for t in TABS if t.key == key))

    def on_tab_bar_selected(self, event: TabBar.Selected) -> None:
        self.select_tab(event.tab)

    def action_runs(self) -> None:
        """Show the list of runs."""
        raise NotImplementedError

    def action_tail(self) -> None:
        """Show the end of the console log."""
        from rltui.tui.screens.log import LogScreen

        self.shell.push_screen(LogScreen(self.run))

    @property
    def chosen_step(self) -> int | None:
        """The step at the crosshair; None for the newest."""
        return None

    def action_samples(self) -> None:
        """Show the texts and samples at the step of the crosshair."""
        from rltui.tui.screens.samples import SampleScreen

        self.shell.push_screen(SampleScreen(self.session, self.run, self.chosen_step))

    def action_hyperparameters(self) -> None:
        """Show the hyperparameters."""
        from rltui.tui.screens.hyperparameters import HyperparametersScreen

        self.shell.push_screen(HyperparametersScreen(self.session, self.run))

    def commands(self) -> dict[str, Callable[[str], object]]:
        mine: dict[str, Callable[[str], object]] = {
            "tab": self._tab_named,
            "at": self._at,
            "goto": self._goto,
            "now": lambda _: self._now(),
            "runs": lambda _: self.action_runs(),
        }
        return {**super().commands(), **mine}

    def completions(self) -> list[str]:
        return [*super().completions(), *(f"tab {t.id}" for t in tabs_of(self.run))]

    def _tab_named(self, name: str) -> None:
        tab, hint = tab_named(self.run, name)
        if tab is None:
            self.shell.say(f"no tab {name!r}{hint}")
        else:
            self.select_tab(tab.id)

    def _at(self, text: str) -> None:
        step = self.nearest_step(text)
        if step is not None:
            self.show_step(step)

    def show_step(self, step: int) -> None:
        """Put the crosshair of the large chart there."""
        raise NotImplementedError

    def palette(self) -> Iterator[SystemCommand]:
        yield from super().palette()
        for tab in tabs_of(self.run):
            key = f"key {tab.key}" if tab.key else "[ and ] lead there"
            yield SystemCommand(f"Tab {tab.title}", key, partial(self.select_tab, tab.id))
        ask = partial(self.ask, "at ")
        yield SystemCommand("Look at a step", "the chart with the crosshair there", ask)
        ask = partial(self.ask, "goto ")
        yield SystemCommand("Go to a step", "the whole run as it was then", ask)
        if self.run.as_of is not None:
            yield SystemCommand("Back to now", "the run as it is", self._now)

    # -- replay ----------------------------------------------------------------------------

    @property
    def app_of_session(self) -> RltuiApp:
        """The app that shows a session."""
        from rltui.tui.app import RltuiApp

        app = self.app
        assert isinstance(app, RltuiApp)
        return app

    def _goto(self, text: str) -> None:
        if text == "now":
            self._now()
        elif (step := self._step_in(text)) is not None:
            self.app_of_session.go_back_to(self.run, step)

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
            self.shell.say(
                f"this is the {end} step" + ("; :now leaves the replay" if by > 0 else "")
            )

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
            self.app_of_session.playback.change_speed(by)

    # -- files -----------------------------------------------------------------------------

    def picture_words(self) -> list[str]:
        name, tag = self.run.name, self.charted()
        title = "" if tag is None else self.run.infos[tag[1]].title
        return [name, title or self.title_words.lower()]

    def charted(self) -> tuple[RunView, str] | None:
        return None if self.tag is None else (self.run, self.tag)

    # -- steps -----------------------------------------------------------------------------

    def steps(self) -> IntArray | None:
        """The steps at which the tag was logged, ascending; None for none."""
        if self.tag is None:
            return None
        steps = np.unique(self.run.series(self.tag).steps)
        return steps if len(steps) else None

    def stepped(self, steps: IntArray, at: int | None, by: int) -> int:
        """The step a hundredth of ``steps`` before or after ``at``; without it begins at an end."""
        if at is None:
            return int(steps[-1 if by < 0 else 0])
        stride = max(1, len(steps) // 100)
        index = int(np.clip(np.searchsorted(steps, at) + by * stride, 0, len(steps) - 1))
        return int(steps[index])

    def _step_in(self, text: str) -> int | None:
        """The step in ``text``; None, with a notice, for no step."""
        try:
            return int(text.replace(",", ""))
        except ValueError:
            self.shell.say(f"not a step: {text!r}")
            return None

    def nearest_step(self, text: str) -> int | None:
        """The logged step nearest to the one in ``text``; None, with a notice, for no step."""
        step = self._step_in(text)
        if step is None:
            return None
        steps = self.steps()
        if steps is None:
            self.shell.say("put the cursor on a metric first")
            return None
        nearest: int = min(steps.tolist(), key=lambda logged: abs(logged - step))
        if nearest != step:
            self.shell.say(f"nearest logged step: {numbers.step(nearest)}")
        return nearest
