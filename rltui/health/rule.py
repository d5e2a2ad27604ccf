"""The records of a rule, as read from its document. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rltui.catalogue.model import Category, Recognition, TagInfo
from rltui.core.level import Level
from rltui.health.model import Words

if TYPE_CHECKING:
    from rltui.health.detectors.registry import Detector

Number = float | int | bool


class Harm(Enum):
    """What a finding of a rule means for the run."""

    FATAL = "fatal"
    """Nothing is learned from then on, whatever the reward says."""
    OUTCOME = "outcome"
    """It says itself that success suffers."""
    SIGN = "sign"
    """A technical sign: bad only where success suffers with it."""
    EXHAUSTED = "exhausted"
    """A technical sign that is also the consequence of having solved the task."""
    COST = "cost"
    """It costs time, not success."""


class When(NamedTuple):
    """Conditions under which a variant applies; empty means always.

    Those with ``not_`` exclude. ``unlogged``: only when the run logs none of these metrics.
    """

    frameworks: tuple[str, ...] = ()
    not_frameworks: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    not_scenarios: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    not_algorithms: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    not_estimators: tuple[str, ...] = ()
    unlogged: tuple[str, ...] = ()

    def run_fits(self, recognition: Recognition) -> bool:
        """Whether the variant applies to such a run."""
        algorithm = (recognition.algorithm or "").lower()
        return (
            self.framework_fits(recognition.framework)
            and _within(recognition.scenario.id, self.scenarios, self.not_scenarios)
            and _within(algorithm, self.algorithms, self.not_algorithms)
        )

    def framework_fits(self, framework: str) -> bool:
        """Whether the variant may apply to runs of a framework."""
        return _within(framework, self.frameworks, self.not_frameworks)

    def tag_fits(self, info: TagInfo) -> bool:
        """Whether the variant may judge such a tag."""
        return _within(info.estimator or "", self.estimators, self.not_estimators)


def _within(word: str, wanted: tuple[str, ...], unwanted: tuple[str, ...]) -> bool:
    return (not wanted or word in wanted) and word not in unwanted


@dataclass(frozen=True, slots=True)
class Case:
    """A series in terse notation and what the rule must find at its end."""

    name: str
    series: Mapping[str, str]
    """Metric key -> ``0.02x50 0.5x10``."""
    expect: Level
    """Worst level that the rule reaches; OK when it must find nothing."""
    since: int | None
    """First step of the finding, if the case gives it (rows count from 1)."""
    resolved: bool
    """Whether the finding must be resolved at the end."""
    estimator: str | None
    framework: str
    scenario: str
    line: int
    reference: Mapping[str, str] = field(default_factory=dict)
    """The same of the reference run, for detectors that compare with one."""


class Variant(NamedTuple):
    """One way in which a rule judges one kind of input."""

    id: str
    """``rule.variant``, or the id of the rule if it has only one variant."""
    title: str
    metrics: tuple[str, ...]
    """Metric keys or patterns, best first: the first one that the run logs is judged. A tag that
    the catalogue does not know counts as ``~`` and its name in lower case; ``!`` before a pattern
    leaves out what it matches."""
    roles: Mapping[str, tuple[str, ...]]
    """Role of the detector -> metric keys, best first; the run need not log any."""
    when: When
    detector: Detector
    levels: Mapping[Level, Mapping[str, Number]]
    """WATCH and BAD -> all parameters of the detector for that level."""
    healthy: tuple[str, ...]
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
            if pattern == key or fnmatchcase(key, pattern):
                return position
        return None


@dataclass(frozen=True, slots=True)
class Rule:
    """A named judgement with its variants."""

    id: str
    title: str
    category: Category
    meaning: str
    variants: tuple[Variant, ...]
    cases: tuple[Case, ...] = ()
    path: Path = field(default_factory=Path)
    line: int = 0
    harm: Harm = Harm.SIGN
    yields_to: tuple[str, ...] = ()
    """Rules that say the same more exactly: what they found as well is not said twice."""
