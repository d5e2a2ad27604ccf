"""Kinds of file systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.files.disk import Mounts

LINE = "{id} 1 0:{id} / {point} rw,relatime shared:1 master:2 - {kind} {source} rw,vers=4.2"


def mounts(tmp_path: Path, *points: tuple[str, str]) -> Mounts:
    table = tmp_path / "mountinfo"
    lines = (
        LINE.format(id=n, point=point.replace(" ", r"\040"), kind=kind, source=f"host:/{n}")
        for n, (point, kind) in enumerate(points)
    )
    table.write_text("\n".join(lines) + "\n")
    return Mounts(table)


def test_the_longest_mount_point_counts(tmp_path: Path) -> None:
    table = mounts(tmp_path, ("/", "ext4"), ("/nowhere", "nfs4"), ("/nowhere/local", "xfs"))
    for path, kind in (
        ("/elsewhere/run", "ext4"),
        ("/nowhere/run/a", "nfs4"),
        ("/nowhere2", "ext4"),
        ("/nowhere/local", "xfs"),
        ("/nowhere/local/x", "xfs"),
    ):
        assert table.kind_of(Path(path)) == kind
        assert table.reports_writes(Path(path)) == (kind != "nfs4")


@pytest.mark.parametrize(
    ("kind", "reported"),
    [
        *(("lustre", False), ("fuse.sshfs", False), ("fuse.gcsfuse", False), ("fuse", False)),
        *(("9p", False), ("beegfs", False), ("gpfs", False), ("a_new_one", False)),
        *(("fuseblk", True), ("overlay", True)),
    ],
)
def test_kinds(tmp_path: Path, kind: str, reported: bool) -> None:
    table = mounts(tmp_path, ("/", kind))
    assert table.kind_of(Path("/x")) == kind
    assert table.reports_writes(Path("/x")) == reported


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
    assert Mounts(table).kind_of(tmp_path) == ""
    assert not Mounts(table).reports_writes(tmp_path)


def test_the_origin_of_a_path(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    nfs = r"40 22 0:52 /team/a /mnt/my\040logs rw shared:9 - nfs4 server:/export rw,vers=4.2"
    table.write_text(f"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n{nfs}\n")
    found = Mounts(table).origin_of(Path("/mnt/my logs/run"))
    assert found == ("server:/export", "/team/a/run")
    assert Mounts(table).origin_of(Path("/mnt/my")) == ("/dev/sda1", "/mnt/my")
    assert Mounts(tmp_path / "missing").origin_of(Path("/x")) == ("", "")
