"""Tables with a header: CSV and its relatives.

SB3 ``progress.csv`` and ``monitor.csv``, Lightning ``metrics.csv``, Ray ``progress.csv``, acme
``logs.csv``, Spinning Up ``progress.txt``, and any table with a step column and a number. A table
without a step is one if its columns are figures of a training: its rows are counted. Some
writers rewrite the file when a column is added (SB3, Lightning). A last line without its newline
may still grow, so it waits. Data sets are refused by their names and first rows.
"""

from __future__ import annotations

import re
from pathlib import Path

from rltui.core.later import regex
from rltui.formats.base import Decoder, Format, Options, Refusal
from rltui.formats.table.table_line import holds_log, refusal

_SUFFIXES = (".csv", ".tsv")
#: Texts that may be tables.
_TEXTS = regex(
    r"(.*[_.-])?(progress|log|logs|history|results?|scores?|rewards?|returns?|loss|losses|metrics"
    r"|stats|statistics|curve|run|out|output|train|training|eval|evaluation)([_-][^.]*)?\.(txt|dat|log)",
    re.IGNORECASE,
)
#: Names that only trainers give, whatever the directory.
_FIXED = regex(r"progress.*\.(csv|txt)|metrics\.csv|logs\.csv|(.*\.)?monitor\.csv")
#: Names that writers give to every run, so that only the directory identifies it.
_NAMELESS = regex(
    r"progress.*\.(csv|txt)|(.*\.)?monitor\.csv"
    r"|(metrics|logs?|results?|scalars|history|losses?|rewards?|statistics|stats"
    r"|(train|training|eval|test|val|validation)([_-]?(metrics|logs?|history|losses|progress))?)"
    r"\.(csv|tsv|txt|dat|log)"
)


class CsvTable(Format):
    """The format ``csv``."""

    name = "csv"
    files = (
        "`progress.csv`, `metrics.csv`, `*monitor.csv`, `logs.csv`, `*.csv`, `*.tsv`, "
        "`progress.txt`, `scores.txt`, `training.log`"
    )
    written_by = (
        "SB3 and SB2, Monitor, OpenAI baselines, RLlib, Lightning, acme, Spinning Up, garage, "
        "rlkit, rlpyt, PFRL, own loops: any table with a step and numbers, or with the figures "
        "of a training, whose rows are then counted"
    )
    lacks = "no step column beside numbers, and no figures of a training"
    nameless = _NAMELESS
    restarts = False

    def claims_name(self, name: str) -> bool:
        """By suffix, and texts like Spinning Up's ``progress.txt`` and PFRL's ``scores.txt``."""
        return name.endswith(_SUFFIXES) or _TEXTS.fullmatch(name) is not None

    def may_have_name(self, name: str) -> bool:
        return name.endswith((".txt", ".dat"))

    def is_plainly(self, head: bytes) -> bool:
        return holds_log(head, "", Options().step_keys, fixed=False, loose=True)

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        """Whether it begins with a header that has a step, and numbers below."""
        fixed = _FIXED.fullmatch(path.name) is not None
        loose = not fixed and not path.name.endswith(_SUFFIXES)

        return holds_log(head, path.name, options.step_keys, fixed=fixed, loose=loose)

    def refusal(self, head: bytes, options: Options) -> Refusal:
        """Where columns are named like figures of a training, the line that is no row of them."""
        return refusal(head, options.step_keys) or super().refusal(head, options)

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        """A fresh decoder for one file; a Monitor file has its environment in its name."""
        from rltui.formats.table.table_decoder import TableDecoder  # not before the first paint

        return TableDecoder(options, path)
