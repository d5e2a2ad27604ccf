"""The words by which text formats recognise counters, metrics and settings: ``data/words.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from rltui.core.yaml_document import Table, shipped_table

#: Kinds of counters, finest first: of several in a line the finest is the step.
FINE, STEP, BATCH, EPISODE, EPOCH = range(5)
_KINDS = ("fine", "step", "batch", "episode", "epoch")


@dataclass(frozen=True, slots=True)
class Words:
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
    sample_prompts: tuple[str, ...]
    sample_completions: tuple[str, ...]
    sample_rewards: tuple[str, ...]
    sample_figures: tuple[str, ...]


@lru_cache(maxsize=1)
def words() -> Words:
    """The words, read once."""
    table = shipped_table("formats", "data", "words.yaml")
    groups = table.need("counters").table()
    kinds = [(kind, _words(groups, name)) for kind, name in enumerate(_KINDS)]
    groups.finish()
    coarse = _words(table, "coarse_step_keys")
    known = Words(
        {name.encode(): kind for kind, names in kinds for name in names},
        tuple(name.encode() for name in _words(table, "box_steps")),
        (*_words(table, "step_keys"), *coarse),
        frozenset(coarse),
        _words(table, "table_steps"),
        _words(table, "coarse_table_steps"),
        frozenset(_words(table, "counting")),
        frozenset(_words(table, "not_counting")),
        _any_of(table, "metrics"),
        _any_of(table, "outcomes"),
        _any_of(table, "settings"),
        _any_of(table, "figures"),
        frozenset(_words(table, "figure_words")),
        frozenset(_words(table, "data")),
        tuple(name.encode() for name in _words(table, "hints")),
        _words(table, "main_settings"),
        _words(table, "sample_prompts"),
        _words(table, "sample_completions"),
        _words(table, "sample_rewards"),
        _words(table, "sample_figures"),
    )
    table.finish()
    return known


def _words(table: Table, key: str) -> tuple[str, ...]:
    """The words of a mapping to reasons, in order."""
    found = []
    for word, reason in table.need(key).table().pairs():
        reason.text()
        found.append(word)
    return tuple(found)


def _any_of(table: Table, key: str) -> re.Pattern[bytes]:
    return re.compile(b"|".join(w.encode() for w in _words(table, key)), re.IGNORECASE)
