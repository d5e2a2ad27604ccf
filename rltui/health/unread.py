"""Why some metrics are read by no rule: ``data/unread.yaml``."""

from __future__ import annotations

from fnmatch import fnmatchcase

from rltui.core.yaml_document import Node, shipped_table


def unread_reasons() -> tuple[tuple[str, str], ...]:
    """(metric key or pattern, reason), in the order of the document. Raises DocumentError."""
    document = shipped_table("health", "data", "unread.yaml")
    found: list[tuple[str, str]] = []
    for node in document.need("unread").items():
        table = node.table()
        reason = table.need("reason").text()
        found += [(key, reason) for key in table.read("metrics", Node.texts) or ()]
        table.finish()
    document.finish()
    return tuple(found)


def why_unread(key: str) -> str | None:
    """Why no rule reads the metric ``key``, or None when nothing is said about it."""
    return next((why for pattern, why in unread_reasons() if fnmatchcase(key, pattern)), None)
