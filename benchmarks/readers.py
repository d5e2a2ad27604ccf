"""One reader over one set, in a process of its own: ``python -m benchmarks.readers NAME ROOT``.

Prints one JSON object: ``points`` read, ``start_cpu`` (CPU seconds until the reader's imports
are done), ``cpu`` (until everything is in memory, start included), ``peak`` (MiB, VmHWM) and
what else a reader reports. The result of the reading is alive when the peak is taken.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_PIECE = 1 << 20


def files_of(root: Path) -> list[Path]:
    """The log files below ``root``."""
    return sorted(p for p in root.rglob("*") if p.is_file())


def memory(key: str = "VmHWM", process: int | str = "self") -> float:
    """A figure of /proc/PID/status in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"^{key}:\s+(\d+) kB", status, re.MULTILINE)
    return int(found.group(1)) / 1024 if found else 0.0


def _plain(root: Path, started: Callable[[], None]) -> dict[str, Any]:
    """``read()`` into one buffer, 1 MiB at a time, nothing kept."""
    started()
    buffer, total = memoryview(bytearray(_PIECE)), 0
    for path in files_of(root):
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                total += count
    return {"bytes": total}


def _rltui(root: Path, started: Callable[[], None]) -> dict[str, Any]:
    """rltui's reader: found, read, decoded, and all blocks kept."""
    import numpy as np  # noqa: F401 - part of the start

    from rltui.sources import Reader

    started()
    before = memory("VmRSS")
    blocks = [b for batch in Reader([root]).read_all() for b in batch.blocks]
    points = sum(b.points for b in blocks)
    return {"points": points, "kept": sum(b.nbytes for b in blocks), "before": before}


def _rltui_store(root: Path, started: Callable[[], None]) -> dict[str, Any]:
    """The same into rltui's store, as the app does it."""
    from rltui.sources import Reader
    from rltui.store import Store

    started()
    before = memory("VmRSS")
    store, points = Store(), 0
    for batch in Reader([root]).read_all():
        points += sum(b.points for b in batch.blocks)
        store.apply(batch)
    return {"points": points, "before": before, "after": memory("VmRSS"), "runs": len(store.runs)}


def _accumulator(root: Path, started: Callable[[], None]) -> dict[str, Any]:
    """TensorBoard's EventAccumulator, one per run, all points kept."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    started()
    kept, points = [], 0
    for directory in sorted({p.parent for p in files_of(root)}):
        found = EventAccumulator(str(directory), size_guidance={"scalars": 0, "tensors": 0})
        found.Reload()
        kept.append(found)
        tags = found.Tags()
        points += sum(len(found.Scalars(t)) for t in tags["scalars"])
        points += sum(len(found.Tensors(t)) for t in tags["tensors"])
    return {"points": points, "runs": len(kept)}


def _tbparse(root: Path, started: Callable[[], None]) -> dict[str, Any]:
    """tbparse's SummaryReader with wall times, scalars and tensors as data frames."""
    from tbparse import SummaryReader

    started()
    reader = SummaryReader(str(root), extra_columns={"wall_time"})
    return {"points": len(reader.scalars) + len(reader.tensors)}


def _orjson(root: Path, started: Callable[[], None]) -> dict[str, Any]:
    """``orjson.loads`` of every line, the result thrown away."""
    import orjson

    started()
    points = 0
    for path in files_of(root):
        with path.open("rb", buffering=_PIECE) as file:
            for line in file:
                points += len(orjson.loads(line)["data"])
    return {"points": points}


def _rustboard(root: Path, *arguments: str) -> dict[str, Any]:
    """TensorBoard's data server until it says that its first load cycle is finished.

    CPU is that of all its threads; reading the directory and
    the start of the process are in it, as for the others.
    """
    import tensorboard_data_server

    server = tensorboard_data_server.server_binary()
    command = [server, "--logdir", str(root), "--reload", "once", "--port", "0", "-v", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            if not any("inished load cycle" in line for line in process.stderr):
                raise RuntimeError("the data server did not load")
            spent = process_time(process.pid)
            return {"cpu": spent, "peak": memory("VmHWM", process.pid), "start_cpu": 0.0}
        finally:
            process.send_signal(signal.SIGKILL)


def process_time(process: int) -> float:
    """CPU seconds of another process, ended threads included, to the nanosecond."""
    return time.clock_gettime((~process << 3) | 2)  # clock_getcpuclockid(3)


#: Readers that run inside of this process.
INSIDE: dict[str, Callable[[Path, Callable[[], None]], dict[str, Any]]] = {
    "rltui": _rltui,
    "rltui, store": _rltui_store,
    "EventAccumulator": _accumulator,
    "tbparse": _tbparse,
    "orjson.loads": _orjson,
    "read()": _plain,
}
#: Arguments of the data server.
SERVERS: dict[str, tuple[str, ...]] = {
    "rustboard, keep all": ("--samples-per-plugin", "scalars=all"),
    "rustboard, default": (),
}


def measure(name: str, root: Path) -> dict[str, Any]:
    """Run one reader here and now."""
    if name in SERVERS:
        return _rustboard(root, *SERVERS[name])
    start: list[float] = []
    found = INSIDE[name](root, lambda: start.append(time.process_time()))
    return {"cpu": time.process_time(), "start_cpu": start[0], "peak": memory(), **found}


def command(name: str, root: Path) -> Iterator[str]:
    """The command line that runs a reader in a fresh process."""
    yield from (sys.executable, "-W", "ignore", "-m", "benchmarks.readers", name, str(root))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))) + "\n")
    sys.stdout.flush()
    os._exit(0)  # tearing down millions of objects is nobody's reading time
