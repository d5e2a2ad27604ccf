"""The log formats: one module each, all of them in :data:`FORMATS`.

A new format is one class with ``name``, ``claims_name``, ``claims`` and ``decoder`` (see
:mod:`rltui.formats.base`); the contract test takes it from here.
"""

from __future__ import annotations

from rltui.formats.base import (
    Belonging,
    Decoded,
    Decoder,
    DecoderNote,
    Format,
    Growth,
    Options,
)
from rltui.formats.console import Console
from rltui.formats.jsonl import JsonLines
from rltui.formats.swanlab import SwanLab
from rltui.formats.table import Table
from rltui.formats.tfevents import TfEvents
from rltui.formats.trainer_state import TrainerState
from rltui.formats.wandb import Wandb

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
