"""Names that are easily mistaken, each with its meaning and the reason to try it: meanings.csv."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rltui.catalogue import Catalogue

with (Path(__file__).parent / "meanings.csv").open(encoding="utf-8", newline="") as file:
    NAMES = list(csv.DictReader(file))


@pytest.mark.parametrize("row", NAMES, ids=lambda r: f"{r['framework']}-{r['tag']}")
def test_a_name_means_this_metric_or_none(row: dict[str, str], catalogue: Catalogue) -> None:
    resolver = catalogue.resolver(
        row["framework"], row["algorithm"] or None, row["scenario"] or None
    )
    info = resolver.resolve(row["tag"])
    assert info.tag == row["tag"]
    assert (info.metric.key if info.metric else "") == row["metric"], row["why"]
    assert float(row["sign"] or info.sign) == info.sign
    assert row["category"] in ("", info.category.value)
