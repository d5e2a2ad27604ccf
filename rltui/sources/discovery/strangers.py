"""Files whose names say nothing: which of them a search opens, and what it costs at most.

A console log may have any name that people give to texts. Of most trees such files are something
else: texts of a data set, notes, licences. So few are opened, and only one that plainly is a log
becomes a run; of all others no word is said.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from rltui.core.address import is_remote
from rltui.files.disk import Entry, Status
from rltui.formats import Format
from rltui.sources.discovery.log_head import HeadReader

#: Files of one directory and suffix, and of one walk, that are opened without being logs.
MOST_ALIKE, MOST = 40, 200


class Strangers:
    """Counts what one walk opens in vain."""

    def __init__(self, formats: Sequence[Format], heads: HeadReader) -> None:
        self._formats = formats
        self._heads = heads
        self._in_vain: dict[tuple[Path, str], int] = {}
        self._left = MOST

    def form_of(self, directory: Path, entry: Entry) -> tuple[Format, Status] | None:
        """The format of a file that plainly is of one. Raises no error: a file that cannot be
        read is nobody's loss as long as nothing says that it is a log."""
        forms = [f for f in self._formats if f.may_have_name(entry.name)]
        kind = directory, os.path.splitext(entry.name)[1]  # noqa: PTH122 - see walk
        spent = not self._left or self._in_vain.get(kind, 0) >= MOST_ALIKE
        if not forms or spent or is_remote(directory):
            return None
        path = directory / entry.name
        try:
            status = entry.stat()
            if not (stat.S_ISREG(status.st_mode) and status.st_size):
                return None
            found = next((f for f in forms if self._heads.claims_stranger(f, path, status)), None)
        except OSError:
            found = None
        if found is None:
            self._in_vain[kind] = self._in_vain.get(kind, 0) + 1
            self._left -= 1
            return None
        return found, status
