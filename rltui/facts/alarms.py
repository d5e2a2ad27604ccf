"""Which failures a run could show, and for want of which names it is blind to the others."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from rltui.catalogue.catalogue import GENERIC
from rltui.catalogue.model import Recognition, TagInfo
from rltui.health.canary import Failure, failures
from rltui.health.rule import Rule
from rltui.session import JudgedRun

_Made = tuple[dict[str, TagInfo], int, Recognition, tuple[Rule, ...], tuple[Failure, ...]]
#: Run -> what its failures were made of, and these; and those that were made last: runs of a sweep
#: have the same names.
_KEPT: WeakKeyDictionary[JudgedRun, _Made] = WeakKeyDictionary()
_LAST: list[_Made] = []
#: Most names of a metric that are told.
_NAMES = 2


def alarms(run: JudgedRun) -> tuple[Failure, ...]:
    """The failures that a run can have, the worst first, by its names alone: made anew when these
    change. Empty before its first verdict."""
    infos = run.infos
    known = run.recognition
    if known is None or not run.rules:
        return ()
    kept = _KEPT.get(run)
    if kept is None or kept[0] is not infos or kept[1:3] != (len(infos), known):
        made_of = infos, len(infos), known, run.rules
        same = next((made for made in _LAST if made[:4] == made_of), None)
        found = failures(run.rules, infos, known) if same is None else same[4]
        kept = _KEPT[run] = *made_of, found
        _LAST[:] = [kept]
    return kept[4]


def names_of(run: JudgedRun, key: str, framework: str = "") -> tuple[str, ...]:
    """Names that the framework of a run, or another one, gives a metric; empty where it has none,
    or only templates that stand for many."""
    patterns = _patterns_of(run, key, framework)
    return tuple(p for p in patterns if not {*"*?[{"} & {*p})[:_NAMES]


def _patterns_of(run: JudgedRun, key: str, framework: str = "") -> tuple[str, ...]:
    known = run.recognition
    framework = framework or (known.framework if known else GENERIC)
    if known is None or (framework == known.framework == GENERIC):
        return ()
    resolver = run.catalogue.resolver(framework, known.algorithm, known.scenario.id)
    return tuple(dict.fromkeys(pattern for pattern, _ in resolver.entries_of(key)))


def wanted(run: JudgedRun, failure: Failure) -> tuple[str, ...]:
    """The metrics any of which would show a failure that a run is blind to: those first that its
    framework has a name for."""
    return tuple(sorted(failure.lacking, key=lambda key: not _patterns_of(run, key)))


def blind_words(run: JudgedRun) -> str:
    """ "metrics missing to detect 3 of 17 failures"; "" for none."""
    every = alarms(run)
    blind = sum(bool(f.lacking) for f in every)
    return f"metrics missing to detect {blind} of {len(every)} failures" if blind else ""
