"""One row of JSON lines: its values, step and wall time, whatever the framework.

Some have their own kind of rows, which get the tags of their event files:

- Ray Tune and RLlib, ``result.json``: one nested object per result with the whole config.
- LLaMA-Factory, ``trainer_log.jsonl``: the transformers log with some keys renamed.
- miles, below ``dump-details/dashboard``: ``metrics.jsonl`` with what was logged, and, without a
  step, the gauges of SGLang and the GPUs (miles/dashboard/store.py).
- W&B, ``wandb-events.jsonl``: figures of the machine, without a step.
- ms-swift, ``logging.jsonl``: the transformers log, rounded, with times and steps as text; the
  last line is a summary with the whole history and without a step.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from struct import Struct, error
from typing import Any, NamedTuple

import numpy as np
import orjson

from rltui.formats.json_value import TIME_KEYS, WORDS, flat_settings, float_of, number_of, wall_of
from rltui.formats.row_sink import RowSink, layout_of, picker
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

#: A row as JSON has it, or a part of one.
Row = dict[str, Any]
#: Steps are below this in absolute value.
STEPS = 1 << 63
#: A step as a text, with the planned ones: ``5/200``.
_STEP = re.compile(r"\s*(\d{1,18})\s*(?:/\s*(\d{1,18})\s*)?")
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
#: Names in LLaMA-Factory that differ from transformers (its train/callbacks.py).
_FACTORY_NAMES = {"lr": "learning_rate", "accuracy": "rewards/accuracies"}
#: ms-swift adds these to the transformers log (its trainers/patcher.py); ``iteration`` is the
#: step of its Megatron trainers, the last two are those of logs that were written by others.
_SWIFT_STEP = "global_step/max_steps"
_SWIFT_KEYS = (_SWIFT_STEP, "iteration", "step", "global_step")
_SWIFT_SPEEDS = ("train_speed(s/it)", "train_speed(iter/s)")
#: What W&B puts before the figures of a machine, and miles' keys of a GPU.
_SYSTEM = "system."
_GPU = ("util", "mem_mb", "power_w")
#: Figures of which the highest counts, where a step has several.
HIGHEST = frozenset(("sglang_num_queue_reqs", "sglang_token_usage", "gpu/mem_mb"))
#: Names remembered at most.
_MAX_NAMES = 10_000
#: Lines of an object at most.
_MOST_LINES = 10_000
#: Rows of a training at least, before another may begin.
_TRAINING = 5


#: Texts that are numbers, whatever their name. Without a point they may number a thing.
_DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e[-+]))(?:e[-+]?\d+)?", re.IGNORECASE)
#: The key of the figure of a row that has one, and its name.
VALUE_KEY = "value"


class Step(NamedTuple):
    """The position of a row in the training."""

    step: int
    key: str
    total: int = 0
    """Planned steps, where the row has them (``"5/200"``); else 0."""


class OpenObject:
    """Joins the lines of an object that was written with indents. Owned by one decoder."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        """Lines of the object that is not complete yet."""
        self._depth = 0

    def joined(self, line: bytes) -> bytes:
        """The text of whole values that ends with a line, without what a logger put in front and
        the brackets and commas of a list around it; empty where it goes on."""
        text = line.strip().rstrip(b",")
        if line[:1] == b"{":  # what is open was never closed
            self.lines = []
        if not self.lines and text != b"{":
            begin = text.find(b"{") if text.endswith(b"}") else 0
            return b"" if text in (b"[", b"]") else text[max(begin, 0) :]
        if not self.lines:
            self._depth = 0
        self.lines.append(line)
        self._depth += sum(map(text.count, (b"{", b"["))) - sum(map(text.count, (b"}", b"]")))
        if self._depth > 0 and len(self.lines) < _MOST_LINES:
            return b""
        lines = self.lines
        self.lines = []

        return b"".join(lines).strip().rstrip(b",")


def objects(line: bytes) -> Iterator[Any]:
    """The JSON values of one line, usually one; NaN and Infinity tokens are accepted.

    Raises ValueError where the line is broken, after the values before that.
    """
    try:
        yield orjson.loads(line)
        return
    except orjson.JSONDecodeError:
        text = line.decode("utf-8", "replace").strip()
    end = 0
    while end < len(text):
        try:
            value, end = _SCANNER.raw_decode(text, end)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        yield value
        while text[end : end + 1].isspace():
            end += 1


def find_step(row: Row, keys: Sequence[str]) -> Step | None:
    """The step of a row: the first of ``keys`` with a usable value."""
    for key in keys:
        if key not in row:
            continue
        value = row[key]
        if isinstance(value, str):
            found = _STEP.fullmatch(value)
            if found:
                return Step(int(found[1]), key, int(found[2] or 0))
        elif is_number(value) and -STEPS <= value < STEPS:  # false for NaN and infinity
            return Step(int(value), key)

    return None


def counted_step(row: Row) -> Step | None:
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


def figures_of(row: Row) -> list[str]:
    """Names of the numbers of a row; none where no name is that of a figure of a training, or
    most are those of settings."""
    names = [name for name, _ in flatten(row)]
    settings = words().settings
    if not any(map(is_figure, names)):
        return []
    return names if 2 * sum(bool(settings.search(n.encode())) for n in names) <= len(names) else []


def is_number(value: object) -> bool:
    """Whether a value of JSON is a number: a boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def pop_wall(row: Row) -> float:
    """Remove and return the wall time of a row; NaN when it has none."""
    for key in TIME_KEYS:
        if key in row:
            wall = wall_of(row[key])
            if wall is not None:
                del row[key]
                return wall

    return math.nan


def flatten(
    row: Row, prefix: str = "", depth: int = 0, *, ray: bool = False
) -> Iterator[tuple[str, float]]:
    """The numbers of a row under joined names; null is NaN, texts of numbers count, and of a list
    of outcomes its mean. ``ray``: only the text ``null``, which is
    NaN, and no list."""
    for key, value in row.items():
        name = prefix + key if prefix else key  # the same object hashes faster later
        if isinstance(value, (float, bool)):
            yield name, float(value)
        elif isinstance(value, int):
            yield name, float_of(value)
        elif value is None or (ray and value == "null"):
            yield name, math.nan
        elif isinstance(value, dict):
            if depth < _MAX_DEPTH:
                yield from flatten(value, f"{name}/", depth + 1, ray=ray)
        elif isinstance(value, list) and are_records(value):
            if depth < _MAX_DEPTH:
                for number, one in enumerate(value):
                    yield from flatten(one, f"{name}/{number}/", depth + 1)
        elif (told := _told(name, value, ray=ray)) is not None:
            yield name, told


def _told(name: str, value: object, *, ray: bool) -> float | None:
    """The number in a text, which must have a point where its name is none of a figure; or the
    mean of what came out of several episodes."""
    if isinstance(value, str):
        if ray or value[:1].isalpha() or value in WORDS:
            return WORDS.get(value)
        return number_of(value) if _DECIMAL.fullmatch(value) or is_figure(name) else None
    if ray or not isinstance(value, list) or not value:
        return None
    told = words().outcomes.search(plain(name).encode()) is not None
    if not told or not all(isinstance(v, (int, float)) for v in value):
        return None

    return float_of(sum(value)) / len(value)


def are_records(values: list[Any]) -> bool:
    """Whether a list holds figures by name, of agents or of heads."""
    return 0 < len(values) <= _MAX_RECORDS and all(
        isinstance(one, dict) and one and all(v is None or is_number(v) for v in one.values())
        for one in values
    )


def settings_of(row: Row) -> dict[str, object]:
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
    beside: bool = False
    """Whether it lies beside a training, and has a time in place of a step."""


def translator_of(row: Row) -> Callable[[Row], Translated] | None:
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
    timed = _timed_translator_of(row) if "ts" in row or "_wandb" in row else None

    return _tidy_translator_of(row) if timed is None and VALUE_KEY in row else timed


def _tidy_translator_of(row: Row) -> Callable[[Row], Translated] | None:
    """Make the translator of rows that have one figure each, and its name."""
    key = next((key for key in words().name_keys if isinstance(row.get(key), str)), None)
    others = row.keys() - {key, VALUE_KEY, *TIME_KEYS, *words().step_keys}
    if key is None or any(is_number(row[other]) for other in others):
        return None

    def read(row: Row) -> Translated:
        step = find_step(row, words().step_keys)
        return Translated(step, pop_wall(row), dict(flatten({row[key]: row[VALUE_KEY]})))

    return read


def _timed_translator_of(row: Row) -> Callable[[Row], Translated] | None:
    """Make the translator of rows of miles' dashboard, and of a machine watched by W&B."""
    if "step_key" in row:
        if not isinstance(row.get("metrics"), dict):
            return None
        step = ("step",)
        return lambda r: Translated(find_step(r, step), pop_wall(r), dict(flatten(r["metrics"])))
    if "addr" in row and isinstance(row.get("metric"), str) and "value" in row:
        return lambda row: _beside(row, {row["metric"]: row["value"]})
    if "node" in row and "mem_mb" in row:
        return lambda row: _beside(row, {f"gpu/{key}": row.get(key) for key in _GPU})
    if "_wandb" not in row or "_step" in row:
        return None
    found = {f"system/{k[len(_SYSTEM) :]}": v for k, v in row.items() if k.startswith(_SYSTEM)}

    return (lambda row: _beside(row, found)) if found else None


def _beside(row: Row, values: Row) -> Translated:
    numbers = {name: value for name, value in values.items() if is_number(value)}
    return Translated(None, pop_wall(row), dict(flatten(numbers)), beside=True)


def _ray(row: Row) -> Translated:
    wall = pop_wall(row)
    # the x axis of Ray's TensorBoard logger
    key = "timesteps_total" if row.get("timesteps_total") else "training_iteration"
    kept = {k: v for k, v in row.items() if k not in RAY_LEFT_OUT}
    # the text null is the NaN of a numpy float (ray's SafeFallbackEncoder)
    tagged = ((ray_tag(name), value) for name, value in flatten(kept, ray=True))
    values = {tag: value for tag, value in tagged if not is_ray_gap(tag, value)}
    step = find_step(row, (key, "training_iteration"))

    return Translated(step, wall, values, row.get("done") is True)


def _factory(row: Row) -> Translated:
    wall = pop_wall(row)
    step = find_step(row, ("current_steps",))
    total = row["total_steps"]
    if step is not None and isinstance(total, int):
        step = step._replace(total=total)
    named = {_FACTORY_NAMES.get(k, k): v for k, v in row.items() if k != "current_steps"}
    return Translated(step, wall, _transformers(named))


def _swift(row: Row) -> Translated:
    wall = pop_wall(row)
    step = find_step(row, _SWIFT_KEYS)
    if step is not None:
        del row[step.key]
    return Translated(step, wall, _transformers(row))


def _transformers(row: Row) -> dict[str, float]:
    """The numbers of a transformers log, texts with numbers or durations included; no None."""
    found = (
        (key, float_of(value) if isinstance(value, (int, float)) else number_of(value))
        for key, value in row.items()
        if isinstance(value, (int, float, str))
    )
    return {transformers_tag(key): value for key, value in found if value is not None}


class Packing:
    """Packs a dict with exactly these keys, in any order, as a row of doubles."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.size = len(keys)
        self.pack = Struct(f"{len(keys)}d").pack
        self.values = picker(keys)

    def row(self, row: Row) -> bytes | None:
        """The packed row; None when it has other keys or a value that is not a number."""
        if len(row) != self.size:
            return None
        try:
            return self.pack(*self.values(row))
        except (KeyError, error, OverflowError):
            return None


_packing_of = lru_cache(maxsize=256)(Packing)


class PackedRows:
    """Rows with equal keys as packed doubles; owned by one decoder."""

    def __init__(self) -> None:
        self.keys: tuple[str, ...] = ()
        self.packing: Packing | None = None
        """Packing of the keys; None between two calls, and for no keys at all."""
        self.steps: list[int] = []
        self.walls: list[float] = []
        self.values = bytearray()
        """One double for each row and key."""
        self.sink = RowSink()

    def turn_to(self, flat: dict[str, float]) -> bytes:
        """The packed row, whose keys are those of the next rows."""
        packed = self.packing.row(flat) if self.packing is not None else None
        if packed is None:
            self.flush()
            self.keys = tuple(flat)
            self.packing = _packing_of(self.keys) if flat else None
            packed = (self.packing.row(flat) if self.packing is not None else None) or b""

        return packed

    def add(self, step: int, wall: float, packed: bytes) -> None:
        """Add a row of the present keys."""
        self.steps.append(step)
        self.walls.append(wall)
        self.values += packed

    def restart(self, step: int) -> None:
        """Begin a new training at ``step`` with the same keys."""
        keys = self.keys
        packing = self.packing
        self.flush()
        self.sink.restart(step)
        self.keys = keys
        self.packing = packing

    def flush(self) -> None:
        """Pass the rows with equal keys to the sink."""
        if self.steps and self.keys:
            values = np.frombuffer(self.values).reshape(len(self.steps), len(self.keys))
            layout = layout_of(self.keys, np.float64)
            self.sink.rows(layout, np.array(self.steps, np.int64), np.array(self.walls), values)
        self.keys = ()
        self.packing = None
        self.steps, self.walls, self.values = [], [], bytearray()


class RowOrder:
    """Detects a training that appends to the file of an earlier one: rows with the same keys
    fall back to the first step. Owned by one decoder."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._newest: dict[tuple[str, ...], int] = {}
        """Newest step of the keys of other rows."""
        self._keys: tuple[str, ...] = ()
        self._step: int | None = None
        """Newest step of these."""
        self._rows = 0
        """Rows since the file or the training began."""

    def begins_again(self, keys: tuple[str, ...], step: int) -> bool:
        """Whether the next row, with these keys, is the first of another training."""
        if keys is not self._keys:  # a tuple that is compared by its identity costs nothing
            if self._step is not None and len(self._newest) < _MAX_NAMES:
                self._newest[self._keys] = self._step
            self._keys, self._step = keys, self._newest.pop(keys, None)

        newest = self._step
        first = self._first
        self._step = step
        self._rows += 1
        if first is None or step < first:
            self._first = step
        if newest is None or newest <= step or first is None or step > first:
            return False
        if self._rows <= _TRAINING:
            return False
        self._newest = {}
        self._rows = 0

        return True
