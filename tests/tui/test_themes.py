"""Themes: ours are Textual's, Textual's are ours, and everything on the screen follows."""

import pytest
from rich.color import ColorType
from textual.theme import BUILTIN_THEMES

from rltui.draw.line import Token, style
from rltui.draw.theme import list_themes, load_theme
from rltui.tui.theming import Palette, textual_theme, tokens_of
from tests.draw.colours import contrast, luminance
from tests.fakes import grpo_batch
from tests.tui.hand import Hand, a_look, open_app

OURS = [t.name for t in list_themes()]


def grounds(hand: Hand) -> set[str]:
    """Background colours on the screen."""
    found = set()
    for strip in hand.strips:
        for segment in strip:
            colour = segment.style.bgcolor if segment.style else None
            if colour is not None and colour.triplet is not None:
                found.add(colour.triplet.hex)
    return found


@pytest.fixture(autouse=True)
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("rltui.tui.shell.depth_of", lambda system, no_color: "truecolor")


@pytest.mark.parametrize("opened", ["ctrl+p", "question_mark", "slash"])
async def test_under_a_light_theme_everything_stays_light(opened: str) -> None:
    async with open_app(grpo_batch(60, total=200), look=a_look("light")) as hand:
        await hand.press(opened)
        dark = [c for c in grounds(hand) if luminance(c) < 0.2]
        assert len(dark) <= 2, "the chip of the verdict, and a cursor"


async def test_themes_are_chosen_by_name() -> None:
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("colon", *"theme light", "enter")
        assert hand.app.theme == "light"
        assert min(luminance(c) for c in grounds(hand) if c != "#b5103c") > 0.4
        await hand.press("colon", *"theme nord", "enter")
        assert hand.app.theme == "nord"
        assert "#2e3440" in grounds(hand)
        await hand.press("colon", *"theme lihgt", "enter")
        assert hand.app.theme == "nord"
        assert "did you mean 'light'?" in hand.notices


async def test_the_palette_lists_every_theme_and_the_tabs() -> None:
    async with open_app(grpo_batch(60)) as hand:
        titles = {c.title for c in hand.run.palette()}
        assert {f"Theme {n}" for n in (*OURS, "nord", "gruvbox")} <= titles
        assert "Tab Actor" in titles


@pytest.mark.parametrize("name", OURS)
async def test_every_theme_of_ours_shows_everywhere(name: str) -> None:
    async with open_app(grpo_batch(60, total=200), look=a_look(name), size=(80, 24)) as hand:
        for key in ("ctrl+p", "escape", "slash", "escape", "question_mark"):
            await hand.press(key)
        assert hand.app.theme == name


@pytest.mark.parametrize("name", sorted(BUILTIN_THEMES))
def test_every_theme_of_textual_gives_readable_tokens(name: str) -> None:
    theme = tokens_of(BUILTIN_THEMES[name])
    ground = theme.colours[Token.BG]
    if ground == "default":
        assert "ansi" in name
        return
    for token in (Token.TEXT, Token.STRONG):
        assert contrast(theme.colours[token], ground) >= 4.5, token
    for token in (Token.MUTED, Token.ACCENT, Token.OK, Token.WATCH, Token.BAD):
        assert contrast(theme.colours[token], ground) >= 2.4, token


def test_our_themes_go_to_textual_and_back() -> None:
    (dark,) = [t for t in list_themes() if t.name == "dark"]
    assert textual_theme(dark).background == dark.colours[Token.BG]
    assert textual_theme(dark).error == dark.colours[Token.BAD]


@pytest.mark.parametrize("depth", ["256", "16", "none"])
async def test_with_fewer_colours_no_truecolour_is_used(
    depth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.tui.shell.depth_of", lambda system, no_color: depth)
    kinds = {
        "256": {ColorType.EIGHT_BIT, ColorType.DEFAULT, ColorType.STANDARD},
        "16": {ColorType.STANDARD, ColorType.DEFAULT},
        "none": {ColorType.DEFAULT},
    }[depth]
    async with open_app(grpo_batch(60, total=200), size=(160, 45)) as hand:
        strips = hand.strips
        await hand.press(*["question_mark"] * (depth == "16"))
        found = {
            colour.type
            for strip in (*strips, *hand.strips)
            for segment in strip
            if segment.style
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour is not None
        }
        assert found <= kinds
        chip = [s for s in hand.strips[0] if "bad" in s.text]
        assert chip
        assert depth == "256" or all(s.style is not None and s.style.reverse for s in chip)


@pytest.mark.parametrize(("depth", "shows"), [("none", False), ("16", True)])
async def test_without_colours_nothing_shows_beside_a_box(
    depth: str, shows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.tui.shell.depth_of", lambda system, no_color: depth)
    async with open_app(grpo_batch(60)) as hand:
        await hand.press("ctrl+p", *"entropy coll")
        assert ("reward" in hand.text) is shows
        assert "entropy collapse" in hand.text


@pytest.mark.parametrize("depth", ["truecolor", "256"])
def test_a_fill_on_the_ground_of_the_terminal_is_reversed(depth: str) -> None:
    chip = Palette(load_theme("terminal"), depth).rich(style(Token.BG, bg=Token.BAD))
    assert chip.reverse
    assert chip.bgcolor.is_default
    assert not chip.color.is_default
    assert not Palette(load_theme("dark"), depth).rich(style(Token.BG, bg=Token.BAD)).reverse
