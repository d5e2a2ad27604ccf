"""The log formats, one module or package each; :data:`FORMATS` lists them.

A new format is one subclass of :class:`rltui.formats.base.Format` in that list, and a sample of
its files in ``tests/formats``: the contract test then runs on it.
"""

from __future__ import annotations

from rltui.formats.base import Format
from rltui.formats.console import Console
from rltui.formats.document import JsonDocument, TrainerState
from rltui.formats.gzip_log import Gzipped
from rltui.formats.jsonl import JsonLines
from rltui.formats.series_csv import SeriesCsv
from rltui.formats.table import CsvTable
from rltui.formats.tfevents import TfEvents
from rltui.formats.tracker_log import SwanLab, Wandb

#: In the order in which they may claim a file, and in which a run of several logs gets its name.
FORMATS: tuple[Format, ...] = (
    TfEvents(),
    JsonDocument(),
    JsonLines(),
    Wandb(),
    SwanLab(),
    TrainerState(),
    SeriesCsv(),
    CsvTable(),
    Console(),
)

#: Those, and the appended ones packed with gzip.
ALL_FORMATS: tuple[Format, ...] = (
    *FORMATS,
    *(Gzipped(f) for f in FORMATS if isinstance(f, (TfEvents, JsonLines, CsvTable, Console))),
)
