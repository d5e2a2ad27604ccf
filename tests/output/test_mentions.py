"""What chat services take for a mention or a link."""

from __future__ import annotations

import pytest

from rltui.output.markdown import without_mentions


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!channel>", "‹!channel>"),
        ("<@U012AB3CD> <#C1>", "‹＠U012AB3CD> ‹#C1>"),
        ("<https://x.y|log>", "‹https://x.y|log>"),
        ("@everyone @all", "＠everyone ＠all"),
        ("kl < 0.1, <0.1, 8 @ 1", "kl < 0.1, <0.1, 8 @ 1"),
    ],
)
def test_they_are_plain_text(text: str, shown: str) -> None:
    assert without_mentions(text) == shown
