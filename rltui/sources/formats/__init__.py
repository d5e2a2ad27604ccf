"""The log formats (floor 2): one module each, all of them in :data:`FORMATS`.

A new format is one class with ``name``, ``claims_name``, ``claims`` and ``decoder`` (see
:mod:`rltui.sources.formats.base`); the contract test takes it from here.
"""

from __future__ import annotations

from rltui.sources.formats.base import (
    Belonging,
    Decoded,
    Decoder,
    DecoderNote,
    Format,
    Growth,
    Options,
)
from rltui.sources.formats.console import Console
from rltui.sources.formats.jsonl import JsonLines
from rltui.sources.formats.swanlab import SwanLab
from rltui.sources.formats.table import Table
from rltui.sources.formats.tfevents import TfEvents
from rltui.sources.formats.trainer_state import TrainerState
from rltui.sources.formats.wandb import Wandb

#: In the order in which they are asked whether a file is theirs, and in which they give a run
#: of several logs its name.
FORMATS: tuple[Format, ...] = (
    TfEvents(),
    JsonLines(),
    Wandb(),
    SwanLab(),
    TrainerState(),
    Table(),
    Console(),
)

__all__ = [
    "FORMATS",
    "Belonging",
    "Decoded",
    "Decoder",
    "DecoderNote",
    "Format",
    "Growth",
    "Options",
]
