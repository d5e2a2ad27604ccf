"""What machines and sampling engines report of themselves: many readings of many sources, which
become one point in each period of time: the mean of all, the worst, and whose that is.

The lines of vLLM (vllm/v1/metrics/loggers.py, before version 1 vllm/engine/metrics.py) and SGLang
(sglang/srt/managers/scheduler_metrics_mixin.py) are understood here::

    INFO 10-06 11:23:31 [loggers.py:127] Engine 000: Avg prompt throughput: 474.7 tokens/s, ..
    [2026-10-06 11:23:31 DP1 TP0] Decode batch, #running-req: 12, #token: 345, token usage: 0.05, ..
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

#: What the lines of engines contain.
ENGINE_MARKERS = (
    *(b"Avg prompt throughput: ", b"Decode batch", b"Prefill batch", b"#retracted_reqs: "),
    *(b"Prefix cache hit rate: GPU", b"ean acceptance length: "),
)
#: What vLLM and SGLang call their figures, and our names.
_NAMES = {
    b"Avg prompt throughput": "prompt_throughput",
    b"input throughput (token/s)": "prompt_throughput",
    b"Avg generation throughput": "throughput",
    b"gen throughput (token/s)": "throughput",
    b"Running": "running",
    b"#running-req": "running",
    b"Waiting": "waiting",
    b"Pending": "waiting",
    b"#queue-req": "waiting",
    b"Preemptions": "preempted",
    b"#retracted_reqs": "preempted",
    b"GPU KV cache usage": "cache_use",
    b"KV cache usage": "cache_use",
    b"token usage": "cache_use",
    b"full token usage": "cache_use",
    b"Prefix cache hit rate": "hit_rate",
    b"GPU": "hit_rate",
    b"cache hit rate": "hit_rate",
    b"Mean acceptance length": "accept_length",
    b"accept len": "accept_length",
    b"Draft acceptance rate": "accept_rate",
    b"Avg Draft acceptance rate": "accept_rate",
    b"accept rate": "accept_rate",
}
_NEW, _CACHED = b"#new-token", b"#cached-token"
#: A name of few letters, so that a long line costs no more than its length, and its number.
_FIGURE = re.compile(rb"(#?[A-Za-z][A-Za-z ()/_#-]{0,40}): (\d{1,18}(?:\.\d{1,18})?)(%?)")
#: What tells the engines of one log apart: their numbers, and the processes of several servers.
_NUMBER = re.compile(rb"\b(?:Engine |DP|EngineCore_)(\d{1,6})\b")
_PROCESS = re.compile(rb"\bpid=(\d{1,10})\b")
_HEAD = 200
_DIGITS = re.compile(r"\d{1,18}")

#: Figures that are added up over a period, and the side on which others are bad: 1 high, -1 low.
_COUNTS = frozenset(("engine/preempted",))
_BAD = {
    "engine/cache_use": 1,
    "engine/waiting": 1,
    "engine/throughput": -1,
    "engine/hit_rate": -1,
    "system/gpu_use": -1,
    "system/gpu_memory_mb": 1,
}
#: Figures that are the longer the worse, of which any process may be the last.
_PHASES = "phase/"
#: Sources and names that are told apart at most.
_MOST = 4096


class Reading(NamedTuple):
    """One figure of one source."""

    name: str
    source: str
    value: float


def engine_readings(line: bytes) -> list[Reading]:
    """The figures in a line of an engine; none where it is of something else."""
    values: dict[str, float] = {}
    tokens: dict[bytes, float] = {}
    for name, number, percent in _FIGURE.findall(line):
        known = _NAMES.get(name)
        if known is not None:
            values.setdefault(known, float(number) / (100 if percent else 1))
        elif name in (_NEW, _CACHED):
            tokens[name] = float(number)
    if len(tokens) == 2 and (read := sum(tokens.values())):
        values["hit_rate"] = tokens[_CACHED] / read

    if not values:
        return []
    number, process = _NUMBER.search(line, 0, _HEAD), _PROCESS.search(line, 0, _HEAD)
    source = str(int(number[1])) if number else ""
    if process:
        source = (
            f"{source} of process {int(process[1])}" if source else f"process {int(process[1])}"
        )
    return [Reading(f"engine/{name}", source, value) for name, value in values.items()]


class Period:
    """Gathers readings, and makes one row of them. Owned by one decoder."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[str, list[float]]] = {}
        """Name -> source -> [sum, number, worst] of its readings."""
        self._groups: dict[str, dict[str, int]] = {}
        """First part of a name -> the sources so far, each with its number."""
        self._named: set[tuple[str, int, str]] = set()
        """The sources whose numbers were told: group, number, source."""

    def __bool__(self) -> bool:
        return bool(self._sums)

    def add(self, readings: Iterable[Reading]) -> None:
        """Add readings."""
        for name, source, value in readings:
            known = self._sums.get(name)
            if known is None:
                if len(self._sums) >= _MOST:
                    continue
                known = self._sums[name] = {}
            side = _side(name)
            sums = known.get(source)
            if sums is not None:
                sums[0] += value
                sums[1] += 1
                if side * value > side * sums[2]:
                    sums[2] = value
            elif len(known) < _MOST:
                known[source] = [value, 1, value]
                self._groups.setdefault(name.partition("/")[0], {}).setdefault(source, -1)

    def take(self) -> tuple[dict[str, float], dict[str, object]]:
        """The row of what was added since the last call, and the names of new sources."""
        row: dict[str, float] = {}
        names: dict[str, object] = {}
        for name, sources in self._sums.items():
            if name in _COUNTS:
                row[name] = sum(s[0] for s in sources.values())
                continue
            row[name] = sum(s[0] / s[1] for s in sources.values()) / len(sources)
            side, group = _side(name), name.partition("/")[0]
            if not side or len(self._groups[group]) < 2:
                continue
            worst = max(sources, key=lambda s: side * sources[s][2])
            row[f"{name}/worst"] = sources[worst][2]
            number = _number_of(worst, self._groups[group])
            told = group, number, worst
            if worst.partition(" ")[0] != str(number) and told not in self._named:
                self._named.add(told)
                names[f"{group}.{number}"] = worst
            row[f"{name}/worst_of"] = float(number)
        self._sums = {}

        return row, names


def _number_of(source: str, group: dict[str, int]) -> int:
    """The number of a source: its own, or its place among all of its group, which is the same in
    every file that has them all."""
    if min(group.values()) < 0:  # there are new ones
        order = sorted(group, key=lambda s: [int(n) for n in _DIGITS.findall(s)])
        group.update((s, place) for place, s in enumerate(order))
        numbers = [int(s) if s.isdecimal() else -1 for s in order]
        if min(numbers) >= 0:
            group.update(zip(order, numbers, strict=True))
    return group[source]


def _side(name: str) -> int:
    return 1 if name.startswith(_PHASES) else _BAD.get(name, 0)
