"""The command that adds a package, for each way in which rltui can have been installed."""

from __future__ import annotations

import pwd
import shlex
import sys
from pathlib import Path

import pytest

from rltui.config.load import config_path
from rltui.core import installation
from rltui.core.installation import home_directory, state_directory, to_add

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


@pytest.mark.parametrize(
    ("requirements", "said"),
    [
        ('{ name = "rltui", directory = "/me/rltui" }', "/me/rltui --with s3fs"),
        ('{ name = "rltui", editable = "/me/rltui" }', "--editable /me/rltui --with s3fs"),
        (
            '\n    { name = "rltui", extras = ["ray", "web"], path = "/me/rltui-1.whl" },\n'
            '    { name = "fsspec", extras = ["http"], specifier = ">=2024.6" },\n'
            '    { name = "s3fs" },\n',
            "'/me/rltui-1.whl[ray, web]' --with 'fsspec[http]>=2024.6' --with s3fs",
        ),
        (
            '{ name = "rltui", extras = ["ray"], git = "https://example.org/r?rev=main" }',
            "'rltui[ray] @ git+https://example.org/r@main' --with s3fs",
        ),
        (
            '{ name = "rltui", url = "https://example.org/rltui-1.whl" }',
            "'rltui @ https://example.org/rltui-1.whl' --with s3fs",
        ),
        ('{ name = "rltui" }', "rltui --with s3fs"),
        ("what a later version of uv writes", "rltui --with s3fs"),
    ],
)
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
