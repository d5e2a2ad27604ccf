"""JSON documents with the history of a training, rewritten whole as it grows.

Parallel lists (keras-rl's ``dqn_log.json``, Keras' history), a list of rows, at the top or under
a name (``log_history``), sacred's ``info.json`` (PyMARL: ``name`` and ``name_T``) and
``metrics.json``, TensorBoard's downloads. :mod:`.shape` separates them by their structure from all
other JSON files.
"""

from __future__ import annotations

import re
from pathlib import Path

from rltui.core.later import regex
from rltui.formats.base import Decoder, Format, Options, Refusal
from rltui.formats.document.document_decoder import DocumentDecoder, TrainerStateDecoder
from rltui.formats.document.shape import holds_history
from rltui.formats.jsonl.claim import NO_LOGS, texts_in
from rltui.formats.line_decoder import figure_lines

_WORDS = (
    r"(train|training|trainer|eval|evaluation|test|val|validation|log|logs|history|metrics?|info"
    r"|progress|stats|statistics|rewards?|returns?|scores?|loss|losses|results?|episodes?|curves?)"
)
#: Names of logs, and those that do not identify a run.
_LOG = regex(rf"(.*[_.-])?{_WORDS}([_.-].*)?\.json", re.IGNORECASE)
_NAMELESS = regex(rf"{_WORDS}([_-]?{_WORDS})*\.json", re.IGNORECASE)
#: Counters with numbers: this many show that a document is the course of a training.
_COUNTED = regex(rb'"[^"\n]{0,40}(?:step|epoch|iter|episode)[^"\n]{0,20}"\s*:\s*\d', re.IGNORECASE)
_LEAST = 3


class JsonDocument(Format):
    """The format ``json``."""

    name = "json"
    files = "`info.json`, `metrics.json`, `*_log.json`, `history.json`, `*.json`"
    written_by = (
        "keras-rl, Keras, sacred (PyMARL), own loops: one object of parallel lists, or a list of "
        "rows; other JSON files are left alone"
    )
    lacks = "no lists of figures in it so far"
    nameless = _NAMELESS
    restarts = False
    document = True
    names_run = False

    def is_common(self, name: str) -> bool:
        return True

    def claims_name(self, name: str) -> bool:
        """By suffix, without the settings and vocabularies of well-known programs."""
        return name.endswith(".json") and NO_LOGS.fullmatch(name[:-5]) is None

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        """Whether the first bytes have the structure of a history."""
        is_log = _LOG.fullmatch(path.name) is not None
        return holds_history(head, options.step_keys, is_log=is_log)

    def refusal(self, head: bytes, options: Options) -> Refusal:
        """A document with hardly anything in it may become a log."""
        found = figure_lines(head)

        if found is None or texts_in(head) or len(_COUNTED.findall(head)) < _LEAST:
            return Refusal(self.lacks, len(head) > 64)
        return Refusal(found.lost("no list of rows or of numbers"), len(head) > 64, lost=True)

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        is_log = _LOG.fullmatch(path.name) is not None
        return DocumentDecoder(options, path.name, is_log=is_log)


class TrainerState(Format):
    """The format ``trainer_state``."""

    name = "trainer_state"
    files = "`trainer_state.json`"
    written_by = (
        "transformers' Trainer and everything on it (TRL, ms-swift, LLaMA-Factory, Unsloth); "
        "the newest checkpoint's while there is no other"
    )
    lacks = "no log history yet"
    restarts = False
    document = True
    names_run = False

    def claims_name(self, name: str) -> bool:
        return name == "trainer_state.json"

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        """Whether it begins as an object: the history may lie beyond the head."""
        return head.lstrip().startswith(b"{")

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        return TrainerStateDecoder()
