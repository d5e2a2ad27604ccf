"""A file that is a hole is not read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rltui.files.sparse_tail import is_hole
from rltui.files.tail import Tail


def has_holes(path: Path) -> bool:
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_blocks * 512 < path.stat().st_size


def test_gigabytes_of_nothing_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events"
    with path.open("wb") as file:
        file.write(b"abc")
        file.truncate(5 << 30)
    if not has_holes(path):
        pytest.skip("this file system has no holes")
    tail, read = Tail(path), b""
    for _ in range(8):
        read += tail.poll(1 << 24).data
    assert read.rstrip(b"\0") == b"abc"
    assert len(read) <= 1 << 24
    with path.open("r+b") as file:
        file.seek(5 << 30)
        file.write(b"def")
    with path.open("rb") as file:
        assert not is_hole(file.fileno(), 4096, os.fstat(file.fileno()))


def test_a_dense_file_has_none(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"a" * 10_000)
    with path.open("rb") as file:
        assert not is_hole(file.fileno(), 0, os.fstat(file.fileno()))
        assert not is_hole(file.fileno(), 10_000, os.fstat(file.fileno()))
