"""Logs on a Ray cluster: four simulated nodes with 50 live runs each, and the verdicts on 2,000
runs by one process, by two, and by tasks of the cluster.

    python -m benchmarks.remote_ray live check --data DIR

Needs the extra ray. All nodes are on this machine and share its cores.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, table
from rltui.core.address import parse_logdir
from rltui.remote import ReaderOptions, open_reader
from rltui.remote.ray.helper import SocketTransport

NODES, RUNS, TAGS = 4, 50, 20
_LOGS = "RLTUI_BENCH_LOGS"
_MEMORY = 80 << 20
_TICK = os.sysconf("SC_CLK_TCK")


def cluster_of(root: Path) -> Any:
    """A head without logs and the nodes, each with a directory of its own."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": os.cpu_count(), "object_store_memory": _MEMORY, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={**head, "node_name": "head"})
    for number in range(NODES):
        name = f"node{number}"
        env = {_LOGS: str(root / name)}
        cluster.add_node(num_cpus=0, object_store_memory=_MEMORY, node_name=name, env_vars=env)
    os.environ["RAY_ADDRESS"] = cluster.address
    return cluster


def row(step: int) -> str:
    """One logged row."""
    values = {f"train/metric_{t}": math.sin(step / (t + 2)) for t in range(TAGS)}
    return json.dumps({"step": step, **values}) + "\n"


class Writers:
    """Append a row to each log in turn."""

    def __init__(self, root: Path) -> None:
        self._paths = [
            root / f"node{n}/run{r:02d}/metrics.jsonl" for n in range(NODES) for r in range(RUNS)
        ]
        for path in self._paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(map(row, range(10))))
        self.written: dict[str, dict[int, float]] = {}
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def start(self) -> None:
        """One row per log and second."""
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        step = 10
        while not self._stop.is_set():
            for path in self._paths:
                text = row(step)
                with path.open("a") as file:
                    file.write(text)
                self.bytes += len(text)
                name = f"{path.parts[-3]}/{path.parts[-2]}"
                self.written.setdefault(name, {})[step] = time.monotonic()
                if self._stop.wait(1 / len(self._paths)):
                    return
            step += 1


def cpu_of(pid: int) -> float:
    """CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def processes(title: str) -> list[int]:
    """Ids of processes whose command line has ``title``."""
    found = subprocess.run(["pgrep", "-f", title], capture_output=True, text=True, check=False)
    return [int(x) for x in found.stdout.split() if int(x) != os.getpid()]


def resident(pid: int) -> float:
    """MiB that a process has resident."""
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(x.split()[1]) for x in text.splitlines() if x.startswith("VmRSS")) / 1024


def counted_bytes() -> list[int]:
    """A list that gets the bytes of each piece that the session receives."""
    found: list[int] = []
    receive = SocketTransport.receive

    def counted(transport: SocketTransport) -> bytes:
        data = receive(transport)
        found.append(len(data))
        return data

    SocketTransport.receive = counted  # type: ignore[method-assign]
    return found


def live(root: Path, seconds: float) -> list[str]:
    """Follow all logs for a while."""
    writers, sizes = Writers(root), counted_bytes()
    reader = open_reader([parse_logdir(f"ray:///${_LOGS}")], ReaderOptions())
    begin = time.monotonic()
    reader.scan()
    found = time.monotonic() - begin
    reader.start()
    end = time.monotonic() + 10  # what is there already
    while time.monotonic() < end:
        reader.wait(1)
        reader.drain()
    helpers, actors = processes("rltui.remote.ray"), processes("ray::NodeReader")
    before = [time.process_time(), *(sum(map(cpu_of, p)) for p in (helpers, actors))]
    delays: list[float] = []
    sizes.clear()
    writers.start()
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        reader.wait(1)
        now = time.monotonic()
        for batch in reader.drain():
            written = writers.written.get(batch.run.name, {})
            delays += [
                now - written[s] for b in batch.blocks for s in b.steps.tolist() if s in written
            ]
    took = time.monotonic() - begin
    after = [time.process_time(), *(sum(map(cpu_of, p)) for p in (helpers, actors))]
    memory = max(map(resident, actors))
    writers.stop()
    reader.stop()
    delays.sort()
    used = [f"{100 * (b - a) / took:.1f} %" for a, b in zip(before, after, strict=True)]
    return table(
        ("what", "figure"),
        [
            ("connect, start an actor per node, search", f"{found:.1f} s"),
            ("rows written, arrived", f"{sum(map(len, writers.written.values()))}, {len(delays)}"),
            (
                "delay from append to the session, median",
                f"{1000 * statistics.median(delays):.0f} ms",
            ),
            ("the same, 95 of 100", f"{1000 * delays[len(delays) * 95 // 100]:.0f} ms"),
            ("bytes sent per byte logged", f"{sum(sizes) / writers.bytes:.2f}"),
            ("CPU of the session's process and the writers, of a core", used[0]),
            ("CPU of the process that speaks to Ray", used[1]),
            (f"CPU of all {len(actors)} actors", used[2]),
            ("resident memory of an actor, at most", f"{memory:.0f} MiB"),
            ("of an actor of Ray that does nothing", f"{idle_actor():.0f} MiB"),
        ],
    )


_IDLE_ACTOR = """
import ray, os
ray.init("auto", logging_level="CRITICAL", log_to_driver=False)
class Idle:
    def pid(self):
        return os.getpid()
idle = ray.remote(Idle).options(num_cpus=0).remote()
pid = ray.get([idle.pid.remote(), idle.pid.remote()])[0]
text = open(f"/proc/{pid}/status").read()
print(next(int(x.split()[1]) for x in text.splitlines() if x.startswith("VmRSS")) / 1024)
"""


def idle_actor() -> float:
    """MiB resident of an actor that has done nothing but answer two calls."""
    command = [sys.executable, "-c", _IDLE_ACTOR]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def make_runs(root: Path, count: int) -> Path:
    """Finished runs whose verdicts take a while."""
    logdir = root / f"runs{count}"
    for number in range(count):
        path = logdir / f"run{number:05d}" / "metrics.jsonl"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            names = ("loss", "entropy", "approx_kl", "reward", "grad_norm", "learning_rate")
            rows = (
                {"step": s, **{n: abs(math.sin(s / 50 + i + number)) for i, n in enumerate(names)}}
                for s in range(400)
            )
            path.write_text("".join(json.dumps(r) + "\n" for r in rows))
            os.utime(path, (1.7e9, 1.7e9))
    return logdir


def check(root: Path, count: int) -> list[str]:
    """The same verdicts three times."""
    logdir = make_runs(root, count)
    rows, documents = [], []
    for name, option in (("one process", "-j1"), ("-j 2", "-j2"), ("--ray", "--ray")):
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        command = [sys.executable, "-m", "rltui", "check", str(logdir), "--json", option]
        done = subprocess.run(command, capture_output=True, check=False)
        took = time.monotonic() - begin
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime - children.ru_utime - children.ru_stime
        document = json.loads(done.stdout)
        document.pop("as_of")
        documents.append(document)
        same = "yes" if document == documents[0] else "NO"
        rows.append((name, f"{took:.1f}", f"{cpu:.1f}", same))
    return table((f"{count:,} runs", "seconds", "CPU seconds of own processes", "same JSON"), rows)


def say(lines: Sequence[str]) -> None:
    """Print a part."""
    sys.stdout.write("\n".join(lines) + "\n\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was measured as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=("live", "check"))
    parser.add_argument("--data", type=Path, required=True, help="directory for logs")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=2000)
    options = parser.parse_args(arguments)
    say(describe())
    cluster = cluster_of(options.data)
    try:
        if "live" in options.parts:
            say(live(options.data, options.seconds))
        if "check" in options.parts:
            say(check(options.data, options.runs))
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
