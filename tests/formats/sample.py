"""What the contract test needs of a format: some rows of it, written as bytes.

Each module ``sample_NAME.py`` of this directory has ``SAMPLES``, a tuple of :class:`Sample`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from rltui.formats import FORMATS
from rltui.formats.base import Format

TAGS = ("loss", "actor/kl", "val-core/x y/mean@8", "[red]bold[/red]")
VALUES = (0.5, -2.0, math.nan, math.inf, -math.inf, 0.0, 1e-30, 3.0e38)


@dataclass(frozen=True)
class Sample:
    """Rows of steps 0, 1, 2, ..., each with ``values[step % len(values)]`` for every tag."""

    format: str
    """Name of the format."""
    path: str
    """A name that the format claims."""
    rows: tuple[bytes, ...]
    """As many pieces as the file has rows; the first ``preamble`` of them hold no points."""
    garbage: bytes
    """Bytes that may stand before any row: they are skipped, and noted if ``noted``."""
    preamble: int = 0
    tags: tuple[str, ...] = TAGS
    values: tuple[float, ...] = VALUES
    precision: float = 1e-6
    """Relative: what is printed for people is rounded."""
    noted: bool = True
    """Whether garbage is worth a note; in a console log anything may stand between rows."""
    huge: bytes | None = None
    """The beginning of a record with an absurd length; None when records have no length."""
    huge_ends: bytes = b""
    """What ends it, where the next record does not show it by itself."""
    tagged: Callable[[tuple[str, ...]], bytes] | None = None
    """A file of one row of step 1 with these tags, as the writer would escape them; None when
    the format cannot hold any tag."""
    late: bool = False
    """Whether a row is complete only when the next one begins (a table of the console)."""
    variant: str = ""
    """Which of several ways of writing the format this is."""

    @property
    def data(self) -> bytes:
        return b"".join(self.rows)

    @property
    def form(self) -> Format:
        return next(f for f in FORMATS if f.name == self.format)

    @property
    def steps(self) -> int:
        return len(self.rows) - self.preamble


def samples() -> tuple[Sample, ...]:
    """Those of all modules beside this one."""
    names = sorted(p.stem for p in Path(__file__).parent.glob("sample_*.py"))
    modules = [import_module(f"tests.formats.{name}") for name in names]
    return tuple(s for m in modules for s in m.SAMPLES)
