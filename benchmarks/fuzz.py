"""Damaged logs for every format: ``python -m benchmarks.fuzz --seconds 600``.

Real files are damaged (bits, cuts, splices, holes of zeros, huge lengths, doubled blocks, other
formats in between) and fed to the decoders in pieces of any size. Checked is that nothing is
raised, that the points do not depend on the pieces, that blocks are valid and texts harmless,
and that time and memory are bounded per byte. What fails is kept as a file and printed.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
import traceback
import tracemalloc
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.fuzz_seeds import Seed, first_seeds, key, seeds_in
from rltui.core.batch import Restart
from rltui.core.block import Block
from rltui.formats import ALL_FORMATS
from rltui.formats.base import HEAD_BYTES, MAX_TAG, Decoded, Options
from tests.blocks import make_block

#: Of a decoder: seconds and bytes beside those per byte of the log.
_BASE_S, _S_PER_BYTE, _S_PER_FEED = 1.0, 40e-6, 2e-3
_BASE_BYTES, _BYTES_PER_BYTE = 48 << 20, 80
#: Every this many cases memory is traced, which is slow, or a block is repeated up to this size.
_TRACED, _LONG = 12, 25
_LONG_BYTES = 1 << 20
#: A file is fed in at most this many pieces, if they are not larger than one chooses.
_PIECES = 2000
#: What must not come out of a log: controls but the newline, bidirectional and zero width marks.
_HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True)
class Finding:
    """A damaged file on which a decoder does what it must not."""

    format: str
    name: str
    what: str
    data: bytes


def damaged(rng: random.Random, data: bytes, others: Sequence[Seed]) -> bytes:
    """``data`` after one to eight accidents."""
    content = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(content) + 1)
        size = rng.choice((1, 4, 16, 100, 1000, 5000))
        match rng.randrange(9):
            case 0 if content:
                for _ in range(rng.randint(1, 8)):
                    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            case 1:
                del content[at:]
            case 2:
                del content[at : at + size]
            case 3:
                other = rng.choice(others).data
                begin = rng.randrange(len(other) + 1)
                content[at:at] = other[begin : begin + size]
            case 4:
                content[at : at + size] = bytes(size)
            case 5:
                content[at : at + 8] = rng.choice(LENGTHS)
            case 6:
                content[at:at] = content[at : at + size] * rng.randint(1, 4)
            case 7:
                content[at:at] = rng.randbytes(size)
            case _:
                content[at:at] = rng.choice(TOKENS) * rng.choice((1, 1, 3, 500))
    return bytes(content)


LENGTHS = (
    b"\xff" * 8,
    b"\xff\xff\xff\x7f\0\0\0\0",
    b"\0" * 7 + b"\x80",
    b"\x00\x00\x00\x10\0\0\0\0",
)
TOKENS = (
    b"\n", b"\r", b"\r\n", b"{", b"[", b'"', b"'", b",", b"}", b"]", b":", b"\\", b"|", b"-",
    b"NaN", b"-Infinity", b"1e999", b"9" * 400, b"null", b"\x1b[2J", b"\xe2\x80\xae", b"\xff\xfe",
    b'{"step": 1e30, "loss": 0}\n', b'"step": ', b"step:", b" 50%|#####     | 5/10 ", b"\x08",
)  # fmt: skip


def pieces(
    rng: random.Random, data: bytes, most_pieces: int = _PIECES
) -> Iterator[tuple[bytes, bool]]:
    """``data`` in pieces of one kind of size, each with whether more is promised."""
    most = rng.choice((3, 50, 1000, 1 << 16, 1 << 22))
    most = max(most, len(data) // most_pieces)
    at = 0
    while at < len(data):
        size = rng.randint(1, most)
        at += size
        yield data[at - size : at], at < len(data) and rng.random() < 0.5
    yield b"", False


def read(seed: Seed, parts: Iterator[tuple[bytes, bool]], verify: bool) -> list[Decoded]:
    """Everything that a fresh decoder makes of the parts, in order, and of their end. A document
    is fed as it is read, to its end; what is packed is unpacked to its end."""
    decoder = seed.form.decoder(Options(verify=verify), seed.path)
    found = [
        decoder.feed(part, more=more or (seed.form.document and bool(part))) for part, more in parts
    ]
    while decoder.holds_row:
        found.append(decoder.feed(b""))
    found.append(decoder.finish())
    return found


def examine(
    seed: Seed, data: bytes, rng: random.Random, traced: bool, most_pieces: int = _PIECES
) -> str:
    """What is wrong with how ``data`` is read; empty when nothing is."""
    verify = rng.random() < 0.2
    given = list(pieces(rng, data, most_pieces))
    seed.form.claims(seed.path, data[:HEAD_BYTES])
    if traced:
        tracemalloc.start()
    began = time.process_time()
    try:
        found = read(seed, iter(given), verify)
        used = time.process_time() - began
        peak = tracemalloc.get_traced_memory()[1] if traced else 0
    finally:
        tracemalloc.stop()
    limit = _BASE_S + len(data) * _S_PER_BYTE + len(given) * _S_PER_FEED
    if used > limit * (6 if traced else 1):
        return f"{used:.1f} s for {len(data)} bytes in {len(given)} pieces"
    if peak > _BASE_BYTES + _BYTES_PER_BYTE * len(data):
        return f"{peak >> 20} MiB for {len(data)} bytes in {len(given)} pieces"
    wrong = next(filter(None, map(_wrong, found)), "")
    if wrong:
        return wrong
    whole = read(seed, iter([(data, False), (b"", False)]), verify)
    return "" if _points(found) == _points(whole) else "the points depend on the pieces"


def _wrong(decoded: Decoded) -> str:
    """What is wrong with one piece's outcome."""
    names = [t.tag for t in decoded.texts] + list(decoded.hparams)
    for item in decoded.items:
        if isinstance(item, Restart):
            if not -(1 << 63) <= item.step < 1 << 63:
                return f"a restart at step {item.step}"
            continue
        names += item.tags
        make_block(item.tags, item.steps, item.wall_times, item.values, item.absent)
        if item.steps.dtype != np.int64 or item.wall_times.dtype != np.float64:
            return f"a block of {item.steps.dtype}, {item.wall_times.dtype}"
    texts = [n.message for n in decoded.notes] + [t.text for t in decoded.texts]
    texts += [v for v in decoded.hparams.values() if isinstance(v, str)]
    texts += decoded.tail.lines if decoded.tail is not None else ()
    for text in (*names, *texts):
        if _HARMFUL.search(text):
            return f"not harmless: {text[:200]!r}"
    long = next((n for n in names if len(n) > MAX_TAG), "")
    return f"a name of {len(long)} characters" if long else ""


def _points(parts: Sequence[Decoded]) -> dict[str, bytes]:
    """Checksum-like bytes of all points by tag, in file order."""
    points: dict[str, list[bytes]] = {}
    for decoded in parts:
        if decoded.replaces:
            points.clear()
        for item in decoded.items:
            if not isinstance(item, Block):
                continue
            for column, tag in enumerate(item.tags):
                keep = slice(None) if item.absent is None else ~item.absent[:, column]
                values = item.values[keep, column].astype(np.float64)
                rows = np.stack([item.steps[keep].astype(np.float64), values], axis=1)
                points.setdefault(tag, []).append(rows.tobytes())
    return {tag: b"".join(parts) for tag, parts in points.items() if any(parts)}


def fuzz(seeds: Sequence[Seed], cases: Iterable[int]) -> Iterator[Finding]:
    """One damaged file for each case number; the same number gives the same file."""
    groups: dict[str, list[Seed]] = {}
    for seed in seeds:
        groups.setdefault(key(seed.form), []).append(seed)
    for case in cases:
        rng = random.Random(case)
        seed = rng.choice(groups[rng.choice(sorted(groups))])
        data = damaged(rng, seed.data, seeds)
        if case % _LONG == 0 and data:
            begin = rng.randrange(len(data))
            block = data[begin : begin + rng.choice((1, 30, 3000))]
            data = data[:begin] + block * (_LONG_BYTES // len(block)) + data[begin:]
        traced = case % _TRACED == 0
        finding = case_finding(seed, f"{case}-{seed.path.name}", data, rng, traced=traced)
        if finding is not None:
            yield finding


def case_finding(
    seed: Seed,
    name: str,
    data: bytes,
    rng: random.Random,
    *,
    traced: bool = False,
    most_pieces: int = _PIECES,
) -> Finding | None:
    """What is wrong with how ``data`` is read, or raised; None when nothing is."""
    try:
        what = examine(seed, data, rng, traced, most_pieces)
    except Exception:  # noqa: BLE001 - that nothing is raised is what is checked
        what = traceback.format_exc()
    return Finding(key(seed.form), name, what, data) if what else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until the time is over; 1 when something was found."""
    parser = argparse.ArgumentParser(prog="benchmarks.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--formats", default="", help="only these, separated by commas")
    parser.add_argument("--seeds", type=Path, action="append", default=[], help="more real files")
    parser.add_argument("--keep", type=Path, help="where damaged files are kept")
    options = parser.parse_args(arguments)
    chosen = options.formats.split(",") if options.formats else [key(f) for f in ALL_FORMATS]
    forms = [f for f in ALL_FORMATS if key(f) in chosen]
    seeds = [seed for form in forms for seed in first_seeds(form)]
    seeds += seeds_in(options.seeds, forms)
    keep = options.keep or Path(tempfile.mkdtemp(prefix="rltui-fuzz-"))
    keep.mkdir(parents=True, exist_ok=True)
    end, case = time.monotonic() + options.seconds, options.first
    found: dict[str, int] = {}
    while time.monotonic() < end:
        for finding in fuzz(seeds, range(case, case + 1)):
            report(finding, keep, found)
        case += 1
    counts = ", ".join(f"{kind} ({count})" for kind, count in found.items()) or "nothing"
    sys.stdout.write(f"{len(seeds)} files, {case - options.first} cases; found: {counts}\n")
    return 1 if found else 0


def report(finding: Finding, keep: Path, found: dict[str, int]) -> None:
    """Keep and print the first few findings of a kind."""
    last = finding.what.strip().splitlines()[-1]
    kind = f"{finding.format}: {re.sub('[0-9]+', 'N', last)}"
    found[kind] = found.get(kind, 0) + 1
    if found[kind] <= 3:
        path = keep / f"{zlib.crc32(finding.data):08x}-{finding.name}"
        path.write_bytes(finding.data)
        sys.stdout.write(f"{finding.format} {path}\n{finding.what.strip()}\n\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
