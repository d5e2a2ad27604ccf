"""Zero bytes in a growing file that may be bytes which have not arrived yet.

An NFS server may learn the new size of a file, or its last page, before the pages in between;
until they arrive a reader sees zeros there. A client that crashed leaves such a gap for ever.
So zeros at the very end wait until something follows them, and a gap that ends at a page
boundary waits for a while.
"""

from __future__ import annotations

import errno
import os
import re

#: Zeros that show a gap at the end of a file.
GAP_BYTES = 1 << 12
_PAGE_BYTES = 4096
#: This many zeros are no part of a record's length field or of a small number.
_LEAST_BYTES = 16
_LEAST = bytes(_LEAST_BYTES)
#: Shortest run of zeros before a page boundary that counts as a gap.
_LEAST_INNER = bytes(64)
_NONZERO = re.compile(rb"[^\0]")


def is_hole(descriptor: int, offset: int, status: os.stat_result) -> bool:
    """Whether a file has no data from ``offset`` to its end, as its file system says: gigabytes of
    zeros need not be read. False where it does not say."""
    if offset + GAP_BYTES > status.st_size or status.st_blocks * 512 >= status.st_size:
        return False
    try:
        os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        return error.errno == errno.ENXIO
    except AttributeError:  # not on every system
        return False
    return False


def dense_length(data: bytes, offset: int, *, inner: bool) -> int:
    """Number of bytes before the first gap in ``data``, the last bytes of a file.

    ``data`` begins at ``offset`` of the file. Gaps within it count only if ``inner``, else only
    one at its end.
    """
    at = data.find(_LEAST_INNER) if inner else -1
    while at >= 0:
        behind = _NONZERO.search(data, at)
        if behind is None:
            break
        if (offset + behind.start()) % _PAGE_BYTES == 0:
            return at
        at = data.find(_LEAST_INNER, behind.start())
    return len(data.rstrip(b"\0")) if data.endswith(_LEAST) else len(data)
