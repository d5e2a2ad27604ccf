"""wandb's transaction logs ``run-<id>.wandb``, of online and offline runs alike (floor 2).

The layout is that of LevelDB's log (:mod:`rltui.sources.formats.leveldb`), the records are
protobuf, read by hand: neither wandb nor its messages are needed.
"""

from __future__ import annotations

from pathlib import Path

from rltui.sources.formats.base import Belonging, Decoder, Growth, Options


class Wandb:
    """The format ``wandb``."""

    name = "wandb"
    files = "`run-*.wandb`"
    written_by = (
        "Weights & Biases, online and offline runs: history with step metrics, system "
        "statistics, settings, console output, exit code"
    )
    lacks = "no header of W&B yet"
    growth = Growth.APPENDED
    exactness = 3
    anywhere = False

    def belonging(self, name: str) -> Belonging:  # noqa: ARG002 - one file a run directory
        """The run directory is the run."""
        return Belonging.DIRECTORY

    def claims_name(self, name: str) -> bool:
        """By suffix."""
        return name.endswith(".wandb")

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:  # noqa: ARG002
        """By suffix and the first bytes."""
        from rltui.sources.formats.wandb.decoder import FRAMING

        return self.claims_name(path.name) and head.startswith(FRAMING.ident)

    def decoder(
        self,
        options: Options | None = None,  # noqa: ARG002
        path: Path | None = None,  # noqa: ARG002
    ) -> Decoder:
        """A fresh decoder for one file."""
        from rltui.sources.formats.wandb.decoder import WandbDecoder

        return WandbDecoder()
