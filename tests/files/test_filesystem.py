"""Kinds of file systems."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rltui.files.filesystem import UNKNOWN, Mounts, kind_of

LINE = "{id} 1 0:{id} / {point} rw,relatime shared:1 master:2 - {kind} {source} rw,vers=4.2"


def mounts(tmp_path: Path, *points: tuple[str, str]) -> Mounts:
    table = tmp_path / "mountinfo"
    lines = (
        LINE.format(id=n, point=point, kind=kind, source=f"host:/{n}")
        for n, (point, kind) in enumerate(points)
    )
    table.write_text("\n".join(lines) + "\n")
    return Mounts(table)


def test_the_longest_mount_point_counts(tmp_path: Path) -> None:
    table = mounts(tmp_path, ("/", "ext4"), ("/nowhere", "nfs4"), ("/nowhere/local", "xfs"))
    for path, name, remote in (
        ("/elsewhere/run", "ext4", False),
        ("/nowhere/run/a", "nfs4", True),
        ("/nowhere2", "ext4", False),
        ("/nowhere/local", "xfs", False),
        ("/nowhere/local/x", "xfs", False),
    ):
        kind = table.kind_of(Path(path))
        assert (kind.name, kind.remote, kind.reports_writes) == (name, remote, not remote)


def test_the_last_of_two_mounts_at_one_place_is_on_top(tmp_path: Path) -> None:
    table = mounts(tmp_path, ("/", "ext4"), ("/auto", "autofs"), ("/auto", "nfs"))
    assert table.kind_of(Path("/auto/home")).name == "nfs"


def test_blanks_in_names(tmp_path: Path) -> None:
    table = mounts(tmp_path, ("/", "ext4"), (r"/my\040data\134x", "cifs"))
    assert table.kind_of(Path("/my data\\x/run")).remote


@pytest.mark.parametrize(
    ("kind", "remote", "tells"),
    [
        ("lustre", True, False),
        ("fuse.sshfs", True, False),
        ("fuse.gcsfuse", True, False),
        ("fuse", True, False),
        ("fuseblk", False, True),
        ("9p", True, False),
        ("beegfs", True, False),
        ("gpfs", True, False),
        ("overlay", False, True),
        ("a_new_one", False, False),
    ],
)
def test_kinds(tmp_path: Path, kind: str, remote: bool, tells: bool) -> None:
    found = mounts(tmp_path, ("/", kind)).kind_of(Path("/x"))
    assert (found.name, found.remote, found.reports_writes) == (kind, remote, tells)


def test_links_are_resolved(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    table = mounts(tmp_path, ("/", "ext4"), (str(real), "nfs"))
    assert table.kind_of(link / "run").name == "nfs"


def test_a_table_that_changes(tmp_path: Path) -> None:
    table = mounts(tmp_path, ("/", "ext4"))
    assert table.reports_writes(Path("/data"))
    mounts(tmp_path, ("/", "ext4"), ("/data", "nfs"))
    assert table.reports_writes(Path("/data"))  # until it is looked at again
    table.refresh()
    assert not table.reports_writes(Path("/data"))


@pytest.mark.parametrize("content", ["", "nonsense\n - \n1 2 3\n 1 2 3 4 5 - \n"])
def test_systems_without_a_table_are_not_trusted(tmp_path: Path, content: str) -> None:
    table = tmp_path / "mountinfo"
    if content:
        table.write_text(content)
    assert Mounts(table).kind_of(tmp_path) == UNKNOWN
    assert not Mounts(table).reports_writes(tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux tells its mounts")
def test_this_machine() -> None:
    assert kind_of(Path("/proc")).name == "proc"
    assert not kind_of(Path("/proc")).remote
