"""Catalogue and rules as the user's configuration wants them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from rltui.catalogue import Catalogue, Category, Range, TagInfo, load_catalogue
from rltui.config import Config, MetricOverride
from rltui.core.errors import UsageError
from rltui.core.yaml_document import nearest
from rltui.health.stalled import StallRule, stall_rule, with_override

if TYPE_CHECKING:
    from rltui.health.rule import Rule


def open_catalogue(config: Config) -> Catalogue:
    """The shipped dialects, then the user's."""
    for override in config.metrics.values():
        _category(override)
    return load_catalogue(config.dialect_dirs)


def open_rules(config: Config, catalogue: Catalogue) -> tuple[Rule, ...]:
    """The shipped rules with the user's files, additions, overrides and mutes."""
    from rltui.health.rules import load_rules, without

    silent = open_stall_rule(config).rules
    override = {k: v for k, v in config.rules.override.items() if k != silent[0].id}
    rules = load_rules(config.rule_files, (), override, catalogue.metrics, config.rules.add)
    known = [name for r in rules for name in (r.id, *(v.id for v in r.variants))]
    known += [rule.id for rule in silent]
    for name in config.rules.mute:
        if name not in known:
            _unknown_rule(config, name, nearest(name, known))
    loud = (rule for rule in silent if rule.id not in config.rules.mute)
    return (*without(rules, config.rules.mute), *loud)


def open_stall_rule(config: Config) -> StallRule:
    """When a silent run counts as stalled, with the user's limits. Raises DocumentError."""
    return with_override(config.rules.override.get(stall_rule().rule.id))


def _unknown_rule(config: Config, name: str, hint: str | None) -> NoReturn:
    message = f"unknown rule {name!r}"
    if config.rules.mute_node is not None:
        for node in config.rules.mute_node.items():
            if node.value == name:
                node.fail(message, hint=hint)
    raise UsageError(message, hint=hint)


def overridden(info: TagInfo, config: Config) -> TagInfo:
    """``info`` with what the user says of the tag, or else of its metric."""
    override = config.metrics.get(info.tag)
    if override is None and info.metric is not None:
        override = config.metrics.get(info.metric.key)
    if override is None:
        return info
    category = _category(override)
    ranged = override.low is not None or override.high is not None
    return replace(
        info,
        title=override.title or info.title,
        category=category or info.category,
        healthy=Range(override.low, override.high) if ranged else info.healthy,
    )


def _category(override: MetricOverride) -> Category | None:
    if override.category is None:
        return None
    words = [c.value for c in Category]
    if override.category in words:
        return Category(override.category)
    message = f"unknown category {override.category!r}; one of {', '.join(words)}"
    if override.category_node is not None:
        override.category_node.fail(message, hint=nearest(override.category, words))
    raise UsageError(message)
