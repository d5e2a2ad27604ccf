"""Samples and settings of a run whose files are on another host, which may answer slowly."""

import errno
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rltui.core.address import RemotePath
from rltui.files.disk import offer
from tests.fakes import grpo_batch
from tests.tables import cases
from tests.tui.hand import open_app

HOST = RemotePath("ssh:", "node7", "data")


class FailingStore:
    """A host that cannot be reached, and that nobody may wait for on the main thread."""

    notes = ()

    def __init__(self) -> None:
        self.asked = 0

    def _fail(self, path: Path, *_: object) -> NoReturn:
        assert threading.current_thread() is not threading.main_thread()
        self.asked += 1
        raise OSError(errno.EHOSTUNREACH, "no route")

    status = entries = is_directory = read = _fail

    def expect(self, *_: object) -> None: ...
    def costs(self) -> None: ...
    def close(self) -> None: ...


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> FailingStore:
    monkeypatch.setattr("rltui.files.disk._OFFERED", {})
    found = FailingStore()
    offer(HOST, found)
    return found


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that screens read on."""
    found: list[threading.Thread] = []

    def start(work: Callable[[], None]) -> None:
        found.append(threading.Thread(target=work))
        found[-1].start()

    monkeypatch.setattr("rltui.tui.screen.start_thread", start)
    return found


def there() -> Any:
    batch = grpo_batch(60, run="run")
    object.__setattr__(batch, "run_path", HOST / "run")
    return open_app(batch, logdirs=(HOST,))


@cases(__file__, "the_screen_says_why_and_waits_for_nobody")
async def test_the_screen_says_why_and_waits_for_nobody(
    key: str, words: str, store: FailingStore, threads: list[threading.Thread]
) -> None:
    async with there() as hand:
        await hand.press(key)
        (thread,) = threads
        thread.join()
        await hand.settle()
        assert store.asked
        assert words in " ".join(hand.text.replace("│", " ").split())
