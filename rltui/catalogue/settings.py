"""Settings of a run and what they say of its updates, by ``data/settings.yaml``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from rltui.catalogue.model import Range, Recognition, Scope
from rltui.core.text import Names
from rltui.core.yaml_record import shipped_record

_SECTIONS = re.compile(r"[./]")


class _Fact(NamedTuple):
    """Which settings decide one fact; see the document."""

    settings: Names
    source: str
    words: Mapping[str, Names] = {}
    ranges: Mapping[str, Range] = {}

    def word(self, value: object) -> str:
        """Word for a setting of this value; "" for none."""
        text = str(value).lower()
        for word, values in self.words.items():
            if text in values:
                return word
        with suppress(ValueError):
            number = float(text)
            for word, (low, high) in self.ranges.items():
                if (low or 0.0) <= number < (math.inf if high is None else high):
                    return word
        return ""


class GpuCount(NamedTuple):
    """GPUs of a run."""

    trainer: int
    sampler: int
    """GPUs that only sample; 0 where the trainer's do."""


class _Gpus(NamedTuple):
    trainer: Names
    source: str
    sampler: Names = ()
    shared: Names = ()


class _Document(NamedTuple):
    scope: Mapping[str, _Fact]
    gpus: tuple[_Gpus, ...]


def _document() -> _Document:
    return shipped_record(_Document, "catalogue", "data", "settings.yaml")


def known_scope() -> Mapping[str, _Fact]:
    """Settings that decide each fact, by its name. Raises DocumentError."""
    return _document().scope


def scope_of(settings: Mapping[str, object], known: Recognition) -> Scope:
    """Derive the scope of a run with these settings. Raises DocumentError."""
    by_name: dict[str, list[tuple[str, object]]] = {}
    for name, value in (*settings.items(), ("algorithm", known.algorithm)):
        parts = _SECTIONS.split(name)
        if "critic" not in parts:
            path = ".".join(("", known.framework, *parts))
            by_name.setdefault(parts[-1], []).append((path, value))

    def words(fact: _Fact) -> Iterator[str]:
        for setting in fact.settings:
            for path, value in by_name.get(_SECTIONS.split(setting)[-1], ()):
                if path.endswith(f".{setting}"):
                    yield fact.word(value)

    return Scope(*(next(filter(None, words(known_scope()[name])), "") for name in Scope._fields))


def gpus_of(settings: Mapping[str, object]) -> GpuCount | None:
    """How many GPUs a run with these settings has; None where they do not say. Raises
    DocumentError."""
    paths = {f".{'.'.join(_SECTIONS.split(name))}": str(value) for name, value in settings.items()}

    def known(names: Names) -> list[str]:
        found = (next((v for p, v in paths.items() if p.endswith(f".{n}")), "") for n in names)
        return list(filter(None, found))

    for line in _document().gpus:
        trainer = known(line.trainer)
        sampler = known(line.sampler)
        if len(trainer) < len(line.trainer) or len(sampler) < len(line.sampler):
            continue
        is_shared = not sampler or any(x.lower() in ("true", "1") for x in known(line.shared))
        with suppress(ValueError):
            counts = math.prod(map(int, trainer)), 0 if is_shared else math.prod(map(int, sampler))
            return GpuCount(*counts) if counts[0] > 0 <= counts[1] else None
    return None
