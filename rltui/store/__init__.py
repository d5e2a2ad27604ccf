"""What the logs said, unchanged, as columns. Interprets nothing.

Owned by the main thread; nothing else has a reference, so there is no lock.
"""

from rltui.store.run import RunData
from rltui.store.series import Series
from rltui.store.store import Changes, Store

__all__ = ["Changes", "RunData", "Series", "Store"]
