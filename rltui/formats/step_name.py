"""Names of step columns and of training figures in logs with named columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from rltui.formats.words import words

_WORDLESS = re.compile(r"[^a-z0-9]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


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
def _wanted(step_keys: tuple[str, ...]) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Plain names of steps, of passes and episodes with what follows them, and those of all
    that stand behind a prefix, with their ranks."""
    known = words()
    end = len(step_keys)
    coarse = next((i for i, k in enumerate(step_keys) if k in known.coarse_step_keys), end)
    fine = dict.fromkeys(plain(k) for k in (*step_keys[:coarse], *known.table_steps))
    rest = dict.fromkeys(plain(k) for k in (*step_keys[coarse:], *known.coarse_table_steps))
    behind = [name for name in (*fine, *rest) if "step" in name]
    return _ranks(fine), _ranks(rest), _ranks(behind)


def _ranks(names: Iterable[str]) -> dict[str, int]:
    return {name: rank for rank, name in reversed(list(enumerate(names)))}


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
