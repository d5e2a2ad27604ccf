"""wandb's transaction logs: what becomes a point, at which x value, and what does not."""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import LogTail
from rltui.formats.base import Decoded, clean_tag
from rltui.formats.tracker_log import Wandb
from rltui.formats.tracker_log.tracker_decoder import WandbDecoder
from tests import places
from tests.formats import encode
from tests.formats.encode import field
from tests.formats.encode_tracker import (
    Value,
    config,
    define,
    ended,
    full_row,
    item,
    number,
    output,
    row,
    run,
    stats,
    summary,
    wandb_log,
)
from tests.tables import cases

FIXTURES = places.FIXTURES / "wandb"
WALL = 1.75e9


def decode(*records: bytes) -> Decoded:
    return WandbDecoder().feed(wandb_log(*records))


def points(decoded: Decoded) -> dict[str, list[tuple[int, float]]]:
    return encode.values_of([decoded])


def fixture(name: str) -> Decoded:
    return WandbDecoder().feed((FIXTURES / name).read_bytes())


def test_claims_by_suffix_and_first_bytes() -> None:
    form, data = Wandb(), wandb_log(run("a"))
    assert form.claims(Path("run-x.wandb"), data)
    assert not form.claims(Path("run-x.wandb"), wandb_log())
    assert not form.claims(Path("run-x.wandb"), b"{}")
    assert not form.claims(Path("run-x.wandb"), b"")
    for name in ("latest-run", "wandb-summary.json", "output.log", "config.yaml", "x.swanlab"):
        assert not form.claims_name(name)


@cases(__file__, "the_title_is_the_name_that_was_given")
def test_the_title_is_the_name_that_was_given(name: str, title: str) -> None:
    assert Wandb().title_in(wandb_log(run(name), row({"loss": 1.0}))) == title


def test_nan_and_infinity_of_a_real_run() -> None:
    decoded = fixture("nan.wandb")
    found = points(decoded)
    losses = [v for _, v in found["train/loss"]]
    assert losses[0] == 1.0
    assert math.isnan(losses[1])
    assert losses[2:] == [0.5, 0.4]
    assert found["train/grad_norm"] == [(1, 2.0), (2, math.inf), (3, -math.inf), (4, 1.5)]
    assert decoded.exit_code == 0
    assert decoded.notes == ()
    assert decoded.hparams["lr"] == 0.001
    assert decoded.hparams["model.layers"] == 2
    walls = [w for _, w, _ in encode.points_of([decoded])["train/loss"]]
    assert walls == sorted(walls)
    assert 1.79e9 < walls[0] < 1.8e9


def test_defined_steps_of_a_real_run() -> None:
    decoded = fixture("stepped.wandb")
    found = points(decoded)
    assert [s for s, _ in found["train/loss"]] == [10, 20, 30, 40]
    assert found["profiling/Time taken: X.y"] == [(10, 0.5), (20, 1.0), (30, 1.5)]
    assert found["eval/acc"] == [(1, 0.25)]
    assert found["train/ok"] == [(10, 0.0), (20, 1.0), (30, 0.0)]
    assert found["nested.b.c"] == [(40, 2.5)]
    assert found["k" * 150] == [(40, 2.5)]
    own = {"train/global_step", "eval/step", "nested.a"}
    logged = {t for t in found if not t.startswith("system/")}
    assert logged - own == {
        "train/loss", "train/ok", "profiling/Time taken: X.y", "eval/acc", "nested.b.c", "k" * 150
    }  # fmt: skip
    assert [(t.tag, t.step, t.text) for t in decoded.texts] == [
        ("note", 40, "a longer text that was logged")
    ]
    assert decoded.exit_code == 3
    assert decoded.tail == LogTail(("hello console", "step 100%", "not finished"), 3)
    settings = {k: v for k, v in decoded.hparams.items() if not k.startswith("wandb.")}
    assert settings == {
        "lr": 0.001, "opt.betas": "[0.9, 0.999]", "opt.name": "adamw", "fp16": True, "late": 5
    }  # fmt: skip


def test_a_real_run_of_an_older_sdk() -> None:
    """0.13.5: flat keys, dicts as one value, histograms as JSON."""
    decoded = fixture("old_sdk.wandb")
    found = {t: p for t, p in points(decoded).items() if not t.startswith("system/")}
    assert math.isnan(found.pop("nan")[0][1])
    assert found.pop("train/global_step")[-1] == (20, 20.0)
    assert found == {
        "train/loss": [(10, 1.0), (20, 0.5)],
        "profiling/x": [(10, 0.0), (20, 1.0)],
        "nested.a": [(10, 0.0)],
        "nested.b.c": [(10, 0.5)],
        "inf": [(10, math.inf)],
    }
    assert [t.text for t in decoded.texts] == ["hello world this is text"]
    assert decoded.exit_code == 2
    assert decoded.tail == LogTail(("console line",), 1)
    assert decoded.hparams["lr"] == 0.001
    assert decoded.notes == ()


KEYS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
    st.sampled_from(["a", "x", "train/loss", "k" * 127, "k" * 128, "k" * 300, "ключ", "\x82\x01"]),
).filter(lambda k: not k.startswith("_"))
NUMBERS = st.one_of(
    st.floats(), st.integers(-(2**70), 2**70), st.booleans(), st.sampled_from([0.0, -0.0, 1e-320])
)
OTHERS = st.one_of(st.none(), st.sampled_from(["", "train", '"', "\\"]), st.just([1.0, 2.0]))
ROWS = st.lists(
    st.dictionaries(KEYS, st.one_of(NUMBERS, NUMBERS, OTHERS), min_size=1, max_size=6), max_size=4
)


def same(value: float) -> bytes:
    return struct.pack("<d", math.nan if math.isnan(value) else value)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(1, 4), st.booleans(), st.lists(st.integers(0, 200_000), max_size=8))
def test_any_rows_in_any_pieces(
    rows: list[dict[str | tuple[str, ...], Value]], again: int, old: bool, places: list[int]
) -> None:
    expected: encode.Points = {}
    records = []
    for step, values in enumerate(rows * again):
        turned = dict(list(values.items())[step % 3 :] + list(values.items())[: step % 3])
        records += [summary(turned), full_row(step, WALL + step, turned, old=old)]
        for key, value in turned.items():
            if isinstance(value, (bool, int, float)):
                point = (step, WALL + step, same(float(value)))
                expected.setdefault(clean_tag(str(key)), []).append(point)
    data = wandb_log(*records)
    ends = sorted({min(p, len(data)) for p in places} | {0, len(data)})
    decoder = WandbDecoder()
    parts = [decoder.feed(data[a:b]) for a, b in pairwise(ends)]
    assert encode.points_of(parts) == expected
    assert [n for p in parts for n in p.notes] == []


def test_media_and_histograms_are_no_metrics() -> None:
    nested: dict[str | tuple[str, ...], Value] = {
        ("img", "_type"): "image-file",
        ("img", "width"): 64,
        ("img", "meta", "size"): 3,
        ("imgs", "width"): 1,
    }
    found = points(decode(full_row(0, WALL, nested)))
    assert found == {"imgs.width": [(0, 1.0)]}
    whole: dict[str | tuple[str, ...], Value] = {"h": {"_type": "histogram", "bins": 3}, "a": 1}
    assert points(decode(full_row(0, WALL, whole))) == {"a": [(0, 1.0)]}


def test_nested_values_of_older_sdks_are_joined() -> None:
    values: dict[str | tuple[str, ...], Value] = {
        "eval": {"acc": 0.5, "deep": {"n": 2, "s": "x"}, "img": {"_type": "table", "rows": 3}}
    }
    found = points(decode(full_row(0, WALL, values), full_row(1, WALL, values)))
    assert found == {"eval.acc": [(0, 0.5), (1, 0.5)], "eval.deep.n": [(0, 2.0), (1, 2.0)]}


def test_texts_are_kept_and_words_are_not() -> None:
    long = "two words\nand a line \x1b[31m"
    decoded = decode(
        full_row(7, WALL, {"sample": long, "phase": "warmup", "x": 1, "word": "w" * 90})
    )
    assert [(t.tag, t.step, t.wall_time) for t in decoded.texts] == [("sample", 7, WALL)]
    assert "\x1b" not in decoded.texts[0].text
    assert points(decoded) == {"x": [(7, 1.0)]}


def test_negative_and_enormous_steps() -> None:
    records = [row({"a": 1, "_step": s}, None) for s in (-5, 2**62, 2**80, 3)]
    decoded = decode(*records)
    assert [s for s, _ in points(decoded)["a"]] == [-5, 2**62, 3]
    assert len(decoded.notes) == 1


def test_step_metric_of_a_glob_and_of_a_name() -> None:
    found = points(
        decode(
            define("*", "train/global_step"),
            define("eval/*", "eval/step"),
            define("eval/special", "other"),
            full_row(0, WALL, {"train/loss": 1.0, "train/global_step": 100}),
            full_row(1, WALL, {"eval/acc": 0.5, "eval/step": 7, "train/global_step": 100}),
            full_row(2, WALL, {"eval/special": 0.5, "other": 9, "train/global_step": 110}),
        )
    )
    assert found["train/loss"] == [(100, 1.0)]
    assert found["eval/acc"] == [(7, 0.5)]
    assert found["eval/special"] == [(9, 0.5)]


def test_definition_in_the_middle_and_another_one() -> None:
    found = points(
        decode(
            full_row(0, WALL, {"a": 1, "gs": 10}),
            define("*", "gs"),
            full_row(1, WALL, {"a": 1, "gs": 20}),
            define("a", "_step"),
            full_row(2, WALL, {"a": 1, "gs": 30}),
        )
    )
    assert [s for s, _ in found["a"]] == [0, 20, 2]
    assert [s for s, _ in found["gs"]] == [0, 20, 30]


def test_fractions_are_no_steps() -> None:
    rows = [full_row(s, WALL, {"a": s, "epoch": s / 4}) for s in range(6)]
    found = points(decode(define("*", "epoch"), *rows))
    assert [s for s, _ in found["a"]] == [0, 1, 2, 3, 4, 5]


def test_steps_are_known_across_pieces() -> None:
    records = [define("*", "gs"), define("b/*", "other")]
    for step in range(40):
        kinds: list[dict[str | tuple[str, ...], Value]] = [
            {"loss": step, "gs": 10 * step},
            {"time": step},
            {"b/acc": step, "other": step + 1000, "epoch": step},
        ]
        records.append(full_row(step, WALL, kinds[step % 3]))
        if step % 5 == 0:
            records.append(stats(WALL + step, {"cpu": step}))
    data = wandb_log(*records)
    whole = encode.points_of([WandbDecoder().feed(data)])
    gs = [10 * (s - s % 3) for s in range(40)]
    assert [s for s, _, _ in whole["time"]] == [gs[s] for s in range(40) if s % 3 == 1]
    assert [s for s, _, _ in whole["system/cpu"]] == gs[::5]
    assert [s for s, _, _ in whole["b/acc"]] == [s + 1000 for s in range(40) if s % 3 == 2]
    for piece in (1, 50, 333, 1000):
        assert encode.points_of(encode.feed_all(WandbDecoder(), data, piece=piece)) == whole


def test_system_metrics_stand_at_the_newest_row() -> None:
    decoded = decode(
        run(starting_step=400),
        stats(WALL, {"gpu.0.gpu": 10.0}),
        define("*", "gs"),
        full_row(1, WALL, {"a": 1, "gs": 500}),
        stats(WALL + 15, {"gpu.0.gpu": 20.0, "cpu": math.nan}),
        stats(WALL + 30, {"gpu.0.gpu": 30.0, "system.disk": 1}),
    )
    found = encode.points_of([decoded])
    gpu = [(s, w, struct.unpack("<d", v)[0]) for s, w, v in found["system/gpu.0.gpu"]]
    assert gpu == [(400, WALL, 10.0), (500, WALL + 15, 20.0), (500, WALL + 30, 30.0)]
    assert len(found["system/cpu"]) == len(found["system/disk"]) == 1


def test_settings_are_flat_clean_and_bounded() -> None:
    decoded = decode(
        config({"_wandb": {"x": 1}, "lr": 1e-3, "a": {"b": {"c": "te\x1bxt"}}, "none": None}),
        config({("nested", "key"): True, "lr": 2e-3, "l": [1, "a"], "big": "x" * 5000}),  # type: ignore[list-item]
    )
    big = decoded.hparams.pop("big")
    assert isinstance(big, str)
    assert len(big) == 1000
    assert decoded.hparams == {
        "lr": 2e-3, "a.b.c": "te\\x1bxt", "nested.key": True, "l": '[1, "a"]'
    }  # fmt: skip


@pytest.mark.parametrize("code", [0, 1, 255, -9])
def test_exit_code(code: int) -> None:
    assert decode(full_row(0, WALL, {"a": 1})).exit_code is None
    assert decode(ended(code)).exit_code == code


def test_console_shows_the_last_state_of_a_progress_bar() -> None:
    decoded = decode(
        output("first\nsec"),
        output("ond\n"),
        full_row(0, WALL, {"a": 1}),
        output("\x1b[32m 1%\r 2%\r", 0),
        output("between\n", 1),
        output(" 3%\x1b[0m\r", 0),
    )
    assert decoded.tail == LogTail(("first", "second", "between", " 3%"), 2)
    assert decode(full_row(0, WALL, {"a": 1})).tail is None


def test_what_is_not_known_is_skipped() -> None:
    good = full_row(0, WALL, {"a": 1})
    odd_item = field(1, item("b", 2.0) + field(99, b"new") + number(98, 5))
    unknown = field(77, b"xyz") + number(78, 1) + field(200, b"info") + b"\xad\x06abcd"
    with_unknown = number(1, 3) + unknown + field(2, odd_item + field(2, number(1, 4))) + unknown
    decoded = decode(field(26, b"env"), with_unknown, good)
    assert points(decoded) == {"b": [(4, 2.0)], "a": [(0, 1.0)]}
    assert decoded.notes == ()


def test_typed_values() -> None:
    def typed(key: str, value: bytes) -> bytes:
        return field(1, field(2, key.encode()) + value)

    items = (
        typed("number", b"\x31" + struct.pack("<d", 2.5)),
        typed("nan", b"\x31" + struct.pack("<d", math.nan)),
        typed("integer", number(5, 7)),  # zigzag: -4
        typed("boolean", number(4, 1)),
        typed("none", number(3, 0)),
        typed("json", field(8, b"1.5")),
        typed("text", field(7, b"word")),
    )
    record = number(1, 1) + field(2, b"".join(items) + field(2, number(1, 6)))
    found = points(decode(record))
    assert math.isnan(found.pop("nan")[0][1])
    assert found == {
        "number": [(6, 2.5)], "integer": [(6, -4.0)], "boolean": [(6, 1.0)], "json": [(6, 1.5)]
    }  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    [
        b"\x13\x00",  # a group
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  # a length beyond everything
        number(1, 1) + b"\x12\x05\x0a\x7fabc",  # an item beyond its row
        b"\xff" * 20,  # a varint without an end
        number(1, 1) + field(2, field(1, b"\x17")),  # a wire type that there is not
    ],
)
def test_a_broken_record_costs_itself_only(broken: bytes) -> None:
    decoded = decode(full_row(0, WALL, {"a": 1}), broken, full_row(1, WALL, {"a": 2}))
    assert points(decoded) == {"a": [(0, 1.0), (1, 2.0)]}
    assert len(decoded.notes) == 1
    assert decoded.records == 3


@pytest.mark.parametrize("text", [b"1-2", b"tru", b"{", b"1e", b'"open', b"nul"])
def test_broken_values_cost_at_most_their_row(text: bytes) -> None:
    items = field(1, item("bad", 1.0).replace(b"\x031.0", bytes([len(text)]) + text))
    items += field(1, item("_step", 1))
    records = [full_row(0, WALL, {"a": 1}), field(2, items), full_row(2, WALL, {"a": 2})]
    found = points(decode(*records))
    assert found["a"] == [(0, 1.0), (2, 2.0)]
    assert "bad" not in found


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=200), max_size=10))
def test_intact_chunks_of_garbage(payloads: list[bytes]) -> None:
    begins = (b"", b"\x12", b"\x08\x01\x12", b"\x3a\x10", b"\x2a\x10", b"\x62\x08", b"\x12\x20\x0a")
    records = [begins[n % len(begins)] + p for n, p in enumerate(payloads)]
    decoded = decode(*records, full_row(10**6, WALL, {"good": 1.0}))
    assert (10**6, 1.0) in points(decoded)["good"]
