"""Columns of what the runs logged, unchanged. Interprets nothing.

Owned by the main thread; nothing else has a reference, so there is no lock.
"""

from rltui.store.run import RunData
from rltui.store.series import Series
from rltui.store.store import Changes, Moved, Store

__all__ = ["Changes", "Moved", "RunData", "Series", "Store"]
