"""JSON lines: one object per logged step.

``{"step": 7, "data": {"actor/pg_loss": -0.01}}`` (verl) or ``{"step": 7, "loss": 0.5}``.
Names of nested objects are joined with ``/``; NaN and Infinity tokens are accepted although
they are not JSON; null is NaN (as verl writes it); booleans are 0 and 1; texts of numbers and the
mean of a list of outcomes are values. A row may lie on several lines, or have one figure and its
name. Frameworks with their own keys are in :mod:`rltui.formats.jsonl.jsonl_row`;
:mod:`rltui.formats.jsonl.claim` separates metrics from samples of a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rltui.formats.base import Decoder, Format, Options, Refusal, Sampler
from rltui.formats.jsonl.claim import NO_LOGS, holds_metrics, refusal
from rltui.formats.jsonl.jsonl_decoder import JsonLinesDecoder, JsonlSampler

_SUFFIXES = (".jsonl", ".ndjson")
#: Rows of a file whose name says no more than that it is JSON: a single one is a result.
_LEAST = 3
#: JSON lines with the suffix of JSON: SB3 (``progress<suffix>.json``), Ray Tune, detectron2, mm.
_JSON = re.compile(r"(progress.*|result|metrics|scalars|train_?log|log)\.json")
#: Names that writers give to every run, so that only the directory identifies it.
_NAMELESS = re.compile(
    r"(metrics|scores|logging|trainer_log|progress.*|results?|scalars|history|losses?|rewards?"
    r"|logs?(_\d+)?|(train|training|eval|val)([_-]?(metrics|logs?|history|losses|progress))?)"
    r"\.(jsonl|ndjson|json)"
)
#: Names that trainers give to logs, and seldom to results.
_TELLING = re.compile(
    r"(.*[_.-])?(train|training|metrics?|logs?|logging|progress|history|loss(es)?|scalars|stats)"
    r"([_.-].*)?\.(jsonl|ndjson|json)",
    re.IGNORECASE,
)
#: Names of rows without a step, of miles' dashboard and W&B.
_BESIDE = re.compile(r"^(?:\d{8}_\d\d|engine_series|gpu_util|wandb-events)\.jsonl$")
#: Names of samples: NeMo-RL, prime-rl, SkyRL.
_SAMPLES = re.compile(r"((train|val)_data_step\d+|traces|aggregated_results)\.jsonl")


class JsonLines(Format):
    """The format ``jsonl``."""

    name = "jsonl"
    files = "`*.jsonl`, `*.ndjson`, `progress.json`, `result.json`, JSON lines in `*.json`"
    written_by = (
        "verl's file logger, RLlib, SB3, ms-swift, LLaMA-Factory, prime-rl, torchtune, Dreamer, "
        "miles' dashboard with its gauges, W&B's `wandb-events.jsonl`: flat or nested rows with a "
        "step, or with the figures of a training, whose rows are then counted; samples are left "
        "alone"
    )
    nameless = _NAMELESS
    beside = _BESIDE

    def is_common(self, name: str) -> bool:
        return not name.endswith(_SUFFIXES) and _JSON.fullmatch(name) is None

    def claims_name(self, name: str) -> bool:
        """By suffix, without samples and the settings of well-known programs."""
        if name.endswith(_SUFFIXES):
            return _SAMPLES.fullmatch(name) is None
        return name.endswith(".json") and NO_LOGS.fullmatch(name[:-5]) is None

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        """Whether the first rows are metrics with a step, or figures of a training, and not
        samples."""
        telling = _TELLING.fullmatch(path.name) is not None
        least = _LEAST if self.is_common(path.name) else 1
        return holds_metrics(head, options.step_keys, telling=telling, least=least)

    def refusal(self, head: bytes, options: Options) -> Refusal:
        """Judge by the first row, which further bytes cannot change once it is complete."""
        return refusal(head, options.step_keys)

    def sampler(self) -> Callable[[bytes, Options], Sampler]:
        """Every line means the same anywhere in the file."""
        return JsonlSampler

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        return JsonLinesDecoder(options)
