"""What a reader holds open: as much after its logdirs were gone and came back as before."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltui.core.level import Level
from rltui.sources import Intervals, Reader
from rltui.sources.options import ReaderOptions
from tests.builders import append_rows

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")

RUNS = 12
PATIENCE_S = 60.0


def held() -> tuple[int, int]:
    """Open descriptors and threads of this process."""
    return len(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208


def holds_no_more_than(before: tuple[int, int]) -> bool:
    """What other tests have left may have ended meanwhile."""
    return all(now <= then for now, then in zip(held(), before, strict=True))


def append(logdir: Path, step: int) -> None:
    for number in range(RUNS):
        append_rows(logdir / f"run_{number:02d}" / "metrics.jsonl", 1, step)


class Watched:
    """A reader in its thread, and the newest step that it has read of each run."""

    def __init__(self, logdir: Path, *, inotify: bool) -> None:
        self.logdir = logdir
        intervals = Intervals(fast_s=0.02, slow_s=0.05, rescan_s=0.05, inotify=inotify)
        self.reader = Reader([logdir], ReaderOptions(watch=intervals))
        self.steps: dict[str, int] = {}

    def until(self, reached: Callable[[], bool]) -> None:
        """Take in what is read until something is so."""
        end = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < end
            self.reader.wait(0.02)
            for batch in self.reader.drain():
                for block in batch.blocks:
                    self.steps[batch.run.name] = int(block.steps[-1])

    def reads(self, step: int) -> None:
        """A new row of each run is read."""
        append(self.logdir, step)
        self.until(lambda: list(self.steps.values()) == [step] * RUNS)

    @property
    def vanished(self) -> bool:
        return any(n.level > Level.OK for n in self.reader.state.notes)


@pytest.fixture(params=[True, False], ids=["inotify", "polling"])
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    append(tmp_path / "logs", 0)
    watched = Watched(tmp_path / "logs", inotify=request.param)
    before = held()
    watched.reader.start()
    assert watched.reader.loop.listening.wait(PATIENCE_S)
    yield watched
    watched.reader.stop()
    assert holds_no_more_than(before)


def test_a_logdir_that_is_moved_away_and_back(watched: Watched) -> None:
    watched.reads(1)
    before, away = held(), watched.logdir.with_name("away")
    for step in range(2, 8):
        watched.logdir.rename(away)
        watched.until(lambda: watched.vanished)
        away.rename(watched.logdir)
        watched.until(lambda: not watched.vanished)
        watched.reads(step)
    watched.until(lambda: holds_no_more_than(before))
