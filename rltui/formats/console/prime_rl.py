"""Fields between bars: torchtune ``Step 1 | loss:1.25 lr:1e-05 `` and prime-rl ``Step 9 | 12.3s
| Loss 0.0012 | Grad. Norm 0.1200``.

torchtune prints the names of its other loggers (torchtune/training/metric_logging.py); those of
prime-rl are mapped to its ``metrics.jsonl`` (src/prime_rl/trainer/rl/train.py).
"""

from __future__ import annotations

import re

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import NUMBER, number, plain, wall_time

_HEAD = re.compile(rb"(?:^|\s)(Micro )?Step (\d{1,18}) \| ")
_FIELD = re.compile(
    rb"^([A-Z][A-Za-z. ]{0,40}?):? +(" + NUMBER + rb") ?(s|%|tokens/s|GiB|ms|samples/s)?$"
)
_SECONDS = re.compile(rb"^(?:Time:? )?(\d+\.?\d*)s$")
#: Printed name -> name in prime-rl's other logs.
_PRIME = {
    b"Loss": b"loss/mean",
    b"Entropy": b"entropy/all/mean",
    b"Mismatch KL": b"mismatch_kl/all/mean",
    b"Grad. Norm": b"optim/grad_norm",
    b"LR": b"optim/lr",
    b"Throughput": b"perf/throughput",
    b"MFU": b"perf/mfu",
    b"Peak Mem.": b"perf/peak_memory",
    b"Max Vio": b"max_vio/mean",
    b"Reward": b"reward/all/mean",
}


class PrimeRl(Dialect):
    """The dialect of torchtune and prime-rl."""

    markers = (b"Step ",)

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        if b" | " not in line:
            return False
        text = plain(line)
        found = _HEAD.search(text[:200])
        if not found or found[1]:
            return False
        body = text[found.end() :]
        cells = _tune(body) if b"|" not in body else _prime(body)
        if not cells:
            return False
        self._add_cells(rows, int(found[2]), cells, wall_time(text))
        return True


def _tune(body: bytes) -> dict[bytes, float]:
    """The pairs of a torchtune line; empty when it contains anything else."""
    cells: dict[bytes, float] = {}
    for field in body.split():
        name, _, text = field.rpartition(b":")
        value = number(text) if name else None
        if value is None:
            return {}
        cells[name] = value
    return cells


def _prime(body: bytes) -> dict[bytes, float]:
    """The known fields of a prime-rl line; empty without a loss or reward."""
    cells: dict[bytes, float] = {}
    for part in body.split(b"|"):
        field = part.strip()
        seconds = _SECONDS.match(field)
        if seconds:
            cells[b"time/step"] = float(seconds[1])
            continue
        found = _FIELD.match(field)
        if found and found[1] in _PRIME:
            cells[_PRIME[found[1]]] = float(found[2])
    return cells if b"loss/mean" in cells or b"reward/all/mean" in cells else {}
