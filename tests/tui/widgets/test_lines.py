"""Blocks of lines: what changed is painted, also when changes come faster than paints."""

from typing import Any

from textual.app import ComposeResult
from textual.events import Resize

from rltui.draw.line import TEXT, Line
from rltui.tui.shell import ShellApp
from rltui.tui.widgets.lines import Lines
from tests.tui.hand import Screen, a_look


class Bench(ShellApp[None]):
    """An app of one line."""

    def __init__(self) -> None:
        super().__init__(a_look())
        self.line = "one two three"

    def compose(self) -> ComposeResult:
        yield Lines(self._draw, id="lines")

    def _draw(self, _width: int, _height: int) -> list[Line]:
        return [[(word + " ", TEXT) for word in self.line.split()]]


async def test_what_changed_while_hidden_is_painted_whole_when_it_is_shown() -> None:
    """Textual paints only the regions that changed, which were hidden."""
    app = Bench()
    async with app.run_test(size=(20, 3)) as pilot:
        hand = Screen()
        hand.app, hand.pilot = app, pilot
        lines = app.query_one(Lines)
        lines.display = False
        await hand.settle()
        app.line = "one TWO three"
        lines.update()
        lines.display = True
        await hand.settle()
        assert hand.lines[0].rstrip() == "one TWO three"


async def test_what_changes_after_a_new_size_was_painted_is_painted() -> None:
    """Textual paints a widget of a new size before the widget hears of it."""
    app = Bench()
    async with app.run_test(size=(20, 3)) as pilot:
        hand = Screen()
        hand.app, hand.pilot = app, pilot
        await hand.settle()
        lines, painted = app.query_one(Lines), []
        lines.on_resize(Resize(lines.size, lines.size))
        refresh = lines.refresh

        def recorded(*regions: Any, **options: Any) -> Any:
            painted.append(regions)
            return refresh(*regions, **options)

        lines.refresh = recorded  # type: ignore[method-assign]
        app.line = "one TWO three"
        lines.update()
        await hand.settle()
        assert painted
        assert hand.lines[0].rstrip() == "one TWO three"
