"""A short run of the fuzzer, always the same one; ``python -m benchmarks.fuzz`` runs longer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks import fuzz, fuzz_seeds
from benchmarks.fuzz_seeds import Seed, first_seeds, kept, key, path_for
from rltui.formats import ALL_FORMATS, Decoded, Options
from tests.blocks import make_block

CASES = 20
SEEDS = {key(form): first_seeds(form) for form in ALL_FORMATS}


@pytest.mark.parametrize("name", SEEDS)
def test_damaged_files(name: str) -> None:
    seeds = SEEDS[name]
    found = list(fuzz.fuzz(seeds, range(1, CASES)))
    assert not found, "\n".join(f"case {f.name}: {f.what}" for f in found)


@pytest.mark.parametrize("name", sorted(path.stem for path in fuzz_seeds.KEPT.glob("*.zip")))
def test_inputs_that_reached_new_code(name: str) -> None:
    form = next(f for f in ALL_FORMATS if key(f) == name)
    for number, data in enumerate(kept(form)):
        seed = Seed(form, path_for(data, SEEDS[name]), data)
        found = fuzz.case_finding(seed, str(number), data, random.Random(number), most_pieces=50)
        assert found is None, found


# -- the fuzzer itself finds what it is for --------------------------------------------------------


@dataclass
class Bad:
    """A format with one fault."""

    fault: str
    name: str = "bad"
    document = holds_row = False

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
    seed = Seed(Bad(fault), Path("x"), b"some bytes" * 10)  # type: ignore[arg-type]
    found: Iterator[fuzz.Finding] = fuzz.fuzz([seed], range(1, 10))
    assert bool(said) == any(said in finding.what for finding in list(found) if said)


@pytest.mark.parametrize(("limit", "said"), [("_BASE_S", " s for "), ("_BASE_BYTES", " MiB for ")])
def test_time_and_memory_are_bounded(
    limit: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, limit, -(1 << 40))
    seed = SEEDS["tfevents"][0]
    assert said in fuzz.examine(seed, seed.data, random.Random(1), traced=True)
