"""Answers of ``rltui brief``, kept so that a later one can say what has changed."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path

from rltui.core.installation import write_private
from rltui.core.text import Json

#: Answers that are kept, and hexadecimal digits of an id, at least and at most.
_MOST = 200
_DIGITS = 4
_MOST_DIGITS = 16
_ID = re.compile(rf"[0-9a-f]{{{_DIGITS},{_MOST_DIGITS}}}")


class Answers:
    """The newest answers, one file each, in the state directory of the user."""

    def __init__(self, state: Path) -> None:
        """``state``: see :func:`rltui.core.installation.state_directory`."""
        self._directory = state / "answers"

    def keep(self, document: Json) -> str:
        """Keep an answer and return its id, of 4 to 16 hexadecimal digits: the same for equal
        documents. "" where nothing can be written."""
        text = json.dumps(document, sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        for digits in range(_DIGITS, _MOST_DIGITS + 1):
            found = digest[:digits]
            if not self._path(found).exists() or self._text(found) == text:
                break
        try:
            if self._text(found) == text:
                self._path(found).touch()  # the newest are kept
                return found
            write_private(self._path(found), text)
        except OSError:
            return ""
        with suppress(OSError):  # another process may remove the same one
            kept = sorted(self._directory.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for path in kept[:-_MOST]:
                path.unlink(missing_ok=True)
        return found

    def find(self, name: str) -> Json | None:
        """The answer of that id; None for one that is not known, or not whole."""
        try:
            found = json.loads(self._text(name))
        except ValueError:
            return None
        return found if isinstance(found, dict) and "runs" in found else None

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _text(self, name: str) -> str:
        """Text stored under an id; "" for none."""
        try:
            return self._path(name).read_text("utf-8") if _ID.fullmatch(name) else ""
        except (OSError, ValueError):
            return ""
