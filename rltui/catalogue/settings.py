"""What the settings of a run say of its updates, by ``data/settings.yaml``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from rltui.catalogue.model import Facts, Range, Recognition
from rltui.core.yaml_record import shipped_record

_SECTIONS = re.compile(r"[./]")


class _Fact(NamedTuple):
    """Which settings decide one fact; see the document."""

    settings: tuple[str, ...]
    source: str
    words: Mapping[str, tuple[str, ...]] = {}
    ranges: Mapping[str, Range] = {}

    def word(self, value: object) -> str:
        """What a setting of this value says; "" for nothing."""
        text = str(value).lower()
        for word, values in self.words.items():
            if text in values:
                return word
        try:
            number = float(text)
        except ValueError:
            return ""
        for word, (low, high) in self.ranges.items():
            if (low or 0.0) <= number < (math.inf if high is None else high):
                return word
        return ""


class _Document(NamedTuple):
    facts: Mapping[str, _Fact]


@cache
def known_facts() -> Mapping[str, _Fact]:
    """What decides each fact, by its name. Raises DocumentError."""
    return shipped_record(_Document, "catalogue", "data", "settings.yaml").facts


def facts_of(settings: Mapping[str, object], known: Recognition) -> Facts:
    """What is known of a run with these settings. Raises DocumentError."""
    by_name: dict[str, list[tuple[str, object]]] = {}
    for name, value in (*settings.items(), ("algorithm", known.algorithm)):
        *sections, last = _SECTIONS.split(name)
        if "critic" not in sections:
            path = ".".join(("", known.framework, *sections, last))
            by_name.setdefault(last, []).append((path, value))

    def words(fact: _Fact) -> Iterator[str]:
        for setting in fact.settings:
            for path, value in by_name.get(setting.rpartition(".")[2], ()):
                if path.endswith(f".{setting}"):
                    yield fact.word(value)

    return Facts(*(next(filter(None, words(known_facts()[name])), "") for name in Facts._fields))
