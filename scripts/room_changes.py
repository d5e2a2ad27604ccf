"""Counts how often control crosses from one package into another ("changes rooms").

    python scripts/room_changes.py                    rooms are the package directories
    python scripts/room_changes.py --by module        every module is a room of its own
    python scripts/room_changes.py --by top           only the packages directly below rltui
    python scripts/room_changes.py --rooms rltui.draw,rltui.health,rltui.session
    python scripts/room_changes.py --arrows           which borders are crossed most

The app runs headless over a small live log; entering a room and returning from it count one
each. Code outside rltui belongs to the room that called it. Each figure is the median of some
repetitions, less that of the same time in which nothing happened but the ticks of the app.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any
from unittest.mock import patch

#: (module, function) -> what is done inside, until the next one. On the reader's thread all is
#: reading; the rest of the main thread draws. Adapt the table when the functions move.
STAGES = {
    ("rltui.session.session", "_apply"): "applied",
    ("rltui.session.judging", "judge"): "judged",
}
READ, DRAWN = "read", "drawn"
_TAGS = (
    "actor/entropy",
    "actor/ppo_kl",
    "actor/grad_norm",
    "actor/pg_loss",
    "critic/score/mean",
    "response_length/mean",
)
_NOW = 1_800_000_000.0
_REPEATS = 5
#: Longer than verdicts and paints wait for each other.
_WINDOW_S = 3.0


class Rooms:
    """Room of a module; None for code that is not of rltui."""

    def __init__(self, by: str, only: tuple[str, ...]) -> None:
        self._by = by
        self._only = only
        self._known: dict[str, str | None] = {}

    def of(self, frame: FrameType) -> str | None:
        """The room of the function that runs in ``frame``."""
        module = frame.f_globals.get("__name__", "")
        if module not in self._known:
            self._known[module] = self._find(module, "__path__" in frame.f_globals)
        return self._known[module]

    def _find(self, module: str, is_package: bool) -> str | None:
        if not module.startswith("rltui."):
            return None
        if self._only:
            fitting = [r for r in self._only if f"{module}.".startswith(f"{r}.")]
            return max(fitting, key=len, default=None)
        parts = module.split(".")
        if self._by == "module":
            return module
        if self._by == "top":
            return ".".join(parts[:2])
        return module if is_package or len(parts) == 2 else ".".join(parts[:-1])


class Counted:
    """A profile hook that counts changes of room by stage."""

    def __init__(self, rooms: Rooms) -> None:
        self.active = False
        self.changes: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._rooms = rooms
        self._local = threading.local()
        self._main = threading.get_ident()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self._enter(frame)
        elif event == "return":
            self._leave(frame)

    def _stack(self) -> list[tuple[FrameType, str | None, str]]:
        stack: list[tuple[FrameType, str | None, str]] | None
        stack = getattr(self._local, "stack", None)
        if stack is None:
            stack = self._local.stack = []
        return stack

    def _enter(self, frame: FrameType) -> None:
        stack = self._stack()
        outside = DRAWN if threading.get_ident() == self._main else READ
        room, stage = stack[-1][1:] if stack else (None, outside)
        new = self._rooms.of(frame) or room
        name = (frame.f_globals.get("__name__", ""), frame.f_code.co_name)
        stage = STAGES.get(name, stage)
        stack.append((frame, new, stage))
        self._change(room, new, stage)

    def _leave(self, frame: FrameType) -> None:
        stack = self._stack()
        if not stack or stack[-1][0] is not frame:
            return  # entered before the counting began
        _, old, stage = stack.pop()
        self._change(old, stack[-1][1] if stack else None, stage)

    def _change(self, old: str | None, new: str | None, stage: str) -> None:
        if self.active and old != new and old is not None and new is not None:
            self.changes[stage][old, new] += 1


Work = Callable[[], Any]
Counts = dict[str, Counter[tuple[str, str]]]


def _row(step: int, loss: float = 0.01) -> str:
    values = (0.5, 0.001, 0.3, loss, 0.4, 400.0)
    wave = 1 + 0.01 * (step % 7)
    return json.dumps({"step": step, "data": {t: v * wave for t, v in zip(_TAGS, values)}}) + "\n"  # noqa: B905


async def _measured(counted: Counted, work: Work) -> Counts:
    """Median changes by stage and border that ``work`` causes, without those of idle time."""
    taken = [await _window(counted, work) for _ in range(_REPEATS)]
    idle = [await _window(counted, _nothing) for _ in range(_REPEATS)]
    found: Counts = {}
    for stage in {s for window in taken for s in window}:
        borders = {b for window in taken for b in window.get(stage, ())}
        for border in borders:
            counts, ticks = (
                median(w.get(stage, Counter())[border] for w in windows)
                for windows in (taken, idle)
            )
            if counts > ticks:
                found.setdefault(stage, Counter())[border] = round(counts - ticks)
    return found


async def _nothing() -> None:
    """Idle time is measured with this."""


async def _window(counted: Counted, work: Work) -> Counts:
    counted.changes.clear()
    counted.active = True
    await work()
    await asyncio.sleep(_WINDOW_S)
    counted.active = False
    return {stage: Counter(changes) for stage, changes in counted.changes.items()}


async def _walk(app: Any, counted: Counted, log: Path) -> dict[str, Counts]:
    step = 120

    async def append() -> None:
        nonlocal step
        step += 1
        with log.open("a", encoding="utf-8") as out:
            out.write(_row(step))

    async with app.run_test(size=(120, 36)) as pilot:
        await asyncio.sleep(1.5)
        row = await _measured(counted, append)
        await asyncio.sleep(_WINDOW_S)
        key = await _measured(counted, lambda: pilot.press("down"))
        return {"one appended row of six tags": row, "one key press": key}


async def _badge(app: Any, counted: Counted, log: Path) -> dict[str, Counts]:
    """One rule is left, and the last row makes it fire."""

    async def fire() -> None:
        with log.open("a", encoding="utf-8") as out:
            out.write(_row(121, float("nan")))

    async with app.run_test(size=(120, 36)):
        await asyncio.sleep(1.5)
        counts = await _window(counted, fire)
    return {"one rule to its badge": {s: counts.get(s, Counter()) for s in ("judged", DRAWN)}}


def run_app(counted: Counted, walk: Any, config: str) -> dict[str, Counts]:
    """Open ``rltui watch`` over a log of 120 rows and hand the app to ``walk``."""
    from textual.app import App

    from rltui import cli
    from rltui.commands import terminal, watch
    from rltui.core.clock import SystemClock

    found: dict[str, Counts] = {}
    with tempfile.TemporaryDirectory() as made:
        log = Path(made) / "run" / "grpo.jsonl"
        log.parent.mkdir()
        log.write_text("".join(_row(s) for s in range(1, 121)), encoding="utf-8")
        os.utime(log, (_NOW, _NOW))
        settings = Path(made) / "config.yaml"
        settings.write_text(config, encoding="utf-8")

        def run(app: App[Any], **_: object) -> None:
            found.update(asyncio.run(walk(app, counted, log)))

        with (
            patch.object(App, "run", run),
            patch.object(terminal, "has_terminal", lambda: True),
            patch.object(watch, "has_terminal", lambda: True),
            patch.object(SystemClock, "now", lambda _: _NOW),
            patch.dict(os.environ, {"XDG_CACHE_HOME": made}),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            threading.setprofile(counted)
            sys.setprofile(counted)
            try:
                cli.main(["watch", "--config", str(settings), str(log.parent)])
            finally:
                sys.setprofile(None)
                threading.setprofile(None)  # type: ignore[arg-type]
    return found


def _all_rules_but(one: str) -> str:
    from rltui.catalogue import load_catalogue
    from rltui.health.rules import load_rules

    others = [r.id for r in load_rules(metrics=load_catalogue().metrics) if r.id != one]
    return f"rules:\n  mute: [{', '.join(others)}]\n"


def main() -> int:
    """Parse, walk, print."""
    parser = argparse.ArgumentParser(description="count changes of room")
    parser.add_argument("--by", choices=("package", "module", "top"), default="package")
    parser.add_argument("--rooms", default="", help="only these packages, by comma")
    parser.add_argument("--arrows", action="store_true", help="the borders crossed most")
    options = parser.parse_args()
    only = tuple(filter(None, options.rooms.split(",")))
    began = time.monotonic()
    found = run_app(Counted(Rooms(options.by, only)), _walk, "")
    found |= run_app(Counted(Rooms(options.by, only)), _badge, _all_rules_but("nan"))
    for title, counts in found.items():
        print(f"{title}: {sum(c.total() for c in counts.values())}")
        for stage in (READ, "applied", "judged", DRAWN):
            changes = counts.get(stage, Counter())
            print(f"  {stage:8} {changes.total():6}")
            for (old, new), count in changes.most_common(8 if options.arrows else 0):
                print(f"    {count:6}  {old} -> {new}")
    print(f"({options.rooms or options.by}, {time.monotonic() - began:.0f} s)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
