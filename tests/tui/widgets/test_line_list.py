"""The list: cursor by identity, scrolling, repainting only what changed."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from textual.app import ComposeResult

from rltui.draw.line import TEXT, Entry, Line, Token, fixed, style
from rltui.tui.shell import ShellApp
from rltui.tui.widgets.lines import LineList
from tests.tui.driving import driving
from tests.tui.hand import Screen, a_look


class Bench(ShellApp[None]):
    """An app of one list."""

    def __init__(self) -> None:
        super().__init__(a_look())
        self.opened: list[str | None] = []

    def compose(self) -> ComposeResult:
        yield LineList[str](id="list")

    @property
    def list(self) -> LineList[str]:
        return self.query_one("#list", LineList)

    def on_line_list_opened(self) -> None:
        self.opened.append(self.list.cursor)


class Hand(Screen):
    def __init__(self, app: Bench, pilot: object) -> None:
        self.app: Bench = app
        self.pilot = pilot  # type: ignore[assignment]
        self.drawn: list[str] = []

    def show(self, names: Sequence[str], prefer: str | None = None) -> None:
        """Names are items; those that begin with # are headings, those with _ have two lines."""
        self.app.list.show([self._entry(n) for n in names], prefer)

    def _entry(self, name: str) -> Entry[str]:
        if name.startswith("#"):
            return fixed([(name, TEXT)])

        def draw(cursor: bool) -> list[Line]:
            self.drawn.append(name)
            look = style(Token.STRONG) if cursor else TEXT
            lines: list[Line] = [[(">" if cursor else " ", look), (name, look)]]
            return [*lines, [(f"  {name} below", look)]] if name.startswith("_") else lines

        return Entry(name, draw, 2 if name.startswith("_") else 1)


@asynccontextmanager
async def a_list(
    names: Sequence[str], size: tuple[int, int] = (20, 5), prefer: str | None = None
) -> AsyncIterator[Hand]:
    app = Bench()
    async with driving(app, size=size) as pilot:
        hand = Hand(app, pilot)
        await hand.settle()
        hand.show(names, prefer)
        await hand.settle()
        yield hand


NUMBERS = [f"n{i:04}" for i in range(2000)]


async def test_only_what_is_visible_is_drawn() -> None:
    async with a_list(NUMBERS) as hand:
        assert len(set(hand.drawn)) <= 5
        hand.app.list.move_to_end(True)
        await hand.settle()
        assert hand.lines[-1].startswith(">n1999")
        assert len(set(hand.drawn)) <= 10


async def test_the_cursor_begins_on_the_first_or_the_preferred_item() -> None:
    async with a_list(["#head", "a", "b", "c"]) as hand:
        assert hand.app.list.cursor == "a"
        hand.show(["#head", "a", "b", "c"], prefer="c")
        assert hand.app.list.cursor == "c"


async def test_the_cursor_stays_on_its_item_wherever_that_goes() -> None:
    async with a_list(["a", "b", "c", "d"]) as hand:
        items = hand.app.list
        items.move(1)
        hand.show(["d", "c", "#head", "b", "a"], prefer="d")
        assert items.cursor == "b"
        hand.show(["d", "a"], prefer="d")
        assert items.cursor == "d"
        hand.show(["a", "b"], prefer="a")
        assert items.cursor == "b", "the item is back, and so is the cursor"
        hand.show([])
        assert items.cursor is None
        items.move(1)
        items.move_section(1)


async def test_headings_are_skipped_and_sections_follow_them() -> None:
    async with a_list(["#1", "a", "b", "#2", "c", "#3", "d"]) as hand:
        items, seen = hand.app.list, []
        for _ in range(4):
            seen.append(items.cursor)
            items.move(1)
        assert seen == ["a", "b", "c", "d"]
        items.move_section(1)
        assert items.cursor == "a"
        items.move_section(1)
        assert items.cursor == "c"
        items.move_section(-1)
        items.move_section(-1)
        assert items.cursor == "d"


async def test_scrolling_keeps_both_lines_of_the_item_and_the_heading_above_all_in_sight() -> None:
    async with a_list(["#head", *(f"_{n}" for n in range(9))]) as hand:
        for _ in range(5):
            hand.app.list.move(1)
            await hand.settle()
            shown = [x.strip() for x in hand.lines]
            name = hand.app.list.cursor
            assert any(x.startswith(f">{name}") for x in shown)
            assert any(x.startswith(f"{name} below") for x in shown)
        hand.app.list.move_to_end(False)
        await hand.settle()
        assert hand.lines[0].startswith("#head")


async def test_news_do_not_scroll_a_list_that_the_user_scrolled_away() -> None:
    async with a_list(NUMBERS[:50]) as hand:
        items = hand.app.list
        items.scroll_to(y=20, animate=False)
        await hand.settle()
        hand.show(NUMBERS[:51])
        await hand.settle()
        assert items.scroll_offset.y == 20
        items.move(1)
        await hand.settle()
        assert hand.lines[0].startswith(">n0001") or hand.lines[1].startswith(">n0001")


async def test_a_scroll_bar_appears_only_when_it_is_needed() -> None:
    async with a_list(NUMBERS[:5]) as hand:
        items = hand.app.list
        assert not items.show_vertical_scrollbar
        hand.show(NUMBERS[:6])
        await hand.settle()
        assert items.show_vertical_scrollbar
        assert len(hand.lines[0]) == 20


async def test_only_lines_that_changed_are_repainted() -> None:
    async with a_list(["a", "b", "c"]) as hand:
        asked: list[tuple[object, ...]] = []
        items = hand.app.list
        items.refresh = lambda *regions, **_: asked.append(regions)  # type: ignore[method-assign,assignment,return-value]
        hand.show(["a", "b", "c"])
        assert asked == []
        hand.show(["a", "B", "c"])
        ((region,),) = asked
        assert (region.y, region.height) == (1, 1)  # type: ignore[attr-defined]


async def test_a_click_chooses_and_a_second_one_opens() -> None:
    async with a_list(["#1", "a", "_b", "c"]) as hand:
        for _ in range(2):
            await hand.pilot.click(hand.app.list, offset=(3, 3))
            await hand.settle()
            assert hand.app.list.cursor == "_b"
        assert hand.app.opened == ["_b"]
        await hand.pilot.click(hand.app.list, offset=(3, 0))
        assert hand.app.list.cursor == "_b", "a heading is no item"
