"""What the transaction logs of W&B and SwanLab have in common. Decodes nothing."""

from __future__ import annotations

from pathlib import Path

from rltui.formats.base import Belonging, Growth, Options


class TrackerLog:
    """Base of formats whose file is known by its suffix and first bytes, one in a directory."""

    growth = Growth.APPENDED
    precision_rank = 3
    anywhere = False
    suffix: str
    ident: bytes
    """How every such file begins, of any version: so that it can be said which one it is."""

    def belonging(self, name: str) -> Belonging:  # noqa: ARG002 - one file a run directory
        """The run directory is the run."""
        return Belonging.DIRECTORY

    def claims_name(self, name: str) -> bool:
        """By suffix."""
        return name.endswith(self.suffix)

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:  # noqa: ARG002
        """By suffix and the first bytes."""
        return self.claims_name(path.name) and head.startswith(self.ident)
