"""Fuzzing led by coverage: ``python -m benchmarks.fuzz_coverage FORMAT DIR``.

Needs ``pip install atheris``. Inputs that reach new code are kept in DIR, which begins with the
files of the tests; what fails is printed and kept there as ``crash-*``. Further arguments go to
libFuzzer, for example ``-max_total_time=3600``. What is checked is that of ``benchmarks.fuzz``.
"""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["rltui.formats"]):
    from benchmarks.fuzz import examine, seeds_in
    from rltui.formats import FORMATS

#: Longest input that is tried; most of what can go wrong needs only a few records.
_LONGEST = 1 << 14


def main(arguments: Sequence[str]) -> None:
    """Run until libFuzzer ends."""
    name, directory, *others = arguments
    form = next(f for f in FORMATS if f.name == name)
    fixtures = Path(__file__).parents[1] / "tests" / "fixtures"
    seeds = seeds_in([fixtures], [form])
    kept = Path(directory)
    kept.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (kept / seed.path.name).write_bytes(seed.data[:_LONGEST])

    def one(data: bytes) -> None:
        wrong = examine(seeds[0], data, random.Random(zlib.crc32(data)), traced=False)
        if wrong:
            raise AssertionError(wrong)

    options = [f"-max_len={_LONGEST}", f"-artifact_prefix={kept}/", "-timeout=20"]
    atheris.Setup([sys.argv[0], str(kept), *options, *others], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
