"""Every log format as a file that a training writes: it grows, is torn, is written anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rltui.core.batch import Batch, RunKey
from rltui.sources import Intervals, Reader
from rltui.sources.options import ReaderOptions
from rltui.store import Series, Store
from tests.formats.sample import Sample, samples

SAMPLES = [s for s in samples() if not s.form.document]
ALL = pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: f"{s.format} {s.variant}".strip())


class Training:
    """Writes the rows of a sample into a file, and reads them back as the program does."""

    def __init__(self, sample: Sample, directory: Path) -> None:
        self.sample = sample
        self.path = directory / sample.path
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(sample.rows[: sample.preamble + 4]))
        self.reader = Reader([directory])
        self.store = Store()
        self.batches: list[Batch] = []

    def append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def row(self, number: int) -> bytes:
        return self.sample.rows[self.sample.preamble + number]

    def rewrite(self, data: bytes) -> None:
        """As a training that starts again does; never within the same tick of the clock."""
        status = self.path.stat()
        self.path.write_bytes(data)
        later = status.st_mtime_ns + 3_000_000_000
        os.utime(self.path, ns=(later, later))

    def look(self) -> Series:
        for batch in self.reader.read_all():
            self.batches.append(batch)
            self.store.apply(batch)
        (run,) = self.store.runs.values()
        assert isinstance(run.key, RunKey)
        return run.series(self.sample.tags[-1])


@ALL
def test_what_is_appended_is_read(sample: Sample, tmp_path: Path) -> None:
    training = Training(sample, tmp_path)
    shown = 4 - sample.late
    assert training.look().steps.tolist()[:shown] == list(range(shown))
    for number in range(4, 9):
        training.append(training.row(number))
        assert training.look().steps.tolist()[-1] in (number, number - sample.late)


@ALL
def test_a_file_that_is_written_anew(sample: Sample, tmp_path: Path) -> None:
    """The steps that both have come from the new content."""
    training = Training(sample, tmp_path)
    training.look()
    preamble = b"".join(sample.rows[: sample.preamble])
    training.rewrite(preamble + b"".join(training.row(n) for n in (0, 1, 2)))
    for _ in range(10):  # a size alone is not believed at once
        series = training.look()
    assert series.steps.tolist()[: 3 - sample.late] == list(range(3 - sample.late))
    assert series.count <= 4
    training.append(training.row(3) + training.row(4) + training.row(5))
    assert training.look().steps.tolist()[: 6 - sample.late] == list(range(6 - sample.late))


@ALL
def test_the_running_program_shows_a_new_row_within_a_second(
    sample: Sample, tmp_path: Path
) -> None:
    training = Training(sample, tmp_path)
    reader = Reader([tmp_path], ReaderOptions(watch=Intervals(inotify=False)))
    reader.start()
    try:
        assert reader.loop.listening.wait(30)
        reader.drain()
        training.append(training.row(4) + training.row(5))
        assert reader.wait(1.0)
        steps = {int(s) for b in reader.drain() for block in b.blocks for s in block.steps}
        assert 4 in steps
    finally:
        reader.stop()
