"""Of which files the system is trusted to report every write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rltui.files.filesystem import Mounts
from rltui.sources.follow.notifier import Notifier
from rltui.sources.follow.reports import Reports


def test_writes_by_another_name_are_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mounts, "reports_writes", lambda self, directory: True)
    names = plain, linked, hard, other = [tmp_path / n for n in ("plain", "link", "hard", "other")]
    plain.touch()
    other.touch()
    linked.symlink_to(plain)
    os.link(other, hard)
    notifier = Notifier(lambda path, structural, directory: None)
    reports = Reports(notifier)
    assert not reports.writes_to(plain)
    if not notifier.start([tmp_path]):
        pytest.skip("no inotify here")
    try:
        assert reports.names_in(tmp_path)
        assert [reports.writes_to(n) for n in names] == [True, False, False, False]
        assert not reports.writes_to(tmp_path / "run" / "below")
        assert not reports.writes_to(tmp_path / "missing")
    finally:
        notifier.stop()


def test_nothing_is_reported_for_sure_where_others_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mounts, "reports_writes", lambda self, directory: False)
    (tmp_path / "log").touch()
    notifier = Notifier(lambda path, structural, directory: None)
    if not notifier.start([tmp_path]):
        pytest.skip("no inotify here")
    try:
        assert not Reports(notifier).writes_to(tmp_path / "log")
        assert not Reports(notifier).names_in(tmp_path)
    finally:
        notifier.stop()
