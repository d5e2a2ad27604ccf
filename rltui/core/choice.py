"""Words that people type, resolved among names: whole, begun or misspelt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")


def choose(word: str, names: Mapping[str, Value]) -> tuple[Value | None, str]:
    """What ``word`` names, in any case: a whole name, or the beginning of those of one value.

    Without such a value: None, and a hint that may be empty ("; did you mean perf or progress?").
    """
    word = word.lower()
    if word in names:
        return names[word], ""
    begun = _firsts({n: v for n, v in names.items() if word and n.startswith(word)})
    if len(begun) == 1:
        return names[begun[0]], ""
    if not begun:
        import difflib  # loaded after a mistake only

        close = difflib.get_close_matches(word, list(names), n=2, cutoff=0.5)
        begun = _firsts({n: names[n] for n in close})
    if not begun:
        return None, ""
    *others, last = begun[:4]
    return None, f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def _firsts(names: Mapping[str, Value]) -> list[str]:
    """One name for each value, the first."""
    found: dict[int, str] = {}
    for name, value in names.items():
        found.setdefault(id(value), name)
    return list(found.values())
