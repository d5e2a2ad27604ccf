"""Histograms, pictures and curves of a run: one tag over the steps, or at one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.color import Color
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.app import ComposeResult
from textual.geometry import Region
from textual.strip import Strip

from rltui.core.batch import MediaKind
from rltui.core.level import Level
from rltui.core.media import Histogram, Media, Pictures, PrecisionRecall
from rltui.core.text import words_match
from rltui.draw.line import (
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Entry,
    Line,
    badge_span,
    fixed,
    indented,
    plain,
    row_entry,
    with_end,
)
from rltui.draw.prose import paragraph
from rltui.draw.ridge import (
    RIDGE_CELLS,
    RIDGE_ROWS,
    band_lines,
    curve_lines,
    quantile_line,
    ridge_lines,
)
from rltui.draw.table import Cells, heading, table_for
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.media import Pixels, pixels_of, read_media
from rltui.pages.run.header import run_header
from rltui.session import JudgedRun, Session
from rltui.store.media import Kept, MediaKey
from rltui.tui.keys import MEDIA, next_of
from rltui.tui.screen import LEAST, BackgroundReading, ShellScreen
from rltui.tui.shell import shell_of
from rltui.tui.terminal_picture import LARGEST, PictureFrame, Placed, TerminalPicture
from rltui.tui.widgets.lines import Lines
from rltui.tui.widgets.status import Status

#: Kind -> the title of the screen.
_WORDS = {
    MediaKind.HISTOGRAM: "Histogram",
    MediaKind.PICTURE: "Picture",
    MediaKind.CURVE: "Precision and recall",
}
_LAYOUT = """
    name kind steps
 0   2*   11    19
"""
#: Rows above a picture, and columns beside it.
_HEAD = 1
_LEFT = 2
#: What stands in the place of what is being read.
_READING = "reading"
#: Dark to light.
_RAMP = " .:-=+*#%@"


class MediaView(Lines, BackgroundReading, PictureFrame):
    """One tag of a run below its name; read when it is looked at."""

    def __init__(self, run: JudgedRun, key: MediaKey, *, keys: bool = False) -> None:
        """``keys``: whether it names those that lead to others of its kind."""
        super().__init__(self.lines_at)
        self.run = run
        self.key = key
        self._named = keys
        self.step: int | None = None
        """The chosen step; None for the newest."""
        self.number = 0
        """Which of several pictures of the step, modulo their number."""
        self.bands = False
        """Whether histograms are drawn as quantiles however large the widget is."""
        self._read: dict[Kept, Media | str] = {}
        """What was read of the tag: of pictures and curves one."""
        self._decoded: tuple[tuple[object, ...], Pixels | str, str] = (), "", ""
        """Of what, the pixels, and these as the terminal has them."""
        self._drawn: object = None
        """What was shown last."""

    # -- what is shown ---------------------------------------------------------------------

    def show(self, run: JudgedRun, key: MediaKey) -> None:
        """Show another tag from the next update on, at about the same step."""
        if (run, key) != (self.run, self.key):
            self._read = {}
            self._decoded = ((), "", "")
        self.run = run
        self.key = key

    @property
    def places(self) -> list[Kept]:
        """The steps that there are."""
        return self.run.data.media.steps(self.key, self.run.as_of)

    @property
    def at(self) -> int:
        """The number of the chosen step among them; -1 for none."""
        places = self.places
        step = self.step
        if step is None:
            return len(places) - 1
        return min(range(len(places)), key=lambda i: abs(places[i].step - step), default=-1)

    @property
    def _value(self) -> Media | str:
        places = self.places
        return self._read.get(places[self.at], _READING) if places else "none so early in the run"

    @property
    def _pictures(self) -> Pictures:
        value = self._value
        return () if isinstance(value, str | Histogram | PrecisionRecall) else value

    @property
    def count(self) -> int:
        """Pictures at the step, or what else there is."""
        return len(self._pictures) or 1

    @property
    def _made_of(self) -> tuple[object, ...]:
        """What the pixels of a picture depend on."""
        cell = shell_of(self).picture.cell
        return self.key, self.places[self.at], self.number % self.count, self.size, cell

    @property
    def _shown(self) -> Histogram | PrecisionRecall | Pixels | str:
        """The value, the pixels of a picture, or why there are none. A picture stays until the one
        of another step has been read."""
        value = self._value
        (made_of, found, _) = self._decoded
        if isinstance(value, str | Histogram | PrecisionRecall) and value != _READING:
            return value
        return found if isinstance(found, Pixels) or made_of == self._made_of else _READING

    @property
    def placed(self) -> Placed | None:
        found = self._shown
        data = self._decoded[2]
        if not (data and self._has_colours and self.display and isinstance(found, Pixels)):
            return None
        height, width, _ = found.halves.shape
        where = Region(self.region.x + _LEFT, self.region.y + _HEAD, width, height // 2)
        return Placed(where, data) if self.region.contains_region(where) else None

    def update(self) -> None:
        found = self._shown
        before = self._drawn
        self._drawn = found
        if found is before:
            super().update()
        else:  # the lines below a picture do not tell what differs
            self.repaint_all()
        if isinstance(found, Pixels):
            shell_of(self).frame(self)
        room = self.size.width > 2 * _LEFT and self.size.height > _HEAD
        if room and not self.reading and (work := self._missing()) is not None:
            self.read(work)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.update()

    def _missing(self) -> Callable[[], Callable[[], None]] | None:
        """What is to be read next: values, then the pixels of a picture."""
        places = self.places
        pictures = self._pictures
        wanted = places if self.key.kind is MediaKind.HISTOGRAM else places[self.at :][:1]
        if missing := [p for p in wanted if p not in self._read]:
            return partial(self._load, self.key, missing, wanted)
        if not pictures or self._decoded[0] == self._made_of:
            return None
        terminal = shell_of(self).picture
        columns = min(self.size.width - 2 * _LEFT, LARGEST // terminal.cell[0])
        rows = min(self.size.height - _HEAD, LARGEST // terminal.cell[1])
        picture = pictures[self.number % len(pictures)]
        return partial(self._decode, self._made_of, picture, columns, rows, terminal)

    def _load(
        self, key: MediaKey, missing: Sequence[Kept], wanted: Sequence[Kept]
    ) -> Callable[[], None]:
        found = read_media(key, missing)

        def show() -> None:
            if key == self.key:
                self._read = {p: v for p, v in self._read.items() if p in wanted} | found
                for status in self.screen.query(Status):  # whose keys depend on it
                    status.update()

        return show

    def _decode(
        self,
        made_of: tuple[object, ...],
        picture: bytes | Path,
        columns: int,
        rows: int,
        terminal: TerminalPicture,
    ) -> Callable[[], None]:
        found = pixels_of(picture, columns, rows, terminal.cell)
        data = terminal.encoded(found.image) if isinstance(found, Pixels) else ""

        def show() -> None:
            if made_of[0] == self.key:
                self._decoded = made_of, found, data

        return show

    # -- drawing ---------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines, and a picture as half blocks, two pixels above each other in a cell."""
        strips = super().render_lines(crop)
        found = self._shown
        if not isinstance(found, Pixels) or not self._has_colours:
            return strips
        ground = shell_of(self).palette.rich(TEXT)
        for n, y in enumerate(range(crop.y - _HEAD, crop.bottom - _HEAD)):
            rows = found.halves[2 * y : 2 * y + 2].tolist()
            if y < 0 or not rows:
                continue
            line = [Segment(" " * _LEFT, ground)]
            for upper, lower in zip(*rows, strict=True):
                look = RichStyle(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower))
                line.append(Segment("▀", look))
            whole = Strip(line).adjust_cell_length(self.size.width, ground)
            strips[n] = whole.crop(crop.x, crop.right)
        return strips

    @property
    def _has_colours(self) -> bool:
        """Whether a picture is more than letters."""
        depth = shell_of(self).palette.depth
        return depth in ("truecolor", "256") or (depth != "none" and bool(self._decoded[2]))

    def lines_at(self, width: int, height: int) -> Block:
        """The lines at a size, a picture in letters."""
        view = self.view
        found = self._shown
        head = self._head_line(width)
        width -= _LEFT
        height -= _HEAD
        if isinstance(found, str):
            lines = [[], *paragraph(found, width - _LEFT, MUTED)]
        elif isinstance(found, PrecisionRecall):
            lines = [[], *curve_lines(*found, view.glyphs, width - _LEFT)]
        elif isinstance(found, Histogram):
            known = [(p.step, self._read.get(p)) for p in self.places]
            pairs = [(step, h) for step, h in known if isinstance(h, Histogram)]
            steps = [s for s, _ in pairs]
            shown = [h for _, h in pairs]
            at = next(i for i, h in enumerate(shown) if h is found)
            lines = []
            room = height - 2
            if room >= 4 and width >= 24:
                draw = ridge_lines if self.is_ridge or len(shown) == 1 else band_lines
                lines = draw(steps, shown, at, view.glyphs, width, room)
            quantiles = quantile_line(found, width - _LEFT)
            return [head, *lines, [], [(" " * _LEFT, TEXT), *quantiles]]
        else:
            grey = found.halves[::2].mean(axis=2) / 256 * len(_RAMP)
            lines = [[("".join(_RAMP[int(x)] for x in row), TEXT)] for row in grey.tolist()]
        return [head, *indented(lines, _LEFT)]

    def _head_line(self, width: int) -> Line:
        keys = self.run.data.media.keys
        at = self.at
        line: Line = [(f"{_WORDS[self.key.kind]} ", TITLE), (self.key.tag, STRONG)]
        if self._named and len(keys) > 1 and self.key in keys:
            line.append((f"   ↑ ↓  {keys.index(self.key) + 1} of {len(keys)}", MUTED))
        right: Line = []
        if self.count > 1:
            number = f"{self.number % self.count + 1} of {self.count}"
            right += [("[ ]  " if self._named else "", MUTED), (number, STRONG), ("   ", TEXT)]
        if at >= 0:
            right += [
                (f"{self.run.step_word} ", MUTED),
                (numbers.step(self.places[at].step), STRONG),
                (f"  {at + 1} of {len(self.places)}", MUTED),
            ]
        return [(" " * _LEFT, TEXT), *with_end(line, [("  ", TEXT), *right], width - 3)]

    @property
    def is_ridge(self) -> bool:
        """Whether histograms are a ridge."""
        has_room = self.size.width >= RIDGE_CELLS and self.size.height - _HEAD >= RIDGE_ROWS
        return has_room and not self.bands


class MediaScreen(ShellScreen[None], places=(MEDIA,)):
    """Shows one tag of a run."""

    title_words = "Histograms and pictures"

    DEFAULT_CSS = "MediaScreen > #header { height: 1; }"

    def __init__(self, session: Session, run: JudgedRun, key: MediaKey) -> None:
        super().__init__()
        self._session = session
        self._run = run
        self._media = MediaView(run, key, keys=True)

    def compose(self) -> ComposeResult:
        run = self._run
        reading = self._session.reading
        yield Lines(lambda w, _: [run_header(run, self.view, w, reading())], id="header")
        yield self._media
        yield Status(self.footer)

    def update(self) -> None:
        self.status.display = self.size.height >= LEAST[1]
        self.query_one("#header", Lines).update()
        self._media.update()
        self.status.update()

    def idle(self, action: str) -> str:
        if action == "bands":
            return "" if self._media.key.kind is MediaKind.HISTOGRAM else "this is no histogram"
        lacks = action.endswith("_picture") and self._media.count < 2
        return "there is no other picture of the step" if lacks else ""

    def state_words(self) -> str:
        if self._media.key.kind is not MediaKind.HISTOGRAM:
            return ""
        return "2 to 98 % of values" if self._media.is_ridge else "median, 50 % and 90 %"

    # -- keys ------------------------------------------------------------------------------

    def action_step_sample(self, by: int) -> None:
        """Go to a later step, or an earlier one; the newest is followed."""
        places = self._media.places
        if places:
            at = max(0, min(len(places) - 1, self._media.at + by))
            self._media.step = places[at].step if at < len(places) - 1 else None
            self.update()

    def action_cross_to_end(self, by: int) -> None:
        """Go to the first step (-1) or the newest (1)."""
        self.action_step_sample(by * len(self._media.places))

    def action_step_picture(self, by: int) -> None:
        """Show the next picture of the step, or the one before."""
        self._media.number = (self._media.number + by) % self._media.count
        self.update()

    def action_step_metric(self, by: int) -> None:
        """Show the next tag, or the one before, at about the same step."""
        keys = self._run.data.media.keys
        key = self._media.key
        if key in keys:
            self._media.show(self._run, next_of(keys, key, by))
            self.update()

    def action_bands(self) -> None:
        """Draw a ridge, or the bands of the quantiles."""
        media = self._media
        media.bands = media.is_ridge
        if not (media.bands or media.is_ridge):
            self.say(f"a ridge needs {RIDGE_CELLS} x {RIDGE_ROWS} cells")
        self.update()

    def copied_text(self) -> str:
        media = self._media
        return "\n".join(plain(x).rstrip() for x in media.lines_at(*media.size))


def media_entries(
    run: JudgedRun, text: str, view: View, cells: int, margin: int
) -> list[Entry[str]]:
    """A line for each tag of the run that passes the filter, below a heading."""
    keys = [k for k in run.data.media.keys if words_match(f"{k.tag} {k.kind.value}", text)]
    if not keys:
        return []

    def draw(key: MediaKey, cursor: bool) -> Line:
        steps = run.data.media.steps(key, run.as_of)
        last = f"{run.step_word} {numbers.step(steps[-1].step)}" if steps else "later"
        row: Cells = {
            "name": (key.tag, STRONG if cursor else TEXT),
            "kind": (key.kind.value, MUTED),
            "steps": (f"{numbers.exact(len(steps)):>3} to {last}", MUTED),
        }
        return columns.line([badge_span(Level.UNKNOWN, view.glyphs)], row)

    columns = table_for(_LAYOUT, cells)
    head = heading("Histograms and pictures", cells, view, f"{len(keys)}, Enter opens")
    rows = [row_entry(k.id, partial(draw, k), cells, margin) for k in keys]
    return [fixed([], [(" " * margin, TEXT), *head]), *rows]
