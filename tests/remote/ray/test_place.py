"""Which directories on several nodes are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.remote.ray.message import ToPlace, Wanted
from rltui.remote.ray.node_reader import NodeReader, _mount_of, expanded, place_at
from rltui.version import __version__

MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:52 /team/a /mnt/my\040logs rw shared:9 - nfs4 server:/export rw,vers=4.2
41 22 0:53 / /mnt/s3 rw - fuse.s3fs s3fs rw
garbage
"""


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/home/x", ("ext4", "/dev/sda1", "/home/x")),
        ("/mnt/my logs/run", ("nfs4", "server:/export", "/team/a/run")),
        ("/mnt/s3/run", ("fuse.s3fs", "s3fs", "/run")),
        ("/mnt/s3x", ("ext4", "/dev/sda1", "/mnt/s3x")),
    ],
    ids=["root", "nfs", "fuse", "similar"],
)
def test_the_file_system_of_a_path(path: str, found: tuple[str, str, str], tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert _mount_of(Path(path), mounts) == found


def test_a_place_has_one_identity_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to("a")
    one, link, other = (place_at(0, tmp_path / n) for n in ("a", "link", "b"))
    assert one.key == link.key
    assert one.key != other.key
    assert one.key != place_at(1, tmp_path / "a").key


def test_variables_stand_for_what_they_are_on_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGS", "/scratch/7")
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("/$LOGS/runs") == Path("/scratch/7/runs")
    assert expanded("~/runs") == Path("/home/me/runs")
    assert expanded("/data") == Path("/data")
    assert expanded("/$UNKNOWN/x") == Path("/$UNKNOWN/x")


def test_a_place_that_is_not_read_here_is_no_error() -> None:
    reader = NodeReader(Wanted(("/none",), __version__))
    assert reader.handle(ToPlace(0, 3, b"garbage")) is None
    assert not reader.fetch_news(0.0, looks=False).news


def test_a_path_that_leads_nowhere_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "runs").mkdir()
    paths = f"{tmp_path}/round", "/~nobody-has-this-name/runs", f"{tmp_path}/runs"
    fetched = NodeReader(Wanted(paths, __version__)).fetch_news(0.0, looks=True)
    assert fetched.places is not None
    assert [place.logdir for place in fetched.places] == [2]
