"""Which framework and algorithm wrote a set of tags, judging by names only.

In order: what the user says; a log format that only one framework writes; strong tags (the
look-alike order decides between several); the most supporting tags; otherwise generic.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice, takewhile

from rltui.catalogue.dialect import AlgorithmMark, Fingerprint, Prefixes
from rltui.catalogue.guess import plain_name
from rltui.catalogue.pattern import Pattern, without_prefix

#: Supporting tags needed when there is no strong one.
_ENOUGH = 2


class Names:
    """Names in which many patterns are searched: a pattern costs little where none fits."""

    def __init__(self, names: Iterable[str]) -> None:
        self.all = frozenset(names)

    @cached_property
    def in_order(self) -> list[str]:
        """In alphabetical order."""
        return sorted(self.all)

    @cached_property
    def bare(self) -> list[str]:
        """Names without a slash, as most loops would write them."""
        return [plain_name(n) for n in self.all if "/" not in n]

    @cached_property
    def _text(self) -> str:
        return "\n".join(self.in_order)

    def first(self, pattern: Pattern) -> str | None:
        """The first name, in alphabetical order, that a pattern matches, as it is or as
        tensorboardX writes it; None for none."""
        found = self._first(pattern)
        return self._first(pattern.cleaned) if found is None and pattern.cleaned else found

    def _first(self, pattern: Pattern) -> str | None:
        if pattern.exact:
            return pattern.text if pattern.text in self.all else None
        if not pattern.prefix and pattern.core not in self._text:
            return None
        likely = (n for n in self.beginning(pattern.prefix) if pattern.core in n)
        return next((n for n in likely if pattern.match(n) is not None), None)

    def beginning(self, head: str) -> Iterator[str]:
        """The names that begin with a text, in alphabetical order."""
        names = islice(self.in_order, bisect_left(self.in_order, head), None)
        return takewhile(lambda name: name.startswith(head), names)


def seen_by(tags: Names, prefixes: Prefixes) -> Names:
    """The tags as logged, without the prefixes that trackers put in front, and bare names as
    most loops would write them."""
    out = {*tags.all, *tags.bare}
    for prefix, _ in prefixes:
        likely = tags.beginning(prefix.partition("*")[0])
        out.update(name for t in likely if (name := without_prefix(t, prefix)) is not None)
    return Names(out)


def judge(
    marks: Fingerprint | None, tags: Names, formats: Iterable[str]
) -> tuple[tuple[int, int], tuple[str, ...]]:
    """Compare one fingerprint with the tags (as :func:`seen_by` the dialect).

    Returns the strength of the match (0 none, 1 supporting, 2 strong, 3 format) with the number of
    supporting tags where only those count, and the reasons.
    """
    if marks is None:
        return (0, 0), ()
    for name in formats:
        if name in marks.formats:
            return (3, 0), (f"log format {name}",)

    def seen(patterns: Iterable[Pattern]) -> list[str]:
        return [name for pattern in patterns if (name := tags.first(pattern)) is not None]

    if seen(marks.excludes):
        return (0, 0), ()

    strong = [f"tag {name}" for name in seen(marks.strong)]
    for group in marks.together:
        together = seen(group)
        if len(together) == len(group):
            strong.append("tags " + " + ".join(together))
    if strong:
        return (2, 0), tuple(strong)

    hits = seen(marks.supporting)
    weak = tuple(f"tag {h}" for h in hits) if len(hits) >= _ENOUGH else ()
    if not weak and marks.only and _only(marks.only, tags):
        weak = (f"no tags but {marks.only[0].text}",)
    return ((1, len(hits)) if weak else (0, 0)), weak


def _only(patterns: tuple[Pattern, ...], tags: Names) -> bool:
    """Whether every logged tag matches one of the patterns, and there is one."""
    logged = [t for t in tags.all if not t.startswith("hyperparameter/")]
    return bool(logged) and all(any(p.match(t) is not None for p in patterns) for t in logged)


def algorithm_of(marks: tuple[AlgorithmMark, ...], tags: Names) -> tuple[str, str] | None:
    """The first algorithm whose marks are present, and the reason."""
    for mark in marks:
        if any(tags.first(p) is not None for p in mark.none):
            continue
        needed = [tags.first(p) for p in mark.all]
        if any(h is None for h in needed):
            continue
        some = next((h for p in mark.any if (h := tags.first(p)) is not None), None)
        if mark.any and some is None:
            continue
        shown = [h for h in (*needed, some) if h is not None]
        return mark.name, f"{mark.name} by {' + '.join(shown)}" if shown else f"{mark.name} else"
    return None
