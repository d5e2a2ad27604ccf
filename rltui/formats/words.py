"""Names in text logs: words by which counters, metrics and settings are recognised, and tags.

The words are those of ``data/words.yaml``. A framework writes the same metrics to text logs and to
event files under different names; a run joins its sources by tag, so text logs get the names of
the event file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, NamedTuple

from rltui.core.later import regex
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, shipped_record

#: Kinds of counters, finest first: of several in a line the finest is the step.
FINE, STEP, BATCH, EPISODE, EPOCH = range(5)
_KINDS = ("fine", "step", "batch", "episode", "epoch")
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
_UNSAFE = regex(r"[^-/\w.]")
#: Counts and times of a learner.
_COUNTED = regex(r"/num_[^/]*$|timer|throughput|connector")
_REWRITTEN = (("eval_", "eval/"), ("test_", "test/"))
_WORDLESS = regex(r"[^a-z0-9]+")
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _names(node: Node) -> tuple[str, ...]:
    """The words of a mapping to reasons, in order."""
    pairs = list(node.table().pairs())
    for _, reason in pairs:
        reason.text()
    return tuple(word for word, _ in pairs)


def _any_of(node: Node) -> re.Pattern[bytes]:
    return regex("|".join(_names(node)).encode(), re.IGNORECASE)


def _counters(node: Node) -> Mapping[bytes, int]:
    groups = node.table()
    kinds = {
        n.encode(): rank for rank, kind in enumerate(_KINDS) for n in _names(groups.need(kind))
    }
    groups.finish()
    return kinds


_Names = Annotated[tuple[str, ...], Keyed(read=_names)]
_Bytes = Annotated[
    tuple[bytes, ...], Keyed(read=lambda node: tuple(name.encode() for name in _names(node)))
]
_Set = Annotated[frozenset[str], Keyed(read=lambda node: frozenset(_names(node)))]
_AnyOf = Annotated[re.Pattern[bytes], Keyed(read=_any_of)]
_Kinds = Annotated[
    Mapping[str, tuple[str, ...]],
    Keyed(read=lambda node: {kind: _names(one) for kind, one in node.table().pairs()}),
]


class Words(NamedTuple):
    """The content of the document; the comments there say what each part is for."""

    counters: Annotated[Mapping[bytes, int], Keyed(read=_counters)]
    """Counter -> kind."""
    box_steps: _Bytes
    name_keys: _Names
    step_keys: _Names
    """With the coarse ones, which are last."""
    coarse_step_keys: _Names
    table_steps: _Names
    coarse_table_steps: _Names
    counting: _Set
    not_counting: _Set
    metrics: _AnyOf
    outcomes: _AnyOf
    settings: _AnyOf
    records: _AnyOf
    figures: _AnyOf
    figure_words: _Set
    data: _Set
    hints: _Bytes
    main_settings: _Names
    samples: _Kinds


@lru_cache(maxsize=1)
def words() -> Words:
    """The words, read once."""
    found = shipped_record(Words, "formats", "data", "words.yaml")
    return found._replace(step_keys=(*found.step_keys, *found.coarse_step_keys))


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


def plain(name: str) -> str:
    """A name without anything but its letters and digits, in lower case."""
    return _WORDLESS.sub("", name.lower())


def words_of(name: str) -> frozenset[str]:
    """The words of a name, also of one in camel case."""
    return frozenset(w.lower() for w in _WORD.findall(name))


def step_names(names: Sequence[str], step_keys: Sequence[str]) -> list[int]:
    """Positions of the names that mean a step, best first."""
    fine, coarse, steps = _wanted(tuple(step_keys))
    found = []
    behind = []
    rest = []
    for i, name in enumerate(names):
        whole = plain(name)
        if whole in fine:
            found.append((fine[whole], i))
        elif whole in coarse:
            rest.append((coarse[whole], i))
        # behind a prefix of any depth: train/epoch is a metric, misc/total_timesteps a step
        if "/" in name and (last := plain(name.rpartition("/")[2])) in steps:
            behind.append(("eval" in name, steps[last], i))

    ranked = (*sorted(found), *sorted(behind), *sorted(rest))
    return list(dict.fromkeys(rank[-1] for rank in ranked))


@lru_cache(maxsize=16)
def _wanted(step_keys: tuple[str, ...]) -> list[dict[str, int]]:
    """Plain names of steps, of passes and episodes with what follows them, and those of all
    that stand behind a prefix, with their ranks."""
    known = words()
    end = len(step_keys)
    coarse = next((i for i, k in enumerate(step_keys) if k in known.coarse_step_keys), end)
    fine = dict.fromkeys(plain(k) for k in (*step_keys[:coarse], *known.table_steps))
    rest = dict.fromkeys(plain(k) for k in (*step_keys[coarse:], *known.coarse_table_steps))
    behind = dict.fromkeys(name for name in (*fine, *rest) if "step" in name)
    return [{name: n for n, name in enumerate(names)} for names in (fine, rest, behind)]


def may_count(name: str) -> bool:
    """Whether a name may be that of a counter of steps."""
    found = words_of(name)
    known = words()
    return bool(found & known.counting) and not found & known.not_counting


def is_figure(name: str) -> bool:
    """Whether a name is that of a figure of a training."""
    known = words()
    return known.figures.search(plain(name).encode()) is not None or bool(
        words_of(name) & known.figure_words
    )


def are_figures(names: Sequence[str]) -> bool:
    """Whether columns without a step are figures of a training rather than data."""
    known = sum(map(is_figure, names))
    return known * 3 >= len(names) and not any(words_of(n) & words().data for n in names)
