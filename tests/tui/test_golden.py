"""A few whole screens of the real app, as text and once with their colours.

``RLTUI_GOLDEN=write`` writes them anew: then read them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fakes import grpo_batch
from tests.tui.hand import open_app

GOLDEN = Path(__file__).parent / "golden"
#: Read when the module is imported: a fixture hides the settings of the person who runs it.
WRITE = os.environ.get("RLTUI_GOLDEN") == "write"

#: Name -> keys from the Overview.
SCREENS = {
    "overview-80x24": [],
    "overview-120x36": [],
    "overview-160x45": [],
    "actor-80x24": ["3"],
    "actor-160x45": ["3"],
    "findings-80x24": ["9"],
    "findings-120x36": ["9"],
    "metric-80x24": ["3", "enter", "left"],
    "metric-120x36": ["3", "enter"],
    "runs-120x36": ["r"],
    "help-80x24": ["question_mark"],
    "explain-120x36": ["e"],
    "filter-80x24": ["3", "slash", "k", "l"],
}
STYLED = ("overview-120x36", "actor-80x24", "findings-80x24", "metric-80x24", "runs-120x36",
          "help-80x24", "filter-80x24")  # fmt: skip


def check(path: Path, text: str) -> None:
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCREENS)
async def test_a_screen_reads_and_is_coloured_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.tui.shell.depth_of", lambda system, no_color: "truecolor")
    width, height = name.rpartition("-")[2].split("x")
    runs = (grpo_batch(60, total=200), grpo_batch(30, run="calm", collapse=None))
    async with open_app(*runs, size=(int(width), int(height))) as hand:
        hand.app.pump.age()  # now, not when the machine finds time for it
        await hand.settle()
        await hand.press("enter", *SCREENS[name])
        strips = hand.strips
    check(
        GOLDEN / f"{name}.txt", "".join("".join(s.text for s in x).rstrip() + "\n" for x in strips)
    )
    looks = []
    for number, strip in enumerate(strips):
        for segment in strip:
            if segment.text.strip() or (segment.style and segment.style.bgcolor):
                look = str(segment.style).replace("not bold", "").replace("not underline", "")
                look = " ".join(look.replace("not dim", "").replace("not reverse", "").split())
                looks.append(f"{number:2} {segment.text.strip()[:30]!r} {look}\n")
    if name in STYLED:
        check(GOLDEN / f"{name}.styles", "".join(looks))
