"""Every name of the documents resolves to the right metric, with unit, direction and range."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rltui.catalogue import Catalogue
from tests.test_documentation import load_script

#: Every tag that the five documents name, and what it must mean.
with (Path(__file__).parent / "seeds.csv").open(encoding="utf-8", newline="") as file:
    _, *NAMES = csv.reader(file)
range_words = load_script("generate_docs").range_words


@pytest.mark.parametrize("row", NAMES, ids=lambda r: f"{r[1]}:{r[2]}")
def test_name(row: list[str], catalogue: Catalogue) -> None:
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


@pytest.mark.parametrize("row", NAMES, ids=lambda r: f"{r[1]}:{r[2]}")
def test_generic_never_misplaces_common_names(row: list[str], catalogue: Catalogue) -> None:
    """In an unknown framework the names of the glossaries keep their category where known."""
    info = catalogue.resolver("generic").resolve(row[2])
    if info.metric is not None and row[1] == "verl":
        assert info.category.value == row[4]
