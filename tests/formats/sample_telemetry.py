"""Readings of engines: lines of SGLang, and those of miles' dashboard, ten seconds apart. A line
without readings ends each period."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.formats.sample import Sample

_BEGIN = datetime(1970, 1, 1)
_VALUES = (0.5, 2.0, 0.0, 31.25)


def _printed(step: int) -> bytes:
    begin, end = (f"[{_BEGIN + timedelta(seconds=10 * s)} TP0] " for s in (step, step + 1))
    value = _VALUES[step % len(_VALUES)]
    figures = f"#running-req: {value}, gen throughput (token/s): {value}, #queue-req: {value}"
    return f"{begin}Decode batch, {figures}, \nGET /health\n{end}Decode batch, \n".encode()


def _scraped(step: int) -> bytes:
    value = _VALUES[step % len(_VALUES)]
    row = '{"ts":%d,"addr":"http://a:1","metric":"sglang_%s","labels":{},"value":%r}\n'
    names = ("num_running_reqs", "gen_throughput", "num_queue_reqs")
    return ("".join(row % (10 * step, n, value) for n in names) + _other(step + 1)).encode()


def _other(step: int) -> str:
    return f'{{"ts":{10 * step},"pid":7}}\n'


_TAGS = ("engine/running", "engine/throughput", "engine/waiting")
SAMPLES = (
    Sample(
        "telemetry",
        "sglang_server.log",
        tuple(_printed(s) for s in range(12)),
        b"\x00INFO: garb{age\xff\n",
        tags=_TAGS,
        values=_VALUES,
        noted=False,
        variant="printed",
    ),
    Sample(
        "telemetry",
        "engine_series.jsonl",
        tuple(_scraped(s) for s in range(12)),
        b"\x00garb{age\xff\n",
        tags=_TAGS,
        values=_VALUES,
        variant="scraped",
    ),
)
