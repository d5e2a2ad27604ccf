"""The benchmarks run at a tiny scale: sets, readers and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import data
from benchmarks.read import cost_table, cpu_table, measure, ratio_table, report
from rltui.sources import Reader
from rltui.sources.options import ReaderOptions
from tests.formats import encode


@pytest.mark.parametrize("name", data.SHAPES)
def test_every_set_holds_the_points_that_it_says(name: str, tmp_path: Path) -> None:
    made = data.make(tmp_path, name, 0.002)
    batches = list(Reader([made.root]).read_all())
    assert sum(b.points for batch in batches for b in batch.blocks) == made.points
    assert not any(b.notes for b in batches)
    assert data.make(tmp_path, name, 0.002) == made


@pytest.mark.parametrize("name", ["a", "c", "t", "m", "x", "y", "w"])
def test_event_sets_have_right_checksums(name: str, tmp_path: Path) -> None:
    made = data.make(tmp_path, name, 0.004)
    batches = list(Reader([made.root], ReaderOptions(verify=True)).read_all())
    assert sum(b.points for batch in batches for b in batch.blocks) == made.points


def test_records_are_those_of_an_ordinary_writer() -> None:
    kinds = [data.scalar("a/b"), data.tensor("t")]
    steps = np.array([0, 5, 127, 128, 70_000])
    walls, values = 1.78e9 + steps, np.array([1.5, -2.0, 0.25, np.inf, 3.0])
    got = data.encode(kinds, np.array([0, 1, 0, 1, 0]), steps, walls, values)
    content = encode.event(5, walls[1], encode.content_tensor(b"t", -2.0))
    first = encode.event(0, walls[0], encode.simple(b"a/b", 1.5))
    assert got.startswith(first)
    found = encode.reference(got)
    assert [p[0] for p in found["a/b"]] == [0, 127, 70_000]
    assert [p[0] for p in found["t"]] == [5, 128]
    assert encode.reference(content)["t"] == found["t"][:1]


def test_rounds_and_tables(tmp_path: Path) -> None:
    made = [data.make(tmp_path, name, 0.002) for name in ("c", "j20")]
    chosen = ["rltui", "rltui, store", "orjson.loads", "read()"]
    results = measure([(m, m) for m in made], 1, 1, None, chosen)
    assert [set(r.cells) for r in results] == [
        {"rltui", "rltui, store", "read()"},
        set(chosen),
    ]
    for lines in (cpu_table(results), ratio_table(results), cost_table(results)):
        assert len(lines) == 4
        assert len({line.count("|") for line in lines}) == 1
    text = report(results, None, "c j20")
    assert "nan" not in text
    assert "no C compiler" in text
