"""The home directory, also where there is none."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from rltui.config.load import config_path
from rltui.core.installation import home_directory, state_directory


def no_user(number: int) -> None:
    raise KeyError(number)


def test_the_variable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    assert home_directory({"HOME": "/home/a"}) == Path("/home/a")
    assert home_directory({}) == Path.home()


def test_without_a_home_nothing_is_found_or_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", no_user)
    for path in (config_path(None, {}), state_directory({})):
        assert path.is_absolute()
        assert not path.exists()
        with pytest.raises(OSError, match="Not a directory"):
            path.mkdir(parents=True)
