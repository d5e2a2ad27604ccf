"""Symptoms: what a person sees, what to check first, what usually causes it. Read from YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from rltui.core.yaml_document import Node, Table, shipped_table

#: Id of the symptom that findings never show: a hyperparameter that moved before them.
SETTING_CHANGED = "setting_changed"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to check."""

    ask: str
    """The question that the metric answers: "did the schedule change here?"."""
    metrics: tuple[str, ...]
    """Metric keys or patterns; the first that the run logs is shown."""
    first: bool
    """Whether it is among those to check first."""
    low: float | None = None
    high: float | None = None
    """Limits of the value that hold almost everywhere, in units of the metric."""
    constant: str = ""
    """The answer where the metric has had one value all the time; "" where that is none."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A finding that shows a symptom."""

    rule: str
    metrics: tuple[str, ...] = ()
    """Patterns of metric keys; empty for any."""
    excluded: tuple[str, ...] = ()
    """Patterns of metric keys that do not count."""
    title: str | None = None
    """Title of the finding, where a rule has several; None for any."""

    def fits(self, rule: str, metric: str | None, title: str) -> bool:
        """Whether a finding of this rule and title on this metric is such a sign."""
        if rule != self.rule or self.title not in (None, title) or _matches(metric, self.excluded):
            return False
        return not self.metrics or _matches(metric, self.metrics)


def _matches(metric: str | None, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(metric or "", p) for p in patterns)


@dataclass(frozen=True, slots=True)
class Symptom:
    """One entry of ``data/diagnoses.yaml``; see there for the meaning of each field."""

    id: str
    title: str
    order: int
    """Position in the order of cause and effect."""
    found: tuple[Sign, ...]
    ending: str
    """Words in the reason of an exit that show it; "" for none."""
    together: int
    logged: tuple[str, ...]
    explains: tuple[str, ...]
    begins: tuple[str, ...]
    checks: tuple[Check, ...]
    causes: str
    advice: str
    source: str

    def shown_by(self, rule: str, metric: str | None, title: str) -> bool:
        """Whether a finding of this rule and title on this metric shows the symptom."""
        return any(sign.fits(rule, metric, title) for sign in self.found)

    def can_explain(self, other: Symptom) -> bool:
        """Whether this symptom can bring the other one about."""
        if self.order >= other.order:
            return False
        return other.id in self.explains or "*" in self.explains


@dataclass(frozen=True, slots=True)
class Knowledge:
    """``data/diagnoses.yaml``; see there for the meaning of each field."""

    symptoms: Mapping[str, Symptom]
    """By id, causes before effects."""
    by_design: tuple[str, ...]
    repeats: tuple[str, ...]
    too_low: str
    too_high: str


def symptoms() -> Mapping[str, Symptom]:
    """All symptoms by id, causes before effects. Raises DocumentError."""
    return knowledge().symptoms


@cache
def knowledge() -> Knowledge:
    """Reads the shipped document once. Raises DocumentError."""
    document = shipped_table("health", "data", "diagnoses.yaml")
    found: dict[str, Symptom] = {}
    for node in document.need("diagnoses").items():
        symptom = _read(node, len(found))
        if symptom.id in found:
            node.fail(f"diagnosis {symptom.id!r} stands twice")
        found[symptom.id] = symptom
    by_design, repeats = (document.need(key).texts() for key in ("by_design", "repeats"))
    too_low, too_high = (document.need(key).text() for key in ("too_low", "too_high"))
    document.finish()

    return Knowledge(found, by_design, repeats, too_low, too_high)


def _read(node: Node, order: int) -> Symptom:
    table = node.table()
    signs, ending = _read_found(table)
    symptom = Symptom(
        id=table.need("id").text(),
        title=table.need("symptom").text(),
        order=order,
        found=signs,
        ending=ending,
        together=table.read("together", Node.integer) or 1,
        logged=table.read("logged", Node.texts) or (),
        explains=table.read("explains", Node.texts) or (),
        begins=table.read("begins", Node.texts) or (),
        checks=(
            *(_read_check(n, first=True) for n in table.need("first").items()),
            *(_read_check(n, first=False) for n in table.read("then", Node.items) or ()),
        ),
        causes=table.need("causes").text(),
        advice=table.need("advice").text(),
        source=table.need("source").text(),
    )
    table.finish()

    return symptom


def _read_found(table: Table) -> tuple[tuple[Sign, ...], str]:
    signs: list[Sign] = []
    ending = ""
    for node in table.read("found", Node.items) or ():
        entry = node.table()
        if (words := entry.read("ending", Node.text)) is not None:
            ending = words
        else:
            metrics = entry.read("metrics", Node.texts) or ()
            excluded = entry.read("not_metrics", Node.texts) or ()
            title = entry.read("title", Node.text)
            signs.append(Sign(entry.need("rule").text(), metrics, excluded, title))
        entry.finish()
    return tuple(signs), ending


def _read_check(node: Node, *, first: bool) -> Check:
    table = node.table()
    ask, metrics = table.need("ask").text(), table.need("metrics").texts()
    low = high = None
    usual = table.get("usual")
    if usual is not None:
        limits = usual.table()
        low, high = limits.read("low", Node.number), limits.read("high", Node.number)
        limits.finish()
    constant = table.read("constant", Node.text) or ""
    table.finish()
    return Check(ask, metrics, first, low, high, constant)
