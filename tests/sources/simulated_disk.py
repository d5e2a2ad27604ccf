"""A file system that fails: what network file systems and full disks do, without one.

Real files lie below; the calls by which the program reads them go through here. Faults hit the
reader only: who writes does so outside of :meth:`SimulatedDisk.failing`.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.clock import ManualClock


class Call(Enum):
    """What fails."""

    OPEN = "open"
    READ = "read"
    STAT = "stat"
    LIST = "list"


@dataclass
class Fault:
    """One kind of trouble with one path."""

    call: Call
    code: int
    calls: int
    """How often it still happens."""


class SimulatedDisk:
    """Patches ``os`` while the reader is at work."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._faults: dict[str, Fault] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self._paths: dict[int, str] = {}
        self.most_bytes = 1 << 30
        """A read returns at most so many bytes, as one that an error cuts short."""
        self.seconds_per_read = 0.0
        names = ("open", "close", "pread", "fstat", "stat", "scandir")
        self._real = {name: getattr(os, name) for name in names}
        self._real_open = io.open

    # -- trouble ----------------------------------------------------------------------------

    def refuse(self, path: Path, call: Call, code: int, calls: int = 1 << 30) -> None:
        """Have calls for a path fail."""
        self._faults[str(path)] = Fault(call, code, calls)

    def show_old_size(self, path: Path, size: int, calls: int) -> None:
        """Report an old size of a file for a while, as an NFS client does."""
        self._sizes[str(path)] = size, calls

    def mend(self) -> None:
        """No more trouble."""
        self._faults.clear()
        self._sizes.clear()
        self.most_bytes, self.seconds_per_read = 1 << 30, 0.0

    # -- the calls --------------------------------------------------------------------------

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Within, the program meets the trouble."""
        calls = {name: getattr(self, f"_{name}") for name in self._real}
        with patch.multiple(os, **calls), patch.object(io, "open", self._open_file):
            yield
        ours = [path for path in self._paths.values() if "faults-" in os.fsdecode(path)]
        assert not ours, "files that were opened and never closed"  # other threads open theirs

    def _meet(self, call: Call, path: Any) -> None:
        fault = self._faults.get(os.fspath(path)) if not isinstance(path, int) else None
        if fault is not None and fault.call is call and fault.calls > 0:
            fault.calls -= 1
            raise OSError(fault.code, os.strerror(fault.code), os.fspath(path))

    def _open(self, path: Any, *args: Any, **kwargs: Any) -> int:
        self._meet(Call.OPEN, path)
        descriptor: int = self._real["open"](path, *args, **kwargs)
        self._paths[descriptor] = os.fspath(path)
        return descriptor

    def _close(self, descriptor: int) -> None:
        self._paths.pop(descriptor, None)
        self._real["close"](descriptor)

    def _open_file(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        self._meet(Call.OPEN, path)
        return self._real_open(path, *args, **kwargs)

    def _pread(self, descriptor: int, length: int, offset: int) -> bytes:
        path = self._paths.get(descriptor)
        if path is not None:
            self._meet(Call.READ, path)
        self._clock.advance(self.seconds_per_read)
        data: bytes = self._real["pread"](descriptor, min(length, self.most_bytes), offset)
        return data

    def _stat(self, path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        self._meet(Call.STAT, path)
        return self._shown(self._real["stat"](path, *args, **kwargs), path)

    def _fstat(self, descriptor: int) -> os.stat_result:
        path = self._paths.get(descriptor)
        if path is not None:
            self._meet(Call.STAT, path)
        return self._shown(self._real["fstat"](descriptor), path)

    def _scandir(self, path: Any = ".") -> Any:
        self._meet(Call.LIST, path)
        return self._real["scandir"](path)

    def _shown(self, status: os.stat_result, path: Any) -> os.stat_result:
        """A status with the size that this client believes in."""
        if path is None or isinstance(path, int):
            return status
        size, calls = self._sizes.get(os.fspath(path), (0, 0))
        if calls <= 0 or size >= status.st_size:
            return status
        self._sizes[os.fspath(path)] = size, calls - 1
        fields = list(status)
        fields[6] = size
        times = {name: getattr(status, name) for name in ("st_atime_ns", "st_mtime_ns")}
        return os.stat_result(fields, {**_rest(status), **times})


def _rest(status: os.stat_result) -> dict[str, Any]:
    names = ("st_atime", "st_mtime", "st_ctime", "st_ctime_ns", "st_blksize", "st_blocks")
    return {name: getattr(status, name) for name in names}
