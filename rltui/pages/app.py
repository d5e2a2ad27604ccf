"""The app that shows a session."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textual import events
from textual.screen import Screen

from rltui.config import HooksConfig
from rltui.core.address import identity
from rltui.core.batch import RunKey
from rltui.core.errors import RltuiError
from rltui.core.text import spaced
from rltui.facts.groups import following
from rltui.pages.run.chart_screen import Open, SessionApp
from rltui.pages.runs.screen import RunsScreen
from rltui.session import JudgedRun, Session
from rltui.tui.alerts import Alerts
from rltui.tui.keys import EVERYWHERE
from rltui.tui.playback import Playback, ReplayStart
from rltui.tui.pump import InputTimes, Pump
from rltui.tui.remembered import RememberedView, SavedMark
from rltui.tui.screen import ShellScreen
from rltui.tui.shell import AppOptions, Offer

#: What keys need, and the first paint does not wait for; the soonest needed comes first.
LATER = (
    "rltui.facts.alarms",
    "rltui.pages.findings.findings_detail",
    "rltui.pages.metric.lines",
    "rltui.pages.run.rewards",
    "rltui.pages.run.devices",
    "rltui.pages.metric.screen",
    "rltui.tui.overlay",
    "rltui.tui.palette",
    "rltui.pages.palette_items",
    "rltui.pages.log",
    "rltui.pages.comparison.screen",
    "rltui.pages.hyperparameters",
    "rltui.pages.samples",
    "rltui.pages.media",
    "rltui.tui.writing",
    "rltui.output.brief",
    "rltui.output.html_report",
    "rltui.output.text_report",
    "rltui.output.json_document",
    "rltui.health.muting",
    "rltui.health.crash",
)


class RltuiApp(SessionApp, places=EVERYWHERE):
    """Shows a session. The reader thread is started on mount and joined on exit.

    Returns True when the user went back to the picker. Ends when nothing can be read, which is its
    :attr:`failure`.
    """

    def __init__(
        self,
        session: Session,
        options: AppOptions,
        hooks: HooksConfig | None = None,
        *,
        from_picker: bool = False,
        replay: ReplayStart | None = None,
        remembered: RememberedView | None = None,
    ) -> None:
        super().__init__(options)
        self._remembered = remembered or RememberedView(None, options.view)
        self.state, self.view = self._remembered.state, self._remembered.view
        session.run_list.pins.tags = (*session.run_list.pins.tags, *self.state.pins)
        self._real_logdirs = [identity(p) for p in session.logdirs]
        self._to_mark = {
            RunKey(self._real_logdirs.index(m.logdir), m.name): m.slot
            for m in self.state.marks
            if m.logdir in self._real_logdirs
        }
        """Runs that were marked at the last start and are not yet again -> slot."""

        if self.state.mutes:
            session.run_list.mutes.replace(self._remembered.mutes)
        self._alerts = Alerts(self, session, hooks or HooksConfig(terminal="off"))
        self.session = session
        self.logdirs = session.logdirs
        self._from_picker = from_picker
        self._input_times = InputTimes(session.clock)
        self.failure: RltuiError | None = None
        self.undelivered: list[str] = []
        """Troubles with messages at the end."""
        self._replaced: set[Path] = set()
        """Logdirs of which a notice said that they are read at another address."""
        times = self._input_times
        self.pump = Pump(self, session, self._show_news, self._fail, times, LATER)
        self.playback = Playback(self, session, lambda: self._show_news(False), replay)

    def get_default_screen(self) -> Screen[Any]:
        return RunsScreen(self.session, self._from_picker)

    def on_mount(self) -> None:
        """Start reading once the screen has been painted: it says what is being read."""
        gc.disable()  # the pump collects between keys
        self._follow_marks()
        if self._remembered.note:
            self.say(self._remembered.note)
        if self.playback.run is None:
            self.call_after_refresh(self.pump.start)
        else:  # all has been read, and the run opens by itself
            self.call_later(self.pump.start)
            self.call_later(self.playback.begin)

    def on_unmount(self) -> None:
        """End the reader thread."""
        self.playback.stop()
        if self.failure is None:
            self.remember()
        self.session.stop()
        self.undelivered = self._alerts.close(hurried=bool(self.return_code))
        gc.enable()

    async def on_event(self, event: events.Event) -> None:
        """Note when keys and clicks come."""
        if isinstance(event, events.InputEvent):
            self._input_times.note()
        await super().on_event(event)

    def _show_news(self, new_run: bool) -> None:
        """Update every visible screen, and report changes of the verdict."""
        self._alerts.report()
        self._follow_marks()
        # once: which hosts lack the rltui of this one, so that whole logs come from them
        new: dict[str, list[Path]] = {}
        for path, why in self.session.reader.state.instead.items():
            if path not in self._replaced:
                new.setdefault(why, []).append(path)
        for why, found in new.items():
            self._replaced.update(found)
            more = f", and {len(found) - 1} more alike" if len(found) > 1 else ""
            self.say(f"{found[0]}: {why}, so whole logs are sent and decoded here{more}")

        for screen in reversed(self.screen_stack):
            if isinstance(screen, ShellScreen) and screen.is_mounted:  # else it shows them then
                screen.on_news()
            if not screen.is_modal:
                break
        if self.pump.paused:
            return
        if new_run and not isinstance(self.screen, RunsScreen) and len(self.session.views) > 1:
            self.say(f"{len(self.session.views)} runs now: r lists them")

    def _fail(self, failure: RltuiError) -> None:
        """End: there is nothing to read."""
        self.failure = failure
        self.exit()

    def _follow_marks(self) -> None:
        """Mark the runs that were marked at the last start, and follow runs to new views."""
        session = self.session
        marked = following(self.view.marked, session.views, self._to_mark)
        if self._to_mark:
            awaited = session.reach.searching or session.reader.state.out_of_reach
            complete = not awaited and session.reading() is None
            complete = complete and len(session.views) == session.run_count
            for key in list(self._to_mark) if complete else [m.run.key for m in marked]:
                self._to_mark.pop(key, None)
        if marked != self.view.marked:
            self.view = self.view._replace(marked=marked)

    def open_comparison(self, opens: Open, at: tuple[JudgedRun, str] | None = None) -> None:
        from rltui.pages.comparison.screen import open_comparison  # heavy

        open_comparison(self, self.session, opens, at)

    def offers(self, run: JudgedRun | None, opens: Open, *, inside: bool) -> Iterator[Offer]:
        from rltui.pages.palette_items import finding_offers, run_offers  # heavy

        others = self.session.runs()
        if run is not None:
            yield from run_offers(self.session, run, opens)
        if run is not None and inside:
            yield from finding_offers([run], opens, named=False)
            others = [other for other in others if other is not run]
        yield from finding_offers(others, opens, named=True)

    def action_pause(self) -> None:
        """Pause the view or the replay, or let it go on."""
        if self.playback.run is not None:
            self.playback.toggle()
            return
        self.pump.pause()
        if isinstance(self.screen, ShellScreen):
            self.screen.on_news()

    @property
    def replays(self) -> bool:
        return self.playback.run is not None

    def state_words(self, *, options: bool = True) -> str:
        words = super().state_words(options=options)
        paused = "paused" if self.pump.paused else self.playback.words
        return spaced(paused, words)

    def remember(self) -> None:
        """Save the view for the next start."""
        session = self.session
        slots = self._to_mark | {m.run.key: m.slot for m in self.view.marked}
        marks = [SavedMark(slot, self._real_logdirs[k.logdir], k.name) for k, slot in slots.items()]
        muted = session.run_list.mutes.names
        pinned = session.run_list.pins.tags
        self._remembered.save(self.view, muted, pinned, marks)
