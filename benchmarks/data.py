"""Makes the logs that the benchmarks read: event files and JSON lines of several shapes.

Event files are written byte for byte as ``torch.utils.tensorboard`` writes them (``t``: as TF2
does), checksums included. Everything is seeded, so equal arguments give equal files, and a set
that is already in the data directory is used again.

Only wall time, step and value differ between two records of a tag, and a CRC is affine: the
checksum of a record is that of the record with zeros in these places, exclusive-or one table
entry per byte. That makes it a matter of seconds to write 10 million records.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import pack
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

START = 1_780_000_000.0
NAME = "events.out.tfevents.1780000000.node.1.0"
#: Records that are encoded at a time.
_CHUNK = 200_000

_GROUPS = [
    "actor",
    "critic/score",
    "critic/rewards",
    "critic/advantages",
    "critic/returns",
    "response_length",
    "prompt_length",
    "timing_s",
    "timing_per_token_ms",
    "perf",
    "training",
    "global_seqlen",
    "rollout",
    "val-core/math/acc",
    "val-aux/gsm8k/reward",
]
_NAMES = [
    "mean",
    "max",
    "min",
    "entropy",
    "pg_loss",
    "pg_clipfrac",
    "ppo_kl",
    "grad_norm",
    "lr",
    "clip_ratio",
    "gen",
    "adv",
    "update_actor",
    "throughput",
    "mfu/actor",
    "total_num_tokens",
]


def tag_names(count: int) -> list[str]:
    """``count`` names as verl logs them."""
    plain = [f"{group}/{name}" for name in _NAMES for group in _GROUPS]
    rounds = -(-count // len(plain))
    return [n if not k else f"{n}_{k}" for k in range(rounds) for n in plain][:count]


# -- encoding ---------------------------------------------------------------------------------


def _byte_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(0x82F63B78), np.uint32(0))
    return table


_TABLE = _byte_table()
_LIST: list[int] = _TABLE.tolist()


_EFFECTS = [_TABLE]


def _effect(distance: int) -> NDArray[np.uint32]:
    """What a byte (256,) does to the checksum when ``distance`` bytes follow it."""
    while len(_EFFECTS) <= distance:
        before = _EFFECTS[-1]
        _EFFECTS.append(np.asarray((before >> 8) ^ _TABLE[before & 0xFF]))
    return _EFFECTS[distance]


def _crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _LIST[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number: int) -> bytes:
    """A protobuf varint."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def message(number: int, content: bytes) -> bytes:
    """A protobuf field of bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def frame(payload: bytes) -> bytes:
    """A TFRecord."""
    head = pack("<Q", len(payload))
    return head + pack("<I", _masked(_crc(head))) + payload + pack("<I", _masked(_crc(payload)))


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record: the bytes behind the step, in parts with a float between any two."""

    parts: tuple[bytes, ...]

    @property
    def numbers(self) -> int:
        """Scalars of a record."""
        return len(self.parts) - 1

    @property
    def size(self) -> int:
        """Bytes behind the step."""
        return sum(map(len, self.parts)) + 4 * self.numbers


def scalar(tag: str) -> Kind:
    """What ``add_scalar`` of torch writes."""
    value = message(1, tag.encode()) + b"\x15"
    return Kind((_opened(value, 4), b""))


def merged(tags: Sequence[str]) -> Kind:
    """One summary with several values, as TF1's ``merge_all`` and writers of JAX make it."""
    values = [message(1, tag.encode()) + b"\x15" for tag in tags]
    opened = [b"\x0a" + varint(len(value) + 4) + value for value in values]
    size = sum(len(value) + 4 for value in opened)
    return Kind((b"\x2a" + varint(size) + opened[0], *opened[1:], b""))


def tensor(tag: str) -> Kind:
    """What ``tf.summary.scalar`` of TF2 writes."""
    value = message(1, tag.encode()) + b"\x42\x0a\x08\x01\x12\x00\x2a\x04"
    after = message(9, message(1, message(1, b"scalars")) + b"\x20\x01")
    return Kind((_opened(value, 4 + len(after)), after))


def _opened(value: bytes, left: int) -> bytes:
    """Summary and value opened for ``value`` and ``left`` further bytes."""
    inner = b"\x0a" + varint(len(value) + left) + value
    return b"\x2a" + varint(len(inner) + left) + inner


def _histogram(tag: str) -> Kind:
    content = b"\x09" + bytes(8) + message(6, bytes(240)) + message(7, bytes(240))
    value = message(1, tag.encode()) + message(5, content)
    return Kind((message(5, message(1, value)),))


def _text(tag: str) -> Kind:
    content = b"\x08\x07\x12\x04\x12\x02\x08\x01" + message(8, b"What is 6 times 7? " * 60)
    about = message(9, message(1, message(1, b"text")))
    value = message(1, tag.encode()) + message(8, content) + about
    return Kind((message(5, message(1, value)),))


def file_header() -> bytes:
    """The first record of an event file."""
    source = message(10, message(1, b"tensorboard.summary.writer.event_file_writer"))
    return frame(b"\x09" + pack("<d", START) + message(3, b"brain.Event:2") + source)


def encode(kinds: Sequence[Kind], which: Ints, steps: Ints, walls: Floats, values: Floats) -> bytes:
    """Records in this order: kind number, step, wall time and value of each, arrays (n,).

    ``values`` is (n, m) for kinds of m numbers.
    """
    values = values.reshape(len(steps), -1)
    widths = np.zeros(len(steps), np.int64)
    for bits in range(0, 63, 7):
        widths += steps >> bits > 0
    length = np.where(widths > 0, widths + 1, 0)
    fixed = np.array([k.size for k in kinds])
    sizes = 16 + 9 + length + fixed[which]
    ends = np.cumsum(sizes)
    out = np.empty(int(ends[-1]), np.uint8)
    groups = which * 16 + widths
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        kind, width = kinds[which[rows[0]]], int(widths[rows[0]])
        records = _records(kind, width, steps[rows], walls[rows], values[rows])
        out[(ends[rows] - sizes[rows])[:, None] + np.arange(records.shape[1])] = records
    return out.tobytes()


def _records(
    kind: Kind, width: int, steps: Ints, walls: Floats, values: Floats
) -> NDArray[np.uint8]:
    """Records (n, bytes) of one kind whose steps take ``width`` bytes."""
    step_field = b"\x10" + bytes(width) if width else b""
    blank = b"\x09" + bytes(8) + step_field + bytes(4).join(kind.parts)
    rows = np.empty((len(steps), len(blank) + 16), np.uint8)
    rows[:] = np.frombuffer(frame(blank), np.uint8)
    changed = list(range(1, 9))
    rows[:, 13:21] = np.ascontiguousarray(walls).view(np.uint8).reshape(-1, 8)
    for byte in range(width):
        last = byte == width - 1
        rows[:, 22 + byte] = (steps >> (7 * byte)) & 0x7F | (0 if last else 0x80)
        changed.append(10 + byte)
    place = 9 + len(step_field)
    for number, part in enumerate(kind.parts[:-1]):
        place += len(part)
        column = values[:, number].astype("<f4")
        rows[:, 12 + place : 16 + place] = column.view(np.uint8).reshape(-1, 4)
        changed += range(place, place + 4)
        place += 4
    crc = np.full(len(steps), _crc(blank), np.uint32)
    for place in changed:
        crc ^= _effect(len(blank) - 1 - place)[rows[:, 12 + place]]
    masked = ((crc >> 15) | (crc << 17)) + np.uint32(0xA282EAD8)
    rows[:, -4:] = masked.astype("<u4").view(np.uint8).reshape(-1, 4)
    return rows


# -- sets -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Some records of a log: arrays (n,) of kind number, step, wall time and value.

    ``values`` is (n, m) for records of m numbers.
    """

    which: Ints
    steps: Ints
    walls: Floats
    values: Floats


def curves(rng: np.random.Generator, tags: int, begin: int, end: int, total: int) -> Floats:
    """Values (steps, tags) that decay with noise."""
    shape = np.random.default_rng(tags)
    level, drop = shape.uniform(-2, 2, tags), shape.uniform(0.1, 3, tags)
    noise = shape.uniform(0.01, 0.4, tags)
    time = np.arange(begin, end)[:, None] / total
    found = level + drop * np.exp(-4 * time) + rng.normal(0, 1, (end - begin, tags)) * noise
    return np.asarray(found, np.float64)


def _regular(tags: int, steps: int, seed: int, begin_s: float = START) -> Iterator[Part]:
    """Every tag at every step, in the same order."""
    rng = np.random.default_rng(seed)
    rows = max(1, _CHUNK // tags)
    for begin in range(0, steps, rows):
        end = min(steps, begin + rows)
        step = np.repeat(np.arange(begin, end), tags)
        which = np.tile(np.arange(tags), end - begin)
        jitter = np.repeat(rng.random(end - begin), tags)
        walls = begin_s + 9.0 * step + jitter + 3e-5 * which
        yield Part(which, step, walls, curves(rng, tags, begin, end, steps).ravel())


def _mixed(steps: int) -> Iterator[Part]:
    """150 tags at every step, 50 at every 20th; 10 histograms and a text at every 100th."""
    every = np.array([1] * 150 + [20] * 50 + [100] * 11)
    for part in _regular(len(every), steps, 5):
        keep = part.steps % every[part.which] == 0
        yield Part(part.which[keep], part.steps[keep], part.walls[keep], part.values[keep])


def _shuffled(steps: int) -> Iterator[Part]:
    """A random subset of 200 tags in random order, some of them a step ahead."""
    rng = np.random.default_rng(9)
    which = [rng.permutation(200)[: rng.integers(50, 201)] for _ in range(steps)]
    row = np.repeat(np.arange(1, steps + 1), [len(w) for w in which])
    ahead = (rng.random(len(row)) < 0.25).astype(np.int64)
    walls = START + row.astype(np.float64)
    yield Part(np.concatenate(which), row + ahead, walls, rng.random(len(row)))


def _odd_ones(steps: int) -> Iterator[Part]:
    """50 tags at every step; in every 37th row one of them is a step behind."""
    rng = np.random.default_rng(10)
    for part in _regular(50, steps, 10):
        odd = rng.integers(0, 50, len(part.which))
        behind = (part.steps % 37 == 0) & (part.which == odd) & (part.steps > 0)
        yield Part(part.which, part.steps - behind, part.walls, part.values)


def _merged(tags: int, steps: int) -> Iterator[Part]:
    """One record of all tags at every step."""
    rng, step = np.random.default_rng(7), np.arange(steps)
    walls = START + 0.5 * step + rng.random(steps) / 10
    yield Part(np.zeros(steps, np.int64), step, walls, curves(rng, tags, 0, steps, steps))


def _write(path: Path, kinds: Sequence[Kind], parts: Iterator[Part]) -> int:
    """Write an event file; returns the number of scalars."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = np.array([k.numbers for k in kinds])
    points = 0
    with path.open("wb") as file:
        file.write(file_header())
        for part in parts:
            file.write(encode(kinds, part.which, part.steps, part.walls, part.values))
            points += int(numbers[part.which].sum())
    return points


def _lines(path: Path, steps: int, seed: int) -> int:
    """JSON lines as verl's file logger writes them; returns the number of scalars."""
    import orjson

    names, rng = tag_names(200), np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for begin in range(0, steps, 1000):
            end = min(steps, begin + 1000)
            rows = curves(rng, 200, begin, end, steps).tolist()
            for step, row in enumerate(rows, begin):
                data = dict(zip(names, row, strict=True))
                file.write(orjson.dumps({"step": step, "data": data}) + b"\n")
    return 200 * steps


def _console(path: Path, steps: int, seed: int) -> int:
    """What a job of verl prints: a line of 60 metrics a step below 200 kB of completions; returns
    the number of scalars."""
    names, rng = tag_names(60), np.random.default_rng(seed)
    said = ["so ", "the ", "sum ", "of ", "all ", "even ", "terms ", "is ", "at ", "most ", "4000 "]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for step, row in enumerate(curves(rng, 60, 0, steps, steps).tolist()):
            for words in rng.integers(0, len(said), (100, 400)):
                file.write(f"[response] {''.join(said[w] for w in words)}\n")
            line = " - ".join(f"{n}:{v:.6f}" for n, v in zip(names, row, strict=True))
            file.write(f"step:{step} - {line}\n")
    return 60 * steps


def _many(root: Path, steps: int) -> int:
    kinds = [scalar(t) for t in tag_names(100)]
    return sum(
        _write(root / f"run_{r:03d}" / NAME, kinds, _regular(100, steps, 100 + r, START + 60 * r))
        for r in range(100)
    )


def _one(kinds: Callable[[str], Kind], tags: int, seed: int) -> Callable[[Path, int], int]:
    def make(root: Path, steps: int) -> int:
        chosen = [kinds(t) for t in tag_names(tags)]
        return _write(root / "run" / NAME, chosen, _regular(tags, steps, seed))

    return make


def _make_m(root: Path, steps: int) -> int:
    kinds = [scalar(t) for t in tag_names(200)]
    kinds += [_histogram(f"grad/layer_{i}") for i in range(10)] + [_text("samples/text")]
    return _write(root / "run" / NAME, kinds, _mixed(steps))


def _make_x(root: Path, steps: int) -> int:
    return _write(root / "run" / NAME, [scalar(t) for t in tag_names(200)], _shuffled(steps))


def _make_y(root: Path, steps: int) -> int:
    return _write(root / "run" / NAME, [scalar(t) for t in tag_names(50)], _odd_ones(steps))


def _make_w(root: Path, steps: int) -> int:
    return _write(root / "run" / NAME, [merged(tag_names(10))], _merged(10, steps))


def _make_j(root: Path, steps: int) -> int:
    return _lines(root / "run.jsonl", steps, 6)


def _make_p(root: Path, steps: int) -> int:
    return _console(root / "train.log", steps, 8)


@dataclass(frozen=True, slots=True)
class Shape:
    """How a set is made: ``make(directory, steps)`` returns the number of scalars."""

    about: str
    steps: int
    """Steps (lines) at scale 1."""
    make: Callable[[Path, int], int]
    events: bool = True


SHAPES: dict[str, Shape] = {
    "a": Shape("1 run, 200 tags", 50_000, _one(scalar, 200, 1)),
    "b": Shape("100 runs, 100 tags", 1_000, _many),
    "c": Shape("1 run, 2,000 tags", 500, _one(scalar, 2000, 3)),
    "t": Shape("TF2 tensors, 200 tags", 5_000, _one(tensor, 200, 4)),
    "m": Shape("150 tags each step, 50 each 20th, histograms, texts", 5_000, _make_m),
    "x": Shape("random tags in random order, mixed steps", 1_000, _make_x),
    "y": Shape("50 tags, one of them sometimes at another step", 5_800, _make_y),
    "w": Shape("10 tags, all in one record a step", 100_000, _make_w),
    "p": Shape(
        "console of a job, 60 metrics and 200 kB of text a step", 5_000, _make_p, events=False
    ),
    "j20": Shape("JSON lines, 200 keys", 20_000, _make_j, events=False),
    "j100": Shape("JSON lines, 200 keys", 100_000, _make_j, events=False),
}


@dataclass(frozen=True, slots=True)
class Made:
    """A set on disk."""

    name: str
    scale: float
    root: Path
    steps: int
    points: int

    @property
    def files(self) -> list[Path]:
        """Its log files, in order of their names."""
        return sorted(p for p in self.root.rglob("*") if p.suffix == ".jsonl" or p.name == NAME)

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(p.stat().st_size for p in self.files)


def make(directory: Path, name: str, scale: float = 1.0) -> Made:
    """The set ``name`` with ``scale`` times its usual steps, made unless it is there already."""
    shape = SHAPES[name]
    steps = max(2, round(shape.steps * scale))
    root = directory / f"{name}-{steps}"
    done = directory / f"{name}-{steps}.points"
    if not done.exists():
        shutil.rmtree(root, ignore_errors=True)
        done.write_text(str(shape.make(root, steps)))
    return Made(name, scale, root, steps, int(done.read_text()))


def append_step(file: BinaryIO, kinds: Sequence[Kind], step: int, wall: float, value: float) -> int:
    """Append one step of all kinds with one value; returns the bytes written."""
    many = len(kinds)
    which = np.arange(many)
    walls = np.full(many, wall) + 3e-5 * which
    return file.write(encode(kinds, which, np.full(many, step), walls, np.full(many, value)))


def encode_steps(kinds: Sequence[Kind], steps: Iterable[int]) -> bytes:
    """Some steps of all kinds, a second apart."""
    many, chosen = len(kinds), np.fromiter(steps, np.int64)
    step = np.repeat(chosen, many)
    which = np.tile(np.arange(many), len(chosen))
    values = np.sqrt(step.astype(np.float64))
    return encode(kinds, which, step, START + step.astype(np.float64), values)
