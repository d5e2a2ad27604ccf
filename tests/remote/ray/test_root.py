"""Which directories on several nodes are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.remote.ray.node_reader import expanded, root_at


def test_a_place_has_one_identity_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to("a")
    one, link, other = (root_at(0, tmp_path / n) for n in ("a", "link", "b"))
    assert one.key == link.key
    assert one.key != other.key
    assert one.key != root_at(1, tmp_path / "a").key


def test_variables_stand_for_what_they_are_on_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGS", "/scratch/7")
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("/$LOGS/runs") == Path("/scratch/7/runs")
    assert expanded("~/runs") == Path("/home/me/runs")
    assert expanded("/data") == Path("/data")
    assert expanded("/$UNKNOWN/x") == Path("/$UNKNOWN/x")
