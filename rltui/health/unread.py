"""Why some metrics are read by no rule: ``data/unread.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from rltui.core.yaml_record import shipped_record


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why the rules leave some metrics out."""

    reason: str
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Document:
    unread: tuple[_Reason, ...]


def unread_reasons() -> tuple[tuple[str, str], ...]:
    """(metric key or pattern, reason), in the order of the document. Raises DocumentError."""
    entries = shipped_record(_Document, "health", "data", "unread.yaml").unread
    return tuple((key, entry.reason) for entry in entries for key in entry.metrics)


def why_unread(key: str) -> str | None:
    """Why no rule reads the metric ``key``, or None when nothing is said about it."""
    return next((why for pattern, why in unread_reasons() if fnmatchcase(key, pattern)), None)
