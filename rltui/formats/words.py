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
from typing import NamedTuple

from rltui.core.yaml_document import Table, shipped_table

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
_UNSAFE = re.compile(r"[^-/\w.]")
#: Counts and times of a learner.
_COUNTED = re.compile(r"/num_[^/]*$|timer|throughput|connector")
_REWRITTEN = (("eval_", "eval/"), ("test_", "test/"))
_WORDLESS = re.compile(r"[^a-z0-9]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Words(NamedTuple):
    """The content of the document; the comments there say what each part is for."""

    counters: Mapping[bytes, int]
    """Counter -> kind."""
    box_steps: tuple[bytes, ...]
    step_keys: tuple[str, ...]
    """With the coarse ones, which are last."""
    coarse_step_keys: frozenset[str]
    table_steps: tuple[str, ...]
    coarse_table_steps: tuple[str, ...]
    counting: frozenset[str]
    not_counting: frozenset[str]
    metrics: re.Pattern[bytes]
    outcomes: re.Pattern[bytes]
    settings: re.Pattern[bytes]
    figures: re.Pattern[bytes]
    figure_words: frozenset[str]
    data: frozenset[str]
    hints: tuple[bytes, ...]
    main_settings: tuple[str, ...]
    samples: Mapping[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def words() -> Words:
    """The words, read once."""
    table = shipped_table("formats", "data", "words.yaml")

    def read(key: str, table: Table = table) -> tuple[str, ...]:
        """The words of a mapping to reasons, in order."""
        pairs = list(table.need(key).table().pairs())
        for _, reason in pairs:
            reason.text()
        return tuple(word for word, _ in pairs)

    def any_of(key: str) -> re.Pattern[bytes]:
        return re.compile("|".join(read(key)).encode(), re.IGNORECASE)

    groups = table.need("counters").table()
    kinds = {name.encode(): n for n, kind in enumerate(_KINDS) for name in read(kind, groups)}
    groups.finish()
    samples = table.need("samples").table()
    coarse = read("coarse_step_keys")
    known = Words(
        counters=kinds,
        box_steps=tuple(name.encode() for name in read("box_steps")),
        step_keys=(*read("step_keys"), *coarse),
        coarse_step_keys=frozenset(coarse),
        table_steps=read("table_steps"),
        coarse_table_steps=read("coarse_table_steps"),
        counting=frozenset(read("counting")),
        not_counting=frozenset(read("not_counting")),
        metrics=any_of("metrics"),
        outcomes=any_of("outcomes"),
        settings=any_of("settings"),
        figures=any_of("figures"),
        figure_words=frozenset(read("figure_words")),
        data=frozenset(read("data")),
        hints=tuple(name.encode() for name in read("hints")),
        main_settings=read("main_settings"),
        samples={kind: read(kind, samples) for kind, _ in samples.pairs()},
    )
    table.finish()
    return known


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
    found, behind, rest = [], [], []
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
    found, known = words_of(name), words()
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
