"""Fuzzing led by coverage: ``python -m benchmarks.fuzz_coverage --seconds 3600 --corpus DIR``.

Needs ``pip install atheris``. The formats take turns, each in a process of its own. Inputs that
reach new code are kept in DIR/FORMAT; what fails is printed and kept in DIR/found. What is
checked is that of ``benchmarks.fuzz``. ``--keep`` then replaces the inputs of the tests by the
smallest that reach most of that code.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import pkgutil
import random
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import atheris

with atheris.instrument_imports(include=["rltui.formats"]):
    import rltui.formats
    from benchmarks.fuzz import LENGTHS, TOKENS, case_finding, read, report
    from benchmarks.fuzz_seeds import Seed, first_seeds, keep, kept, key, path_for
    from rltui.formats import ALL_FORMATS
    from rltui.formats.base import Format

    for _module in pkgutil.walk_packages(rltui.formats.__path__, "rltui.formats."):
        importlib.import_module(_module.name)  # decoders are imported when they are first used

#: Longest input that is tried; most of what can go wrong needs only a few records.
_LONGEST = 1 << 13
#: Pieces in which an input is fed at most: few, for speed.
_PIECES = 100
#: Longest input that is kept for the tests, and the sum of those of one format.
_KEPT, _KEPT_SUM = 1 << 10, 14 << 10
#: Bytes of an entry of a zip archive beside its data.
_ENTRY = 130
_FOUND = "found"


def run_format(form: Format, options: argparse.Namespace) -> None:
    """Fuzz one format in this process until libFuzzer exits."""
    place, found_place = options.corpus / key(form), options.corpus / _FOUND
    place.mkdir(parents=True, exist_ok=True)
    found_place.mkdir(exist_ok=True)
    seeds = first_seeds(form)
    for number, data in enumerate([s.data[:_LONGEST] for s in seeds] + kept(form)):
        (place / f"seed-{number}").write_bytes(data)
    found: dict[str, int] = {}

    def one(data: bytes) -> None:
        seed = Seed(form, path_for(data, seeds), data)
        name = f"{zlib.crc32(data):08x}-{seed.path.name}"
        rng = random.Random(zlib.crc32(data))
        finding = case_finding(seed, name, data, rng, most_pieces=_PIECES)
        if finding is not None:
            report(finding, found_place, found)

    words = options.corpus / "words.dict"
    words.write_text("".join(f'"{_escaped(w)}"\n' for w in (*TOKENS, *LENGTHS)))
    command = [sys.argv[0], f"-max_len={_LONGEST}", "-timeout=60", "-print_final_stats=1"]
    command.append(f"-dict={words}")
    command.append(f"-artifact_prefix={found_place}/{key(form)}-")
    command += [f"-max_total_time={options.slice}", str(place)]
    atheris.Setup(command, one)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def smallest(form: Format, corpus: Path) -> list[bytes]:
    """The shortest inputs of a corpus that reach most of the lines that all of it reaches."""
    seeds, reached, size, chosen = first_seeds(form), set[tuple[str, int]](), 0, []
    inputs = {path.read_bytes() for path in (corpus / key(form)).iterdir()}
    for data in sorted((d for d in inputs if len(d) <= _KEPT), key=lambda d: (len(d), d)):
        lines = _lines(Seed(form, path_for(data, seeds), data))
        size += (len(zlib.compress(data)) + _ENTRY) * (not lines <= reached)
        if not lines <= reached and size <= _KEPT_SUM:
            chosen.append(data)
            reached |= lines
    return chosen


def _lines(seed: Seed) -> set[tuple[str, int]]:
    """The lines of code of the formats that decoding a file executes."""
    lines: set[tuple[str, int]] = set()

    def trace(frame: FrameType, _event: str, _arg: object) -> Any:
        if "/rltui/formats/" not in frame.f_code.co_filename:
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        read(seed, iter([(seed.data, False)]), verify=False)
    finally:
        sys.settrace(None)
    return lines


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.fuzz_coverage", description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="where inputs are kept")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of all formats together")
    parser.add_argument("--slice", type=int, default=90, help="seconds of one turn of a format")
    parser.add_argument("--formats", default="", help="only these, separated by commas")
    parser.add_argument("--keep", action="store_true", help="replace the inputs of the tests")
    parser.add_argument("--one", default="", help="fuzz only this format, in this process")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Give each format its turns until the time is over; 1 when something was found."""
    options = _arguments(arguments)
    by_key = {key(form): form for form in ALL_FORMATS}
    if options.one:
        run_format(by_key[options.one], options)
        return 0
    names = options.formats.split(",") if options.formats else list(by_key)
    options.corpus.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.seconds
    for name in itertools.cycle(names):
        if time.monotonic() >= end:
            break
        _turn(name, options)
    for name in names if options.keep else ():
        sys.stdout.write(f"{keep(by_key[name], smallest(by_key[name], options.corpus))}\n")
    return 1 if any((options.corpus / _FOUND).iterdir()) else 0


def _turn(name: str, options: argparse.Namespace) -> None:
    """One turn of a format in a process of its own; its last lines are printed."""
    command = [sys.executable, "-m", "benchmarks.fuzz_coverage", "--one", name]
    command += ["--corpus", str(options.corpus), "--slice", str(options.slice)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    counts = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    reached = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", done.stderr)
    sys.stdout.write(f"{name}: {counts.get('number_of_executed_units', '?')} inputs, ")
    sys.stdout.write("branches {}, features {}, kept {}\n".format(*(reached or [("?",) * 3])[-1]))
    sys.stdout.write(done.stdout)
    if done.returncode:
        sys.stdout.write(done.stderr[-2000:])
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
