"""Every name of the documents resolves to the right metric, with unit, direction and range."""

from __future__ import annotations

import pytest

from rltui.catalogue import Catalogue
from tests.catalogue.seeds import NAMES
from tests.test_documentation import load_script

range_words = load_script("generate_docs").range_words

COUNTS = {
    "RL Metrics": 29,
    "Training Metrics Glossary": 81,
    "Training Metrics and Telemetry": 27,
    "WandB Metrics Reference for TinyZero": 87,
    "TRL docs, Logging": 37,
}

#: Ranges that a document gives in absolute numbers.
RANGES = {
    ("RL Metrics", "ppo/policy/clipfrac"): "≤ 0.2",
    ("RL Metrics", "ppo/policy/approxkl"): "≤ 0.05",
    ("RL Metrics", "ppo/val/var_explained"): "≥ 0.8",
    ("Training Metrics Glossary", "perf/mfu/actor"): "≥ 0.3",
    ("Training Metrics Glossary", "rewards/accuracy"): "≤ 0.99",
    ("TRL docs, Logging", "val/ratio"): "0.1 to 2",
}


@pytest.mark.parametrize("row", NAMES, ids=lambda r: f"{r[1]}:{r[2]}")
def test_name(row: tuple[str, ...], catalogue: Catalogue) -> None:
    _, framework, tag, key, category, unit, direction, healthy = row
    info = catalogue.resolver(framework).resolve(tag)
    assert info.metric is not None
    assert info.metric.key == key
    assert info.category.value == category
    assert info.unit == unit
    assert info.direction.value == direction
    assert range_words(info.healthy) == healthy
    assert len(info.meaning) > 10
    assert info.where
    assert info.source


def test_all_documents_are_covered() -> None:
    found = {name: len({r[2] for r in NAMES if r[0] == name}) for name in COUNTS}
    assert all(found[name] >= least for name, least in COUNTS.items()), found


@pytest.mark.parametrize(
    ("name", "words"), RANGES.items(), ids=lambda v: v if isinstance(v, str) else v[1]
)
def test_documented_range(name: tuple[str, str], words: str) -> None:
    document, tag = name
    assert [r[7] for r in NAMES if r[0] == document and r[2] == tag] == [words]


@pytest.mark.parametrize("row", NAMES, ids=lambda r: f"{r[1]}:{r[2]}")
def test_generic_never_misplaces_common_names(row: tuple[str, ...], catalogue: Catalogue) -> None:
    """In an unknown framework the names of the glossaries keep their category where known."""
    info = catalogue.resolver("generic").resolve(row[2])
    if info.metric is not None and row[1] == "verl":
        assert info.category.value == row[4]
