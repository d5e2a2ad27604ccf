"""Draws every screen of the app from demo data, the same pixels in every run.

    python scripts/make_pictures.py                   the picture of the index, docs/overview.png
    python scripts/make_pictures.py --tour            those of docs/tour.md, docs/tour/*.png
    python scripts/make_pictures.py --frameworks      those of docs/frameworks, from test fixtures
    python scripts/make_pictures.py --first-screen    the text of docs/first-screen.md
    python scripts/make_pictures.py --all DIRECTORY   every screen, size and theme as SVG
    python scripts/make_pictures.py --all DIRECTORY --png --only metric --size 120x36

The real command runs headless: keys go in, Textual's screenshot comes out. PNG needs
``pip install -e '.[pictures]'`` and a monospace font with block characters (DejaVu Sans Mono).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import html
import io
import math
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rltui import cli
from rltui.commands import terminal, watch
from rltui.core.clock import SystemClock
from rltui.demo import SCENARIOS, DemoRun, demo_runs
from rltui.session import JudgedRun, Session
from rltui.tui import pump

ROOT = Path(__file__).resolve().parent.parent
SIZES = ((80, 24), (120, 36), (160, 45), (200, 50))
THEMES = ("dark", "light")
#: The time at which all pictures are taken; nothing moves while they are.
NOW = 1_800_000_000.0
#: Seconds since the last row of a fixture.
_MOMENT_S = 20.0
_SEED, _STEPS, _TOTAL = 7, 127, 400
#: run -> its story; the names order the list of runs.
_RUNS = {
    "grpo-7b-base": "healthy",
    "grpo-7b-entropy": "entropy-collapse",
    "grpo-7b-lr": "kl-blowup",
    "grpo-7b-nan": "nan",
}
_DIED = """\
Traceback (most recent call last):
  File "main_ppo.py", line 212, in fit
    batch = self.actor_rollout_wg.generate_sequences(batch)
RuntimeError: CUDA error: device-side assert triggered
"""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: what is watched, and the keys that lead to it."""

    name: str
    keys: tuple[str, ...]
    logdir: str = "runs/grpo-7b-lr"
    """Argument of ``rltui watch``; empty for the list of what could be watched."""
    demo: str = ""
    """Scenario of ``rltui demo`` that is watched instead."""
    fixture: str = ""
    """Log below tests/fixtures that is watched instead, as if it had just been written."""


SHOTS = (
    Shot("picker", (), ""),
    Shot("runs", (), "runs"),
    Shot("runs-filter", ("slash", *"base"), "runs"),
    Shot("overview", ()),
    Shot("overview-healthy", (), "runs/grpo-7b-base"),
    Shot("overview-died", (), "runs/grpo-7b-nan"),
    Shot("validation", ("2",)),
    Shot("actor", ("3",)),
    Shot("critic", ("4",)),
    Shot("length", ("5",)),
    Shot("timing", ("6",)),
    Shot("perf", ("7",)),
    Shot("balance", ("8",)),
    Shot("findings", ("9",)),
    Shot("all", ("0",)),
    Shot("filter", ("3", "slash", *"kl")),
    Shot("metric", ("3", "enter")),
    Shot("metric-zoom", ("3", "enter", *["plus"] * 3, *["left"] * 4)),
    Shot("finding", ("9", "enter")),
    Shot("explain", ("3", "e")),
    Shot("log", ("t",), "runs/grpo-7b-nan"),
    Shot("help", ("question_mark",)),
    Shot("command", ("colon", *"goto 5")),
    Shot("palette", ("ctrl+p",)),
)
#: The pictures of the tour, in its order: ``rltui demo`` with the scenario and the keys of each.
TOUR = (
    Shot("overview", ()),
    Shot("healthy", (), demo="healthy"),
    Shot("metric", ("3", "down", "down", "enter", *["left"] * 6)),
    Shot("grid", ("3", "v")),
    Shot("finding", ("9",), demo="reward-hacking"),
    Shot("replay", ("colon", *"goto 100", "enter")),
    Shot("timing", ("6",), demo="slow-step"),
    Shot("runs", (), demo="seeds"),
    Shot("compare", ("space", "down", "space", "down", "down", "down", "space", "C"), demo="seeds"),
    Shot("groups", ("C", "B"), demo="seeds"),
    Shot("hyperparameters", ("H",), demo="seeds"),
    Shot("samples", ("T",), demo="truncation"),
    Shot("crash", ("t",), demo="crash"),
    Shot("dpo", (), demo="dpo-overfit"),
)
#: The screens of docs/first-screen.md: the text above each, and its scenario.
FIRST = {
    "OK: the outcome from first to last, and nothing to do.": "healthy",
    "Watch: worth a look, no more.": "imbalance",
    "Bad: cause with numbers, what came of it, one action.": "reward-hacking",
    "Crashed: why, and where it stood.": "crash",
    "Stalled: how long, and what is usual.": "hang",
}
#: The pictures of docs/frameworks: page -> the log, below tests/fixtures.
FRAMEWORKS = {
    "verl": "labelled/verl/grpo_kl_blowup",
    "trl": "labelled/trl/rloo_length_drop",
    "openrlhf": "frameworks/openrlhf/qwen-grpo",
    "sb3": "labelled/sb3/ppo_cartpole_lr_high",
    "rsl_rl": "frameworks/rsl_rl",
    "rllib": "labelled/rllib/ppo_cartpole_healthy",
    "prime-rl": "frameworks/prime-rl",
    "ms-swift": "frameworks/ms-swift",
}
#: Place and text of a part of a line in a screenshot.
_TEXT = re.compile(r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*line-\d+[^>]*>(.*?)</text>')
#: The picture of the index.
INDEX = Shot("overview", ())
INDEX_SIZE = TOUR_SIZE = (120, 36)


@dataclass(frozen=True, slots=True)
class Job:
    """One file to write, without its suffix."""

    shot: Shot
    size: tuple[int, int]
    theme: str
    target: Path
    suffixes: tuple[str, ...]


def write_logs(directory: Path) -> None:
    """The demo runs, and the console log of the one that died."""
    for name, scenario in _RUNS.items():
        run = DemoRun(directory / name, scenario, _SEED, _TOTAL)
        with contextlib.closing(run):
            run.write_history(_STEPS)
        (events,) = run.directory.glob("events.*")
        events.rename(events.with_name("events.out.tfevents.1800000000.trainer-0.1.0"))
    console = directory / "grpo-7b-nan" / "train.log"
    console.write_text(_console_log(console.parent) + _DIED, encoding="utf-8")
    for path in sorted(directory.rglob("*"), reverse=True):
        os.utime(path, (NOW, NOW))


def write_demo(scenario: str) -> Path:
    """The runs of a scenario as ``rltui demo`` opens them; returns their directory."""
    logdir = Path("demo") / scenario
    if not logdir.exists():
        for run in demo_runs(logdir, scenario, _TOTAL):
            with contextlib.closing(run):
                run.write_history(SCENARIOS[scenario].history)
            events = next(run.directory.glob("events.*"))
            written = events.stat().st_mtime if run.scenario.ending == "hang" else NOW
            events.rename(events.with_name("events.out.tfevents.1800000000.trainer-0.1.0"))
            for path in run.directory.iterdir():
                os.utime(path, (written, written))
    return logdir


def copy_fixture(name: str) -> tuple[str, float]:
    """Name of a copy of a log here, and the time a moment after its last row."""
    source = ROOT / "tests" / "fixtures" / name
    logdir = Path(source.name)
    shutil.copytree(source, logdir)
    (run,) = _read(logdir)
    ends = [run.series(tag).wall_times[-1] for tag in run.data.tags]
    now = max((float(end) for end in ends if math.isfinite(end)), default=NOW) + _MOMENT_S
    for path in logdir.rglob("*"):
        os.utime(path, (now - _MOMENT_S, now - _MOMENT_S))
    return str(logdir), now


def _read(logdir: Path) -> tuple[JudgedRun, ...]:
    session = Session([logdir])
    session.scan()
    session.read_all()
    return tuple(session.runs())


def _console_log(logdir: Path) -> str:
    """What verl prints of the run in ``logdir``."""
    (run,) = _read(logdir)
    rows: dict[int, list[str]] = {}
    for tag in run.data.tags:
        series = run.series(tag)
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            rows.setdefault(step, []).append(f"{tag}:{value}")
    return "".join(f"step:{s} - {' - '.join(v)}\n" for s, v in sorted(rows.items()))


@contextlib.contextmanager
def quiet_place() -> Iterator[Path]:
    """A directory with the logs in it, as working and home directory, at a time that stands."""
    before = Path.cwd()
    environ = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "TMPDIR")}
    with (
        tempfile.TemporaryDirectory(prefix="rltui-pictures-") as made,
        patch.object(SystemClock, "now", lambda _: NOW),
        # what is found beside the logs is drawn before the screen counts as at rest
        patch.object(pump, "_AGE_INTERVAL_S", 0.1),
    ):
        place = Path(made) / "home"
        place.mkdir()
        environ |= {"HOME": str(place), "TEXTUAL_ANIMATIONS": "none", "COLORTERM": "truecolor"}
        with patch.dict(os.environ, environ, clear=True):
            os.chdir(place)
            try:
                write_logs(place / "runs")
                yield place
            finally:
                os.chdir(before)


def take(shot: Shot, size: tuple[int, int], theme: str) -> str:
    """SVG of ``shot``, taken in the working directory of :func:`quiet_place`."""
    from textual.app import App

    found: list[str] = []

    def run(app: App[Any], **_: object) -> None:
        found.append(asyncio.run(_drive(app, shot, size)))

    logdir = str(write_demo(shot.demo)) if shot.demo else shot.logdir
    now = NOW
    if shot.fixture:
        logdir, now = copy_fixture(shot.fixture)
    arguments = ["watch", "--theme", theme, "--marker", "braille", *filter(None, [logdir])]
    with (
        patch.object(SystemClock, "now", lambda _: now),
        patch.object(App, "run", run),
        patch.object(terminal, "has_terminal", lambda: True),
        patch.object(watch, "has_terminal", lambda: True),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        cli.main(arguments)
    if not found:
        raise RuntimeError(f"rltui {' '.join(arguments)} opened no app")
    return found[0]


async def _drive(app: Any, shot: Shot, size: tuple[int, int]) -> str:
    async with app.run_test(size=size) as pilot:
        await _settled(app, pilot)
        for key in shot.keys:
            await pilot.press(key)
            await _settled(app, pilot, polls=1)
        return await _settled(app, pilot)


async def _settled(app: Any, pilot: Any, polls: int = 4) -> str:
    """The screen, when it has stayed the same for ``polls`` tenths of a second."""
    from textual.widgets import Input

    last, same = "", 0
    for _ in range(200):
        for widget in app.screen.query(Input):
            widget.cursor_blink = False
        await pilot.pause(0.1 if polls > 1 else 0.0)
        svg = app.export_screenshot(title="rltui")
        same = same + 1 if svg == last and not _is_busy(app) else 0
        last = svg
        if same >= polls:
            return svg
    raise RuntimeError("the screen does not come to rest")


def _is_busy(app: Any) -> bool:
    """Whether verdicts are still being made, or a thread looks at files beside the logs."""
    if any(thread.name == "rltui-vitals" for thread in threading.enumerate()):
        return True
    session = getattr(app, "session", None)
    return session is not None and (session.unsettled or session.judge.unfinished)


def as_png(svg: str) -> bytes:
    """``svg`` drawn with the fonts of this machine."""
    try:
        import resvg_py
    except ModuleNotFoundError:
        raise SystemExit("PNG needs: pip install -e '.[pictures]'") from None

    local = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    local = local.replace("Fira Code", "DejaVu Sans Mono")
    return bytes(resvg_py.svg_to_bytes(svg_string=local))


def write(jobs: list[Job]) -> list[Path]:
    """Take the pictures of ``jobs``; run in a process of its own."""
    written = []
    with quiet_place():
        for job in jobs:
            svg = take(job.shot, job.size, job.theme)
            job.target.parent.mkdir(parents=True, exist_ok=True)
            for suffix in job.suffixes:
                path = job.target.with_name(job.target.name + suffix)
                path.write_bytes(as_png(svg) if suffix == ".png" else svg.encode())
                written.append(path)
    return written


def first_screens() -> str:
    """The page docs/first-screen.md."""
    parts = ["# First screen", "What `rltui watch` opens with at 80x24, on runs of `rltui demo`."]
    with quiet_place():
        for words, scenario in FIRST.items():
            svg = take(Shot("first", (), demo=scenario), (80, 24), "dark")
            rows: dict[float, str] = {}
            for x, y, text in _TEXT.findall(svg):
                row = rows.get(float(y), "")
                rows[float(y)] = row.ljust(round(float(x) / 12.2)) + html.unescape(text)
            screen = "\n".join(rows[y].replace("\xa0", " ").rstrip() for y in sorted(rows))
            parts += [words, f"```text\n{screen}\n```"]
    return "\n\n".join(parts) + "\n"


def jobs_of(options: argparse.Namespace) -> list[list[Job]]:
    """The work, in parts for one process each."""
    if options.tour:
        return [
            [Job(shot, TOUR_SIZE, "dark", ROOT / "docs" / "tour" / shot.name, (".png",))]
            for shot in TOUR
        ]
    if options.frameworks:
        target = ROOT / "docs" / "frameworks"
        return [
            [Job(Shot(name, (), fixture=fixture), TOUR_SIZE, "dark", target / name, (".png",))]
            for name, fixture in FRAMEWORKS.items()
        ]
    if options.all is None:
        return [[Job(INDEX, INDEX_SIZE, "dark", ROOT / "docs" / "overview", (".png",))]]
    sizes = [s for s in SIZES if options.size in (None, f"{s[0]}x{s[1]}")]
    shots = [s for s in SHOTS if options.only in (None, s.name)]
    target = options.all.resolve()
    suffixes = (".svg", ".png") if options.png else (".svg",)
    return [
        [
            Job(shot, size, theme, target / f"{shot.name}-{size[0]}x{size[1]}-{theme}", suffixes)
            for shot in shots
        ]
        for size in sizes
        for theme in THEMES
    ]


def main() -> int:
    """Parse, draw, name what was written."""
    parser = argparse.ArgumentParser(description="draw the screens of rltui from demo data")
    parser.add_argument("--all", type=Path, metavar="DIRECTORY", help="every screen, into here")
    parser.add_argument("--tour", action="store_true", help="the pictures of docs/tour.md")
    parser.add_argument("--frameworks", action="store_true", help="those of docs/frameworks")
    parser.add_argument("--png", action="store_true", help="PNG beside the SVG")
    parser.add_argument("--only", choices=[s.name for s in SHOTS], help="one screen")
    parser.add_argument("--size", choices=[f"{w}x{h}" for w, h in SIZES], help="one size")
    parser.add_argument("--first-screen", action="store_true", help="docs/first-screen.md")
    options = parser.parse_args()
    if options.first_screen:
        (ROOT / "docs" / "first-screen.md").write_text(first_screens(), encoding="utf-8")
        return 0
    parts = jobs_of(options)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for written in pool.map(write, parts):
            for path in written:
                print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
