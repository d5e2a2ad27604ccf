"""Reads rules from YAML and checks every key and value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from rltui.catalogue.model import Category
from rltui.core.installation import shipped
from rltui.core.level import Level
from rltui.core.template import read_template
from rltui.core.text import Names
from rltui.core.yaml_document import Node, Table, nearest, read_document, read_each
from rltui.core.yaml_record import read_record, record_of, shipped_record
from rltui.health.columns import MADE_OF
from rltui.health.detectors import (  # noqa: F401
    levels,
    pairs,
    parts,
    progress,
    stillness,
)
from rltui.health.detectors.registry import DETECTORS, Detector
from rltui.health.model import Words
from rltui.health.parameters import (
    Farthest,
    Override,
    from_healthy,
    healthy,
    read_parameters,
)
from rltui.health.rule import ASKED, Case, Number, Rule, Variant, When
from rltui.health.symptoms import Harm

#: Fields that every template may name, besides the facts of its detector.
STANDARD_FIELDS = (
    "value", "threshold", "watch", "bad", "low", "high", "limit", "now", "first", "before",
    "peak", "after", "rows", "since", "until", "at", "tag", "name", "step", "when", "from", "bound",
    "and_now", "note", "was",
)  # fmt: skip

#: What may follow the colon of a field: as percent, as a whole number, the "s" of a plural.
FORMATS = ("%", "d", "s")


def load_rules(
    extra_files: Iterable[Path] = (),
    overrides: Mapping[str, Node] | None = None,
    metrics: Iterable[str] = (),
    add: Iterable[Node] = (),
    limits: Callable[[str], Farthest] | None = None,
) -> tuple[Rule, ...]:
    """The shipped rules, then those of ``extra_files``, then the nodes ``add``.

    A later rule of the same id replaces the earlier one.

    ``overrides`` maps a rule or variant (``rule.variant``) to new parameters (see
    :class:`~rltui.health.parameters.Override`). ``metrics`` are the metric keys of the catalogue;
    when given, a rule that names another key is rejected.
    ``limits``: those from healthy runs by rule, instead of the shipped ones.
    Raises DocumentError.
    """
    known = frozenset(metrics)
    nodes = overrides or {}
    changes = read_each(nodes.items(), lambda _, node: Override(node))
    given = Given(known, changes, limits or healthy().of)
    rules: dict[str, Rule] = {}
    for path in (*sorted(shipped("health", "data", "rules").glob("*.yaml")), *extra_files):
        for rule in read_rules(path, given):
            rules[rule.id] = rule
    added = read_each(enumerate(add), lambda _, node: _read_rule(node, given))
    rules.update((rule.id, rule) for rule in added.values())
    words = [w for r in rules.values() for w in (r.id, *(v.id for v in r.variants))]
    for name, override in changes.items():
        if name not in words:
            nodes[name].complain(f"unknown rule {name!r}", hint=nearest(name, words))
        else:
            override.check()
    return tuple(rules.values())


def without(rules: Iterable[Rule], mute: Iterable[str]) -> Iterable[Rule]:
    """The rules without those (or those variants) that ``mute`` names."""
    mute = frozenset(mute)
    for rule in rules:
        kept = tuple(v for v in rule.variants if v.id not in mute)
        if rule.id not in mute and kept:
            yield replace(rule, variants=kept)


class Given(NamedTuple):
    """Context in which rules are read."""

    metrics: frozenset[str]
    """Metric keys of the catalogue; empty for any."""
    changes: Mapping[str, Override] = MappingProxyType({})
    farthest: Callable[[str], Farthest] = lambda rule: healthy().of(rule)


def read_rules(path: Path, given: Given) -> list[Rule]:
    """The rules of one document. Raises DocumentError."""
    document = read_document(path).table()
    document.named(("schema", "rules"))
    rules: dict[str, Rule] = {}

    def read(node: Node) -> None:
        rule = _read_rule(node, given)
        if rule.id in rules:
            node.complain(f"rule {rule.id!r} is defined twice")
        rules[rule.id] = rule

    document.need("rules").each(read)
    return list(rules.values())


class _Head(NamedTuple):
    """Keys of a rule that its variants do not share."""

    id: str
    title: str
    category: Category
    meaning: str = ""
    yields_to: Names = ()
    seldom: bool = False
    harm: Harm = Harm.SIGN


def _read_rule(node: Node, given: Given) -> Rule:
    table = node.table()
    table.named((*_Head._fields, *_OF_VARIANTS, "variants", "cases"))
    head = record_of(table, _Head)
    variants: dict[str, Variant] = {}

    def read_variant(node: Node) -> None:
        own = node.table()
        own.named(("name", "title", *_OF_VARIANTS))
        variant_id = f"{head.id}.{own.need('name').text()}"
        if variant_id in variants:
            node.complain(f"variant {variant_id!r} is defined twice")
        variants[variant_id] = _read_variant(variant_id, head.title, own, table, given)

    nodes = table.read("variants", Node.items, ())
    if nodes:
        read_each(enumerate(nodes), lambda _, part: read_variant(part))
    else:
        variants[head.id] = _read_variant(head.id, head.title, table, None, given)
    found = tuple(variants.values())
    # which metrics are read is not known where a variant is wrong
    known = found if len(found) >= len(nodes) else None

    def cases() -> tuple[Case, ...]:
        read = table.read("cases", lambda nodes: nodes.each(lambda case: _read_case(case, known)))
        return tuple(read or ())

    if not node.is_kept:
        cases()

    return Rule(
        *(head.id, head.title, head.category, head.meaning, found, cases),
        *(node.path, node.line, head.harm, head.yields_to, head.seldom),
    )


#: Keys without which a variant means nothing, and all that it may share with others of its rule.
_NEEDED = ("detector", "metrics", "summary", "short", "healthy", "advice")
_OF_VARIANTS = (
    *(*_NEEDED, "healthy_short", "with", "when", "parameters", "watch", "bad", "source"),
    *("all_metrics", "remaining", "badge_ok"),
)


class _Flags(NamedTuple):
    """Keys of a variant that are said as they are."""

    advice: str
    all_metrics: bool = False
    remaining: bool = False
    badge_ok: bool = True


def _read_variant(
    variant_id: str, title: str, own: Table, rule: Table | None, given: Given
) -> Variant:
    """A variant; ``rule`` has what it shares with others, None where it is the only one."""
    table = own if rule is None else own.over(rule)
    read_each(((key, own.node) for key in _NEEDED), lambda key, _: table.need(key))
    word = table.need("detector")
    detector = DETECTORS[word.choice(DETECTORS)]
    rule_id = variant_id.partition(".")[0]
    layers = [given.changes[i] for i in (variant_id, rule_id) if i in given.changes]
    far = given.farthest(rule_id)
    parameters = table.get("parameters")
    computed = from_healthy(parameters)
    sources = dict.fromkeys(computed, far.source)
    if rule is not None:
        sources |= _read_sources(rule.get("source"), DETECTORS.values())
    sources |= _read_sources(own.get("source"), [detector] if rule else DETECTORS.values())
    asked = [part.get("when") for part in (rule, own) if part is not None]
    needed = f"detector {detector.name} has no role"
    roles = *detector.roles, *MADE_OF
    given_roles = table.read("with", lambda node: node.table().named(roles, needed), {}).items()
    fields = (*STANDARD_FIELDS, *detector.facts, *detector.parameters)
    words = [table.need(key) for key in ("summary", "short", "healthy")]
    words.append(table.get("healthy_short") or words[-1])
    return Variant(
        id=variant_id,
        title=own.read("title", Node.text) or title,
        metrics=_metric_keys(table.need("metrics"), given.metrics),
        roles=read_each(given_roles, lambda _, keys: _metric_keys(keys, given.metrics)),
        when=read_when(*asked),
        detector=detector,
        levels=_read_levels(word, table, detector, layers, far),
        healthy=computed,
        words=Words(*(read_template(part, fields, FORMATS) for part in words)),
        sources={k: why for k, why in sources.items() if not k or k in detector.parameters},
        **record_of(table, _Flags)._asdict(),
    )


def _read_levels(
    where: Node, table: Table, detector: Detector, changes: list[Override], far: Farthest
) -> Mapping[Level, Mapping[str, Number]]:
    out: dict[Level, Mapping[str, Number]] = {}
    watch: Mapping[str, Number] = {}
    for level in (Level.WATCH, Level.BAD):
        node = table.get(level.word)
        changed: dict[str, Number] = {}
        for override in reversed(changes):
            changed |= override.parameters(level.word, detector)
        if node is None:
            continue
        farthest = far.watch if level is Level.WATCH else far.bad
        shared = read_parameters(table.get("parameters"), detector, farthest, {})
        own = read_parameters(node, detector, None, watch)
        watch = watch or own
        given = shared | own | changed
        for name, parameter in detector.parameters.items():
            if name not in given and parameter.default is None:
                node.complain(f"detector {detector.name} needs {name!r} for {level.word}")
        out[level] = given
    if not out:
        where.complain("a rule needs 'watch' or 'bad', or both")

    return out


def _metric_keys(node: Node, known: frozenset[str]) -> Names:
    keys = [node] if isinstance(node.value, str) else node.items()
    if not keys:
        node.fail("no metric is named")

    def read(_: object, key: Node) -> str:
        name = key.text().removeprefix("!")
        if known and "*" not in name and name not in known:
            key.fail(f"unknown metric {name!r}", hint=nearest(name, known))
        return key.text()

    return tuple(read_each(enumerate(keys), read).values())


def read_when(*nodes: Node | None) -> When:
    """Conditions of the rule, then of the variant: exclusions add up, others replace.

    What the variant demands beats what the rule excludes: ``scenario: preference`` in a variant of
    a rule that is not for preference training.
    """
    only: dict[str, Names] = {}
    never: dict[str, Names] = {}
    unlogged: Names = ()
    unnamed: Names = ()
    for node in filter(None, nodes):
        table = node.table()
        for word in ASKED:
            if (demanded := table.read(word, Node.texts)) is not None:
                only[word] = demanded
                never.pop(word, None)
            if excluded := table.read(f"not_{word}", Node.texts):
                never[word] = (*never.get(word, ()), *excluded)
        unlogged += table.read("unlogged", Node.texts, ())
        unnamed += table.read("not_named", Node.texts, ())
        table.finish()
    return When(only, never, unlogged, unnamed)


def _read_sources(node: Node | None, detectors: Iterable[Detector]) -> dict[str, str]:
    if node is None:
        return {}
    if isinstance(node.value, str):
        return {"": node.value}
    table = node.table()
    known = {name for detector in detectors for name in detector.parameters}
    return read_each(table.named(known, "unknown parameter").items(), lambda _, why: why.text())


def _read_case(node: Node, variants: tuple[Variant, ...] | None) -> Case:
    case = read_record(node, Case, line=node.line)
    keys = [key.partition("#")[0] for key in case.series]
    read = (v.reads(k) is not None for v in variants or () for k in keys)
    if variants is not None and not any(read):
        node.complain("no variant of the rule reads a metric of this case")
    return case


# -- metrics without a rule: data/unread.yaml ------------------------------------------------


class _Reason(NamedTuple):
    """Why the rules leave some metrics out."""

    reason: str
    metrics: Names = ()


class _Unread(NamedTuple):
    unread: tuple[_Reason, ...]


def unread_reasons() -> tuple[tuple[str, str], ...]:
    """(metric key or pattern, reason), in the order of the document. Raises DocumentError."""
    entries = shipped_record(_Unread, "health", "data", "unread.yaml").unread
    return tuple((key, entry.reason) for entry in entries for key in entry.metrics)


def why_unread(key: str) -> str | None:
    """Why no rule reads the metric ``key``, or None when nothing is said about it."""
    return next((why for pattern, why in unread_reasons() if fnmatchcase(key, pattern)), None)
