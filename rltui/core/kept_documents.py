"""Keeps shipped documents, as they are once parsed, in a file of the user's cache directory: to
parse their YAML takes longer than the rest of a short command.

A document is looked up by the checksum of its text: whatever version wrote the file, none is taken
for another. Its lines are documents as JSON, behind the checksum of them all; a file that is torn
or changed counts as empty, and so does one of another user but root.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from rltui.core.installation import write_private

#: How documents are written; another number where :mod:`rltui.core.yaml_document` reads or packs
#: them in another way.
_FORM = 1
#: A longer file counts as damaged, and so begins anew; the documents of one version have half.
_MOST_BYTES = 3 << 20


class KeptDocuments:
    """The documents of one file, which is read when the first one is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._used: dict[str, str] = {}

    @cached_property
    def _known(self) -> dict[str, str]:
        return self._read()

    def _read(self) -> dict[str, str]:
        """The packed form of each document by its key."""
        if not self._path.is_file():  # a pipe may have no end
            return {}
        with suppress(OSError, ValueError), self._path.open("rb") as file:
            head, _, rest = file.read(_MOST_BYTES).decode("utf-8").partition("\n")
            if os.fstat(file.fileno()).st_uid in (0, os.geteuid()) and head == _key(rest):
                return dict(line.split(" ", 1) for line in rest.split("\n"))
        return {}

    def find(self, text: str) -> Any | None:
        """The packed form of a text, None where it is not known."""
        import orjson  # a help needs none

        key = _key(text)
        written = self._known.get(key)
        if written is None:
            return None
        self._used[key] = written
        return orjson.loads(written)

    def add(self, text: str, packed: Any) -> None:
        """Keep the packed form of a text, unless JSON gives it back otherwise."""
        import orjson  # a help needs none

        with suppress(TypeError):
            written = orjson.dumps(packed)
            if orjson.loads(written) == packed:
                self._used[_key(text)] = written.decode("utf-8")

    def write(self) -> None:
        """Write what was added, beside what other processes wrote meanwhile; does nothing where
        that cannot be written."""
        if self._used.keys() <= self._known.keys():
            return
        self._known = self._read() | self._used
        rest = "\n".join(map(" ".join, self._known.items()))
        with suppress(OSError):
            write_private(self._path, f"{_key(rest)}\n{rest}")


#: The file of shipped documents, within :func:`keeping`.
KEPT: list[KeptDocuments] = []


@contextmanager
def keeping(path: Path) -> Iterator[None]:
    """Shipped documents meanwhile come from the file ``path``, and are written there when they
    did not."""
    KEPT.append(KeptDocuments(path))
    try:
        yield
        keep_documents()
    finally:
        KEPT.clear()


def keep_documents() -> None:
    """Write the documents that were parsed so far."""
    for kept in KEPT:
        kept.write()


def _key(text: str) -> str:
    return f"{_FORM}-{len(text)}-{zlib.crc32(text.encode('utf-8')):08x}"
