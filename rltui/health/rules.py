"""Reads rules from YAML and checks every key and value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from rltui.catalogue.model import Category, Scope
from rltui.core.installation import shipped
from rltui.core.level import Level
from rltui.core.yaml_document import Node, Table, nearest, read_document, read_template
from rltui.core.yaml_record import read_record, shipped_record
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
    refuse_counts,
)
from rltui.health.rule import ASKED, Case, Number, Rule, Variant, When
from rltui.health.symptoms import Harm

#: Fields that every template may name, besides the facts of its detector.
STANDARD_FIELDS = (
    "value", "threshold", "watch", "bad", "low", "high", "limit", "now", "first", "before",
    "peak", "after", "rows", "since", "until", "at", "tag", "name", "step", "when", "from", "bound",
    "and_now", "note", "was",
)  # fmt: skip

#: What may follow the colon of a field: as percent, as a whole number.
FORMATS = ("%", "d")

_Find = Callable[[str], "Node | None"]

_LEVELS = {"watch": Level.WATCH, "bad": Level.BAD}


def load_rules(
    extra_files: Iterable[Path] = (),
    mute: Iterable[str] = (),
    overrides: Mapping[str, Node | Mapping[str, object]] | None = None,
    metrics: Iterable[str] = (),
    add: Iterable[Node] = (),
    limits: Callable[[str], Farthest] | None = None,
) -> tuple[Rule, ...]:
    """The shipped rules, then those of ``extra_files``, then the nodes ``add``.

    A later rule of the same id replaces the earlier one.

    ``mute`` names rules (or variants, ``rule.variant``) to leave out. ``overrides`` maps a rule
    or variant to new parameters (see :class:`~rltui.health.parameters.Override`); with document
    nodes as values, errors name the line. ``metrics`` are the metric keys of the catalogue;
    when given, a rule that names another key is rejected. ``limits``: those from healthy runs by
    rule, instead of the shipped ones.
    Raises DocumentError.
    """
    known = frozenset(metrics)
    nodes = {k: _as_node(v) for k, v in (overrides or {}).items()}
    changes = {k: Override(node) for k, node in nodes.items()}
    given = Given(known, changes, limits or healthy().of)
    rules: dict[str, Rule] = {}
    for path in (*sorted(shipped("health", "data", "rules").glob("*.yaml")), *extra_files):
        for rule in read_rules(path, given):
            rules[rule.id] = rule
    for node in add:
        rule = _read_rule(node, given)
        rules[rule.id] = rule
    words = [w for r in rules.values() for w in (r.id, *(v.id for v in r.variants))]
    for name, override in changes.items():
        if name not in words:
            nodes[name].fail(f"unknown rule {name!r}", hint=nearest(name, words))
        override.check()
    return tuple(without(rules.values(), frozenset(mute)))


def _as_node(value: object) -> Node:
    if isinstance(value, Node):
        return value
    where = Path("overrides")
    if isinstance(value, Mapping):
        pairs = {Node(str(k), where, 1, 1): _as_node(v) for k, v in value.items()}
        return Node(pairs, where, 1, 1)
    if isinstance(value, (list, tuple)):
        return Node([_as_node(v) for v in value], where, 1, 1)
    return Node(value, where, 1, 1)


def without(rules: Iterable[Rule], mute: Iterable[str]) -> Iterable[Rule]:
    """The rules without those (or those variants) that ``mute`` names."""
    mute = frozenset(mute)
    for rule in rules:
        kept = tuple(v for v in rule.variants if v.id not in mute)
        if rule.id not in mute and kept:
            yield replace(rule, variants=kept)


class Given(NamedTuple):
    """What rules are read with."""

    metrics: frozenset[str]
    """Metric keys of the catalogue; empty for any."""
    changes: Mapping[str, Override] = MappingProxyType({})
    farthest: Callable[[str], Farthest] = lambda rule: healthy().of(rule)


def read_rules(path: Path, given: Given) -> list[Rule]:
    """The rules of one document. Raises DocumentError."""
    document = read_document(path).table()
    document.get("schema")
    rules: dict[str, Rule] = {}
    for node in document.need("rules").items():
        rule = _read_rule(node, given)
        if rule.id in rules:
            node.fail(f"rule {rule.id!r} stands twice")
        rules[rule.id] = rule
    document.finish()

    return list(rules.values())


def _read_rule(node: Node, given: Given) -> Rule:
    table = node.table()
    refuse_counts(table)
    rule_id = table.need("id").text()
    title = table.need("title").text()
    category = Category(table.need("category").choice(c.value for c in Category))
    meaning = table.read("meaning", Node.text) or ""
    yields = table.read("yields_to", Node.texts) or ()
    seldom = bool(table.read("seldom", Node.boolean))
    harm = table.get("harm")
    kind = Harm(harm.choice(h.value for h in Harm)) if harm else Harm.SIGN
    variants_node = table.get("variants")
    nodes = variants_node.items() if variants_node else [node]
    variants: list[Variant] = []
    for part in nodes:
        own = part.table() if variants_node else table
        refuse_counts(own)
        name = own.need("name").text() if variants_node else ""
        variant_id = f"{rule_id}.{name}" if name else rule_id
        if any(v.id == variant_id for v in variants):
            part.fail(f"variant {variant_id!r} stands twice")
        variants.append(_read_variant(variant_id, title, own, table, given))
        if variants_node:
            own.finish()
    cases = tuple(_read_case(c, variants) for c in table.read("cases", Node.items) or ())
    table.finish()

    return Rule(
        rule_id, title, category, meaning, tuple(variants), cases, node.path, node.line, kind,
        tuple(yields), seldom,
    )  # fmt: skip


def _read_variant(
    variant_id: str, rule_title: str, own: Table, rule: Table, given: Given
) -> Variant:
    def find(key: str) -> Node | None:
        """A value of the variant, else of the rule."""
        inherited = rule.get(key)
        return own.get(key) or inherited

    def need(key: str) -> Node:
        return find(key) or own.need(key)

    def flag(key: str, *, default: bool) -> bool:
        node = find(key)
        return node.boolean() if node else default

    word = need("detector")
    detector = DETECTORS[word.choice(DETECTORS)]
    roles = _read_roles(find("with"), detector, given.metrics)
    rule_id = variant_id.partition(".")[0]
    layers = [given.changes[i] for i in (variant_id, rule_id) if i in given.changes]
    far, computed = given.farthest(rule_id), from_healthy(find("parameters"))
    sources = dict.fromkeys(computed, far.source)
    sources |= _read_sources(rule.get("source"), DETECTORS.values())
    sources |= _read_sources(own.get("source"), [detector])
    return Variant(
        id=variant_id,
        title=own.read("title", Node.text) or rule_title,
        metrics=_metric_keys(need("metrics"), given.metrics),
        roles=roles,
        when=read_when(rule.get("when"), own.get("when") if own is not rule else None),
        detector=detector,
        levels=_read_levels(word, find, detector, layers, far),
        healthy=computed,
        all_metrics=flag("all_metrics", default=False),
        remaining=flag("remaining", default=False),
        badge_ok=flag("badge_ok", default=True),
        words=_read_words(need, find, detector),
        advice=need("advice").text(),
        sources={k: why for k, why in sources.items() if not k or k in detector.parameters},
    )


def _read_levels(
    where: Node, find: _Find, detector: Detector, changes: list[Override], far: Farthest
) -> Mapping[Level, Mapping[str, Number]]:
    out: dict[Level, Mapping[str, Number]] = {}
    for word, level in _LEVELS.items():
        node = find(word)
        changed: dict[str, Number] = {}
        for override in reversed(changes):
            changed |= override.parameters(word, detector)
        if node is None:
            continue
        farthest = far.watch if level is Level.WATCH else far.bad
        shared = read_parameters(find("parameters"), detector, farthest)
        given = shared | read_parameters(node, detector) | changed
        for name, parameter in detector.parameters.items():
            if name not in given and parameter.default is None:
                node.fail(f"detector {detector.name} needs {name!r} for {word}")
        out[level] = given
    if not out:
        where.fail("a rule needs 'watch' or 'bad', or both")

    return out


def _metric_keys(node: Node, known: frozenset[str]) -> tuple[str, ...]:
    keys = [node] if isinstance(node.value, str) else node.items()
    if not keys:
        node.fail("no metric is named")
    for key in keys:
        name = key.text().removeprefix("!")
        if known and "*" not in name and name not in known:
            key.fail(f"unknown metric {name!r}", hint=nearest(name, known))
    return tuple(key.text() for key in keys)


def _read_roles(
    node: Node | None, detector: Detector, known: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    if node is None:
        return {}
    table = node.table()
    out = {}
    for role, keys in table.pairs():
        if role not in detector.roles:
            table.key_node(role).fail(
                f"detector {detector.name} has no role {role!r}", hint=nearest(role, detector.roles)
            )
        out[role] = _metric_keys(keys, known)

    return out


def read_when(*nodes: Node | None) -> When:
    """Conditions of the rule, then of the variant: exclusions add up, others replace.

    What the variant demands beats what the rule excludes: ``scenario: preference`` in a variant of
    a rule that is not for preference training.
    """
    only: dict[str, tuple[str, ...]] = {}
    never: dict[str, tuple[str, ...]] = {}
    unlogged: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    for node in nodes:
        if node is None:
            continue
        table = node.table()
        for word in ASKED:
            if (value := table.get(word)) is not None:
                only[word] = tuple(value.texts())
                never.pop(word, None)
            if (value := table.get(f"not_{word}")) is not None:
                never[word] = (*never.get(word, ()), *value.texts())
        unlogged += tuple(table.read("unlogged", Node.texts) or ())
        unnamed += tuple(table.read("not_named", Node.texts) or ())
        table.finish()
    return When(only, never, unlogged, unnamed)


def _read_words(need: Callable[[str], Node], find: _Find, detector: Detector) -> Words:
    fields = (*STANDARD_FIELDS, *detector.facts, *detector.parameters)
    healthy = need("healthy")
    short = find("healthy_short") or healthy
    nodes = (need("summary"), need("short"), healthy, short)
    return Words(*(read_template(n, fields, FORMATS) for n in nodes))


def _read_sources(node: Node | None, detectors: Iterable[Detector]) -> dict[str, str]:
    if node is None:
        return {}
    if isinstance(node.value, str):
        return {"": node.value}
    table = node.table()
    refuse_counts(table)
    known = {name for detector in detectors for name in detector.parameters}
    for name, _ in table.pairs():
        if name not in known:
            table.key_node(name).fail(f"unknown parameter {name!r}", hint=nearest(name, known))
    return {name: value.text() for name, value in table.pairs()}


def _read_series(node: Node) -> dict[str, str]:
    return {key: str(value.value) for key, value in node.table().pairs()}


def _read_case(node: Node, variants: list[Variant]) -> Case:
    table = node.table()
    series = _read_series(table.need("series"))
    past = table.read("reference", _read_series) or {}
    level = table.need("expect").choice(("ok", "watch", "bad"))
    case = Case(
        name=table.need("name").text(),
        series=series,
        expect={"ok": Level.OK, **_LEVELS}[level],
        since=table.read("since", Node.integer),
        resolved=table.read("resolved", Node.boolean) or False,
        estimator=table.read("estimator", Node.text),
        framework=table.read("framework", Node.text) or "generic",
        scenario=table.read("scenario", Node.text) or "llm-rl",
        scope=table.read("scope", lambda node: read_record(node, Scope)) or Scope(),
        line=node.line,
        reference=past,
    )
    keys = [key.partition("#")[0] for key in series]
    read = [v for v in variants if any(v.reads(k) is not None for k in keys)]
    if not read:
        node.fail("no variant of the rule reads a metric of this case")
    table.finish()

    return case


# -- metrics without a rule: data/unread.yaml ------------------------------------------------


class _Reason(NamedTuple):
    """Why the rules leave some metrics out."""

    reason: str
    metrics: tuple[str, ...] = ()


class _Unread(NamedTuple):
    unread: tuple[_Reason, ...]


def unread_reasons() -> tuple[tuple[str, str], ...]:
    """(metric key or pattern, reason), in the order of the document. Raises DocumentError."""
    entries = shipped_record(_Unread, "health", "data", "unread.yaml").unread
    return tuple((key, entry.reason) for entry in entries for key in entry.metrics)


def why_unread(key: str) -> str | None:
    """Why no rule reads the metric ``key``, or None when nothing is said about it."""
    return next((why for pattern, why in unread_reasons() if fnmatchcase(key, pattern)), None)
