"""A few whole screens as text. ``RLTUI_GOLDEN=write`` writes them anew: then read them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rltui.present.kit.line import plain
from rltui.present.screens.frame import draw
from rltui.present.screens.view import View
from tests.fakes import a_session, grpo_batch, grpo_clock

GOLDEN = Path(__file__).parent / "golden"
#: Read when the module is imported: a fixture hides the settings of the person who runs it.
WRITE = os.environ.get("RLTUI_GOLDEN") == "write"

SCREENS = {
    "overview-80x24": ("overview", "list", (80, 24)),
    "actor-80x24": ("actor", "list", (80, 24)),
    "findings-80x24": ("findings", "list", (80, 24)),
    "metric-120x36": ("actor", "metric", (120, 36)),
    "overview-160x45": ("overview", "list", (160, 45)),
    "runs-100x20": ("overview", "runs", (100, 20)),
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_looks_as_it_did(name: str) -> None:
    tab, screen, size = SCREENS[name]
    session = a_session(
        grpo_batch(60, total=200),
        grpo_batch(30, run="calm", collapse=None),
        clock=grpo_clock(),
    )
    view = View(run=next(iter(session.views)), tab=tab, screen=screen)
    if screen == "metric":
        view.cursor[tab] = "actor/entropy"
    frame = draw(session, view, *size)
    text = "".join(plain(line).rstrip() + "\n" for line in frame.lines)
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
