"""What the screens with a chart of one run share: keys of charts, tabs, commands, the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand

from rltui.draw.line import Line
from rltui.facts.metrics import TABS, tab_named, tabs_of
from rltui.facts.x_axis import axes_of
from rltui.pages.run.header import run_header
from rltui.pages.run.replay_keys import ReplayKeys
from rltui.pages.run.tab_bar import TabBar
from rltui.session import RunView, Session
from rltui.tui.chart_options import ChartOptions
from rltui.tui.crosshair_keys import NO_METRIC, CrosshairKeys
from rltui.tui.screen import compare

if TYPE_CHECKING:
    from rltui.pages.run.screen import RunScreen

#: What the screen of a run does once it is shown.
Then = Callable[["RunScreen"], object]


class ChartScreen(CrosshairKeys, ReplayKeys, ChartOptions):
    """A screen of one run with the chart of a tag."""

    def __init__(self, session: Session, run: RunView) -> None:
        super().__init__()
        self.session = session
        self.run = run

    def header(self, width: int, _: int) -> list[Line]:
        """Line 1."""
        return [run_header(self.run, self.shell.view, width, self.session.reading())]

    def state_words(self) -> str:
        words = self.shell.state_words(options=False), self.shell.view.state_on(self.axes)
        return "  ".join(x for x in words if x)

    @property
    def axes(self) -> tuple[str, ...]:
        return axes_of(self.run)

    def action_pin(self) -> None:
        """Pin the tag, which then leads the Overview, or unpin it."""
        tag = self.tag
        if tag is None:
            self.shell.say(NO_METRIC)
        else:
            pinned = self.session.run_list.pins.toggle(tag)
            title = self.run.infos[tag].title
            self.shell.say(f"{title}: pinned to the Overview" if pinned else f"{title}: unpinned")
            self.update()

    def action_compare(self) -> None:
        """Make this run the reference, or clear it."""
        compare(self.shell, self.session, self.run)
        self.update()

    def action_comparison(self) -> None:
        """Show the marked runs side by side, at this metric."""
        from rltui.pages.comparison.open_comparison import open_comparison

        at = None if self.tag is None else (self.run, self.tag)
        open_comparison(self.shell, self.session, self.open_elsewhere, at)

    def open_elsewhere(self, run: RunView, then: Then) -> None:
        """Show another run, and go on there."""
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
        from rltui.pages.log.screen import LogScreen

        self.shell.push_screen(LogScreen(self.run))

    def action_samples(self) -> None:
        """Show the texts and samples at the step of the crosshair."""
        from rltui.pages.samples.screen import SampleScreen

        self.shell.push_screen(SampleScreen(self.session, self.run, self.chosen_step))

    def action_hyperparameters(self) -> None:
        """Show the hyperparameters."""
        from rltui.pages.hyperparameters.screen import HyperparametersScreen

        self.shell.push_screen(HyperparametersScreen(self.session, self.run))

    def commands(self) -> dict[str, Callable[[str], object]]:
        mine: dict[str, Callable[[str], object]] = {
            "tab": self._tab_named,
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

    def palette(self) -> Iterator[SystemCommand]:
        yield from super().palette()
        for tab in tabs_of(self.run):
            key = f"key {tab.key}" if tab.key else "[ and ] lead there"
            yield SystemCommand(f"Tab {tab.title}", key, partial(self.select_tab, tab.id))

    # -- files -----------------------------------------------------------------------------

    def picture_words(self) -> list[str]:
        name, tag = self.run.name, self.charted()
        title = "" if tag is None else self.run.infos[tag[1]].title
        return [name, title or self.title_words.lower()]

    def charted(self) -> tuple[RunView, str] | None:
        return None if self.tag is None else (self.run, self.tag)
