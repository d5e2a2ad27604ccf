"""Tags as a framework's own TensorBoard writer names them.

A framework writes the same metrics to text logs and to event files under different names. A run
joins its sources by tag, so text logs get the names of the event file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from functools import lru_cache

#: The prefix of every tag of Ray Tune's TensorBoard logger.
RAY_PREFIX = "ray/tune/"
#: What Ray's logger omits (ray/tune/logger/tensorboardx.py), and what is not a metric.
RAY_LEFT_OUT = frozenset(
    (
        *("config", "pid", "timestamp", "trial_id", "experiment_id", "experiment_tag"),
        *("date", "hostname", "node_ip"),
    )
)
#: A result of Ray Tune has the first and at least one of the others (ray/air/constants.py).
_RAY_STEP = "training_iteration"
_RAY_MARKS = ("time_since_restore", "iterations_since_restore", "time_total_s", "trial_id")
#: tensorboardX replaces every other character by ``_`` (its summary.py).
_UNSAFE = re.compile(r"[^-/\w.]")
#: Counts and times of a learner.
_COUNTED = re.compile(r"/num_[^/]*$|timer|throughput|connector")
_REWRITTEN = (("eval_", "eval/"), ("test_", "test/"))


@lru_cache(maxsize=4096)
def transformers_tag(key: str) -> str:
    """The tag of a key of a transformers log: ``eval_x`` is ``eval/x``, ``test_x`` is
    ``test/x``, all others get ``train/`` in front (rewrite_logs of its integrations)."""
    for prefix, tag in _REWRITTEN:
        if key.startswith(prefix):
            return tag + key[len(prefix) :]
    return f"train/{key}"


@lru_cache(maxsize=16384)
def ray_tag(name: str) -> str:
    """The tag of a result of Ray Tune with this joined name."""
    return RAY_PREFIX + _UNSAFE.sub("_", name).lstrip("/")


def is_ray_result(names: Collection[str]) -> bool:
    """Whether columns or keys are those of a result of Ray Tune."""
    return _RAY_STEP in names and any(mark in names for mark in _RAY_MARKS)


def is_ray_gap(tag: str, value: float) -> bool:
    """Whether a NaN of Ray means that there was nothing to average.

    Returns and lengths are NaN until an episode ends, and so are unused counters; Ray's
    TensorBoard logger omits every NaN. The NaN loss of a learner is real.
    """
    return math.isnan(value) and ("learner" not in tag or _COUNTED.search(tag) is not None)
