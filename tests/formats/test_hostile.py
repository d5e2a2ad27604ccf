"""Time and memory of decoding are linear in the size of a file, whatever is in it.

Functions that are called are counted, of Python and of C, and bytes that are allocated, so the
result is the same on every machine; ``python -m benchmarks.hostile`` takes CPU seconds and resident
memory of large files.
"""

import gc
import sys
import tracemalloc
from pathlib import Path

import pytest

from rltui.formats import json_value
from rltui.formats.base import Decoder, Format
from rltui.formats.gzip_log import Gzipped
from tests.formats.hostile import SHAPES, Shape, size_of

#: Bytes of the files, and how many times as large the other one is.
SMALL, TIMES = 1 << 12, 4
#: Growth of the calls beside that of the file: tables that are built once, amortised copies.
GROWTH = 1.6
#: Calls that any file may cost.
FREE_CALLS = 2_000
#: A file may take 8 bytes for each of its bytes and 64 MiB; those are for one piece of it.
PER_BYTE, PER_BYTE_OF_PIECE = 8, 64
TRACED = 1 << 16
#: Bytes that any file may take: caches that are filled, notes.
FREE_BYTES = 1 << 20
#: Files that take most.
HUNGRY = (
    *(
        "tfevents tags once",
        "tfevents same tag, merged",
        "jsonl keys once",
        "jsonl many keys by turns",
    ),
    *("csv newlines", "csv empty rows", "csv unended cells", "csv_series rows", "wandb one step"),
    *("wandb stats once", "swanlab keys once", "console dict keys once", "json empty objects"),
    *("trainer_state keys once", "trainer_state text", "json lists by name", "json text"),
)


def calls(decoder: Decoder, data: bytes) -> int:
    """Functions of Python and C that decoding a whole file calls."""
    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        read(decoder, data)
    finally:
        sys.setprofile(before)
    return count


def read(decoder: Decoder, data: bytes) -> None:
    decoder.feed(data)
    while decoder.holds_row:
        decoder.feed(b"")
    decoder.finish()


def peak(decoder: Decoder, data: bytes) -> tuple[int, int]:
    """Bytes that decoding takes at its peak, and that the decoder keeps."""
    gc.collect()
    tracemalloc.start()
    try:
        read(decoder, data)
        most = tracemalloc.get_traced_memory()[1]
        gc.collect()
        return most, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def forget() -> None:
    """Drop what earlier files left in caches."""
    for name, module in list(sys.modules.items()):
        for value in vars(module).values() if name.startswith("rltui.formats") else ():
            size = getattr(value, "cache_parameters", dict)().get("maxsize", 0)
            if size is not None and size > 1:
                value.cache_clear()


def new(shape: Shape) -> Decoder:
    """A decoder of a new format, which has seen no other file."""
    return _new(shape.form).decoder(None, Path(shape.path))


def _new(form: Format) -> Format:
    return Gzipped(_new(form._inner)) if isinstance(form, Gzipped) else type(form)()


def calls_for(shape: Shape, data: bytes) -> int:
    forget()
    return calls(new(shape), data)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_work_is_linear(shape: Shape) -> None:
    small, large = shape.make(SMALL), shape.make(SMALL * TIMES)
    read(new(shape), small)  # modules and tables of words are loaded
    few, many = calls_for(shape, small), calls_for(shape, large)
    assert many <= GROWTH * max(1.0, size_of(large) / size_of(small)) * few + FREE_CALLS


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.name in HUNGRY], ids=lambda s: s.name)
def test_memory_is_bounded(shape: Shape) -> None:
    data = shape.make(TRACED)
    read(new(shape), data)
    most, kept = peak(new(shape), data)
    assert most <= (PER_BYTE + PER_BYTE_OF_PIECE) * len(data) + FREE_BYTES
    assert kept <= PER_BYTE * len(data) + FREE_BYTES


@pytest.mark.parametrize(
    ("form", "name"),
    [
        *(("json", "empty lists"), ("json", "wide"), ("json", "lists by name")),
        *(("trainer_state", "empty objects"), ("trainer_state", "floats")),
    ],
)
def test_documents_that_would_take_too_much_are_not_read(
    form: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_value, "_BASE_BYTES", 56 << 20)  # so that 12 MiB are too much
    shape = next(s for s in SHAPES if s.name == f"{form} {name}")
    data = shape.make(12 << 20)
    decoder = new(shape)
    most, _ = peak(decoder, data)
    assert most <= 2 * len(data) + TRACED
    decoder = new(shape)
    assert [n.message for n in decoder.feed(data).notes] == ["document has too many values"]


def test_lines_that_would_take_too_much_are_not_read() -> None:
    shape = next(s for s in SHAPES if s.name == "jsonl empty lists")
    data = b'{"step": 1, "loss": 1}\n' + shape.make(12 << 20) + b'{"step": 2, "loss": 1}\n'
    found = new(shape).feed(data)
    assert [n.message for n in found.notes] == ["line has too many values"]
    assert sum(len(block.steps) for block in found.items) == 2  # type: ignore[union-attr]
