"""The catalogue and the rules as the configuration of the user changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.catalogue import Catalogue, load_catalogue
from rltui.catalogue.model import Category
from rltui.config import Config
from rltui.config.records import MetricOverride
from rltui.core.errors import UsageError
from rltui.core.installation import shipped
from rltui.core.yaml_document import complain_of, nearest
from rltui.health.stalled import StallRule, stall_rule, with_override

if TYPE_CHECKING:
    from rltui.health.rule import Rule


def open_catalogue(config: Config) -> Catalogue:
    """The shipped dialects, then the user's."""
    for override in config.metrics.values():
        category_of(override)
    return load_catalogue(config.dialect_dirs)


def category_of(override: MetricOverride) -> Category | None:
    """The category that the user wants for a metric; None where it stays. Raises UsageError."""
    if override.category is None:
        return None
    words = [c.value for c in Category]
    if override.category in words:
        return Category(override.category)
    message = f"unknown category {override.category!r}; one of {', '.join(words)}"
    if override.category_node is None:
        raise UsageError(message)
    override.category_node.complain(message, hint=nearest(override.category, words))
    return None


def open_rules(config: Config, catalogue: Catalogue) -> tuple[Rule, ...]:
    """The shipped rules with the user's files, additions, overrides and mutes."""
    from rltui.health.rules import load_rules, without  # heavy: all detectors

    custom = config.rules
    silent = open_stall_rule(config).rules
    override = {k: v for k, v in custom.override.items() if k != silent[0].id}
    files = (shipped("health", "data", "own_range.yaml"), *config.rule_files)
    rules = load_rules(files, override, catalogue.metrics, custom.add)
    known = [name for r in rules for name in (r.id, *(v.id for v in r.variants))]
    known += [rule.id for rule in silent]
    for name in custom.mute:
        if name not in known:
            complain_of(f"unknown rule {name!r}", custom.mute_node, name, known)

    return (*without(rules, custom.mute), *(r for r in silent if r.id not in custom.mute))


def open_stall_rule(config: Config) -> StallRule:
    """When a silent run counts as stalled, with the user's limits. Raises DocumentError."""
    return with_override(config.rules.override.get(stall_rule().rule.id))
