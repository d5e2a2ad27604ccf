"""Which variant reads which tags of a run; rebuilt when tags or meanings change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rltui.catalogue.model import Recognition, TagInfo
from rltui.health.rule import Rule, Variant


@dataclass(frozen=True, slots=True)
class Task:
    """One variant that applies to the run, with the tags it reads."""

    rule: Rule
    variant: Variant
    tags: tuple[str, ...]
    """Tags to judge, best first; empty when the run logs none of its metrics."""
    roles: Mapping[str, str]
    """Role of the detector -> tag."""


def make_plan(
    rules: Iterable[Rule], tags: Iterable[str], infos: Mapping[str, TagInfo],
    recognition: Recognition, *, compared: bool = False,
) -> tuple[Task, ...]:  # fmt: skip
    """The tasks for a run, in the order of the rules; rules that do not apply are left out.

    ``compared``: whether there is a reference run; detectors that need one are left out else.
    """
    by_key: dict[str, list[str]] = {}
    certain: dict[str, list[str]] = {}  # a guess neither excuses nor confirms
    for tag in tags:
        info = infos.get(tag)
        if info is not None:
            key = f"~{tag.lower()}" if info.metric is None else info.metric.key
            by_key.setdefault(key, []).append(tag)
            if not info.guessed:
                certain.setdefault(key, []).append(tag)
    tasks = []
    for rule in rules:
        read: set[str] = set()
        for variant in rule.variants:
            when = variant.when
            if not when.run_fits(recognition) or _logged(when.unlogged, by_key):
                continue
            if variant.detector.reference and not compared:
                continue
            roles = {
                role: certain[key][0]
                for role, patterns in variant.roles.items()
                for key in _logged(patterns, certain)[:1]
            }
            found = _tags_of(variant, by_key, infos)
            if variant.remaining:
                found = tuple(t for t in found if t not in read)
            read.update(found)
            tasks.append(Task(rule, variant, found, roles))
    return tuple(tasks)


def _logged(patterns: Iterable[str], by_key: Mapping[str, list[str]]) -> list[str]:
    """The metric keys of the run that match the patterns, best pattern first; those that match a
    pattern after ``!`` are left out."""
    out: list[str] = []
    for pattern in patterns:
        if pattern in by_key:
            out.append(pattern)
        elif pattern.startswith("!"):
            out = [k for k in out if not fnmatchcase(k, pattern[1:])]
        elif "*" in pattern:
            out.extend(k for k in by_key if fnmatchcase(k, pattern))
    return out


def _tags_of(
    variant: Variant, by_key: Mapping[str, list[str]], infos: Mapping[str, TagInfo]
) -> tuple[str, ...]:
    found: list[str] = []
    for key in _logged(variant.metrics, by_key):
        fitting = [t for t in by_key[key] if variant.when.tag_fits(infos[t]) and t not in found]
        found.extend(fitting)
        if fitting and not variant.all_metrics:
            break
    return tuple(found)
