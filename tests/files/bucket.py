"""A bucket behind fsspec: objects that are replaced whole, with tags, times and faults."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, TypeVar

import pytest

from tests.clock import ManualClock

fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
pytest.importorskip("fsspec.asyn")
get_loop, sync = fsspec.asyn.get_loop, fsspec.asyn.sync
T = TypeVar("T")


class Bucket(fsspec.AbstractFileSystem):  # type: ignore[name-defined,misc]
    """What it was asked is in ``asked``: (call, path, first byte, last byte + 1)."""

    protocol = "bucket"
    cachable = False

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock
        self.objects: dict[str, tuple[bytes, float]] = {}
        self.asked: list[tuple[str, str, int, int]] = []
        self.fault: Exception | None = None
        """Raised by the next calls."""
        self.skew_s = 0.0
        self.dated = True
        """Whether it says when an object changed."""

    def put(self, path: str, data: bytes) -> None:
        """Write an object."""
        self.objects[path] = data, self.clock.now() + self.skew_s

    def append(self, path: str, data: bytes) -> None:
        """Write an object anew, longer than before."""
        self.put(path, self.objects[path][0] + data)

    def reads(self) -> list[tuple[int, int]]:
        """The ranges that were asked for since the last call."""
        found = [(begin, end) for call, _, begin, end in self.asked if call == "read"]
        self.asked.clear()
        return found

    def calls(self, call: str) -> int:
        """How often it was asked for something."""
        return [c for c, *_ in self.asked].count(call)

    # -- of fsspec ----------------------------------------------------------------------------

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.partition("://")[2].rstrip("/")

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[dict[str, Any]]:
        path = path.rstrip("/")
        self._ask("ls", path)
        below = {p for p in self.objects if p.startswith(f"{path}/")}
        names = {f"{path}/{p[len(path) + 1 :].split('/')[0]}" for p in below}
        if not names:
            raise FileNotFoundError(path)
        return [self._described(name) for name in sorted(names)]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        self._ask("info", path)
        return self._described(path)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        self._ask("read", path, start or 0, end or 0)
        data = self._object(path)[0]
        if start and start >= len(data):
            raise OSError("InvalidRange: the requested range is not satisfiable")
        return data[start:end]

    def _object(self, path: str) -> tuple[bytes, float]:
        if path not in self.objects:
            raise FileNotFoundError(path)
        return self.objects[path]

    def _described(self, path: str) -> dict[str, Any]:
        if path not in self.objects:
            if any(p.startswith(f"{path}/") for p in self.objects):
                return {"name": path, "size": 0, "type": "directory"}
            raise FileNotFoundError(path)
        data, changed = self.objects[path]
        return {
            "name": path,
            "size": len(data),
            "type": "file",
            "ETag": f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"',
            "LastModified": datetime.fromtimestamp(changed, timezone.utc) if self.dated else None,
        }

    def _ask(self, call: str, path: str, begin: int = 0, end: int = 0) -> None:
        self.asked.append((call, path, begin, end))
        if self.fault is not None:
            raise self.fault


class QuickBucket(Bucket):
    """A bucket that answers several questions at once."""

    async_impl = True

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.loop = get_loop()
        self.together = 0
        """Most questions that were open at the same time."""
        self._open = 0

    async def _ls(self, path: str, **_: Any) -> list[dict[str, Any]]:
        return await self._later(lambda: Bucket.ls(self, path))

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        return await self._later(lambda: Bucket.info(self, path))

    async def _find(self, path: str, detail: bool = False, **_: Any) -> dict[str, dict[str, Any]]:
        def answer() -> dict[str, dict[str, Any]]:
            self._ask("find", path)
            below = (p for p in self.objects if p.startswith(f"{path}/"))
            return {p: self._described(p) for p in below}

        return await self._later(answer)

    def find(self, path: str, **options: Any) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = sync(self.loop, self._find, path, **options)
        return found

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        return await self._later(lambda: Bucket.cat_file(self, path, start, end))

    async def _later(self, answer: Callable[[], T]) -> T:
        self._open += 1
        self.together = max(self.together, self._open)
        for _ in range(5):  # others begin meanwhile
            await asyncio.sleep(0)
        self._open -= 1
        return answer()
