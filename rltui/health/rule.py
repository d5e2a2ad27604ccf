"""The records of a rule, as read from its document. Data only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from rltui.catalogue.model import Category, Recognition, Scope, TagInfo
from rltui.core.level import Level
from rltui.core.record import record
from rltui.core.text import Names
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed
from rltui.health.model import Words
from rltui.health.symptoms import Harm

if TYPE_CHECKING:
    from rltui.health.detectors.registry import Detector

Number = float | int | bool

#: What ``when`` may ask of a run, and of a tag; ``not_`` before it excludes.
OF_RUN = ("scenario", "framework", "algorithm", *Scope._fields)
ASKED = (*OF_RUN, "estimator", "range")

#: Rule that judges by the ranges of the user.
OWN_RANGE = "own_range"


class When(NamedTuple):
    """Conditions under which a variant applies; none means always."""

    only: Mapping[str, Names] = {}
    """Word of :data:`ASKED` -> what it has to be. What is not known is none of these."""
    never: Mapping[str, Names] = {}
    """Word -> what it must not be."""
    unlogged: Names = ()
    """Only when the run logs none of these metrics."""
    not_named: Names = ()
    """Not for a tag with a word in its title that is, or fits, one of these."""

    def run_fits(self, run: Recognition) -> bool:
        """Whether the variant applies to such a run."""
        if not (self.only or self.never):
            return True  # most ask for nothing
        said = (run.scenario.id, run.framework, (run.algorithm or "").lower(), *run.scope)
        of_run = dict(zip(OF_RUN, map(str, said), strict=True))
        asked = {*self.only, *self.never} & of_run.keys()
        return all(self.fits(word, of_run[word]) for word in asked)

    def fits(self, word: str, said: str) -> bool:
        """Whether the variant may apply where a word of :data:`ASKED` is ``said``."""
        return said in self.only.get(word, (said,)) and said not in self.never.get(word, ())

    def tag_fits(self, info: TagInfo) -> bool:
        """Whether the variant applies to such a tag of the run."""
        words = re.split(r"[\W_]+", info.title.lower())
        named = any(fnmatchcase(w, pattern) for pattern in self.not_named for w in words)
        own = self.fits("range", "own" * bool(info.own_range))
        return own and self.fits("estimator", info.estimator or "") and not named


def _series(node: Node) -> Mapping[str, str]:
    return node.table().each(lambda values: str(values.value))


def read_level(node: Node) -> Level:
    """A word for a level that a rule may reach."""
    levels = {level.word: level for level in (Level.OK, Level.WATCH, Level.BAD)}
    return levels[node.choice(levels)]


class Case(NamedTuple):
    """A series in terse notation and what the rule must find at its end."""

    name: str
    series: Annotated[Mapping[str, str], Keyed(read=_series)]
    """Metric key -> ``0.02x50 0.5x10``."""
    expect: Annotated[Level, Keyed(read=read_level)]
    """Worst level that the rule reaches; OK when it must find nothing."""
    line: int
    since: int | None = None
    """First step of the finding, if the case gives it (rows count from 1)."""
    resolved: bool = False
    """Whether the finding must be resolved at the end."""
    estimator: str | None = None
    framework: str = "generic"
    scenario: str = "llm-rl"
    scope: Scope = Scope()
    reference: Annotated[Mapping[str, str], Keyed(read=_series)] = {}
    """Series of the reference run, for detectors that compare with one."""


class Variant(NamedTuple):
    """One way in which a rule judges one kind of input."""

    id: str
    """``rule.variant``, or the id of the rule if it has only one variant."""
    title: str
    metrics: Names
    """Metric keys or patterns, best first: the first one that the run logs is judged. A tag that
    the catalogue does not know counts as ``~`` and its name in lower case; ``!`` before a pattern
    leaves out what it matches."""
    roles: Mapping[str, Names]
    """Role of the detector -> metric keys, best first; the run need not log any."""
    when: When
    detector: Detector
    levels: Mapping[Level, Mapping[str, Number]]
    """WATCH and BAD -> all parameters of the detector for that level."""
    healthy: Names
    """The parameters whose limits come from healthy runs, instead of a source."""
    all_metrics: bool
    """Judge every metric of ``metrics`` rather than only the first that the run logs."""
    remaining: bool
    """Judge only tags that no variant before it in its rule reads."""
    badge_ok: bool
    """Whether a tag without a finding counts as ok; otherwise it stays not judged."""
    words: Words
    advice: str
    sources: Mapping[str, str]
    """Parameter -> why it has its value; key ``""`` for a text about the whole variant."""

    def reads(self, key: str) -> int | None:
        """Position of the first pattern in ``metrics`` that matches this key, or None."""
        if any(p[0] == "!" and fnmatchcase(key, p[1:]) for p in self.metrics):
            return None
        for position, pattern in enumerate(self.metrics):
            is_wild = "*" in pattern or "?" in pattern or "[" in pattern
            if pattern == key or (is_wild and fnmatchcase(key, pattern)):
                return position
        return None


@record
class Rule:
    """A named judgement with its variants."""

    id: str
    title: str
    category: Category
    meaning: str
    variants: tuple[Variant, ...]
    read_cases: Callable[[], tuple[Case, ...]] = field(default=tuple, compare=False)
    """Gives its test cases: few ask for them."""
    path: Path = field(default_factory=Path)
    line: int = 0
    harm: Harm = Harm.SIGN
    yields_to: Names = ()
    """Rules that say the same more exactly: what they found as well is not said twice."""
    seldom: bool = False
    """Few runs log what it reads: where one does not, nothing is missing."""
