"""One row of JSON lines: its values, step and wall time, whatever the framework.

Some have their own kind of rows, which get the tags of their event files:

- Ray Tune and RLlib, ``result.json``: one nested object per result with the whole config.
- LLaMA-Factory, ``trainer_log.jsonl``: the transformers log with some keys renamed.
- ms-swift, ``logging.jsonl``: the transformers log, rounded, with times and steps as text; the
  last line is a summary with the whole history and without a step.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from rltui.formats.json_value import TIME_KEYS, float_of, fraction_of, number_of, wall_of, word_of
from rltui.formats.settings import flat_settings
from rltui.formats.words import (
    BATCH,
    RAY_LEFT_OUT,
    is_figure,
    is_ray_gap,
    is_ray_result,
    may_count,
    plain,
    ray_tag,
    transformers_tag,
    words,
    words_of,
)

#: Steps are below this in absolute value.
STEPS = 1 << 63
#: Keys of settings in a row.
_SETTINGS = ("config", "hparams", "hyperparameters", "hyper_parameters", "args", "params")
_MAX_DEPTH = 16
#: Agents or heads with figures of their own.
_MAX_RECORDS = 64
#: Behind the ranks of all counters. One of batches is none: it begins again with every epoch.
_UNKNOWN = 100
#: What is added to the name of a counter.
_NUMBERING = frozenset(("idx", "index", "id", "num", "number", "no", "nr", "i", "n"))
_SCANNER = json.JSONDecoder()
_BLANK = re.compile(r"\s*")
#: Names in LLaMA-Factory that differ from transformers (its train/callbacks.py).
_FACTORY_NAMES = {"lr": "learning_rate", "accuracy": "rewards/accuracies"}
#: ms-swift adds these to the transformers log (its trainers/patcher.py); ``iteration`` is the
#: step of its Megatron trainers, the last two are those of logs that were written by others.
_SWIFT_STEP = "global_step/max_steps"
_SWIFT_KEYS = (_SWIFT_STEP, "iteration", "step", "global_step")
_SWIFT_SPEEDS = ("train_speed(s/it)", "train_speed(iter/s)")


class Step(NamedTuple):
    """The position of a row in the training."""

    step: int
    key: str
    total: int = 0
    """Planned steps, where the row has them (``"5/200"``); else 0."""


def objects(line: bytes) -> Iterator[Any]:
    """The JSON values of one line, usually one; NaN and Infinity tokens are accepted.

    Raises ValueError where the line is broken, after the values before that.
    """
    try:
        yield orjson.loads(line)
    except orjson.JSONDecodeError:
        text = line.decode("utf-8", "replace")
        end = _BLANK.match(text).end()  # type: ignore[union-attr] # matches always
        while end < len(text):
            try:
                value, end = _SCANNER.raw_decode(text, end)
            except RecursionError as error:
                raise ValueError("nested too deeply") from error
            yield value
            end = _BLANK.match(text, end).end()  # type: ignore[union-attr]


def find_step(row: dict[str, Any], keys: Sequence[str]) -> Step | None:
    """The step of a row: the first of ``keys`` with a usable value."""
    for key in keys:
        if key not in row:
            continue
        value = row[key]
        if isinstance(value, str):
            parts = fraction_of(value)
            if parts is not None:
                return Step(parts[0], key, parts[1])
        elif _is_number(value) and -STEPS <= value < STEPS:  # false for NaN and infinity
            return Step(int(value), key)
    return None


def counted_step(row: dict[str, Any]) -> Step | None:
    """The step of a row of figures without a usual key: its finest counter (``environment_steps``,
    ``rl_step``, ``rollout``)."""
    key = _counter_of(tuple(row))
    return find_step(row, (key,)) if key is not None else None


@lru_cache(maxsize=256)
def _counter_of(names: tuple[str, ...]) -> str | None:
    """The name that counts steps, where another name is that of a figure."""
    known = words().counters
    ranks = [known.get(plain(name).encode(), _UNKNOWN) for name in names]
    ranks = [_UNKNOWN if rank == BATCH else rank for rank in ranks]
    best = min(range(len(names)), key=ranks.__getitem__, default=None)
    if best is not None and ranks[best] == _UNKNOWN:
        best = next((i for i, n in enumerate(names) if n.endswith("step") and may_count(n)), None)
    if best is None or not any(is_figure(n) for i, n in enumerate(names) if i != best):
        return None
    return names[best]


@lru_cache(maxsize=256)
def counts_batches(names: tuple[str, ...]) -> bool:
    """Whether a row says which batch of its epoch it is, so that its epoch is not its step."""
    known = words().counters
    found = ("".join(words_of(name) - _NUMBERING) for name in names if "batch" in name.lower())
    return any(known.get(name.encode()) == BATCH for name in found)


def figures_of(row: dict[str, Any]) -> list[str]:
    """Names of the numbers of a row; none where no name is that of a figure of a training, or
    most are those of settings."""
    names = [name for name, _ in flatten(row)]
    settings = words().settings
    if not any(map(is_figure, names)):
        return []
    return names if 2 * sum(bool(settings.search(n.encode())) for n in names) <= len(names) else []


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def take_wall(row: dict[str, Any]) -> float:
    """Remove and return the wall time of a row; NaN when it has none."""
    for key in TIME_KEYS:
        if key in row:
            wall = wall_of(row[key])
            if wall is not None:
                del row[key]
                return wall
    return math.nan


def flatten(row: dict[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """The numbers of a row under joined names; null is NaN, texts and other
    lists are skipped."""
    for key, value in row.items():
        name = prefix + key if prefix else key  # the same object hashes faster later
        if isinstance(value, (float, bool)):
            yield name, float(value)
        elif isinstance(value, int):
            yield name, float_of(value)
        elif value is None:
            yield name, math.nan
        elif isinstance(value, dict):
            if depth < _MAX_DEPTH:
                yield from flatten(value, f"{name}/", depth + 1)
        elif isinstance(value, list) and are_records(value):
            if depth < _MAX_DEPTH:
                for number, one in enumerate(value):
                    yield from flatten(one, f"{name}/{number}/", depth + 1)
        elif isinstance(value, str) and (word := word_of(value)) is not None:
            yield name, word


def are_records(values: list[Any]) -> bool:
    """Whether a list holds figures by name, of agents or of heads."""
    return 0 < len(values) <= _MAX_RECORDS and all(
        isinstance(one, dict) and one and all(v is None or _is_number(v) for v in one.values())
        for one in values
    )


def settings_of(row: dict[str, Any]) -> dict[str, object]:
    """The settings in a row under one of the usual keys; empty when it has none."""
    found: dict[str, Any] = next((row[k] for k in _SETTINGS if isinstance(row.get(k), dict)), {})
    return flat_settings(found, "/")


class Translated(NamedTuple):
    """A row with the names of the framework's event file."""

    step: Step | None
    wall: float
    values: dict[str, float]
    done: bool = False
    """Whether it is the last one of a training that came to its end."""


Translator = Callable[[dict[str, Any]], Translated]


def translator_of(row: dict[str, Any]) -> Translator | None:
    """The function that reads rows of this kind; None for those without a special meaning."""
    if "training_iteration" in row:
        return _ray if is_ray_result(row) else None
    if "current_steps" in row:
        return _factory if "total_steps" in row else None
    # spelt out: this runs on every row
    if _SWIFT_STEP in row:
        return _swift
    if _SWIFT_SPEEDS[0] in row or _SWIFT_SPEEDS[1] in row:
        return _swift if find_step(row, _SWIFT_KEYS) is not None else None
    if "log_history" in row:  # only a summary
        return lambda _: Translated(None, 0.0, {})

    return None


def _ray(row: dict[str, Any]) -> Translated:
    wall = take_wall(row)
    # the x axis of Ray's TensorBoard logger
    key = "timesteps_total" if row.get("timesteps_total") else "training_iteration"
    step = find_step(row, (key, "training_iteration"))
    values: dict[str, float] = {}
    kept = {k: v for k, v in row.items() if k not in RAY_LEFT_OUT}
    for name, value in flatten(_with_nan(kept)):
        tag = ray_tag(name)
        if not is_ray_gap(tag, value):
            values[tag] = value
    return Translated(step, wall, values, row.get("done") is True)


def _with_nan(node: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """The text ``null`` is the NaN of a numpy float (ray's SafeFallbackEncoder)."""
    out: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, dict) and depth < 16:
            out[key] = _with_nan(value, depth + 1)
        else:
            out[key] = None if value == "null" else value
    return out


def _factory(row: dict[str, Any]) -> Translated:
    wall, step = take_wall(row), find_step(row, ("current_steps",))
    total = row["total_steps"]
    if step is not None and isinstance(total, int):
        step = step._replace(total=total)
    named = {_FACTORY_NAMES.get(k, k): v for k, v in row.items() if k != "current_steps"}
    return Translated(step, wall, _transformers(named))


def _swift(row: dict[str, Any]) -> Translated:
    wall, step = take_wall(row), find_step(row, _SWIFT_KEYS)
    if step is not None:
        del row[step.key]
    return Translated(step, wall, _transformers(row))


def _transformers(row: dict[str, Any]) -> dict[str, float]:
    """The numbers of a transformers log, texts with numbers or durations included; no None."""
    out: dict[str, float] = {}
    for key, value in row.items():
        if isinstance(value, (int, float)):
            out[transformers_tag(key)] = dict(flatten({key: value}))[key]
        elif isinstance(value, str) and (number := number_of(value)) is not None:
            out[transformers_tag(key)] = number
    return out
