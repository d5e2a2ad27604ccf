"""What was learned about files that are still there.

Files come and go for weeks: what a whole search does not use is forgotten.
"""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Entries that were read or written since the last but one :meth:`turn`."""

    def __init__(self) -> None:
        self._entries: dict[K, V] = {}
        self._before: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._entries.keys() | self._before.keys())

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[key] = value

    def get(self, key: K) -> V | None:
        """The entry, which is then kept; None when there is none."""
        found = self._entries.get(key)
        if found is None:
            found = self._before.pop(key, None)
            if found is not None:
                self._entries[key] = found
        return found

    def items(self) -> list[tuple[K, V]]:
        """Entries of the current search."""
        return list(self._entries.items())

    def turn(self) -> None:
        """A search begins: forget what the last one did not ask for."""
        self._before, self._entries = self._entries, {}
