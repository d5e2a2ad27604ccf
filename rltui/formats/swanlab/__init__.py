"""SwanLab's transaction logs ``run-<id>.swanlab``.

Protobuf records (:mod:`rltui.formats.protobuf`) in the framing of LevelDB's log
(:mod:`rltui.formats.leveldb`); swanlab is not needed.
"""

from __future__ import annotations

from pathlib import Path

from rltui.formats.base import Decoder, Options
from rltui.formats.tracker_log import TrackerLog


class SwanLab(TrackerLog):
    """The format ``swanlab``."""

    name = "swanlab"
    files = "`run-*.swanlab`"
    written_by = "SwanLab's local logs"
    lacks = "no header of SwanLab yet"
    suffix = ".swanlab"
    ident = b":SWL"

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        from rltui.formats.swanlab.swanlab_decoder import SwanLabDecoder

        return SwanLabDecoder()
