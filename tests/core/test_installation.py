"""The command that adds a package, for each way in which rltui can have been installed."""

import pwd
import shlex
import sys
from pathlib import Path

import pytest

from rltui.config.load import config_path
from rltui.core import installation
from rltui.core.installation import home_directory, state_directory, to_add
from tests.tables import cases

RECEIPT = """[tool]
requirements = [%s]
entrypoints = [
    { name = "rltui", install-path = "/home/me/.local/bin/rltui", from = "rltui" },
]
"""


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of a user."""
    (tmp_path / "rltui").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "rltui"))
    monkeypatch.setattr(sys, "executable", "/home/me/v env/bin/python")
    return tmp_path / "rltui"


def test_pip_of_the_environment(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda name: name == "pip")
    said = to_add("fsspec[http]", "s3fs")
    assert said == "'/home/me/v env/bin/python' -m pip install 'fsspec[http]' s3fs"


def test_an_environment_of_uv_has_no_pip(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    said = to_add("s3fs")
    assert said == "uv pip install --python '/home/me/v env/bin/python' s3fs"


def test_pipx(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").write_text("{}")
    assert to_add("fsspec[http]", "s3fs") == "pipx inject rltui 'fsspec[http]' s3fs"


@cases(__file__, "uv_tool_is_told_again_all_that_it_has")
def test_uv_tool_is_told_again_all_that_it_has(prefix: Path, requirements: str, said: str) -> None:
    (prefix / "uv-receipt.toml").write_text(RECEIPT % requirements)
    command = to_add("s3fs")
    assert command == f"uv tool install {said}"
    assert shlex.split(command)[:3] == ["uv", "tool", "install"]


# -- the home directory, also where there is none ------------------------------------------


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
