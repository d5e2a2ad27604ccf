"""The metrics that the user wants to see first."""

from __future__ import annotations

from collections.abc import Iterable


class Pins:
    """Tags in the order in which they were pinned; the runs of a session share them."""

    def __init__(self, tags: Iterable[str] = ()) -> None:
        self.tags: tuple[str, ...] = tuple(dict.fromkeys(tags))

    def toggle(self, tag: str) -> bool:
        """Pin a tag, or unpin it; whether it is pinned now."""
        pinned = tag not in self.tags
        others = tuple(t for t in self.tags if t != tag)
        self.tags = (*others, tag) if pinned else others
        return pinned
