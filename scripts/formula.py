"""Writes the resources of the Homebrew formula: source packages of what is locked.

    python scripts/formula.py     needs uv

Homebrew builds all from source: numpy and Python are formulas of its own, and tensorboard, which
has no source package, is left out with what only it needs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMULA = ROOT / "packaging/homebrew/rltui.rb"
LOCK = ROOT / ".ci/lock/runtime.txt"
BEGIN, END = "is left out.\n", "  # Resources end here.\n"
LEFT_OUT = ("tensorboard", "numpy")
#: Python of the formula.
PYTHON = "3.13"
#: An index may be a mirror: the rest of the path is the same in all.
HOST = "https://files.pythonhosted.org"
_PACKAGE = re.compile(
    r'name = "(?P<name>[^"]+)"\nversion = "(?P<version>[^"]+)".*?'
    r'sdist = \{ url = "[^"]*?(?P<path>/packages/[^"]+)".*?sha256 = "(?P<digest>\w+)"',
    re.DOTALL,
)


def requirements() -> list[str]:
    """The dependencies of pyproject.toml that the formula builds."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    block = text.partition("\ndependencies = [\n")[2].partition("\n]\n")[0]
    names = re.findall(r'^  "([^"]+)"', block, re.MULTILINE)
    return [name for name in names if not name.startswith(LEFT_OUT)]


def resolved() -> str:
    """What uv makes of them with the locked versions, as pylock.toml."""
    with tempfile.TemporaryDirectory() as place:
        wanted = Path(place, "requirements.in")
        wanted.write_text("\n".join(requirements()), encoding="utf-8")
        command = ["uv", "pip", "compile", "--quiet", "--no-config", "--format", "pylock.toml"]
        command += ["--python-version", PYTHON, "--constraint", str(LOCK), str(wanted)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def resources(lock: str) -> str:
    """The stanzas of all packages of a pylock.toml. Raises ValueError for one without a source."""
    stanzas = []
    for entry in lock.split("[[packages]]\n")[1:]:
        found = _PACKAGE.match(entry)
        if found is None:
            raise ValueError(f"no source package: {entry.splitlines()[0]}")
        url = HOST + found["path"]
        stanzas.append(
            f'  resource "{found["name"]}" do\n    url "{url}"\n'
            f'    sha256 "{found["digest"]}"\n  end\n'
        )
    return "\n".join(stanzas)


def main() -> int:
    """Rewrite the formula."""
    before, _, rest = FORMULA.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    FORMULA.write_text(f"{before}{BEGIN}{resources(resolved())}{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
