"""Histograms, pictures and curves of a run: one tag over the steps, or at one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.app import ComposeResult
from textual.geometry import Region
from textual.strip import Strip

from rltui.core.batch import MediaKind
from rltui.core.text import cell_width, words_match
from rltui.draw.line import (
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Entry,
    Line,
    column,
    fit_line,
    fixed,
    indented,
    plain,
    row_entry,
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
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.media import Pixels, pixels_of, read_media
from rltui.formats.tfevents.media import Curve, Histogram, Media
from rltui.pages.findings.lines import heading
from rltui.pages.run.header import run_header
from rltui.session import RunView, Session
from rltui.store.media import Kept, MediaKey
from rltui.tui.keys import MEDIA, Key
from rltui.tui.screen import LEAST, ReadingScreen
from rltui.tui.shell import shell_of
from rltui.tui.widgets.lines import Lines
from rltui.tui.widgets.status import Status

#: Kind -> the title of the screen.
_WORDS = {
    MediaKind.HISTOGRAM: "Histogram",
    MediaKind.PICTURE: "Picture",
    MediaKind.CURVE: "Precision and recall",
}
#: Cells of the steps of a line of the list.
_NEWEST = 21
#: Depths of colour in which a picture is more than letters.
_DEPTHS = ("truecolor", "256")
#: Dark to light.
_RAMP = " .:-=+*#%@"


class Picture(Lines):
    """Pixels as half blocks, two above each other in a cell."""

    pixels: Pixels | None = None

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.pixels is None:
            return super().render_lines(crop)
        palette, width = shell_of(self).palette, self.size.width
        eight, ground = palette.depth == "256", palette.rich(TEXT)
        strips = []
        for y in range(crop.y, crop.bottom):
            rows = self.pixels[2 * y : 2 * y + 2].tolist()
            cells = zip(rows[0], rows[1] if len(rows) > 1 else rows[0], strict=True) if rows else ()
            line = [Segment("  ", ground)]
            for upper, lower in cells:
                front, back = Color.from_rgb(*upper), Color.from_rgb(*lower)
                if eight:
                    front, back = (c.downgrade(ColorSystem.EIGHT_BIT) for c in (front, back))
                line.append(Segment("▀", RichStyle(color=front, bgcolor=back)))
            strips.append(Strip(line).adjust_cell_length(width, ground).crop(crop.x, crop.right))
        return strips


class MediaScreen(ReadingScreen, places=(MEDIA,)):
    """Shows one tag of a run."""

    title_words = "Histograms and pictures"

    DEFAULT_CSS = """
    MediaScreen > #header { height: 1; }
    MediaScreen > #head { height: 1; }
    """

    def __init__(self, session: Session, run: RunView, key: MediaKey) -> None:
        super().__init__()
        self._session, self._run, self._key = session, run, key
        self._step: int | None = None
        """The chosen step; None for the newest."""
        self._bands = False
        self._read: dict[Kept, Media | str] = {}
        """What was read of the tag: of pictures and curves one."""
        self._pixels: tuple[object, Pixels | str] | None = None
        """The pixels of a picture, and of what and for which size."""

    def compose(self) -> ComposeResult:
        run, reading = self._run, self._session.reading
        yield Lines(lambda w, _: [run_header(run, self.shell.view, w, reading())], id="header")
        yield Lines(self._draw_head, id="head")
        yield Picture(self._draw, id="body")
        yield Status(self.footer)

    # -- what is shown ---------------------------------------------------------------------

    @property
    def _places(self) -> list[Kept]:
        return self._run.data.media.steps(self._key, self._run.as_of)

    @property
    def _here(self) -> Kept | None:
        """The place of the value at the chosen step."""
        places = self._places
        return places[self._at] if places else None

    @property
    def _at(self) -> int:
        """The number of the chosen step among those that are kept."""
        places, step = self._places, self._step
        if step is None:
            return len(places) - 1
        return min(range(len(places)), key=lambda i: abs(places[i].step - step), default=-1)

    def update(self) -> None:
        self.status.display = self.size.height >= LEAST[1]
        body, here = self.query_one(Picture), self._here
        value = None if here is None else self._read.get(here)
        made_of = self._key, here, body.size
        known = self._pixels[1] if self._pixels and self._pixels[0] == made_of else None
        drawn = isinstance(value, bytes) and self.shell.palette.depth in _DEPTHS
        body.pixels = None if not drawn or isinstance(known, str) else known
        body.repaint_all()
        for name in ("#header", "#head"):
            self.query_one(name, Lines).update()
        self.status.update()

        if not self.reading and (work := self._missing(value, known)) is not None:
            self.read(work)

    def _missing(
        self, value: Media | str | None, known: Pixels | str | None
    ) -> Callable[[], Callable[[], None]] | None:
        """What is to be read next: values, then the pixels of a picture."""
        here, body = self._here, self.query_one(Picture)
        wanted = self._places if self._key.kind is MediaKind.HISTOGRAM else [here] if here else []
        missing = [p for p in wanted if p not in self._read]
        if missing:
            return partial(self._load, self._key, missing, wanted)
        width, height = body.size.width - 4, 2 * body.size.height
        if isinstance(value, bytes) and known is None and width > 0 < height:
            return partial(self._decode, (self._key, here, body.size), value, width, height)
        return None

    def _load(
        self, key: MediaKey, missing: Sequence[Kept], wanted: Sequence[Kept]
    ) -> Callable[[], None]:
        found = read_media(key, missing)

        def show() -> None:
            if key == self._key:
                kept = {p: v for p, v in self._read.items() if p in wanted}
                self._read = kept | found

        return show

    def _decode(
        self, made_of: object, encoded: bytes, width: int, height: int
    ) -> Callable[[], None]:
        found = pixels_of(encoded, width, height)

        def show() -> None:
            self._pixels = made_of, found

        return show

    def _draw_head(self, width: int, _: int) -> list[Line]:
        keys, places, words = self._run.data.media.keys, self._places, self.shell.view.glyphs.text
        line: Line = [(f"{_WORDS[self._key.kind]} ", TITLE), (words(self._key.tag), STRONG)]
        if len(keys) > 1 and self._key in keys:
            line.append((f"   {words('↑ ↓')}  {keys.index(self._key) + 1} of {len(keys)}", MUTED))
        right: Line = []
        if places:
            right = [(f"{self._run.step_word} ", MUTED)]
            right.append((numbers.step(places[self._at].step), STRONG))
            right.append((f"  {self._at + 1} of {len(places)}", MUTED))
        cells = sum(cell_width(t) for t, _ in right)
        return indented([[*fit_line(line, max(0, width - cells - 5)), ("  ", TEXT), *right]], 2)

    def _draw(self, width: int, height: int) -> list[Line]:
        places, view = self._places, self.shell.view
        if not places:
            return indented([[], [("none so early in the run", MUTED)]], 2)
        value = self._read.get(places[self._at])
        if value is None or (isinstance(value, bytes) and self._pixels is None):
            return indented([[], [("reading", MUTED)]], 2)
        if isinstance(value, str):
            return indented([[], *paragraph(view.glyphs.text(value), width - 4, MUTED)], 2)
        if isinstance(value, bytes):
            return self._picture_lines(view, width)
        if isinstance(value, Curve):
            return indented([[], *curve_lines(*value, view.glyphs, width - 4)], 2)
        return self._histogram_lines(value, view, width - 2, height)

    def _picture_lines(self, view: View, width: int) -> list[Line]:
        """The picture in letters, where there are no colours, or why there is none."""
        made_of = self._key, self._here, self.query_one(Picture).size
        if self._pixels is None or self._pixels[0] != made_of:
            return indented([[], [("reading", MUTED)]], 2)
        found = self._pixels[1]
        if isinstance(found, str):
            return indented([[], *paragraph(view.glyphs.text(found), width - 4, MUTED)], 2)
        grey = found[::2].mean(axis=2) / 256 * len(_RAMP)
        return [[("  " + "".join(_RAMP[int(x)] for x in row), TEXT)] for row in grey.tolist()]

    def _histogram_lines(self, value: Histogram, view: View, width: int, height: int) -> list[Line]:
        known = [(p.step, self._read.get(p)) for p in self._places]
        pairs = [(step, h) for step, h in known if isinstance(h, Histogram)]
        steps, found = [s for s, _ in pairs], [h for _, h in pairs]
        at = next(i for i, h in enumerate(found) if h is value)
        room = height - 2
        ridge = self._is_ridge(width + 2, height)
        lines: list[Line] = []
        if room >= 4 and width >= 24:
            draw = ridge_lines if ridge or len(found) == 1 else band_lines
            lines = draw(steps, found, at, view.glyphs, width, room)
        return [*lines, [], [("  ", TEXT), *quantile_line(value, width - 2)]]

    def _is_ridge(self, width: int, height: int) -> bool:
        return not self._bands and width >= RIDGE_CELLS and height >= RIDGE_ROWS

    @property
    def keys(self) -> list[Key]:
        """Without the one that only histograms have."""
        return [
            k for k in super().keys if k.action != "bands" or self._key.kind is MediaKind.HISTOGRAM
        ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action works here now."""
        if action == "bands" and self._key.kind is not MediaKind.HISTOGRAM:
            return False
        return super().check_action(action, parameters)

    def state_words(self) -> str:
        if self._key.kind is not MediaKind.HISTOGRAM:
            return ""
        ridge = self._is_ridge(self.size.width, self.size.height - 3)
        return "2 to 98 % of values" if ridge else "median, 50 % and 90 %"

    # -- keys ------------------------------------------------------------------------------

    def action_step_sample(self, by: int) -> None:
        """Go to a later step, or an earlier one; the newest is followed."""
        places = self._places
        if places:
            at = max(0, min(len(places) - 1, self._at + by))
            self._step = places[at].step if at < len(places) - 1 else None
            self.update()

    def action_cross_to_end(self, by: int) -> None:
        """Go to the first step (-1) or the newest (1)."""
        self.action_step_sample(by * len(self._places))

    def action_step_metric(self, by: int) -> None:
        """Show the next tag, or the one before, at about the same step."""
        keys = self._run.data.media.keys
        if self._key in keys:
            self._key = keys[(keys.index(self._key) + by) % len(keys)]
            self._read = {}
            self.update()

    def action_bands(self) -> None:
        """Draw a ridge, or the bands of the quantiles."""
        body = self.query_one(Picture).size
        self._bands = self._is_ridge(*body)
        if not self._bands and not self._is_ridge(*body):
            self.shell.say(f"a ridge needs {RIDGE_CELLS} x {RIDGE_ROWS} cells")
        self.update()

    def action_close(self) -> None:
        self.dismiss()

    def copied_text(self) -> str:
        return "\n".join(plain(x).rstrip() for x in self._draw(*self.query_one(Picture).size))


def media_entries(run: RunView, text: str, view: View, cells: int, margin: int) -> list[Entry[str]]:
    """A line for each tag of the run that passes the filter, below a heading."""
    keys = [k for k in run.data.media.keys if words_match(f"{k.tag} {k.kind.value}", text)]
    if not keys:
        return []

    def draw(key: MediaKey, cursor: bool) -> Line:
        steps = run.data.media.steps(key, run.as_of)
        last = f"{run.step_word} {numbers.step(steps[-1].step)}" if steps else "later"
        line = [
            (f"{view.glyphs.unknown} ", MUTED),
            (view.glyphs.text(key.tag), STRONG if cursor else TEXT),
        ]
        right = f"  {numbers.exact(len(steps)):>3} to {last}"
        name = fit_line(line, max(4, cells - 12 - _NEWEST))
        return [*name, column(f"  {key.kind.value}", 12, MUTED), column(right, _NEWEST, MUTED)]

    head = heading("Histograms and pictures", cells, view, f"{len(keys)}, Enter opens")
    rows = [row_entry(k.id, partial(draw, k), cells, margin, view) for k in keys]
    return [fixed([], [(" " * margin, TEXT), *head]), *rows]
