"""Every log format as a file that a training writes, in the running program."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.sources import Intervals, Reader
from rltui.sources.options import ReaderOptions
from tests.builders import running
from tests.formats.sample import Sample, samples

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
