"""wandb's transaction logs ``run-<id>.wandb`` of online and offline runs.

Protobuf records (:mod:`rltui.formats.protobuf`) in the framing of LevelDB's log
(:mod:`rltui.formats.leveldb`); wandb is not needed.
"""

from __future__ import annotations

from pathlib import Path

from rltui.formats.base import Decoder, Options
from rltui.formats.tracker_log import TrackerLog


class Wandb(TrackerLog):
    """The format ``wandb``."""

    name = "wandb"
    files = "`run-*.wandb`"
    written_by = (
        "Weights & Biases, online and offline runs: history with step metrics, system "
        "statistics, settings, console output, exit code"
    )
    lacks = "no header of W&B yet"
    suffix = ".wandb"
    ident = b":W&B"

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        from rltui.formats.wandb.wandb_decoder import WandbDecoder

        return WandbDecoder()
