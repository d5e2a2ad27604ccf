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
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, shipped_record


def _words(node: Node) -> re.Pattern[str]:
    """Words in which ``*`` stands for anything, as one expression."""
    words = node.text().split()
    return re.compile("|".join(re.escape(word).replace(r"\*", ".*") for word in words))


def _groups(node: Node) -> tuple[re.Pattern[str], ...]:
    return tuple(map(_words, node.items()))


_Words = Annotated[re.Pattern[str], Keyed(read=_words)]
_Groups = Annotated[tuple[re.Pattern[str], ...], Keyed(read=_groups)]


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
    unlike: tuple[str, ...] = ()
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


def words_of(tag: str) -> tuple[str, ...]:
    """The words of a tag, as its normal form writes them."""
    return usual_words(normal(tag))


def better(words: Sequence[str]) -> Direction | None:
    """Which way a figure of held-out data gets better by its words; None where they do not say."""
    known = _known().better
    weak = None
    for at in range(len(words) - 1, -1, -1):
        up = _is(known.more, words[at])
        if up or _is(known.less, words[at]):
            turned = at > 0 and _is(known.turns, words[at - 1])
            turned ^= at + 1 < len(words) and _is(known.turned_by, words[at + 1])
            return Direction.UP if up != turned else Direction.DOWN
        if _is(known.some, words[at]) or _is(_known().benchmarks, words[at]):
            weak = Direction.UP

    return weak


@cache
def _telling() -> re.Pattern[str]:
    """Pattern of the words by which a name may stand for something."""
    known = _known()
    needed = (concept.needs[0] for concept in known.concepts)
    every = (known.held_out.anywhere, known.held_out.begins, known.benchmarks, *needed)
    return re.compile(rf"(?:^|_)(?:{'|'.join(p.pattern for p in every)})\d*(?:_|$)")


@lru_cache(maxsize=8192)
def meant_by(tag: str) -> Meant | None:
    """Read a tag by its words; None where they do not say."""
    words = words_of(tag)
    known = _known()
    if not _telling().search("_".join(words)):  # as most tags of no framework
        return None
    heads = (tag[: slash.start()] for slash in re.finditer("/", tag))
    begins = {0, *(len(words_of(head)) for head in heads)}
    begins |= {len(words) - 1} if "loss" in words else set()  # Loss/Valid, but reward/test
    held_out = [
        _is(known.held_out.anywhere, word) or (at in begins and _is(known.held_out.begins, word))
        for at, word in enumerate(words)
    ]
    if any(held_out) and len(words) > 1:
        rest = (w for w, is_held in zip(words, held_out, strict=True) if not is_held)
        return Meant("_".join(rest), held_out=True)
    scored = (_is(known.benchmarks, w) or _is(known.scored, w) or w.isdigit() for w in words)
    if any(_is(known.benchmarks, word) for word in words) and all(scored):
        return Meant("", held_out=True)
    fits = (concept for concept in known.concepts if _fits(concept, tag, words))
    found = next(fits, None)

    return found and Meant(found.name, guessed=found.guessed, in_ms="ms" in words)


def _fits(concept: _Concept, tag: str, words: tuple[str, ...]) -> bool:
    """Whether a name has what a concept needs, and nothing that speaks of something else."""
    if tag.lower() in concept.unlike:
        return False
    others = (*concept.needs, concept.may, _known().sorts)
    return all(any(_is(group, word) for word in words) for group in concept.needs) and all(
        word.isdigit() or any(_is(group, word) for group in others) for word in words
    )


def _is(words: re.Pattern[str], word: str) -> bool:
    return bool(words.fullmatch(word) or words.fullmatch(word.rstrip("0123456789")))
