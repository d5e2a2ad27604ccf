"""Zero bytes in a growing file that may be bytes which have not arrived yet.

An NFS server may learn the new size of a file, or its last page, before the pages in between;
until they arrive a reader sees zeros there. A client that crashed leaves such a hole for ever.
So zeros at the very end wait until something follows them, and a hole that ends where a page
begins waits for a while.
"""

from __future__ import annotations

import re

_PAGE_BYTES = 4096
#: So many zeros are no part of a record's length field or of a small number.
_LEAST_BYTES = 16
_LEAST = bytes(_LEAST_BYTES)
#: Shortest hole before a page that is taken for one.
_LEAST_INNER = bytes(64)
_SOMETHING = re.compile(rb"[^\0]")


def solid(data: bytes, offset: int, *, inner: bool) -> int:
    """How many of the last bytes of a file, which begin at ``offset``, come before a hole.

    Holes within the file are looked for if ``inner``, else only one at its end.
    """
    at = data.find(_LEAST_INNER) if inner else -1
    while at >= 0:
        behind = _SOMETHING.search(data, at)
        if behind is None:
            break
        if (offset + behind.start()) % _PAGE_BYTES == 0:
            return at
        at = data.find(_LEAST_INNER, behind.start())
    return len(data.rstrip(b"\0")) if data.endswith(_LEAST) else len(data)
