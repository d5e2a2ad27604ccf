"""A short run of the fuzzer, always the same one; ``python -m benchmarks.fuzz`` runs longer.

Every log format as a file that a training writes, in the running program.
"""

import random
from pathlib import Path

import pytest

from benchmarks import fuzz, fuzz_seeds
from benchmarks.fuzz_seeds import Seed, first_seeds, kept, key, path_for
from rltui.formats import ALL_FORMATS
from rltui.sources import Intervals, Reader
from rltui.sources.options import ReaderOptions
from tests.builders import running
from tests.formats.sample import Sample, samples

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


@pytest.mark.parametrize(("limit", "said"), [("_BASE_S", " s for "), ("_BASE_BYTES", " MiB for ")])
def test_time_and_memory_are_bounded(
    limit: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, limit, -(1 << 40))
    seed = SEEDS["tfevents"][0]
    assert said in fuzz.examine(seed, seed.data, random.Random(1), traced=True)


SAMPLES = [s for s in samples() if not s.form.document]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: f"{s.format} {s.variant}".strip())
def test_the_running_program_shows_a_new_row_within_a_second(
    sample: Sample, tmp_path: Path
) -> None:
    path = tmp_path / sample.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(sample.rows[: sample.preamble + 4]))
    reader = Reader([tmp_path], ReaderOptions(watch=Intervals(inotify=False)))
    with running(reader):
        assert reader.loop.listening.wait(30)
        reader.drain()
        with path.open("ab") as file:
            file.write(b"".join(sample.rows[sample.preamble + 4 : sample.preamble + 6]))
        assert reader.wait(1.0)
        steps = {int(s) for b in reader.drain() for block in b.blocks for s in block.steps}
        assert 4 in steps
