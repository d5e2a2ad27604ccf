"""Words in a name that no entry of a dialect knows, by ``data/words.yaml``: which way is good,
whether it is of held-out data, and which usual name it stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Annotated, NamedTuple

from rltui.catalogue.model import Category
from rltui.catalogue.normal import normal, usual_words
from rltui.core.level import Direction
from rltui.core.text import Names
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, shipped_record


class _SomeWords(NamedTuple):
    """Words, beginnings of words and ends of words."""

    whole: frozenset[str]
    begins: Names
    ends: Names

    def has(self, word: str) -> bool:
        """Whether a word is one of them, with or without the digits at its end."""
        return any(
            form in self.whole or form.startswith(self.begins) or form.endswith(self.ends)
            for form in (word, word.rstrip("0123456789"))
        )


def _words(node: Node) -> _SomeWords:
    words = node.text().split()
    begins = tuple(word[:-1] for word in words if word.endswith("*"))
    ends = tuple(word[1:] for word in words if word.startswith("*"))
    return _SomeWords(frozenset(words), begins, ends)


_Words = Annotated[_SomeWords, Keyed(read=_words)]
_Groups = Annotated[
    tuple[_SomeWords, ...], Keyed(read=lambda node: tuple(map(_words, node.items())))
]


class _Better(NamedTuple):
    more: _Words
    less: _Words
    some: _Words
    turns: _Words
    turned_by: _Words


class _HeldOut(NamedTuple):
    anywhere: _Words
    begins: _Words


class _Concept(NamedTuple):
    name: str
    needs: _Groups
    may: _Words
    unlike: Names = ()
    guessed: bool = False


class _Section(NamedTuple):
    category: Category
    words: str


class _Document(NamedTuple):
    """``data/words.yaml``; see there for the meaning of each field."""

    better: _Better
    held_out: _HeldOut
    benchmarks: _Words
    scored: _Words
    sorts: _Words
    concepts: tuple[_Concept, ...]
    categories: tuple[_Section, ...]
    weak_categories: tuple[_Section, ...]


def _known() -> _Document:
    return shipped_record(_Document, "catalogue", "data", "words.yaml")


@cache
def category_ranks() -> tuple[dict[str, tuple[int, Category]], ...]:
    """Word -> its rank and the category that it suggests; then the same of weak words."""
    both = (_known().categories, _known().weak_categories)
    return tuple(
        {w: (rank, s.category) for rank, s in reversed([*enumerate(part)]) for w in s.words.split()}
        for part in both
    )


class Meant(NamedTuple):
    """Reading of a name by its words."""

    name: str
    """A name that generic.yaml may know."""
    held_out: bool = False
    """Whether the tag is of held-out data, and has further words for that."""
    guessed: bool = False
    in_ms: bool = False


def words_of(tag: str) -> Names:
    """The words of a tag, as its normal form writes them."""
    return usual_words(normal(tag))


def better(words: Sequence[str]) -> Direction | None:
    """Which way a figure of held-out data gets better by its words; None where they do not say."""
    known = _known().better
    weak = None
    for at in range(len(words) - 1, -1, -1):
        up = known.more.has(words[at])
        if up or known.less.has(words[at]):
            turned = at > 0 and known.turns.has(words[at - 1])
            turned ^= at + 1 < len(words) and known.turned_by.has(words[at + 1])
            return Direction.UP if up != turned else Direction.DOWN
        if known.some.has(words[at]) or _known().benchmarks.has(words[at]):
            weak = Direction.UP

    return weak


@cache
def _telling() -> _SomeWords:
    """The words by which a name may stand for something."""
    known = _known()
    needed = (concept.needs[0] for concept in known.concepts)
    every = (known.held_out.anywhere, known.held_out.begins, known.benchmarks, *needed)
    whole, begins, ends = zip(*every, strict=True)
    return _SomeWords(frozenset().union(*whole), sum(begins, ()), sum(ends, ()))


@lru_cache(maxsize=8192)
def meant_by(tag: str) -> Meant | None:
    """Read a tag by its words; None where they do not say."""
    words = words_of(tag)
    known = _known()
    if not any(map(_telling().has, "_".join(words).split("_"))):  # as most tags of no framework
        return None
    heads = (tag[: slash.start()] for slash in re.finditer("/", tag))
    begins = {0, *(len(words_of(head)) for head in heads)}
    begins |= {len(words) - 1} if "loss" in words else set()  # Loss/Valid, but reward/test
    held_out = [
        known.held_out.anywhere.has(word) or (at in begins and known.held_out.begins.has(word))
        for at, word in enumerate(words)
    ]
    if any(held_out) and len(words) > 1:
        rest = (w for w, is_held in zip(words, held_out, strict=True) if not is_held)
        return Meant("_".join(rest), held_out=True)
    scored = (known.benchmarks.has(w) or known.scored.has(w) or w.isdigit() for w in words)
    if any(known.benchmarks.has(word) for word in words) and all(scored):
        return Meant("", held_out=True)
    fits = (concept for concept in known.concepts if _fits(concept, tag, words))
    found = next(fits, None)

    return found and Meant(found.name, guessed=found.guessed, in_ms="ms" in words)


def _fits(concept: _Concept, tag: str, words: Names) -> bool:
    """Whether a name has what a concept needs, and nothing that speaks of something else."""
    if tag.lower() in concept.unlike:
        return False
    others = (*concept.needs, concept.may, _known().sorts)
    return all(any(group.has(word) for word in words) for group in concept.needs) and all(
        word.isdigit() or any(group.has(word) for group in others) for word in words
    )
