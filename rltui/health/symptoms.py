"""Symptoms: what a person sees, what to check first, what usually causes it. Read from YAML."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Annotated, NamedTuple

from rltui.core.text import Names
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, read_record, shipped_record

#: Id of the symptom that findings never show: a hyperparameter that moved before them.
SETTING_CHANGED = "setting_changed"
#: Fact about a symptom before which nothing began.
FIRST = "nothing before"


class Harm(Enum):
    """Meaning of a finding or a symptom for the run, the worst first."""

    FATAL = "fatal"
    """Nothing is learned from then on, whatever the reward says."""
    OUTCOME = "outcome"
    """The run does not get better at what it is trained for, or gets worse."""
    UNMEASURED = "unmeasured"
    """A measure of success is no number: nothing at all, where another one is."""
    HACK = "hack"
    """The rise of the reward is itself in doubt: it excuses nothing."""
    DEFECT = "defect"
    """Parts of the job disagree, or work is thrown away: to be mended while success still rises."""
    HINDRANCE = "hindrance"
    """It hinders learning for as long as something is left to learn."""
    SIGN = "sign"
    """A technical sign: bad only where success suffers with it."""
    EXHAUSTED = "exhausted"
    """A technical sign that is also the consequence of having solved the task."""
    COST = "cost"
    """It costs time, not success."""
    MINOR = "minor"
    """It costs a part of the work."""


class Limits(NamedTuple):
    """The range of a value that holds almost everywhere, in units of the metric."""

    low: float | None = None
    high: float | None = None


class Check(NamedTuple):
    """One thing to check."""

    ask: str
    """The question that the metric answers: "did the schedule change here?"."""
    metrics: Names
    """Metric keys or patterns; the first that the run logs is shown."""
    first: bool
    """Whether it is among those to check first."""
    usual: Limits = Limits()
    constant: str = ""
    """The answer where the metric has had one value all the time; "" where that is none."""


class Sign(NamedTuple):
    """A finding, or an exit, that shows a symptom."""

    rule: str = ""
    metrics: Names = ()
    """Patterns of metric keys; empty for any."""
    not_metrics: Names = ()
    """Patterns of metric keys that do not count."""
    title: str | None = None
    """Title of the finding, where a rule has several; None for any."""
    ending: str = ""
    """Words in the reason of an exit, instead of a rule."""
    gained: Names = ()
    """Metric keys, one of which must be well and above its start; empty for none."""
    zero: str = ""
    """Fact of the detector that must be 0; "" for none."""

    def fits(
        self,
        rule: str,
        metric: str | None,
        title: str,
        gained: Collection[str],
        facts: Mapping[str, object],
    ) -> bool:
        """Whether a finding of this rule and title on this metric is such a sign, with the
        ``facts`` of its evidence, beside metrics that ``gained``."""
        return (
            rule == self.rule
            and self.title in (None, title)
            and (not self.zero or facts.get(self.zero) == 0)
            and (not self.gained or not set(gained).isdisjoint(self.gained))
            and (not self.metrics or _matches(metric, self.metrics))
            and not _matches(metric, self.not_metrics)
        )


def _matches(metric: str | None, patterns: Names) -> bool:
    return any(fnmatchcase(metric or "", p) for p in patterns)


def _checks(*, first: bool) -> Callable[[Node], tuple[Check, ...]]:
    return lambda node: tuple(read_record(n, Check, first=first) for n in node.items())


class Wording(NamedTuple):
    """Words of a symptom for one kind of run."""

    kinds: Annotated[Names, Keyed("for")]
    """Scenarios, algorithms and facts, one of which must be true of the run, or titles of what
    fires."""
    title: Annotated[str, Keyed("symptom")] = ""
    """Its name; "" for that of the symptom."""
    causes: str = ""
    """Usual causes; "" for those of the symptom."""
    advice: str = ""


class Symptom(NamedTuple):
    """One entry of ``data/diagnoses.yaml``; see there for the meaning of each field."""

    id: str
    title: Annotated[str, Keyed("symptom")]
    order: int
    """Position in the order of cause and effect."""
    harm: Harm
    first: Annotated[tuple[Check, ...], Keyed(read=_checks(first=True))]
    causes: str
    advice: str
    source: str
    found: tuple[Sign, ...] = ()
    joined: tuple[Sign, ...] = ()
    together: int = 1
    logged: Names = ()
    explains: Names = ()
    begins: Names = ()
    brings: Names = ()
    correlated: Names = ()
    not_for: Names = ()
    then: Annotated[tuple[Check, ...], Keyed(read=_checks(first=False))] = ()
    at_start: str = ""
    words: tuple[Wording, ...] = ()
    fact: str = ""
    """Fact about a run that has it, for the words of others."""
    unless: Names = ()
    """Metric keys; the fact is none where one of them has risen."""

    def worded(self, kinds: Collection[str]) -> Symptom:
        """The symptom in the words for a run of these kinds."""
        other = next((w for w in self.words if set(w.kinds) & set(kinds)), Wording(()))
        return self._replace(**{k: v for k, v in other._asdict().items() if v and k != "kinds"})

    @property
    def whole_advice(self) -> str:
        """The advice, and the one before there is a row to go back to."""
        return f"{self.advice} At the start: {self.at_start}" if self.at_start else self.advice

    @property
    def checks(self) -> tuple[Check, ...]:
        """All there is to check, in order."""
        return self.first + self.then

    @property
    def ending(self) -> str:
        """Words in the reason of an exit that show it; "" for none."""
        return next((sign.ending for sign in self.found if sign.ending), "")

    def shown_by(
        self,
        rule: str,
        metric: str | None,
        title: str,
        gained: Collection[str] = (),
        facts: Mapping[str, object] = MappingProxyType({}),
    ) -> bool:
        """Whether a finding of this rule and title on this metric shows the symptom, with the
        ``facts`` of its evidence, beside metrics that ``gained``."""
        return any(sign.fits(rule, metric, title, gained, facts) for sign in self.found)

    def is_joined_by(self, rule: str, metric: str | None) -> bool:
        """Whether a finding of this rule on this metric is a part of it, where others show it."""
        return any(sign.fits(rule, metric, sign.title or "", (), {}) for sign in self.joined)

    def is_about(self, keys: Collection[str]) -> bool:
        """Whether it counts in a run that logs these metrics."""
        return not self.logged or any(_matches(key, self.logged) for key in keys)

    def can_explain(self, other: Symptom) -> bool:
        """Whether this symptom can bring about another one, which is behind it in the order."""
        return other.id in self.explains or "*" in self.explains


def _read_all(node: Node) -> Mapping[str, Symptom]:
    found: dict[str, Symptom] = {}
    for order, entry in enumerate(node.items()):
        symptom = read_record(entry, Symptom, order=order)
        if symptom.id in found:
            entry.fail(f"diagnosis {symptom.id!r} is defined twice")
        found[symptom.id] = symptom
    return found


class Knowledge(NamedTuple):
    """``data/diagnoses.yaml``; see there for the meaning of each field."""

    symptoms: Annotated[Mapping[str, Symptom], Keyed("diagnoses", _read_all)]
    """By id, causes before effects."""
    by_design: Names
    repeats: Names
    lacks: Mapping[str, Names]
    restore: str
    too_low: str
    too_high: str


def symptoms() -> Mapping[str, Symptom]:
    """All symptoms by id, causes before effects. Raises DocumentError."""
    return knowledge().symptoms


def symptom_of(rule: str, metric: str | None, title: str) -> Symptom | None:
    """The first symptom that such a finding shows by itself."""
    return next((s for s in symptoms().values() if s.shown_by(rule, metric, title)), None)


def knowledge() -> Knowledge:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(Knowledge, "health", "data", "diagnoses.yaml")


def in_sentence(title: str) -> str:
    """A title that is no words, such as "lr, group 0", is quoted."""
    return title if title.replace(" ", "").isalpha() else f'setting "{title}"'
