"""When news are painted: at once after a quiet spell, a stream about once a second."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rltui.tui.pump import PaintLimiter
from rltui.tui.widgets.lines import Lines
from tests.fakes import grpo_batch
from tests.tui.hand import open_app


def painted(times: list[float]) -> list[float]:
    """When news at these times are painted; those that come meanwhile are joined."""
    limiter, out = PaintLimiter(), []
    due: float | None = None
    for now in [*times, float("inf")]:
        if due is not None and due <= now:
            limiter.spend(due)
            out.append(due)
            due = None
        if due is None and now != float("inf"):
            due = now + max(0.0, limiter.wait(now))
            if due <= now:
                limiter.spend(now)
                out.append(now)
                due = None
    return out


def test_news_that_are_a_second_apart_are_painted_at_once() -> None:
    times = [float(t) for t in range(100, 160)]
    assert painted(times) == times


def test_never_more_than_two_a_second() -> None:
    shown = painted([100 + 0.01 * i for i in range(1000)])
    assert min(b - a for a, b in pairwise(shown)) >= 0.5 - 1e-9


def test_a_stream_is_painted_about_once_a_second_and_its_end_is_not_lost() -> None:
    shown = painted([100 + 0.5 * i for i in range(121)])
    assert len(shown) == pytest.approx(60 / 0.95, abs=4)
    assert shown[-1] >= 160


def test_the_first_news_after_a_pause_are_painted_at_once() -> None:
    shown = painted([*(100 + 0.1 * i for i in range(50)), 120.0])
    assert shown[-1] == 120.0


@pytest.mark.parametrize("keys", [(), ("enter",), ("enter", "3"), ("enter", "3", "enter")])
async def test_news_while_the_app_exits_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    """Some widgets of a screen are gone by then, and others are not."""
    news = []

    def on_unmount(lines: Lines) -> None:
        news.append(lines)
        lines.app._show_news(False)  # type: ignore[attr-defined]

    monkeypatch.setattr(Lines, "on_unmount", on_unmount, raising=False)
    async with open_app(grpo_batch(20)) as hand:
        await hand.press(*keys)
    assert news
