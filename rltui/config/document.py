"""Reads the settings of a config file; every error has its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from rltui.config.hooks import HooksConfig
from rltui.config.records import (
    NOTHING,
    Config,
    MetricOverride,
    RulesConfig,
    ViewConfig,
    WatchConfig,
)
from rltui.config.setting import problem
from rltui.core.yaml_document import Node


def from_document(root: Node) -> Config:
    """The settings of a document. Raises DocumentError."""
    top = root.table()
    config = Config(
        view=_section(top.get("view"), ViewConfig()),
        watch=_section(top.get("watch"), WatchConfig()),
        metrics=_metrics(top.get("metrics")),
        rules=_rules(top.get("rules")),
        dialects=_directories(top.get("dialects"), root.path.parent),
        hooks=_section(top.get("hooks"), HooksConfig()),
        keys=_keys(top.get("keys")),
        keys_node=top.get("keys"),
    )
    top.finish()
    return config


_Section = TypeVar("_Section", ViewConfig, WatchConfig, HooksConfig)


def _section(node: Node | None, defaults: _Section) -> _Section:
    if node is None:
        return defaults
    table = node.table()
    given: dict[str, Any] = {}
    for setting in fields(defaults):
        value = table.get(setting.name)
        if value is not None:
            given[setting.name] = _checked_node(value, setting.default, setting.metadata)
    table.finish()
    return replace(defaults, **given)


def _checked_node(node: Node, default: object, limits: Mapping[str, Any]) -> object:
    value: object
    if isinstance(default, bool):
        value = node.boolean()
    elif isinstance(default, int):
        value = node.integer()
    elif isinstance(default, float):
        value = node.number()
    elif isinstance(default, tuple):
        value = node.texts()
    elif node.value is False and "off" in limits["choices"]:
        value = "off"  # YAML takes the words on and off for true and false
    elif node.value is True and "on" in limits["choices"]:
        value = "on"
    else:
        value = node.choice(limits["choices"]) if limits["choices"] else node.text()
    if wrong := problem(value, limits):
        node.fail(wrong)
    return value


def _metrics(node: Node | None) -> Mapping[str, MetricOverride]:
    if node is None:
        return NOTHING
    return {name: _metric(entry) for name, entry in node.table().pairs()}


def _metric(node: Node) -> MetricOverride:
    table = node.table()
    title, category = table.get("title"), table.get("category")
    low, high = _range(table.get("range"))
    table.finish()
    return MetricOverride(
        low=low,
        high=high,
        title=title.text() if title else None,
        category=category.text() if category else None,
        node=node,
        category_node=category,
    )


def _range(node: Node | None) -> tuple[float | None, float | None]:
    if node is None:
        return None, None
    ends = node.items()
    if len(ends) != 2:
        node.fail("expected [low, high]; null leaves a side open")
    low, high = (None if end.value is None else end.number() for end in ends)
    if low is None and high is None:
        node.fail("a range needs a lower or an upper limit")
    for end in (low, high):
        if end is not None and not math.isfinite(end):
            node.fail("must be finite numbers; null leaves a side open")
    if low is not None and high is not None and low > high:
        node.fail(f"low {low:g} lies above high {high:g}")
    return low, high


def _rules(node: Node | None) -> RulesConfig:
    if node is None:
        return RulesConfig()
    table = node.table()
    mute, override, add = table.get("mute"), table.get("override"), table.get("add")
    table.finish()
    return RulesConfig(
        mute=mute.texts() if mute else (),
        override=_override(override) if override else NOTHING,
        add=tuple(_entry(n) for n in add.items()) if add else (),
        mute_node=mute,
    )


def _override(node: Node) -> Mapping[str, Node]:
    return {rule: _entry(params) for rule, params in node.table().pairs()}


def _entry(node: Node) -> Node:
    node.table()
    return node


def _directories(node: Node | None, base: Path) -> tuple[Path, ...]:
    if node is None:
        return ()
    return tuple(base / Path(text).expanduser() for text in node.texts())


def _keys(node: Node | None) -> Mapping[str, tuple[str, ...]]:
    if node is None:
        return NOTHING
    return {action: keys.texts() for action, keys in node.table().pairs()}
