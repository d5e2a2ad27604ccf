"""Styles and lines."""

from __future__ import annotations

from rltui.draw.line import TEXT, Token, style


def test_equal_styles_are_one_object_however_they_are_asked_for() -> None:
    assert style() is style(Token.TEXT) is style(fg=Token.TEXT, bold=False) is TEXT
    assert style(Token.BG, bg=Token.BAD, bold=True) is style(bold=True, bg=Token.BAD, fg=Token.BG)
    assert style(bold=True) is not TEXT
