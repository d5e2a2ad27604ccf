"""Runs an app for a test, which waits until the app has nothing more to do.

Textual's pilot waits for a processor that is quiet: 20 ms at least, several times for each key,
and longer beside other tests. Here a test goes on as soon as the loop of events is empty.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from textual.app import App
from textual.pilot import Pilot

#: Rounds of the loop of events after which an app is taken to be busy without end.
_MOST_ROUNDS = 3_000


@asynccontextmanager
async def driving(app: App[Any], **options: Any) -> AsyncIterator[Pilot[Any]]:
    """``app.run_test(**options)`` without waiting for the clock."""
    idle = partial(_until_idle, app)
    with patch("textual.app.wait_for_idle", idle), patch("textual.pilot.wait_for_idle", idle):
        async with app.run_test(**options) as pilot:
            yield pilot


async def _until_idle(app: App[Any], *_: float) -> None:
    """Every message is handled and painted; only threads, input and time could go on."""
    for _ in range(_MOST_ROUNDS):
        await asyncio.sleep(0)
        if not asyncio.get_running_loop()._ready and not _hurried(app):  # type: ignore[attr-defined]
            return
    raise AssertionError("the app does not come to rest")


def _hurried(app: App[Any]) -> bool:
    """Do at once what waits for the next frame; false where nothing does."""
    if app._exit or not app.screen_stack:
        return False
    if getattr(app, "_resize_timer", None) is not None:
        app._check_resize()
        return True
    screen = app.screen
    waits = screen._update_timer._active.is_set() or bool(screen._callbacks)
    if waits:
        screen._on_timer_update()
    return waits
