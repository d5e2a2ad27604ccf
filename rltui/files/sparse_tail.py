"""Zero bytes in a growing file that may be bytes which have not arrived yet.

An NFS server may learn the new size of a file, or its last page, before the pages in between;
until they arrive a reader sees zeros there. A client that crashed leaves such a gap for ever.
So zeros at the very end wait until something follows them, and a gap that ends at a page
boundary waits for a while. A hole at the end, however long, costs nothing.
"""

from __future__ import annotations

import errno
import os
import re

#: Bytes of a file, and whether they are its last.
Piece = tuple[bytes, bool]

_PAGE_BYTES = 4096
#: This many zeros are no part of a record's length field or of a small number.
_LEAST_BYTES = 16
#: Holes of a document that are looked at.
_MOST_HOLES = 1000
_LEAST = bytes(_LEAST_BYTES)
#: Shortest run of zeros before a page boundary that counts as a gap.
_LEAST_INNER = bytes(64)
_NONZERO = re.compile(rb"[^\0]")


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


def read_piece(descriptor: int, start: int, wanted: int, size: int, stored: int) -> Piece:
    """Bytes of a file of ``size`` from ``start`` on, and whether they are its last. Raises OSError.

    Where fewer bytes are ``stored``, holes are left out: of one at the end come a few zeros, and
    what lies between is not fetched through the cache, which takes longer than all the rest.
    """
    wanted = min(wanted, max(0, size - start))
    hole = _hole(descriptor, start, size) if wanted and stored < size else (size, size)
    if hole[0] > start:
        data = os.pread(descriptor, min(wanted, hole[0] - start), start)
        reached = start + len(data)
    else:
        data, reached = b"", start
    if hole[0] < size and reached == hole[0]:
        if hole[1] >= size:
            return data + bytes(_LEAST_BYTES), True
        data += bytes(min(wanted - len(data), hole[1] - reached))
        reached = start + len(data)

    return data, reached >= size


def end_of_data(descriptor: int, size: int, stored: int) -> int:
    """Where the hole at the end of a file of ``size`` begins; its size where there is none."""
    end = 0
    for _ in range(_MOST_HOLES if stored < size else 0):
        begin, end = _hole(descriptor, end, size)
        if end >= size:
            return begin
    return size


def _hole(descriptor: int, start: int, size: int) -> tuple[int, int]:
    """Where the next hole of a file begins and ends; at its end where there is none."""
    if not hasattr(os, "SEEK_DATA"):
        return size, size
    try:
        begin = os.lseek(descriptor, start, os.SEEK_HOLE)
    except OSError:
        return size, size
    try:
        return begin, os.lseek(descriptor, begin, os.SEEK_DATA)
    except OSError as error:  # ENXIO: nothing follows
        return begin, size if error.errno == errno.ENXIO else begin
