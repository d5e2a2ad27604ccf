"""Which variant reads which tags of a run; rebuilt when tags or meanings change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import filter as fitting_names
from typing import NamedTuple

from rltui.catalogue.model import Infos, Recognition, Scope
from rltui.core.text import Names
from rltui.health.rule import Rule, Variant


class Task(NamedTuple):
    """One variant that applies to the run, with the tags it reads."""

    rule: Rule
    variant: Variant
    tags: Names
    """Tags to judge, best first; empty when the run logs none of its metrics."""
    roles: Mapping[str, str]
    """Role of the detector -> tag."""


class _Logged:
    """The tags of a run by metric key, in the order of the log; a tag without a metric counts as
    ``~`` and its name in lower case."""

    def __init__(self, tags: Iterable[str], infos: Infos) -> None:
        self.by_key: dict[str, list[str]] = {}
        for tag in tags:
            info = infos.get(tag)
            if info is not None:
                key = info.key or f"~{tag.lower()}"
                self.by_key.setdefault(key, []).append(tag)
        self._known = [key for key in self.by_key if not key.startswith("~")]

    def matching(self, patterns: Iterable[str]) -> list[str]:
        """The keys that match the patterns, best pattern first; those that match a pattern after
        ``!`` are left out."""
        out: list[str] = []
        for pattern in patterns:
            if pattern in self.by_key:
                out.append(pattern)
            elif pattern.startswith("!"):
                wrong = set(fitting_names(out, pattern[1:]))
                out = [k for k in out if k not in wrong]
            elif "*" in pattern:
                every = pattern[0] in "~*?["
                out.extend(fitting_names(self.by_key if every else self._known, pattern))
        return out


def make_plan(
    rules: Iterable[Rule], tags: Iterable[str], infos: Infos,
    recognition: Recognition, *, compared: bool = False,
) -> tuple[Task, ...]:  # fmt: skip
    """The tasks for a run, in the order of the rules; rules that do not apply are left out.

    ``compared``: whether there is a reference run; detectors that need one are left out else.
    """
    logged = _Logged(tags, infos)
    # a guess neither excuses nor confirms
    certain = _Logged(tags, {t: info for t, info in infos.items() if not info.guessed})
    tasks = []
    for rule in rules:
        read: set[str] = set()
        for variant in rule.variants:
            when = variant.when
            if not when.run_fits(recognition) or logged.matching(when.unlogged):
                continue
            if variant.detector.reference and not compared:
                continue
            roles: dict[str, str] = {}
            for role, patterns in variant.roles.items():
                for key in certain.matching(patterns)[:1]:
                    played = certain.by_key[key]
                    if role.endswith("*"):  # of "part*" each tag plays "part 1" ...
                        roles |= {f"{role[:-1]} {n}": tag for n, tag in enumerate(played, 1)}
                    else:
                        roles[role] = played[0]
            found = _tags_of(variant, logged, infos)
            if variant.remaining:
                found = tuple(t for t in found if t not in read)
            read.update(found)
            tasks.append(Task(rule, variant, found, roles))
    return tuple(tasks)


def out_of_scope(rules: Iterable[Rule], infos: Infos, run: Recognition) -> frozenset[str]:
    """Tags that would be judged if the settings of the run said nothing: as the limits of the rules
    are not for it, no documented range is."""
    unsaid = run._replace(scope=Scope())
    whens = [(v, v.when) for rule in rules if run != unsaid for v in rule.variants]
    unfit = [v for v, when in whens if when.run_fits(unsaid) and not when.run_fits(run)]
    return frozenset(
        tag
        for tag, info in infos.items()
        if info.key and any(v.reads(info.key) is not None for v in unfit)
    )


def _tags_of(variant: Variant, logged: _Logged, infos: Infos) -> Names:
    found: dict[str, None] = {}
    for key in logged.matching(variant.metrics):
        found |= {t: None for t in logged.by_key[key] if variant.when.tag_fits(infos[t])}
        if found and not variant.all_metrics:
            break
    return tuple(found)
