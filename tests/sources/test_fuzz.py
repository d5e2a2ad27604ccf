"""A short run of the fuzzer, always the same one; ``python -m benchmarks.fuzz`` runs longer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks import fuzz
from rltui.formats import FORMATS, Decoded, Options
from tests.blocks import make_block
from tests.formats.sample import samples
from tests.places import FIXTURES

CASES = 60
SEEDS = [
    fuzz.Seed(sample.form, Path(sample.path), sample.data) for sample in samples()
] + fuzz.seeds_in([FIXTURES])


@pytest.mark.parametrize("name", [f.name for f in FORMATS])
def test_damaged_files(name: str) -> None:
    seeds = [seed for seed in SEEDS if seed.form.name == name]
    found = list(fuzz.fuzz(seeds, range(1, CASES)))
    assert not found, "\n".join(f"case {f.name}: {f.what}" for f in found)


def test_the_same_number_gives_the_same_file() -> None:
    for case in range(20):
        one, other = (fuzz.damaged(random.Random(case), b"some bytes", SEEDS) for _ in range(2))
        assert one == other


# -- the fuzzer itself finds what it is for --------------------------------------------------------


@dataclass
class Bad:
    """A format with one fault."""

    fault: str
    name: str = "bad"

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        return True

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Bad:
        return replace(self)

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        if self.fault == "raises" and data:
            raise IndexError
        tags = {"harmful": ("\x1b[2J",), "long": ("x" * 5000,), "twice": ("a", "a")}
        if self.fault in tags:
            names = tags[self.fault]
            if self.fault != "twice":
                return Decoded((make_block(names, [1], None, [[1.0]]),))
            block = make_block(("a", "b"), [1], None, [[1.0, 2.0]])
            return Decoded((replace(block, tags=names),))
        if self.fault == "pieces":
            return Decoded((make_block(("a",), [len(data)], None, [[1.0]]),))
        return Decoded()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raises", "IndexError"),
        ("harmful", "not harmless"),
        ("long", "a name of 5000 characters"),
        ("twice", "a tag stands twice"),
        ("pieces", "the points depend on the pieces"),
        ("none", ""),
    ],
)
def test_faults_are_found(fault: str, said: str) -> None:
    seed = fuzz.Seed(Bad(fault), Path("x"), b"some bytes" * 10)  # type: ignore[arg-type]
    found: Iterator[fuzz.Finding] = fuzz.fuzz([seed], range(1, 10))
    assert bool(said) == any(said in finding.what for finding in list(found) if said)


@pytest.mark.parametrize(("limit", "said"), [("_BASE_S", " s for "), ("_BASE_BYTES", " MiB for ")])
def test_time_and_memory_are_bounded(
    limit: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, limit, -(1 << 40))
    seed = SEEDS[0]
    assert said in fuzz.examine(seed, seed.data, random.Random(1), traced=True)
