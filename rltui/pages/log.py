"""The end of a run's console log, and the errors and warnings in all of its logs."""

from __future__ import annotations

from functools import partial

from rltui.core.level import Level
from rltui.core.text import words_match
from rltui.draw.line import (
    LEVEL_LOOK,
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Line,
    Span,
    longest,
)
from rltui.draw.table import Cells, Table, title_lines
from rltui.facts import numbers
from rltui.facts.log_digest import AGAIN_S, LogDigest, line_at
from rltui.facts.runs import newest_log
from rltui.facts.samples import root_of
from rltui.pages.findings.lines import log_head, log_lines
from rltui.session import JudgedRun, Session
from rltui.tui.keys import LOG
from rltui.tui.overlay import Overlay
from rltui.tui.screen import ReadingScreen, Work

_TITLE = "Errors and warnings"
#: Cells of the kind of a message; most of its steps and of its ranks.
_KIND = 7
_WHEN = 22
_WHO = 14


def digest_lines(run: JudgedRun, digest: LogDigest, width: int, text: str, shift: int) -> Block:
    """The messages after the filter ``text``, without their first ``shift`` characters: how often,
    which steps and ranks, and below it the finding that began then."""
    found = [s for s in digest.said if words_match(f"{s.text} {s.who}", text)]
    if not found:
        empty = "no line matches the filter" if digest.said else "no errors or warnings"
        return [[("reading" if digest.is_reading else empty, MUTED)]]
    when = min(_WHEN, max(5, longest(s.when for s in found)))
    who = min(_WHO, longest(s.who for s in found))
    sizes = {"times": 9, "when": when + 1, "who": who and who + 1}
    room = width - Table(sizes, lead=_KIND).width - 1
    columns = Table(sizes | {"message": room}, {"times": ">1"}, _KIND)

    def row(kind: Span, times: str, steps: str, ranks: str, message: Span) -> Line:
        cells: Cells = {"times": (times, STRONG), "when": (steps, MUTED), "who": (ranks, MUTED)}
        return columns.line([kind], cells | {"message": message})

    blank = " " * _KIND, TEXT
    lines = [row(blank, "times", f"{run.step_word}s", "ranks", ("message, the newest", MUTED))]
    for said in found:
        level = Level.BAD if said.is_error else Level.WATCH
        kind = "error  " if said.is_error else "warning", LEVEL_LOOK[level]
        shown = said.text[shift:], STRONG if said.is_error else TEXT
        lines.append(row(kind, numbers.step(said.times), said.when, said.who, shown))
        if said.onset:
            lines.append(row(blank, "", "", "", (said.onset, MUTED)))
    return lines


class LogScreen(Overlay, ReadingScreen, places=(LOG,)):
    """Shows the end of the log, and follows it until the user scrolls back; or the errors and
    warnings, which are read only while they are shown."""

    MOST = 10_000

    def __init__(self, session: Session, run: JudgedRun, step: int | None = None) -> None:
        """``step``: the log begins there, if its last lines hold it."""
        super().__init__()
        self._step = step
        self._session = session
        self._run = run
        self._digest: LogDigest | None = None
        """What has been read of the errors and warnings; None before they were asked for."""
        self._is_digest = False
        self._follows = True
        self._at = 0
        """First visible line."""
        self._shift = 0
        """Characters of each line that are scrolled out at the left."""

    action_tail = Overlay.action_close

    @property
    def _shown(self) -> LogDigest | None:
        return self._digest if self._is_digest else None

    def on_mount(self) -> None:
        super().on_mount()
        if self._step is not None and newest_log(self._run) is not None:
            self.call_after_refresh(self._to_step, self._step)
        self.set_interval(AGAIN_S, self.read_on)

    def action_digest(self) -> None:
        """Show the errors and warnings of all logs, or the log again."""
        self._is_digest = not self._is_digest
        self._shift = 0
        if self._digest is None:
            logdir = self._session.logdirs[self._run.key.logdir]
            root = partial(root_of, self._run, self._session.runs(), logdir)
            self._digest = LogDigest(self._run, root, self._session.clock)
        self._follows = not self._is_digest
        self.update()
        if self._is_digest:
            self.items.scroll_home(animate=False)

    def wanted(self) -> Work | None:
        """The next piece of the logs, while somebody looks."""
        return None if self._shown is None else self._shown.request()

    def head(self, width: int) -> Block:
        digest = self._shown
        view = self.view
        if digest is None:
            return log_head(self._run, view, width)
        note = f"  {digest.note}"
        return title_lines([(_TITLE, TITLE)], [(note, MUTED)], width)

    def text(self, width: int) -> Block:
        text = self.status.filter
        shift = self._shift
        if self._shown is not None:
            return digest_lines(self._run, self._shown, width, text, shift)
        at = None if self._step is None else line_at(self._run, self._step)
        return log_lines(self._run, width, text, shift, at)

    def update(self) -> None:
        super().update()
        self.read_on()
        self.call_after_refresh(self._to_end)

    def _to_step(self, step: int) -> None:
        at = line_at(self._run, step)
        words = f"{self._run.step_word} {numbers.step(step)}"
        if at is None:
            self.say(f"the last lines do not mention {words}")
            return
        self._follows = False
        self.items.scroll_to(y=at - self.items.size.height // 3, animate=False)
        self.say(f"the log at {words}")

    def _to_end(self) -> None:
        if self._follows and not self._is_digest:
            # at once: a key that comes before the next paint scrolls back for good
            self.items.scroll_end(animate=False, immediate=True)

    def on_line_list_scrolled(self) -> None:
        """Follow the log while its end is visible; stop once the user scrolls back."""
        at = self.items.scroll_offset.y
        if at >= self.items.max_scroll_y:
            self._follows = True
        elif at < self._at:
            self._follows = False
        self._at = at
        super().on_line_list_scrolled()

    def action_scroll_sideways(self, by: int) -> None:
        """Scroll by half the width, as far as the longest line reaches."""
        tails = self._run.data.files.tails.values()
        texts = (line for tail in tails for line in tail.lines)
        if self._shown is not None:
            texts = (said.text for said in self._shown.said)
        step = self.size.width // 2
        most = max(map(len, texts), default=0)
        self._shift = max(0, min(self._shift + by * step, most - step))
        self.update()
