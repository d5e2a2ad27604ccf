"""What the transaction logs of W&B and SwanLab have in common besides their framing."""

from __future__ import annotations

from pathlib import Path

from rltui.formats.base import Format, Options


class TrackerLog(Format):
    """Base of formats with one file per run directory, known by its suffix and first bytes."""

    suffix: str
    ident: bytes
    """First bytes of a file of any version; the decoder then reports versions it cannot read."""
    kept_open = True

    def claims_name(self, name: str) -> bool:
        return name.endswith(self.suffix)

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        return self.claims_name(path.name) and head.startswith(self.ident)
