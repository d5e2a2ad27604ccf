"""The bases of screens: keys from the table, a status line, a list, reading, options of charts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeVar

from textual import events, on
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.widget import Widget

from rltui.core.errors import UsageError
from rltui.core.fault import NOT_SHOWN
from rltui.core.level import choose
from rltui.core.text import Names, clean
from rltui.draw.line import Line
from rltui.draw.view import View
from rltui.facts.run_columns import names_in
from rltui.facts.x_axis import axes_of
from rltui.session import JudgedRun, Session
from rltui.tui.cell_diff import OnceScreen
from rltui.tui.keys import (
    KEYS,
    METHOD_PLACES,
    MOVE,
    REPLAYED,
    Key,
    elsewhere,
    footer_line,
    keys_for,
    next_of,
)
from rltui.tui.shell import NO_KEY, Offer, ShellApp, check_handler, shell_of
from rltui.tui.widgets.lines import LineList, Lines
from rltui.tui.widgets.status import NONE_OFFERED, Status

Result = TypeVar("Result")
#: Name of a command -> what is called with the rest of its line.
Commands = dict[str, Callable[[str], object]]
#: Reads something on any thread, and returns what shows it.
Work = Callable[[], Callable[[], None]]
#: Commands that take something more.
_WITH_ARGUMENT = ("at", "columns", "goto", "limit", "note", "tab", "theme", "w", "w!", "x", "zoom")
#: (width, height) below which a screen has no room for tabs, and for anything but the verdict.
TINY, LEAST = (40, 10), (20, 5)
#: What Esc removes from a screen at most before it leads on: a filter, a crosshair, a part alone.
_LAYERS = 4
#: Why Esc does nothing.
NO_WAY_BACK = "top level; q quits"


def bindings_for(places: Names, owner: type) -> list[BindingType]:
    """The bindings of some screens of the key table. Raises UsageError for an action that
    ``owner`` does not carry out."""
    found: list[BindingType] = []
    for key in (k for k in KEYS if set(places) & set(k.where)):
        if not key.call.startswith("app."):
            check_handler(key, owner)
        found += [
            Binding(name, key.call.format(name), key.words, show=False, id=key.action)
            for name in key.keys or (NO_KEY,)
        ]
    return found


class Page(OnceScreen[Result], inherit_bindings=False):
    """A screen of the app, which has its view."""

    @property
    def shell(self) -> ShellApp[Any]:
        """The app."""
        return shell_of(self)

    def say(self, text: str, link: str = "") -> None:
        """Show a notice, see :meth:`ShellApp.say`."""
        self.shell.say(text, link)

    @property
    def view(self) -> View:
        """The options of the view."""
        return self.shell.view

    def update(self) -> None:
        """Draw the screen from the present facts."""
        raise NotImplementedError

    def set_view(self, **changes: object) -> None:
        """Change options of the view, and draw the screen with them."""
        self.shell.view = self.view._replace(**changes)  # type: ignore[arg-type]
        self.update()

    def lacks(self, room: tuple[int, int]) -> bool:
        """Whether the screen is smaller than (width, height) somewhere."""
        return self.size.width < room[0] or self.size.height < room[1]

    def draw_lines(self) -> None:
        """Draw every block of lines again."""
        for lines in self.query(Lines):
            lines.update()

    def action_close(self) -> None:
        """Close the screen."""
        self.dismiss()


class ShellScreen(Page[Result], inherit_bindings=False):
    """A screen of rltui. ``places`` are its ids in the table of keys."""

    DEFAULT_CSS = "ShellScreen { background: $ground; layout: vertical; }"
    AUTO_FOCUS: ClassVar[str | None] = ""
    PLACES: ClassVar[Names] = ()

    def __init_subclass__(cls, *, places: Names = (), **options: Any) -> None:
        if places:
            cls.PLACES = places
            cls.BINDINGS = bindings_for(places, cls)
        super().__init_subclass__(**options)

    @property
    def place(self) -> str:
        """The id of the screen in the table of keys."""
        return self.PLACES[0]

    @property
    def keys(self) -> list[Key]:
        """The keys that work here now."""
        return [k for k in keys_for(self.place, self.shell.keys) if not self.idle(k.action)]

    def idle(self, action: str) -> str:
        """Why an action of the table has nothing to act on now; "" for one that has, or that may
        say so itself."""
        del action
        return ""

    @property
    def title_words(self) -> str:
        """Name of the screen, for the help."""
        return self.place

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action of the table works here now."""
        del parameters
        places = METHOD_PLACES.get(action)
        here = (k.action for k in keys_for(self.place) if k.method == action)
        return places is None or (self.place in places and not any(map(self.idle, here)))

    # -- painting --------------------------------------------------------------------------

    def refresh_facts(self) -> None:
        """Look the facts up again; called for news only, not when a key changes the view."""

    def on_news(self) -> None:
        """Update after a change of the facts or of the size."""
        # an app that exits removes the children one by one; a screen that opens then has none
        if self.children and self.app.is_running:
            with self.shell.isolate_faults(NOT_SHOWN):
                self.refresh_facts()
                self.update()
            for widget in self.walk_children(Widget):
                widget._check_refresh()  # at once: else the screen is painted before they ask

    on_mount = on_screen_resume = on_resize = on_news

    @on(events.ScreenSuspend)
    def _leave_notices(self) -> None:
        """Leave the notices to the screen above, which shows them itself."""
        self.query("ToastHolder").remove()

    # -- the status line -------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """The last line."""
        return self.query_one(Status)

    def footer(self, width: int) -> Line:
        """The footer at a width."""
        keys = [k for k in self.keys if k.action != "back" or self.leads_back]
        if not self.shell.replays:
            keys = [k for k in keys if k.action not in REPLAYED]
        if self.leads_back:
            keys = [replace(k, footer="close") if k.action == "quit" else k for k in keys]
        return footer_line(tuple(keys), width, self.state_words())

    @property
    def leads_back(self) -> bool:
        """Whether Esc leads to another screen."""
        return len(self.shell.screen_stack) > 1

    def state_words(self) -> str:
        """The words at the right end of the footer."""
        return ""

    def on_status_entered(self, event: Status.Entered) -> None:
        """A command was entered."""
        text = event.text.strip()
        name, _, rest = (f"at {text}" if text.isdecimal() else text).partition(" ")
        if not name:
            return
        run, hint = choose(name, self.commands())
        if run is not None:
            run(rest.strip())
        elif hint or not self.shell.search([*self.palette()], text):
            hint = hint or ": tab NAME, goto STEP, now, at STEP, zoom A B, theme NAME, runs, q"
            self.say(f"unknown command {name!r}{hint}")

    def commands(self) -> Commands:
        """The commands of the line that begins with a colon."""
        shell = self.shell
        in_a_run = ("tab", "at", "goto", "now", "zoom")
        return {
            **dict.fromkeys(("q", "quit"), lambda _: shell.exit()),
            "theme": shell.choose_theme,
            # once the line of the command has left the screen
            "w": partial(self.call_after_refresh, self._write, over=False),
            "w!": partial(self.call_after_refresh, self._write, over=True),
            "help": lambda _: self.action_help(),
            **dict.fromkeys(in_a_run, lambda _: shell.say("open a run first")),
        }

    def palette(self) -> Iterator[Offer]:
        """All that the palette lists: what keys do but for moving, and themes."""
        for key in self.keys:
            if key.group != MOVE and key.action not in ("palette", "quit"):
                run = partial(self.run_action, key.call)
                hint = "key " * bool(key.keys) + key.shown
                yield Offer("command", key.words.capitalize(), hint, run)
        for name in self.shell.themes():
            choose_it = partial(self.shell.choose_theme, name)
            yield Offer("command", f"Theme {name}", "colours", choose_it)
        yield Offer("command", "Quit", "leave; the training is never touched", self.shell.exit)

    # -- keys of every screen --------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """A key that no binding took: say why it does nothing, or where it works."""
        if self.shell.screen is not self:  # it has closed: the key is for the screen below
            return
        table = self.shell.keys
        here = (self.idle(k.action) for k in keys_for(self.place, table) if event.key in k.keys)
        below = getattr(self.shell.screen_stack[-2], "place", "") if self.is_modal else ""
        words = "".join(here) or elsewhere(event.key, self.place, table, below)
        if words and not any(s.editing for s in self.query(Status)):
            event.stop()
            self.say(words)

    def action_help(self) -> None:
        """Show the keys that work here."""
        self.shell.show_help(self.keys, self.place, self.title_words)

    async def action_ask(self, text: str = "", offered: Mapping[str, str] = NONE_OFFERED) -> None:
        """Ask for a command, with ``text`` as its beginning; ``offered``: see
        :meth:`Status.edit_command`."""
        await self.status.edit_command(text, self.completions(), self.shell.history, offered)

    def completions(self) -> list[str]:
        """Commands as they may be entered, with their arguments where these can be listed."""
        names = [f"{n} " if n in _WITH_ARGUMENT else n for n in self.commands() if n != "quit"]
        return [*sorted(names), *(f"theme {t}" for t in self.shell.themes())]

    def copied_text(self) -> str:
        """Text at the cursor, for the clipboard; lines of cells parted by tabs are a table."""
        return ""

    def action_copy(self) -> None:
        """Copy what is at the cursor."""
        if text := self.copied_text():
            self.shell.copy(text)
        else:
            self.say("nothing to copy at the cursor")

    async def action_write(self) -> None:
        """Ask for the name of a file for the screen, the data of its chart, or a report."""
        from rltui.tui.writing import default_name, offered_names  # heavy

        name = default_name(self.picture_words(), self.shell.logdirs)
        data, report = self.charted() is not None, self.reported() is not None
        await self.action_ask(f"w {name}", offered_names(name, data, report, self.copied_text()))

    def picture_words(self) -> list[str]:
        """Name of a picture of the screen, in parts."""
        return ["rltui", self.title_words.lower()]

    def charted(self) -> tuple[JudgedRun, str] | None:
        """The run and the tag of the chart on the screen."""
        return None

    def reported(self) -> tuple[Session, JudgedRun | None] | None:
        """Subject of a report: a run, or None for all of the session."""
        return None

    def _write(self, name: str, *, over: bool) -> None:
        from rltui.tui.writing import write_screen  # heavy

        shell, text = self.shell, self.copied_text()
        rows = [list(strip) for strip in self._compositor.render_strips(self.size)]
        if self.status.display:  # which may still show the line of the command
            rows[-1] = shell.palette.segments(self.status.line(self.size.width))
        try:
            path = write_screen(shell, rows, name, self.charted(), self.reported(), text, over=over)
        except (UsageError, OSError) as problem:
            shell.say(str(problem))
        else:
            shell.say(f"wrote {path}", shell.view.link(path))

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close the screen, unless it has closed or another lies over it: Textual would close that
        one."""
        return super().dismiss(result) if self.shell.screen is self else AwaitComplete()

    def leave_line(self) -> bool:
        """Leave the line of text, or clear the filter. Returns whether there was one."""
        with contextlib.suppress(NoMatches):
            return self.status.leave()
        return False

    def action_back(self) -> None:
        """Go back: leave the line of text, clear the filter, or close the screen; never quit."""
        if not self.leave_line() and len(self.shell.screen_stack) > 1:
            self.dismiss()

    async def action_leave(self) -> None:
        """Close the screen with all that is open in it; quit where it leads back to none."""
        if not self.leads_back:
            await self.app.action_quit()
        for _ in range(_LAYERS):
            if self.shell.screen is self and self.leads_back:
                self.action_back()


class ListScreen(ShellScreen[None]):
    """A screen with a list: moving, filtering, opening."""

    @property
    def items(self) -> LineList[Any]:
        """The list."""
        return self.query_one(LineList)

    def action_enter(self) -> None:
        """Open what is at the cursor."""
        raise NotImplementedError

    def on_line_list_opened(self) -> None:
        self.action_enter()

    def on_status_filtered(self) -> None:
        self.update()
        self.status.show_note()

    async def action_filter(self) -> None:
        """Ask for a filter."""
        await self.status.edit("filter")

    def action_next_match(self) -> None:
        """Move the cursor to the next row that the filter leaves, around the end."""
        if self.status.filter:
            self.items.move(1, around=True)
        else:
            self.say("no filter: / sets one; notes are now :note TEXT")

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self.items.move(by)

    def action_move_half(self, by: int) -> None:
        """Move the cursor by half pages."""
        self.items.move(by * max(1, self.size.height // 2))

    def action_move_to_end(self, by: int) -> None:
        """Move the cursor to the first row (-1) or the last one (1)."""
        self.items.move_to_end(by > 0)


def start_thread(work: Callable[[], None]) -> None:
    """Call ``work`` on a thread of its own."""
    # A daemon: one that hangs on a dead file system must not keep rltui from ending.
    threading.Thread(target=work, name="rltui-files", daemon=True).start()


class BackgroundReading(Widget):
    """A screen or widget that reads one thing at a time. To be the second base: Textual inherits
    styles from the first one only."""

    reading = False
    """Whether something is being read."""

    def wanted(self) -> Work | None:
        """Work to do next for what is looked at; None for none."""
        return None

    def read_on(self) -> None:
        """Read what is wanted, unless something is being read."""
        if not self.reading and (work := self.wanted()) is not None:
            self.read(work)

    def read(self, work: Work) -> None:
        """Call ``work`` on a thread, what it returns on the main thread, then update."""

        def run() -> None:
            show, error = None, None
            try:
                show = work()
            except Exception as problem:  # noqa: BLE001 - raised where it is seen
                error = problem
            with contextlib.suppress(RuntimeError):  # the loop may be closed already
                self.call_later(self._show_read, show, error)

        self.reading = True
        start_thread(run)

    def _show_read(self, show: Callable[[], None] | None, error: Exception | None) -> None:
        """Show what was read; an unexpected failure is told as any other."""
        self.reading = False
        if error is not None:
            raise error
        if show is not None and self.is_attached:
            show()
            self.update()

    def update(self) -> None:
        """Draw what is known, and read what is missing."""
        raise NotImplementedError


class ReadingScreen(ShellScreen[None], BackgroundReading):
    """A screen that reads one thing at a time. To be the second base, as well."""


#: Smoothing weights that ``s`` and ``S`` walk through.
_SMOOTH = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)


class ChartOptions(ShellScreen[Any]):
    """A screen with charts."""

    @property
    def charted_runs(self) -> Sequence[JudgedRun]:
        """The runs in the charts."""
        raise NotImplementedError

    def axes(self, chosen: str = "") -> Names:
        """The x axes that there is data for, with the one that the user chose."""
        wanted = chosen or self.view.axis
        known = (a for r in self.charted_runs for a in axes_of(r, wanted))
        return tuple(dict.fromkeys(("step", *known)))

    def _choose_axis(self, text: str) -> None:
        """Choose the x axis of this name: a metric, or one that the key chooses."""
        name = clean(text)
        if name not in self.axes(name):
            names = {n.lower(): n for n in self._axis_names()}
            found, hint = choose(name, {"time": "relative", **names})
            if found is None:
                self.say(f"no x axis or metric named {name!r}{hint}")
                return
            name = found
        self.set_view(axis=name)

    def _axis_names(self) -> list[str]:
        return [*self.axes(), *names_in(self.charted_runs, settings=False)]

    def commands(self) -> Commands:
        return {**super().commands(), "x": self._choose_axis}

    def completions(self) -> list[str]:
        return [*super().completions(), *(f"x {n}" for n in dict.fromkeys(self._axis_names()))]

    def action_axis(self) -> None:
        """Choose the next x axis that the log has data for."""
        view = self.view
        axes = self.axes()
        if len(axes) == 1:
            self.say("the log has no times: the x axis stays the step")
        self.set_view(axis=next_of(axes, view.axis, absent=0))

    def action_smooth(self, by: int) -> None:
        """Choose the next smoothing weight, or the one before."""
        at = min(range(len(_SMOOTH)), key=lambda i: abs(_SMOOTH[i] - self.view.smooth)) + by
        if 0 <= at < len(_SMOOTH):
            self.set_view(smooth=_SMOOTH[at])
        else:
            end = "the line is as smooth as it gets" if by > 0 else "nothing is smoothed; s does"
            self.say(end)

    def action_log_y(self) -> None:
        self.set_view(log_y=not self.view.log_y)

    def action_outliers(self) -> None:
        self.set_view(outliers=not self.view.outliers)

    def action_value_order(self) -> None:
        """Read the lines at the crosshair in the order of their values, or of their marks."""
        self.set_view(by_value=not self.view.by_value)
        self.say("by value" if self.view.by_value else "in the order of the marks")
