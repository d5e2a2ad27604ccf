"""The memory of the process."""

from __future__ import annotations

import ctypes


def release() -> None:
    """Give memory that is no longer used back to the system, where the C library can (glibc): by
    itself it keeps what lies below anything that is still used."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
