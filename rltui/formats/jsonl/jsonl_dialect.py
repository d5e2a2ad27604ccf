"""Rows of frameworks with their own kind of JSON lines.

Tags are those of their event files, see :mod:`rltui.formats.naming`:

- Ray Tune and RLlib, ``result.json``: one nested object per result with the whole config.
- LLaMA-Factory, ``trainer_log.jsonl``: the transformers log with some keys renamed.
- ms-swift, ``logging.jsonl``: the transformers log, rounded, with times and steps as text; the
  last line is a summary with the whole history and without a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rltui.formats.jsonl.jsonl_row import Step, find_step, flatten, take_wall
from rltui.formats.naming import RAY_LEFT_OUT, is_ray_gap, is_ray_result, ray_tag, transformers_tag
from rltui.formats.quantity import number_of

#: Names in LLaMA-Factory that differ from transformers (its train/callbacks.py).
_FACTORY_NAMES = {"lr": "learning_rate", "accuracy": "rewards/accuracies"}
#: ms-swift adds these to the transformers log (its trainers/patcher.py); ``iteration`` is the
#: step of its Megatron trainers, the last two are those of logs that were written by others.
_SWIFT_STEP = "global_step/max_steps"
_SWIFT_KEYS = (_SWIFT_STEP, "iteration", "step", "global_step")
_SWIFT_SPEEDS = ("train_speed(s/it)", "train_speed(iter/s)")


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
    if "log_history" in row:
        return _history
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


def _history(row: dict[str, Any]) -> Translated:  # noqa: ARG001 - only a summary
    return Translated(None, 0.0, {})


def _transformers(row: dict[str, Any]) -> dict[str, float]:
    """The numbers of a transformers log, texts with numbers or durations included; no None."""
    out: dict[str, float] = {}
    for key, value in row.items():
        if isinstance(value, (int, float)):
            out[transformers_tag(key)] = dict(flatten({key: value}))[key]
        elif isinstance(value, str) and (number := number_of(value)) is not None:
            out[transformers_tag(key)] = number
    return out
