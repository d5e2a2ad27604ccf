"""What the screens with a chart of one run share: keys of charts, tabs, replay, commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from textual import events
from textual.dom import DOMNode

from rltui.config import MetricOverride
from rltui.core.errors import RltuiError
from rltui.core.text import spaced
from rltui.draw.line import Line, line_width
from rltui.draw.metric_chart import Zoom
from rltui.facts import numbers
from rltui.facts.metrics import TABS, tab_named, tabs_of
from rltui.facts.run_columns import tag_named
from rltui.facts.x_axis import span_of
from rltui.pages.run.header import run_header, verdict_spans
from rltui.pages.run.tab import TabSpot, tab_line, tab_rule
from rltui.pages.run_actions import RunActions
from rltui.session import JudgedRun, Session
from rltui.tui.crosshair import NO_METRIC, CrosshairKeys, typed_step
from rltui.tui.full_shell import FullShell
from rltui.tui.playback import Playback
from rltui.tui.pump import Pump
from rltui.tui.screen import ChartOptions, Commands
from rltui.tui.shell import Offer
from rltui.tui.widgets.lines import Lines

#: A metric, a sign and a number; the metric may be missing.
_LIMIT = r"(.*?) *([><]=|[≥≤]) *([-+]?\d*\.?\d+(?:e[-+]?\d+)?)"
#: What follows ``:zoom``: two steps, and how they are shown.
_ZOOM = re.compile(r"(?:([0-9]{1,18}) +([0-9]{1,18}))? *(log)?")
#: What a screen of a run does once it is shown.
Then = Callable[["ChartScreen"], object]
#: Opens a run, and goes on there.
Open = Callable[[JudgedRun, Then], object]


class SessionApp(FullShell[bool]):
    """The app that shows a session, as the screens of a run know it."""

    session: Session
    playback: Playback
    pump: Pump
    undo: Callable[[Any], object] | None = None
    """Takes the newest mute or range back, on the screen of a run."""

    def go_back_to(self, run: JudgedRun, step: int) -> None:
        """Show a run as it was at a step."""
        if self.pump.paused:
            self.pump.pause()
        self.playback.stop()
        try:
            self.playback.goto(run, step)
        except ValueError as problem:
            self.say(str(problem))

    def remember(self) -> None:
        """Keep the view as it is for the next start."""
        raise NotImplementedError

    def open_comparison(self, opens: Open, at: tuple[JudgedRun, str] | None = None) -> None:
        """Show the marked runs side by side, or all; see
        :func:`rltui.pages.comparison.screen.open_comparison`."""
        raise NotImplementedError

    def offers(self, run: JudgedRun | None, opens: Open, *, inside: bool) -> Iterator[Offer]:
        """Offers of the palette: metrics, settings and findings of a run, then of other runs;
        ``inside`` the run its own findings do not name it."""
        raise NotImplementedError


def session_app(node: DOMNode) -> SessionApp:
    """The app of a screen that shows a session."""
    app = node.app
    assert isinstance(app, SessionApp)
    return app


class ReplayKeys(CrosshairKeys):
    """A screen of one run, which can be shown as it was, and a part of it enlarged."""

    run: JudgedRun

    @property
    def tag(self) -> str | None:
        """The tag whose chart is shown."""
        raise NotImplementedError

    def _goto(self, text: str) -> None:
        if text == "now":
            self.action_now()
        elif (step := typed_step(self.shell, text)) is not None:
            session_app(self).go_back_to(self.run, step)
            shown = self.run.as_of
            if shown is not None and shown != step:
                wanted = numbers.step(step)
                at = numbers.step(shown)
                self.say(f"step {wanted} is not in the log: this is step {at}")

    @property
    def replayed_step(self) -> int | None:
        """The step at which a replay begins; None for the newest."""
        return self.chosen_step

    def action_now(self) -> None:
        """Show the run as it is."""
        if self.run.as_of is None:
            self.say("this is how the run is now")
        else:
            session_app(self).playback.end()

    def action_replay(self, by: int) -> None:
        """Show the run as it was one logged step earlier or later; at first as it was at the step
        of the crosshair, or of the finding at the cursor."""
        playback = session_app(self).playback
        if self.run.as_of is None:
            begin = self.replayed_step
            last = self.run.points.last_step if begin is None else begin
            if by > 0 or last is None:
                self.say("nothing is newer than this")
                return
            session_app(self).go_back_to(self.run, last)
            if begin is not None:  # that step itself comes first
                return
        playback.stop()
        if not playback.move(by):
            end = "newest" if by > 0 else "first"
            hint = "; :now leaves the replay" if by > 0 else ""
            self.say(f"this is the {end} step{hint}")

    def action_replay_speed(self, by: int) -> None:
        """Replay faster or slower."""
        if self.run.as_of is None:
            self.say("no replay: < leads a step back, :goto STEP to any step")
        else:
            playback = session_app(self).playback
            playback.change_speed(by)
            self.say(f"replay: {playback.speed:g} steps a second")

    # -- a part of the run ---------------------------------------------------------------------

    def _show_zoom(self, zoom: Zoom) -> None:
        """Show a part of the run in the large chart."""
        raise NotImplementedError

    def _zoom_to(self, text: str) -> None:
        """Show the steps in ``text`` (none: all), with ``log`` behind them on a log axis."""
        first, last, _ = span_of(self.run, self.tag or "")
        found = _ZOOM.fullmatch(text.replace(",", ""))
        low, high = (int(found[1] or first), int(found[2] or last)) if found else (0, 0)

        if self.tag is None:
            self.say(NO_METRIC)
        elif found is None or not first <= low < high <= last:
            self.say(f":zoom A B [log] takes two steps of {first} to {last}, the lower one first")
        else:
            if found[3]:
                self.set_view(log_y=True)
            self._show_zoom(Zoom(window=None if (low, high) == (first, last) else (low, high)))

    async def on_click(self, event: events.Click) -> None:
        """A click on the verdict in line 1 leads to the next finding."""
        chip = line_width(verdict_spans(self.run, self.view, words=True))
        if event.screen_y == 0 and event.screen_x >= self.size.width - chip:
            await self.run_action("next_finding")

    def commands(self) -> Commands:
        mine: Commands = {
            "goto": self._goto,
            "now": lambda _: self.action_now(),
            "zoom": self._zoom_to,
        }
        return {**super().commands(), **mine}


class ChartScreen(ReplayKeys, ChartOptions, RunActions):
    """A screen of one run with the chart of a tag."""

    def __init__(self, session: Session, run: JudgedRun) -> None:
        super().__init__()
        self.session = session
        self.run = run

    def header(self, width: int, _: int) -> list[Line]:
        """Line 1."""
        return [run_header(self.run, self.view, width, self.session.reading())]

    def state_words(self) -> str:
        options = self.view.changed_options(self.axes())
        return spaced(self.shell.state_words(options=False), options)

    @property
    def charted_runs(self) -> Sequence[JudgedRun]:
        return (self.run,)

    @property
    def chosen_run(self) -> JudgedRun:
        return self.run

    def action_pin(self) -> None:
        """Pin the tag, which then leads the Overview, or unpin it."""
        tag = self.tag
        if tag is None:
            self.say(NO_METRIC)
            return
        pinned = self.session.run_list.pins.toggle(tag)
        title = self.run.infos[tag].title
        self.say(f"{title}: pinned to the Overview" if pinned else f"{title}: unpinned")
        self.update()

    def action_comparison(self) -> None:
        """Show the marked runs side by side, at this metric."""
        at = None if self.tag is None else (self.run, self.tag)
        session_app(self).open_comparison(self.open_elsewhere, at)

    def action_mute(self) -> None:
        """A finding is muted where it is listed."""
        self.say("no finding here: press !, then M")

    def action_undo(self) -> None:
        """There it is undone, too."""
        self.leave_for_run(lambda screen: screen.action_undo())

    # -- what the screen of the run does: others leave for it -----------------------------------

    def leave_for_run(self, then: Then) -> None:
        """Leave for the screen of the run, and go on there."""
        raise NotImplementedError

    def open_elsewhere(self, run: JudgedRun, then: Then) -> None:
        """Show another run, and go on there."""
        self.leave_for_run(lambda screen: screen.open_elsewhere(run, then))

    def select_tab(self, tab: str) -> None:
        """Show a tab of the run."""
        self.leave_for_run(lambda screen: screen.select_tab(tab))

    def action_step_tab(self, by: int) -> None:
        """Show the next tab of the run, or the one before."""
        self.leave_for_run(lambda screen: screen.action_step_tab(by))

    def action_next_finding(self) -> None:
        """Go to the next finding of the run."""
        self.leave_for_run(lambda screen: screen.action_next_finding())

    def action_runs(self) -> None:
        """Show the list of runs."""
        self.leave_for_run(lambda screen: screen.action_runs())

    # -- tabs, commands, the log ---------------------------------------------------------------

    def action_tab(self, key: str) -> None:
        """Show the tab of a digit."""
        self.select_tab(next(t.id for t in TABS if t.key == key))

    def _tab_named(self, name: str) -> None:
        tab, hint = tab_named(self.run, name)
        if tab is None:
            self.say(f"no tab {name!r}{hint}")
        else:
            self.select_tab(tab.id)

    def _limit(self, text: str) -> None:
        """Give a metric, or the one at the cursor, a limit of the user's own."""
        found = re.fullmatch(_LIMIT, text)
        tag = self.tag if found is None or not found[1] else tag_named(self.run, found[1])
        if tag is None or found is None:
            self.say("limit METRIC >= X, or <= X: no such metric here")
            return
        from rltui.config.edit import write_range  # seldom needed

        config = self.session.interpreter.config
        info = self.run.infos[tag]
        name = tag if tag in config.metrics else info.key or tag
        old = config.metrics.get(name, MetricOverride())
        limit = float(found[3]) * info.scale
        ends = (limit, old.high) if found[2] in ">=≥" else (old.low, limit)
        self._set_range(name, partial(write_range, config, name, *ends))

    def _set_range(self, name: str, edit: Callable[[], Any]) -> None:
        """Change the range of a metric in the config file, and judge by it."""
        app = session_app(self)
        config = self.session.interpreter.config
        try:
            heeded, undo = edit()
        except (RltuiError, OSError) as problem:
            self.say(str(problem))
            return
        app.undo = lambda screen: screen._set_range(name, undo)
        self.session.heed(heeded)
        app.pump.pull()
        known = (x.metrics.get(name, MetricOverride()) for x in (heeded, config))
        now, was = ([metric.low, metric.high] for metric in known)
        self.say(f"{heeded.path}: {name} range {now} (was {was})".replace("None", "null"))

    def commands(self) -> Commands:
        mine: Commands = {
            "tab": self._tab_named,
            "runs": lambda _: self.action_runs(),
            "limit": self._limit,
        }
        return {**super().commands(), **mine}

    def completions(self) -> list[str]:
        return [*super().completions(), *(f"tab {t.id}" for t in tabs_of(self.run))]

    def palette(self) -> Iterator[Offer]:
        yield from session_app(self).offers(self.run, self.open_elsewhere, inside=True)
        yield from super().palette()
        for tab in tabs_of(self.run):
            key = f"key {tab.key}" if tab.key else "[ and ] lead there"
            yield Offer("command", f"Tab {tab.title}", key, partial(self.select_tab, tab.id))

    # -- files -----------------------------------------------------------------------------

    def picture_words(self) -> list[str]:
        title = "" if self.tag is None else self.run.infos[self.tag].title
        return [self.run.name, title or self.title_words.lower()]

    def charted(self) -> tuple[JudgedRun, str] | None:
        return None if self.tag is None else (self.run, self.tag)

    def reported(self) -> tuple[Session, JudgedRun | None]:
        return self.session, self.run


class TabBar(Lines):
    """One line of tabs, and where there is room a rule that underlines the active one."""

    DEFAULT_CSS = "TabBar { height: 1; }"

    def __init__(
        self, shown: Callable[[], tuple[JudgedRun, str]], select: Callable[[str], None]
    ) -> None:
        """``shown`` returns the run and its active tab; a click calls ``select``."""
        super().__init__(self._tabs)
        self._shown = shown
        self._select = select
        self.spots: list[TabSpot] = []
        """Where the tabs stand."""

    def _tabs(self, width: int, height: int) -> list[Line]:
        run, tab = self._shown()
        view = self.view
        line, self.spots = tab_line(run, tab, view, width)
        return [line, tab_rule(self.spots, tab, width)][:height]

    def on_click(self, event: events.Click) -> None:
        for spot in self.spots:
            if spot.start <= event.x < spot.end:
                self._select(spot.id)
                break
