"""What CI installs: all that pyproject asks for, pinned, with hashes, from no particular index."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LOCKS = ROOT / ".ci" / "lock"
pytestmark = pytest.mark.skipif(not LOCKS.is_dir(), reason="an sdist has no locks of CI")
ENTRY = re.compile(r"^\S.*?(?= \\$)", re.MULTILINE)


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def entries(lock: Path) -> dict[str, list[Requirement]]:
    """Name -> its pins, of which the markers choose one."""
    found: dict[str, list[Requirement]] = {}
    for text in ENTRY.findall(lock.read_text(encoding="utf-8")):
        pin = Requirement(text)
        found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def wanted(name: str) -> list[str]:
    """What pyproject asks of the packages of a lock."""
    table = project()
    if name == "tools":
        return table["dependency-groups"]["tools"]
    asked = list(table["project"]["dependencies"])
    if name == "dev":
        for extra in table["project"]["optional-dependencies"].values():
            asked += extra
    return asked


@pytest.mark.parametrize("name", ["runtime", "dev", "tools"])
def test_a_lock_has_all_that_pyproject_asks_for(name: str) -> None:
    """After a change of dependencies: ``make lock``."""
    pins = entries(LOCKS / f"{name}.txt")
    for text in wanted(name):
        asked = Requirement(text)
        given = pins[canonicalize_name(asked.name)]
        for pin in given:
            (version,) = pin.specifier
            assert version.operator == "=="
            assert asked.specifier.contains(version.version), f"{pin} is not {asked}"


@pytest.mark.parametrize("name", ["runtime", "dev", "tools"])
def test_every_line_is_a_pin_or_its_hash(name: str) -> None:
    lines = (LOCKS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert lines.pop(0).startswith("# ")
    assert lines.pop(0) == "#    make lock"
    pin = re.compile(r"[\w.-]+==[\w.!+]+( ; [^\\]+)? \\")
    digest = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        assert pin.fullmatch(line) or digest.fullmatch(line), line
        assert line.endswith("\\") == following.startswith("    --hash"), line


def test_the_locks_agree() -> None:
    dev = entries(LOCKS / "dev.txt")
    for name, pins in entries(LOCKS / "runtime.txt").items():
        assert list(map(str, dev[name])) == list(map(str, pins))
