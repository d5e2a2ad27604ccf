"""What a directory with thousands of files that are no logs costs: files opened, bytes read."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rltui.health.job_log import JobLogs
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.walk import MOST_ALIKE_STRANGERS as MOST_ALIKE
from rltui.sources.discovery.walk import Walk

FILES = 3_000
TEXT = b"a prompt, its answer, and what a judge said of it\n" * 4
ROW = "step:{0} - actor/entropy_loss:0.5 - critic/score/mean:0.25\n"


class Reads:
    """Files below a directory that were opened, and bytes of them: small ones are read whole."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.opens: Counter[str] = Counter()
        self.bytes_read = 0

    def opened(self, descriptor: int, path: Any, flags: int) -> int:
        """Count a file that was opened to be read."""
        if str(path).startswith(self._root) and not flags & os.O_WRONLY:
            self.opens[Path(path).name] += 1
            self.bytes_read += os.fstat(descriptor).st_size
        return descriptor

    def clear(self) -> None:
        self.opens.clear()
        self.bytes_read = 0


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reads:
    found, real = Reads(tmp_path), os.open
    monkeypatch.setattr(os, "open", lambda p, f, *a: found.opened(real(p, f, *a), p, f))
    return found


def crowd(root: Path, name: str, files: int = FILES) -> None:
    for number in range(files):
        descriptor = os.open(root / name.format(number), os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, TEXT)
        os.close(descriptor)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("sample_{:05}.txt", MOST_ALIKE),
        ("train_{:05}.txt", Walk.most_alike),
        ("{:05}.log", Walk.most_alike),
        ("sample-{:05}.out", Walk.most_alike),
    ],
)
def test_of_files_that_are_no_logs_a_few_are_opened_once(
    tmp_path: Path, reads: Reads, name: str, most: int
) -> None:
    crowd(tmp_path, name)
    finder = RunFinder([tmp_path], ends=JobLogs())
    found = finder.find()
    assert not found.runs
    assert sum(reads.opens.values()) == most
    assert reads.bytes_read == most * len(TEXT)
    reads.clear()
    finder.find()
    assert not reads.opens, "what is known is not read again"
    with (tmp_path / name.format(FILES - 1)).open("ab") as file:
        file.write(TEXT)
    reads.clear()
    finder.find()
    assert sum(reads.opens.values()) <= 2
