"""JSON lines: one object per logged step.

``{"step": 7, "data": {"actor/pg_loss": -0.01}}`` (verl) or ``{"step": 7, "loss": 0.5}``.
Nested objects are joined with ``/``; NaN and Infinity tokens are read although they are not
JSON; null is a NaN (verl writes NaN so); booleans are 0 and 1; texts and lists are no values.
Frameworks with words of their own are in :mod:`rltui.formats.jsonl.jsonl_dialect`; samples of
a model are told from metrics in :mod:`rltui.formats.jsonl.claim`.
"""

from __future__ import annotations

import re
from pathlib import Path

from rltui.formats.base import Belonging, Decoder, Growth, Options

_SUFFIXES = (".jsonl", ".ndjson")
#: JSON lines with the suffix of JSON: SB3 (``progress<suffix>.json``), Ray Tune, detectron2, mm.
_JSON = re.compile(r"(progress.*|result|metrics|scalars|train_?log|log)\.json")
#: Names that writers give to every run alike, so that only the directory tells runs apart.
_NAMELESS = re.compile(
    r"(metrics|scores|logging|trainer_log|progress.*|results?|scalars|history|losses?|rewards?"
    r"|logs?(_\d+)?|(train|training|eval|val)([_-]?(metrics|logs?|history|losses|progress))?)"
    r"\.(jsonl|ndjson|json)"
)
#: Names of samples: NeMo-RL, prime-rl, SkyRL.
_SAMPLES = re.compile(r"((train|val)_data_step\d+|traces|aggregated_results)\.jsonl")


class JsonLines:
    """The format ``jsonl``."""

    name = "jsonl"
    files = "`*.jsonl`, `*.ndjson`, `progress.json`, `result.json`"
    written_by = (
        "verl's file logger, RLlib, SB3, ms-swift, LLaMA-Factory, prime-rl, torchtune, Dreamer: "
        "flat or nested rows with a step; samples are left alone"
    )
    lacks = ""
    growth = Growth.APPENDED
    precision_rank = 3
    anywhere = False

    def belonging(self, name: str) -> Belonging:
        """verl names the file by the experiment; most others give a fixed name."""
        return Belonging.DIRECTORY if _NAMELESS.fullmatch(name) else Belonging.NAME

    def claims_name(self, name: str) -> bool:
        """By suffix, and some names of JSON files that hold lines."""
        if name.endswith(_SUFFIXES):
            return _SAMPLES.fullmatch(name) is None
        return name.endswith(".json") and _JSON.fullmatch(name) is not None

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        """Whether the first rows are rows of metrics with a step, and not samples."""
        if not self.claims_name(path.name):
            return False
        from rltui.formats.jsonl.claim import holds_metrics

        return holds_metrics(head, (options or Options()).step_keys)

    def decoder(
        self,
        options: Options | None = None,
        path: Path | None = None,  # noqa: ARG002
    ) -> Decoder:
        """A fresh decoder for one file."""
        from rltui.formats.jsonl.jsonl_decoder import JsonLinesDecoder

        return JsonLinesDecoder(options or Options())
