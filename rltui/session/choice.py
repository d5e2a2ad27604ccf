"""What the command line fixed: which runs are read, and how."""

from __future__ import annotations

from dataclasses import dataclass

from rltui.catalogue import Catalogue
from rltui.core.errors import UsageError
from rltui.core.yaml_document import nearest


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line fixed: which runs, which framework and algorithm."""

    run_glob: str | None = None
    framework: str | None = None
    algorithm: str | None = None
    verify: bool = False
    reference: str | None = None
    """Name or path of the run that the others are compared with."""
    align: str = "step"
    """What makes their rows comparable: an :class:`~rltui.health.reference.Alignment`."""
    waits: bool = False
    """Whether a named log may still be empty."""
    partial: bool = False
    """Whether one of several logdirs may be missing, or no log."""
    later: bool = False
    """Whether logdirs elsewhere are searched by threads, once reading has been started."""
    absent: bool = False
    """Whether logdirs of this machine need not exist yet."""


def check_choice(choice: Choice, catalogue: Catalogue) -> None:
    """Raises UsageError for an unknown framework or algorithm."""
    if choice.framework is not None:
        catalogue.resolver(choice.framework)
    if choice.algorithm is None:
        return
    known = {a for s in catalogue.scenarios.values() for a in s.algorithms}
    known |= {m.name for s in catalogue.suspects for m in s.algorithms}
    name = choice.algorithm.strip().upper()
    if name not in known:
        message = f"unknown algorithm {choice.algorithm!r} (known: {', '.join(sorted(known))})"
        raise UsageError(message, hint=nearest(name, known))
