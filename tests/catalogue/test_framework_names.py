"""What each framework logs by its own sources: the names have a meaning, and tell which it is.

A list in tests/fixtures/names begins with a line ``# source (version)`` and perhaps lines
``# key: value``; then one name a line, placeholders filled in (``rewards/math/mean``), or several
that differ in a part (``loss/{mean,max}``).

- ``framework``: id of the dialect, when it is not the name of the file;
- ``built on``: dialects whose names it writes, too; a few names may look like one of them.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from rltui.catalogue import Catalogue
from rltui.catalogue.recognise import Names, seen_by
from scripts.name_coverage import is_known

LISTS = sorted((Path(__file__).parents[1] / "fixtures" / "names").glob("*.txt"))


@dataclass(frozen=True)
class Logged:
    """One list."""

    framework: str
    built_on: frozenset[str]
    names: tuple[str, ...]


def read(path: Path) -> Logged:
    rows = path.read_text(encoding="utf-8").splitlines()
    said = dict(row[2:].split(": ", 1) for row in rows if row.startswith("# ") and ": " in row)
    names = tuple(n for row in rows if row and not row.startswith("# ") for n in expanded(row))
    built_on = frozenset(said.get("built on", "").split())
    return Logged(said.get("framework", path.stem), built_on, names)


def expanded(row: str) -> Iterator[str]:
    """The names of a row: ``loss/{mean,max}`` is two."""
    parts = re.split(r"\{(.*?)\}", row)
    return map("".join, product(*(p.split(",") if n % 2 else [p] for n, p in enumerate(parts))))


@pytest.mark.parametrize("path", LISTS, ids=lambda p: p.stem)
def test_names_have_a_meaning(path: Path, catalogue: Catalogue) -> None:
    logged = read(path)
    assert len(set(logged.names)) == len(logged.names)
    resolver = catalogue.resolver(logged.framework)
    unknown = [name for name in logged.names if not is_known(resolver.resolve(name))]
    assert len(unknown) <= 0.03 * len(logged.names), unknown


def test_an_extreme_or_a_spread_is_no_mean(catalogue: Catalogue) -> None:
    wrong = {}
    for logged in map(read, LISTS):
        resolver = catalogue.resolver(logged.framework)
        for name in logged.names:
            key = getattr(resolver.resolve(name).metric, "key", "")
            means_one = key.endswith((".mean", "rate")) and "std" not in key
            if means_one and name.endswith(("/max", "/min", "/std", "_max", "_std")):
                wrong[logged.framework, name] = key
    assert wrong == {}


@pytest.mark.parametrize("path", LISTS, ids=lambda p: p.stem)
def test_names_tell_the_framework(path: Path, catalogue: Catalogue) -> None:
    logged = read(path)
    assert catalogue.recognise(logged.names).framework == logged.framework
    for seed in range(5):
        half = random.Random(seed).sample(logged.names, len(logged.names) // 2)
        assert catalogue.recognise(half).framework == logged.framework, half
    allowed = {logged.framework, "generic", *logged.built_on}
    for seed in range(10):
        few = random.Random(seed).sample(logged.names, max(1, len(logged.names) // 10))
        found = catalogue.recognise(few)
        assert found.framework in allowed, (few, found.reasons)


def test_a_strong_mark_is_written_by_no_other_framework(catalogue: Catalogue) -> None:
    """A name that others write, too, is no proof of one."""
    lists = [read(path) for path in LISTS]
    shared = {
        f"{dialect.id}: {mark.text} is {name} of {other.framework}"
        for dialect in catalogue.dialects.values()
        for other in lists
        if dialect.head.fingerprint and dialect.id not in {other.framework, *other.built_on}
        for mark in dialect.head.fingerprint.strong
        if (name := seen_by(Names(other.names), dialect.prefixes).first(mark)) is not None
    }
    assert shared == set()
