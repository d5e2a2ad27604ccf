"""Names of files on another host, there and here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rltui.core.address import SSH, RemotePath
from rltui.core.batch import Batch, Note


class FarPaths:
    """Makes RemotePaths of paths on one host; those below a logdir begin as that logdir does."""

    def __init__(self, logdirs: Sequence[RemotePath], there: Sequence[Path]) -> None:
        """``there``: what the logdirs are called on that host."""
        self._pairs = list(zip(logdirs, there, strict=True))
        self._authority = logdirs[0].authority
        self._known: dict[Path, Path] = {}

    def here(self, path: Path) -> Path:
        """What a path is called here."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._here(path)
        return found

    def there(self, path: RemotePath) -> Path:
        """What a path is called on that host."""
        for logdir, there in self._pairs:
            if path == logdir or logdir in path.parents:
                return there / path.relative_to(logdir)
        return Path(path.place)

    def batch(self, batch: Batch) -> Batch:
        """A batch with the paths of here."""
        source = replace(batch.source, path=self.here(batch.source.path))
        run_path, notes = self.here(batch.run_path), self.notes(batch.notes)
        return replace(batch, source=source, run_path=run_path, notes=notes)

    def notes(self, notes: Sequence[Note]) -> tuple[Note, ...]:
        """Notes with the paths of here, which may be without number: they are not kept."""
        return tuple(
            replace(note, path=self._known.get(note.path) or self._here(note.path))
            for note in notes
        )

    def _here(self, path: Path) -> Path:
        for logdir, there in self._pairs:
            if path == there or there in path.parents:
                return logdir / path.relative_to(there)
        return RemotePath(f"{SSH}:", self._authority, str(path).lstrip("/"))
