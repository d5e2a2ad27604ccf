"""Which framework and algorithm wrote a set of tags, judging by names only.

In order: what the user says; a log format that only one framework writes; strong tags (the
look-alike order decides between several); the most supporting tags; otherwise generic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rltui.catalogue.dialect import AlgorithmMark, Fingerprint, Head
from rltui.catalogue.guess import plain_name
from rltui.catalogue.pattern import Pattern

#: Supporting tags needed when there is no strong one.
_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Suspect:
    """A dialect with its effective prefixes and algorithm marks."""

    head: Head
    prefixes: tuple[tuple[str, bool], ...]
    algorithms: tuple[AlgorithmMark, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Strength of the match: 0 none, 1 supporting, 2 strong, 3 format."""

    strength: int
    score: int
    reasons: tuple[str, ...]


def seen_by(tags: Collection[str], prefixes: tuple[tuple[str, bool], ...]) -> set[str]:
    """The tags as logged, without the prefixes that trackers put in front, and bare names as
    most loops would write them."""
    out = set(tags)
    out.update(plain_name(t) for t in tags if "/" not in t)
    for prefix, _ in prefixes:
        cut = len(prefix)
        out.update(t[cut:] for t in tags if t.startswith(prefix))
    return out


def judge(suspect: Suspect, tags: set[str], formats: Iterable[str]) -> Verdict:
    """Compare one fingerprint with the tags (as :func:`seen_by` the dialect)."""
    marks = suspect.head.fingerprint
    if marks is None:
        return Verdict(0, 0, ())
    for name in formats:
        if name in marks.formats:
            return Verdict(3, 1, (f"log format {name}",))
    for pattern in marks.excludes:
        hit = find(pattern, tags)
        if hit is not None:
            return Verdict(0, 0, (f"{hit} excludes it",))
    strong = _strong(marks, tags)
    if strong:
        return Verdict(2, len(strong), tuple(strong))
    hits = [h for p in marks.supporting if (h := find(p, tags)) is not None]
    weak = tuple(f"tag {h}" for h in hits) if len(hits) >= _ENOUGH else ()
    if not weak and marks.only and _only(marks.only, tags):
        weak = (f"no tags but {marks.only[0].text}",)
    return Verdict(1, len(hits), weak) if weak else Verdict(0, 0, ())


def _only(patterns: tuple[Pattern, ...], tags: set[str]) -> bool:
    """Whether every logged tag matches one of the patterns, and there is one."""
    logged = [t for t in tags if not t.startswith("hyperparameter/")]
    return bool(logged) and all(any(p.match(t) is not None for p in patterns) for t in logged)


def _strong(marks: Fingerprint, tags: set[str]) -> list[str]:
    out = [f"tag {h}" for p in marks.strong if (h := find(p, tags)) is not None]
    for group in marks.together:
        hits = [find(p, tags) for p in group]
        if all(h is not None for h in hits):
            out.append("tags " + " + ".join(str(h) for h in hits))
    return out


def find(pattern: Pattern, tags: set[str]) -> str | None:
    """The first tag (in alphabetical order) that matches, or None."""
    if pattern.exact:
        return pattern.text if pattern.text in tags else None
    head = pattern.prefix  # checked here: most tags fail this, and calls are expensive
    hits = (t for t in tags if t.startswith(head) and pattern.match(t) is not None)
    return min(hits, default=None)


def algorithm_of(marks: tuple[AlgorithmMark, ...], tags: set[str]) -> tuple[str, str] | None:
    """The first algorithm whose marks are present, and the reason."""
    for mark in marks:
        if any(find(p, tags) is not None for p in mark.none):
            continue
        needed = [find(p, tags) for p in mark.all]
        if any(h is None for h in needed):
            continue
        some = next((h for p in mark.any if (h := find(p, tags)) is not None), None)
        if mark.any and some is None:
            continue
        shown = [h for h in (*needed, some) if h is not None]
        return mark.name, f"{mark.name} by {' + '.join(shown)}" if shown else f"{mark.name} else"
    return None
