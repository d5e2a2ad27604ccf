"""When news are painted: at once as long as that costs little, else about once a second.

Verdicts and the garbage collector wait while keys come.
"""

import gc
import weakref
from collections.abc import Iterator

import pytest

from rltui.store import Changes
from rltui.tui.pump import Collector, InputTimes, PaintLimiter
from rltui.tui.widgets.lines import Lines
from tests.clock import ManualClock
from tests.fakes import grpo_batch
from tests.tui.hand import open_app


def painted(times: list[float], took_s: float = 0.01) -> list[float]:
    """When news at these times are painted, each in ``took_s`` of a core; those that come meanwhile
    are joined."""
    limiter, out, waits = PaintLimiter(), list[float](), False
    for now in [*times, float("inf")]:
        if waits and limiter.latest <= now:
            out.append(limiter.latest)
            limiter.spend(limiter.latest, took_s)
            waits = False
        if waits := now < limiter.soonest or now == float("inf"):
            continue
        out.append(now)
        limiter.spend(now, took_s)
    return out


def test_steps_of_one_run_are_painted_at_once_where_that_costs_little() -> None:
    times = [100 + 0.5 * i for i in range(120)]
    assert painted(times, took_s=0.004) == times


def test_a_step_that_would_cost_much_is_painted_with_the_next_one() -> None:
    times = [100 + 0.5 * i for i in range(120)]
    assert painted(times, took_s=0.008)[6:] == times[9::2]


def test_a_step_without_a_next_one_is_painted_after_a_second() -> None:
    assert painted([*(100 + i for i in range(8)), 107.5])[-1] == pytest.approx(108.05)


@pytest.mark.parametrize(("took_s", "apart"), [(0.0, 0.25), (0.006, 0.6), (0.2, 0.95)])
def test_what_costs_much_is_painted_less_often_and_its_end_is_not_lost(
    took_s: float, apart: float
) -> None:
    shown = painted([100 + 0.01 * i for i in range(6001)], took_s)
    assert 60 / len(shown) == pytest.approx(apart, rel=0.1)
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


class Loop:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def times(clock: ManualClock) -> InputTimes:
    return InputTimes(clock)


@pytest.fixture
def collecting(times: InputTimes, clock: ManualClock) -> Iterator[Collector]:
    gc.collect()
    found = Collector(times, clock)
    gc.disable()
    yield found
    gc.enable()


class Work:
    """Makes garbage, and objects that stay."""

    def __init__(self) -> None:
        self._kept: list[list[None]] = []

    def do(self, objects: int = 12_000) -> weakref.ref[Loop]:
        lost = weakref.ref(Loop())
        self._kept += [[] for _ in range(objects)]
        return lost


def test_nothing_is_collected_while_keys_come(
    collecting: Collector, times: InputTimes, clock: ManualClock
) -> None:
    times.note()
    work = Work()
    lost = work.do()
    collecting.collect_if_due()
    assert lost() is not None
    clock.advance(0.5)
    collecting.collect_if_due()
    assert lost() is None


def test_a_lot_of_new_objects_does_not_wait(collecting: Collector, times: InputTimes) -> None:
    times.note()
    work = Work()
    lost = work.do(150_000)
    collecting.collect_if_due()
    assert lost() is None


def test_few_new_objects_are_left_alone(collecting: Collector) -> None:
    lost = weakref.ref(Loop())
    collecting.collect_if_due()
    assert lost() is not None


async def test_garbage_goes_without_a_timer_of_its_own() -> None:
    async with open_app(grpo_batch(20)) as hand:
        app = hand.app
        clock = app.session.clock
        work = Work()
        for happens in (app.pump.pull, app.pump.age):
            lost = work.do()
            clock.advance(1.0)
            happens()
            assert lost() is None, happens.__name__


async def test_while_keys_come_slices_of_verdicts_are_put_off_but_not_for_ever() -> None:
    async with open_app(grpo_batch(20)) as hand:
        app = hand.app
        session = app.session
        slices = []
        session.drain = lambda **_: slices.append(1) or Changes()  # type: ignore[method-assign]
        session.judge.unfinished = True
        await hand.press("down")
        slices.clear()
        for _ in range(40):
            app.pump.pull()
        assert not slices
        app.pump.pull()
        assert slices == [1]
        session.judge.unfinished = False
        app.pump.pull()
        assert slices == [1, 1], "news are taken in"


async def test_a_verdict_in_slices_is_painted_with_the_next_step() -> None:
    async with open_app(grpo_batch(20)) as hand:
        app, painted = hand.app, list[bool]()
        judge, changed = app.session.judge, Changes(frozenset(app.session.views))

        def drain(**_: object) -> Changes:
            judge.unfinished = False
            return changed

        app.session.drain = drain  # type: ignore[method-assign]
        app.pump._show = painted.append
        app.pump.news()
        app.pump.pull()
        assert len(painted) == 1
        judge.unfinished = True
        app.pump.pull()
        assert len(painted) == 1, "it was painted just now"
        app.pump.pull()
        assert len(painted) == 2, "the next step"
        judge.unfinished = True
        app.session.clock.advance(1)  # type: ignore[attr-defined]
        app.pump.pull()
        assert len(painted) == 3, "long after"


async def test_a_row_waits_for_the_next_one_but_not_for_a_verdict_that_was_painted_alone() -> None:
    async with open_app(grpo_batch(20)) as hand:
        app, painted = hand.app, list[bool]()
        changed = Changes(frozenset(app.session.views))
        app.session.drain = lambda **_: changed  # type: ignore[method-assign]
        app.pump._show = painted.append
        rows = (2.0, True, 1), (0.1, True, 1), (0.5, True, 2), (2.0, False, 3), (0.0, True, 4)
        for seconds, is_row, count in rows:
            app.session.clock.advance(seconds)  # type: ignore[attr-defined]
            if is_row:
                app.pump.news()
            app.pump.pull()
            app.pump.age()
            assert len(painted) == count, (seconds, is_row)
