"""Transaction logs of W&B (``run-<id>.wandb``, online and offline runs) and SwanLab.

Protobuf records in the framing of LevelDB's log; neither wandb nor swanlab is needed.
"""

from __future__ import annotations

from pathlib import Path

from rltui.formats.base import Decoder, Format, Options

_WANDB = b":W&B"
#: Of both formats.
_HEADER_BYTES = 7


class TrackerLog(Format):
    """Base of formats with one file per run directory, known by its suffix and first bytes."""

    suffix: str
    ident: bytes
    """First bytes of a file of any version; the decoder then reports versions it cannot read."""
    kept_open = True
    named_by_id = True

    def claims_name(self, name: str) -> bool:
        return name.endswith(self.suffix)

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        # before it goes on, nothing tells what the run is called
        return len(head) > _HEADER_BYTES and head.startswith(self.ident)

    def title_in(self, head: bytes) -> str:
        name = str(self.decoder().feed(head, more=True).hparams.get(f"{self.name}.name", ""))
        # transformers calls a run like its directory
        return name.rstrip("/").rpartition("/")[2] if name[:1] in ("/", ".", "~") else name

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        # most logdirs have no such file
        from rltui.formats.tracker_log.tracker_decoder import SwanLabDecoder, WandbDecoder

        return WandbDecoder() if self.ident == _WANDB else SwanLabDecoder()


class Wandb(TrackerLog):
    """The format ``wandb``."""

    name = "wandb"
    files = "`run-*.wandb`"
    written_by = (
        "Weights & Biases, online and offline runs: history with step metrics, system "
        "statistics, settings, console output, exit code"
    )
    lacks = "no record of W&B yet"
    suffix = ".wandb"
    ident = _WANDB


class SwanLab(TrackerLog):
    """The format ``swanlab``."""

    name = "swanlab"
    files = "`run-*.swanlab`"
    written_by = "SwanLab's local logs"
    lacks = "no record of SwanLab yet"
    suffix = ".swanlab"
    ident = b":SWL"
