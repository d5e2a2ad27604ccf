"""trainer_state.json: tags, settings, and documents that are not complete yet."""

import json
import math
import struct
from pathlib import Path

import pytest

from rltui.formats.base import Decoded
from rltui.formats.document import TrainerState
from rltui.formats.document import document_decoder as module
from tests.formats import encode
from tests.places import FIXTURES

FIXTURE = FIXTURES / "trainer_state" / "sft.json"


def decode(data: bytes, *, piece: int | None = None) -> list[Decoded]:
    return encode.feed_all(TrainerState().decoder(), data, piece=piece)


def plain(parts: list[Decoded]) -> dict[str, list[tuple[int, float]]]:
    found = encode.points_of(parts)
    return {t: [(s, struct.unpack("<d", v)[0]) for s, _, v in p] for t, p in found.items()}


def state(*rows: object, **more: object) -> bytes:
    return json.dumps({"log_history": list(rows), **more}).encode()


def test_the_history_under_the_tags_of_the_event_file() -> None:
    document = json.loads(FIXTURE.read_bytes())
    expected: dict[str, list[tuple[int, float]]] = {}
    for row in document["log_history"]:
        for key, value in row.items():
            if key != "step":
                tag = f"eval/{key[5:]}" if key.startswith("eval_") else f"train/{key}"
                expected.setdefault(tag, []).append((row["step"], value))
    (decoded,) = decode(FIXTURE.read_bytes())
    assert plain([decoded]) == expected
    assert {"train/loss", "eval/loss", "train/train_runtime"} <= set(expected)
    assert decoded.hparams == {
        k: document[k]
        for k in (
            *("max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps"),
            "train_batch_size",
        )
    }
    assert decoded.records == len(document["log_history"])


def test_what_the_event_file_leaves_out_is_left_out() -> None:
    row = {"step": 3, "loss": math.nan, "kl": None, "text": "x", "list": [1], "in": {"a": 1}}
    found = plain(decode(state(row, {"step": 3, "grad": math.inf, "flag": True, "test_x": 2})))
    assert math.isnan(found.pop("train/loss")[0][1])
    assert found == {"train/grad": [(3, math.inf)], "train/flag": [(3, 1.0)], "test/x": [(3, 2.0)]}


def test_settings_of_a_search_count() -> None:
    (decoded,) = decode(state(max_steps=-1, trial_params={"lr": 1e-4, "kind": "a", "x": [1]}))
    assert decoded.hparams == {"lr": 1e-4, "kind": "a"}


@pytest.mark.parametrize("indent", [None, 2])
def test_nothing_comes_before_the_end(indent: int | None) -> None:
    rows = [{"step": i, "loss": i, "text": '}{"\\'} for i in range(3)]
    data = json.dumps({"log_history": rows, "z": {}}, indent=indent).encode()
    decoder = TrainerState().decoder()
    for at in range(len(data) - 1):
        assert decoder.feed(data[at : at + 1]) == Decoded()
    assert plain([decoder.feed(data[-1:])])["train/loss"] == [(0, 0.0), (1, 1.0), (2, 2.0)]
    assert decoder.feed(b"\n") == Decoded()


def test_a_broken_document_is_noted_once() -> None:
    decoder = TrainerState().decoder()
    parts = [decoder.feed(b'{"log_history": [}]}'), decoder.feed(b"{}"), decoder.feed(b"}")]
    assert [n.message for p in parts for n in p.notes] == ["not valid JSON"]
    assert plain(parts) == {}


def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_BYTES", 100)
    parts = decode(b'{"a": "' + b"x" * 1000, piece=50)
    assert [n.message for p in parts for n in p.notes] == ["document is too long"]


def test_claims() -> None:
    path = Path("trainer_state.json")
    assert TrainerState().claims(path, b'{\n  "best')
    assert not TrainerState().claims(path, b"")
    assert not TrainerState().claims(path, b"[1]")
    assert not TrainerState().claims(Path("state.json"), b"{}")
