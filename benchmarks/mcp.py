"""What ``rltui mcp`` costs: ``python -m benchmarks.mcp``.

A client of the SDK asks a server over standard input and output, as coding agents do. Measured are

- idle: CPU seconds a minute of the server with 100 runs of 20 tags, nothing growing;
- judge: milliseconds of an answer on the worst of them;
- series: milliseconds of an answer on a tag of a million points.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from mcp import Client, StdioServerParameters, stdio_client

from benchmarks.data import NAME, encode, file_header, scalar
from benchmarks.machine import median, parser_of, percentile, print_report, short
from benchmarks.many import make_runs
from benchmarks.read import directory_of
from benchmarks.terminal import quiet_home

Row = tuple[str, str, str]

_RUNS, _POINTS, _ROUNDS = 100, 1_000_000, 50
_TICKS = os.sysconf("SC_CLK_TCK")


def _long_run(root: Path) -> Path:
    """A log of one tag with a million points."""
    root.mkdir(parents=True, exist_ok=True)
    steps = np.arange(_POINTS)
    values = np.random.default_rng(0).normal(size=_POINTS)
    which = np.zeros(_POINTS, dtype=np.int64)
    content = encode([scalar("critic/score/mean")], which, steps, 1.8e9 + steps, values)
    (root / NAME).write_bytes(file_header() + content)
    return root


def _cpu_s(pid: int) -> float:
    """CPU seconds that a process has used."""
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / _TICKS


def _server() -> int:
    """The process that this one started."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return int(listed[-1])


async def _timed(client: Client, name: str, **arguments: object) -> str:
    while (await client.call_tool(name, arguments)).is_error:  # the logs are still being read
        await asyncio.sleep(1)
    taken = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        answer = await client.call_tool(name, arguments)
        taken.append(1000 * (time.perf_counter() - begin))
        assert not answer.is_error, answer
        await asyncio.sleep(0.05)
    return f"{short(median(taken))} / {short(percentile(taken, 0.95))}"


async def _measured(directory: Path, seconds: float) -> list[Row]:
    home = quiet_home(directory)

    def started(root: Path) -> Client:
        server = ["-m", "rltui", "mcp", str(root)]
        return Client(
            stdio_client(StdioServerParameters(command=sys.executable, args=server, env=home))
        )

    rows = []
    many, long = make_runs(directory / "many", _RUNS), _long_run(directory / "long")
    for path in many.rglob(NAME):
        path.touch()  # of runs that may go on, the ages are looked at, too
    async with started(many) as client:
        judge = await _timed(client, "judge")
        before = -1.0
        while _cpu_s(_server()) - before > 0.1:  # it has yet to come to rest
            before = _cpu_s(_server())
            await asyncio.sleep(5)
        before = _cpu_s(_server())
        await asyncio.sleep(seconds)
        used = short((_cpu_s(_server()) - before) * 60 / seconds)
        rows.append((f"{_RUNS} runs, idle: CPU s per minute", used, "0.3"))
        rows.append((f"{_RUNS} runs, judge: ms (median / p95)", judge, "20"))
    async with started(long) as client:
        series = await _timed(client, "series", metric="critic/score/mean", points=200)
        rows.append((f"series of {_POINTS:,} points: ms (median / p95)", series, "50"))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = parser_of("mcp", __doc__ or "", "runs")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long it idles")
    chosen = parser.parse_args(arguments)
    with directory_of(chosen.data) as directory:
        rows = asyncio.run(_measured(directory, chosen.seconds))
    print_report(parser, arguments, rows)


if __name__ == "__main__":
    main()
