"""Files that a decoder is slow or hungry on unless it takes care, of any size."""

import gzip
import json
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from rltui.formats import ALL_FORMATS
from rltui.formats.base import Format
from tests.formats import encode, encode_tracker

Make = Callable[[int], bytes]


@dataclass(frozen=True)
class Shape:
    """A kind of file of one format."""

    name: str
    path: str
    make: Make
    """The file of about N bytes, before it is packed."""

    @property
    def form(self) -> Format:
        return next(f for f in ALL_FORMATS if f.claims_name(self.path) and self._may_be(f))

    def _may_be(self, form: Format) -> bool:
        return form.name == self.name.partition(" ")[0]


def size_of(data: bytes) -> int:
    """Bytes of a file, unpacked if it is packed."""
    return len(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)


def _joined(parts: Iterable[bytes], size: int, head: bytes = b"", tail: bytes = b"") -> bytes:
    """Parts until they are ``size`` bytes long."""
    found, have = [head], len(head)
    for part in parts:
        if have >= size:
            break
        found.append(part)
        have += len(part)
    return b"".join((*found, tail))


def _of(parts: Callable[[], Iterable[bytes]], head: bytes = b"", tail: bytes = b"") -> Make:
    return lambda size: _joined(parts(), size, head, tail)


def _each(template: str) -> Callable[[], Iterator[bytes]]:
    """The template with 0, 1, 2, ... in place of ``@``."""
    return lambda: (template.replace("@", str(n)).encode() for n in count())


def _same(part: bytes, head: bytes = b"", tail: bytes = b"") -> Make:
    return lambda size: head + part * max(1, (size - len(head)) // len(part)) + tail


def _growing_json(size: int) -> bytes:
    """Each row adds a key."""
    rows, names, have = [], [], 0
    while have < size:
        names.append(f"k{len(names)}")
        rows.append(json.dumps({"step": len(names), **dict.fromkeys(names, 1.5)}).encode())
        have += len(rows[-1]) + 1
    return b"\n".join(rows) + b"\n"


def _events(*values: Callable[[int], bytes], head: bytes = b"") -> Make:
    def parts() -> Iterator[bytes]:
        return (encode.event(n, 1.78e9 + n, *(v(n) for v in values)) for n in count())

    return _of(parts, encode.header() + head)


def _merged(tag: Callable[[int], bytes]) -> Make:
    """One event with as many values as fit."""

    def make(size: int) -> bytes:
        values = [encode.simple(tag(n), n) for n in range(size // len(encode.simple(tag(9), 1)))]
        return encode.header() + encode.event(1, 1.78e9, *values) * 2

    return make


def _tracker(make_log: Callable[..., bytes], record: Callable[[int], bytes]) -> Make:
    def make(size: int) -> bytes:
        each = len(record(1000)) + 8
        return make_log(*(record(n) for n in range(max(1, size // each))))

    return make


def _holes(make: Make) -> Make:
    """Blocks of zeros in between."""

    def holed(size: int) -> bytes:
        data = bytearray(make(size))
        for at in range(1 << 15, len(data), 1 << 16):
            data[at : at + (1 << 12)] = bytes(len(data[at : at + (1 << 12)]))
        return bytes(data)

    return holed


def _packed(make: Make, ratio: int = 1) -> Make:
    return lambda size: gzip.compress(make(size * ratio), 6, mtime=0)


def _row(values: int, name: str = "k") -> Callable[[int], bytes]:
    return lambda n: encode_tracker.full_row(
        n, 1.7e9 + n, {f"{name}{n}_{i}": 0.5 for i in range(values)}
    )


def _nested(pair: tuple[bytes, bytes], head: bytes, tail: bytes) -> Make:
    return lambda size: head + pair[0] * (size // 2) + b"1" + pair[1] * (size // 2) + tail


_EVENTS = "events.out.tfevents.1700000000.host"

_TFEVENTS: dict[str, Make] = {
    "one scalar": _events(lambda n: encode.simple(b"loss", n)),
    "tags once": _events(lambda n: encode.simple(b"t%d" % n, n)),
    "same tag, merged": _merged(lambda n: b"t"),
    "growing": lambda size: (
        encode.header()
        + b"".join(
            encode.event(n, 1.78e9 + n, *(encode.simple(b"t%d" % i, n) for i in range(n)))
            for n in range(1, int((size / 8) ** 0.5))
        )
    ),
    "empty events": _same(encode.frame(b""), encode.header()),
    "huge length": _same(struct.pack("<Q", 1 << 63) + bytes(8), encode.header()),
    "zeros": _same(b"\0", encode.header()),
    "0xff": _same(b"\xff", encode.header()),
    "text": _events(lambda n: encode.text(b"t", b"x" * 1000)),
    "huge tags": _events(lambda n: encode.simple(b"%d" % n + b"x" * 20_000, n)),
    "session starts": _of(
        lambda: (
            encode.session_start(0) + encode.event(n % 3, 1.78e9 + n, encode.simple(b"l", n))
            for n in count()
        ),
        encode.header(),
    ),
    "random tags": _events(
        lambda n: encode.simple(b"a%d" % (n * 7919 % 101), n),
        lambda n: encode.double_tensor(b"b%d" % (n * 104729 % 37), n),
    ),
    "lengths of 2^63 within": _of(
        lambda: (
            encode.frame(b"\x09" + bytes(8) + b"\x2a" + encode.varint(1 << 63) + b"abc")
            for _ in count()
        ),
        encode.header(),
    ),
}

_JSONL: dict[str, Make] = {
    "rows": _of(_each('{"step": @, "loss": 0.5}\n')),
    "keys once": _of(_each('{"step": @, "k@": 1}\n')),
    "growing": _growing_json,
    "deep objects": _nested((b'{"a":', b"}"), b'{"step":1,"loss":', b"}\n"),
    "line without end": _same(b"x", b'{"step": 1, "loss": 1}\n{"a": "'),
    "empty lists": _same(b"[],", b'{"step": 1, "loss": 1, "a": [', b"1]}\n"),
    "empty objects": _same(b"{},", b'{"step": 1, "loss": 1, "a": [', b"1]}\n"),
    "objects in a line": _of(_each('{"step": @, "loss": 1} '), b"", b"\n"),
    "broken": _of(_each('{"step": @, "loss": \n')),
    "restarts": _of(lambda: (b'{"step": %d, "loss": 1}\n' % (n % 7) for n in count())),
    "newlines": _same(b"\n", b'{"step": 1, "loss": 1}\n'),
    "huge keys": _of(_each('{"step": @, "' + "k" * 20_000 + '@": 1}\n')),
    "many keys by turns": _of(
        lambda: (b'{"step": %d, "k%d": 1}\n' % (n, n * n % 997) for n in count())
    ),
}

_DOCUMENT: dict[str, Make] = {
    "rows": _of(_each('{"step": @, "loss": 0.5},\n'), b'{"log_history": [', b'{"step": 0}]}'),
    "keys once": _of(_each('{"step": @, "k@": 0.5},\n'), b'{"log_history": [', b'{"step": 0}]}'),
    "wide": _of(_each('"k@": 1, '), b'{"log_history": [{"step": 1, ', b'"z": 1}]}'),
    "empty lists": _same(b"[],", b'{"log_history": [', b"1]}"),
    "empty objects": _same(b"{},", b'{"log_history": [', b"{}]}"),
    "numbers": _same(b"1,", b'{"log_history": [', b"1]}"),
    "floats": _same(b".5,".replace(b".", b"1."), b'{"loss": [', b"1]}"),
    "deep lists": _nested((b"[", b"]"), b'{"log_history": ', b"}"),
    "deep objects": _nested((b'{"a":', b"}"), b'{"log_history": ', b"}"),
    "unended": _same(b'{"step": 1, "loss": 1},', b'{"log_history": ['),
    "brackets": _same(b"}", b'{"log_history": ['),
    "backslashes": _same(b"\\", b'{"log_history": ["'),
    "text": _same(b"p", b'{"log_history": ["', b'"]}}'),
    "columns": lambda size: json.dumps(
        {"loss": [0.5] * (size // 10), "reward": [1] * (size // 6)}
    ).encode(),
    "lists by name": _of(
        _each('"k@": [1.0, 2.0, 3.0],'), b'{"epoch": [1,2,3], ', b'"z": [1, 2, 3]}'
    ),
}

_CSV: dict[str, Make] = {
    "rows": _of(_each("@,0.5\n"), b"step,loss\n"),
    "empty rows": _same(b",\n", b"step,loss\n1,2\n"),
    "newlines": _same(b"\n", b"step,loss\n1,2\n"),
    "wide": lambda size: (
        b"step,"
        + b",".join(b"k%d" % n for n in range(size // 14))
        + b"\n"
        + b"1"
        + b",0.25" * (size // 14)
        + b"\n"
    ),
    "quotes": _same(b'"', b"step,loss\n1,2\n"),
    "quoted cells": _of(_each('@,"0.5"\n'), b"step,loss\n"),
    "unended cells": _same(b'1,"\n', b"step,loss\n"),
    "cells behind a quote": _of(_each("a@,b,c,d\n"), b'step,loss\n1,"2\n'),
    "line without end": _same(b"x", b"step,loss\n1,2\n"),
    "headers": _of(_each("step,k@\n1,2\n")),
    "headers that grow": lambda size: b"".join(
        b"step," + b",".join(b"k%d" % i for i in range(n)) + b"\n" + b"1" + b",2" * n + b"\n"
        for n in range(1, int((size / 5) ** 0.5))
    ),
    "restarts": _of(lambda: (b"%d,1\n" % (n % 7) for n in count()), b"step,loss\n"),
}

_CONSOLE: dict[str, Make] = {
    "pairs": _of(_each("step @: loss=0.5 reward=1.0\n")),
    "tags once": _of(_each("step @: k@=0.5\n")),
    "wide": _of(_each("k@=1 "), b"step 1: ", b"\n"),
    "bars": _of(_each("\r 50%|#####     | @/9999999 [00:01<00:02, 1.00it/s, loss=0.5]")),
    "returns": _same(b"\r"),
    "newlines": _same(b"\n"),
    "line without end": _same(b"x"),
    "digits": _same(b"9", b"step 1: loss=", b"\n"),
    "escapes": _same(b"\x1b[31mx\x1b[0m"),
    "dicts": _of(_each("{'loss': 0.5, 'grad_norm': 1.0, 'epoch': @.5}\n")),
    "dict keys once": _of(_each("{'k@': 0.5, 'loss': 1.0, 'epoch': @.5}\n")),
    "dict without end": _same(b"'a': 1, ", b"{'loss': 0.5, "),
    "deep dicts": _same(b"{'a': ", b"{'loss': 0.5, 'epoch': "),
    "dashed lines": _same(b"---------------------\n"),
    "box without end": _of(_each("| k@ | 1 |\n"), b"---------------\n"),
    "boxes": _of(_each("-------------\n| step | @ |\n| loss | 1 |\n-------------\n")),
    "verl": _of(_each("step:@ - loss:0.5 - actor/kl:np.float64(0.5)\n")),
    "headings": _of(_each("Learning iteration @/999999\n  Mean reward: 0.5\n")),
    "lines with rows": _of(_each("[2030-01-02 03:04:05] x.py:9 - step @: {'loss': 0.5}\n")),
    "epochs": _of(_each("Epoch @/99999\n10/10 [=====] - 1s 1ms/step - loss: 0.5\n")),
    "columns": _of(_each("@ 0.5 0.5\n"), b"step loss reward\n"),
    "wide characters": _same("é\u200b".encode()),
}

_WANDB: dict[str, Make] = {
    "rows": _tracker(
        encode_tracker.wandb_log,
        lambda n: encode_tracker.full_row(n, 1.7e9 + n, {"loss": 0.5, "reward": 1.0}),
    ),
    "keys once": _tracker(encode_tracker.wandb_log, _row(1)),
    "wide keys once": _tracker(encode_tracker.wandb_log, _row(100)),
    "one step": _tracker(encode_tracker.wandb_log, lambda n: encode_tracker.row({f"k{n}": 0.5}, 5)),
    "configs": _tracker(encode_tracker.wandb_log, lambda n: encode_tracker.config({f"k{n}": 1})),
    "stats": _tracker(
        encode_tracker.wandb_log, lambda n: encode_tracker.stats(n, {f"g{n % 9}": 1})
    ),
    "stats once": _tracker(
        encode_tracker.wandb_log, lambda n: encode_tracker.stats(n, {f"g{n}": 1})
    ),
    "defines": _tracker(
        encode_tracker.wandb_log, lambda n: encode_tracker.define(f"k{n}", f"s{n}")
    ),
    "globs": lambda size: encode_tracker.wandb_log(
        *(encode_tracker.define(f"k{n}*", f"s{n}") for n in range(size // 60)),
        *(encode_tracker.full_row(n, 1.7e9, {f"x{n}": 1}) for n in range(size // 120)),
    ),
    "output": _tracker(encode_tracker.wandb_log, lambda n: encode_tracker.output(f"line {n}\n")),
    "output without end": _tracker(encode_tracker.wandb_log, lambda n: encode_tracker.output("x")),
    "holes": _holes(_tracker(encode_tracker.wandb_log, _row(3))),
    "zeros": _same(b"\0", encode_tracker.wandb_log()),
    "first without last": lambda size: (
        encode_tracker.wandb_log() + encode_tracker.chunk(2, b"") * (size // 7)
    ),
    "huge record": lambda size: encode_tracker.wandb_log(encode_tracker.output("x" * size)),
    "huge values": lambda size: encode_tracker.wandb_log(
        encode_tracker.full_row(1, 1.7e9, {"a": [1.0] * (size // 5)})
    ),
    "empty values": _tracker(
        encode_tracker.wandb_log, lambda n: encode.field(2, encode.field(1, b"") * 200)
    ),
}

_SWANLAB: dict[str, Make] = {
    "rows": _tracker(encode_tracker.swanlab_log, lambda n: encode_tracker.scalar("loss", n, 0.5)),
    "keys once": _tracker(
        encode_tracker.swanlab_log, lambda n: encode_tracker.scalar(f"k{n}", n, 0.5)
    ),
    "holes": _holes(
        _tracker(encode_tracker.swanlab_log, lambda n: encode_tracker.scalar(f"k{n % 9}", n, 0.5))
    ),
    "zeros": _same(b"\0", encode_tracker.swanlab_log()),
    "0xff": _same(b"\xff", encode_tracker.swanlab_log()),
    "middles": lambda size: (
        encode_tracker.swanlab_log()
        + encode_tracker.chunk(2, b"x")
        + encode_tracker.chunk(3, b"x") * (size // 8)
    ),
    "huge record": lambda size: encode_tracker.swanlab_log(
        encode_tracker.scalar("x" * size, 1, 0.5)
    ),
    "fields": lambda size: encode_tracker.swanlab_log(b"\x08\x01" * (size // 2)),
    "other kinds": _tracker(
        encode_tracker.swanlab_log,
        lambda n: encode_tracker.swanlab_record(5 + n % 20, b"\x0a\x01x"),
    ),
}

_SERIES: dict[str, Make] = {
    "rows": _of(_each("@,0.5\n")),
    "line without end": _same(b"x", b"1,2\n"),
    "broken": _same(b"x\n", b"1,2\n"),
}


def _shapes(form: str, path: str, makes: dict[str, Make]) -> list[Shape]:
    return [Shape(f"{form} {name}", path, make) for name, make in makes.items()]


def _packed_shapes(shapes: list[Shape]) -> list[Shape]:
    return [Shape(f"{s.name}, packed", f"{s.path}.gz", _packed(s.make)) for s in shapes]


_PACKABLE = [
    *_shapes("tfevents", _EVENTS, _TFEVENTS),
    *_shapes("jsonl", "metrics.jsonl", _JSONL),
    *_shapes("csv", "progress.csv", _CSV),
    *_shapes("console", "train.log", _CONSOLE),
]
SHAPES = (
    *_PACKABLE,
    *_packed_shapes(
        [s for s in _PACKABLE if s.name.endswith((" rows", " pairs", "scalar", "zeros"))]
    ),
    *_shapes("json", "history.json", _DOCUMENT),
    *_shapes("trainer_state", "trainer_state.json", _DOCUMENT),
    *_shapes("wandb", "run-abc.wandb", _WANDB),
    *_shapes("swanlab", "run-abc.swanlab", _SWANLAB),
    *_shapes("csv_series", "d3rlpy_logs/CQL_20240131123456/td_loss.csv", _SERIES),
)
