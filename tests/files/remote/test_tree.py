"""All names of a tree from one listing."""

from __future__ import annotations

from rltui.core.address import RemotePath
from rltui.files.remote.status import names_by_directory


def test_a_neighbour_whose_name_begins_alike_is_no_part_of_a_tree() -> None:
    top = RemotePath("s3:", "b", "run")
    listed = {
        "b/run/tb/log": {"type": "file", "size": 1},
        "b/run2/log": {"type": "file", "size": 2},
    }
    found = names_by_directory(top, "b/run", listed)
    assert {str(d): list(names) for d, names in found.items()} == {
        "s3://b/run": ["tb"],
        "s3://b/run/tb": ["log"],
    }
