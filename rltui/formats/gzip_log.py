"""Logs that were compressed with gzip when their training had ended: ``progress.csv.gz``.

The decoder of the inner format gets the unpacked bytes piece by piece; offsets and sizes of the
file are those of the packed bytes, those in notes of the unpacked ones.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from rltui.formats.base import (
    HEAD_BYTES,
    Belonging,
    Decoded,
    Decoder,
    Format,
    NoteBook,
    Options,
    Refusal,
)

SUFFIX = ".gz"
#: Unpacked bytes of one piece, and of one call: the rest is held for the next one.
_PIECE = 1 << 20
_MOST = 1 << 20
#: Unpacked bytes of the beginning that are searched for rows after any amount of other text.
_SEARCHED = 4 << 20
#: Attributes that a packed format has of the one inside.
_OF_INNER = (
    *("name", "written_by", "lacks", "restarts", "precision_rank", "names_run"),
    *("name_decides", "sub_runs"),
)
#: Selects gzip's header for :func:`zlib.decompressobj`.
_GZIP = 31


class Gzipped(Format):
    """An appended format, packed; the name of the format stays the same."""

    def __init__(self, inner: Format) -> None:
        self._inner = inner
        for name in _OF_INNER:
            setattr(self, name, getattr(inner, name))
        self.files = f"{inner.files}, packed"

    def is_common(self, name: str) -> bool:
        return self._inner.is_common(name.removesuffix(SUFFIX))

    def belonging(self, name: str) -> Belonging:
        return self._inner.belonging(name.removesuffix(SUFFIX))

    def home(self, directory: str, path: Path) -> str:
        return self._inner.home(directory, _unpacked(path))

    def claims_name(self, name: str) -> bool:
        return name.endswith(SUFFIX) and self._inner.claims_name(name.removesuffix(SUFFIX))

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        most = _SEARCHED if self._inner.anywhere else HEAD_BYTES
        return self._inner.claims(_unpacked(path), _beginning(head, most)[0], options)

    def packed_text(self, data: bytes) -> bytes:
        text, whole = _beginning(data, _SEARCHED) if self._inner.anywhere else (b"", False)
        return text if whole else b""

    def refusal(self, head: bytes, options: Options) -> Refusal:
        return self._inner.refusal(_beginning(head, HEAD_BYTES)[0], options)

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        return GzipDecoder(self._inner.decoder(options, _unpacked(path)))


def _unpacked(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(SUFFIX))


def _beginning(packed: bytes, most: int) -> tuple[bytes, bool]:
    """The first unpacked bytes of a file, empty when it is not packed; and whether they are all."""
    unpack = zlib.decompressobj(_GZIP)
    try:
        return unpack.decompress(packed, most), unpack.eof
    except zlib.error:
        return b"", False


class GzipDecoder:
    """Unpacks one file for the decoder of its format. Members may follow each other."""

    def __init__(self, inner: Decoder) -> None:
        self._inner = inner
        self._unpack = zlib.decompressobj(_GZIP)
        self._packed = b""
        """Bytes that are still to be unpacked."""
        self._broken = False
        self._notes = NoteBook()

    @property
    def holds_row(self) -> bool:
        return bool(self._packed) or self._inner.holds_row

    @property
    def open_line(self) -> bool:
        return self._inner.open_line

    @property
    def torn(self) -> bool:
        return self._inner.torn

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        self._packed = b"" if self._broken else self._packed + data
        decoded = Decoded()
        taken = 0
        while self._packed and taken < _MOST:
            piece = self._next()
            taken += len(piece)
            if piece:
                decoded = decoded.then(self._inner.feed(piece, more=more or bool(self._packed)))
        if not (self._packed or more):  # an earlier piece may have promised more
            decoded = decoded.then(self._inner.feed(b""))
        return decoded.then(Decoded(notes=self._notes.take()))

    def _next(self) -> bytes:
        """The next unpacked bytes; what cannot be unpacked ends the file."""
        if self._unpack.eof:
            self._packed = self._packed.lstrip(b"\0")
            self._unpack = zlib.decompressobj(_GZIP)
        before = self._unpack.copy()
        try:
            piece = self._unpack.decompress(self._packed, _PIECE)
            self._packed = self._unpack.unconsumed_tail or self._unpack.unused_data
            return piece
        except zlib.error:
            packed = self._packed
            self._packed = b""
            self._broken = True
            self._notes.add(0, "not valid gzip from here on")

        # what it gives up to the byte that is wrong, whatever the pieces it came in
        found = []
        size = len(packed)
        while size := min(size, len(packed)):
            tried = before.copy()
            try:
                found.append(tried.decompress(packed[:size], _PIECE))
            except zlib.error:
                size //= 2
            else:
                before = tried
                packed = packed[size:]
        return b"".join(found)

    def finish(self) -> Decoded:
        decoded = self.feed(b"")
        while self._packed:
            decoded = decoded.then(self.feed(b""))
        return decoded.then(self._inner.finish())
