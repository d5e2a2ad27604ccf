"""Histories in JSON documents, and JSON files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import RunKey
from rltui.formats.base import HEAD_BYTES, Decoded, Options
from rltui.formats.document import JsonDocument
from rltui.formats.document.shape import closed
from rltui.sources import Reader
from tests.builders import discover
from tests.formats import encode

Values = dict[str, list[tuple[int, float]]]


def decoded(document: Any, name: str = "dqn_log.json") -> Decoded:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    assert JsonDocument().claims(Path(name), data[:HEAD_BYTES])
    return JsonDocument().decoder(None, Path(name)).feed(data)


def values(document: Any, name: str = "dqn_log.json") -> Values:
    return encode.values_of([decoded(document, name)])


@pytest.mark.parametrize("wrap", [lambda r: r, lambda r: {"history": r}, lambda r: {"steps": r}])
def test_lists_of_rows(wrap: Any) -> None:
    rows = [{"step": 10 * i, "loss": 0.5, "reward": i, "time": 1.7e9 + i} for i in range(4)]
    found = values(wrap(rows), "training_metrics.json")
    assert found["reward"] == [(10 * i, float(i)) for i in range(4)]
    assert set(found) == {"loss", "reward"}


COCO = {
    "images": [{"id": i, "width": 640, "height": 480, "file_name": f"{i}.jpg"} for i in range(9)],
    "annotations": [{"id": i, "image_id": i, "bbox": [1, 2, 3, 4]} for i in range(9)],
}
OTHERS: dict[str, Any] = {
    "ages.json": {"1": {"age": 7}, "2": {"age": 8}},
    "package.json": {"name": "x", "version": "1.0", "files": ["a", "b"]},
    "config.json": {"hidden_sizes": [64, 64], "loss": [1, 2], "step": [1, 2]},
    "tokenizer.json": {"model": {"vocab": [["a", -1.0], ["b", -2.0]]}},
    "vocab.json": {"a": 1, "b": 2},
    "preprocessor.json": {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": 224},
    "coco.json": COCO,
    "alpaca.json": [
        {"instruction": "add", "input": "1 2", "output": "3", "step": i} for i in range(9)
    ],
    "predictions.json": {"predictions": [0.5, 0.25], "labels": [1, 0], "scores": [0.5, 0.5]},
    "eval_results.json": {"eval_loss": 0.5, "eval_accuracy": 0.75, "epoch": 3.0},
    "all_results.json": [{"id": i, "prediction": 1, "label": 0} for i in range(9)],
    "tracking.json": [{"frame": i, "x": 0.5, "y": 0.25} for i in range(9)],
    "points.json": {"x": [1, 2, 3], "y": [4, 5, 6]},
    "rollouts.json": [{"step": i, "prompt": "2+2", "response": "4", "reward": 1} for i in range(9)],
    "weights.json": {"reward_weights": [1.0, 0.5], "a": 1, "b": 2, "c": 3, "d": "x"},
    "embedding.json": {"embedding": [i / 7 for i in range(30_000)]},
    "geo.json": {"type": "Polygon", "coordinates": [[[1.5, 2.5], [3.5, 4.5]]]},
    "notebook.json": {"cells": [{"cell_type": "code", "source": ["a"]}] * 3, "nbformat": 4},
    "words.json": {f"word {i}": i for i in range(9000)},
    "samples.json": [{"question": "q" * 50, "answer": "a" * 50} for _ in range(2000)],
    "one_row.json": [{"step": 1, "loss": 0.5}],
    "empty.json": {},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_json_files_are_no_logs(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps(OTHERS[name]))
    (tmp_path / f"log_{name}").write_text(json.dumps(OTHERS[name], indent=1))
    if name not in ("config.json", "tracking.json"):
        assert discover([tmp_path]).runs == ()
    (tmp_path / f"log_{name}").unlink()
    found = discover([tmp_path])
    assert (found.runs, found.refused_count) == ((), 0)


def test_a_document_that_grows_replaces_what_was_read(tmp_path: Path) -> None:
    file = tmp_path / "dqn_log.json"
    lists: dict[str, list[float]] = {"loss": [3.0, 2.0], "nb_steps": [10, 20]}
    file.write_text(json.dumps(lists))
    reader = Reader([tmp_path])
    (first,) = reader.read_all()
    assert (first.run, first.document, first.replaced) == (RunKey(0, "dqn_log"), True, True)
    lists = {"loss": [3.0, 2.0, 1.0], "nb_steps": [10, 20, 30]}
    file.write_text(json.dumps(lists)[:-5])
    assert not any(b.items for b in reader.read_all())
    file.write_text(json.dumps(lists))
    batches = list(reader.read_all())
    assert [p[0] for p in encode.points_of(Decoded(b.items) for b in batches)["loss"]] == [
        10,
        20,
        30,
    ]


def test_the_steps_of_the_user() -> None:
    data = json.dumps({"loss": [3.0, 2.0], "ticks": [7, 9]}).encode()
    options = Options(step_keys=("ticks",))
    found = encode.points_of([JsonDocument().decoder(options, Path("x.json")).feed(data)])
    assert [p[0] for p in found["loss"]] == [7, 9]


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values, st.sampled_from(["history.json", "x.json"]))
def test_any_document_is_read_without_an_error(document: Any, name: str) -> None:
    data = json.dumps({"steps": document, "loss": [1, 2], "step": [3, document]}).encode()
    JsonDocument().claims(Path(name), data)
    JsonDocument().decoder(None, Path(name)).feed(data)


@given(json_values, st.integers(0, 400))
def test_the_beginning_of_any_document_is_closed(document: Any, cut: int) -> None:
    text = json.dumps(document)
    if text[:1] in "{[" and 0 < cut < len(text):
        whole = closed(text[:cut].encode())
        assert whole is not None
        json.loads(whole)
