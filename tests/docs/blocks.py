"""Code blocks of the pages in docs/, and a desk to run them at."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.places import ROOT

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PATIENCE_S = 300
#: What records its arguments and standard input as calls/NAME.
_STAND_IN = """#!/bin/sh
printf '%s\\n' "$(basename "$0") $*" >> "$CALLS/$(basename "$0")"
cat >> "$CALLS/$(basename "$0")"
"""


class Block(NamedTuple):
    """A fenced block of a page."""

    section: str
    """The heading that it stands below."""
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """The blocks of ``docs/PAGE``."""
    sections = (ROOT / "docs" / page).read_text("utf-8").split("\n## ")
    return [
        Block(section.splitlines()[0], language, text)
        for section in sections
        for language, text in _BLOCK.findall(section)
    ]


class Done(NamedTuple):
    """How a script ended."""

    code: int
    out: str
    err: str


class Desk:
    """A directory with logs in ``runs/``, the examples, ``rltui`` and stand-ins on the path."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.calls = home / "calls"
        self._bin = home / "bin"
        for directory in (self.calls, self._bin, home / "runs"):
            directory.mkdir()
        (home / "examples").symlink_to(ROOT / "examples")
        self.program("rltui", f'#!/bin/sh\nexec "{sys.executable}" -m rltui "$@"\n')
        self.program("python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')

    def program(self, name: str, text: str = _STAND_IN) -> None:
        """A program on the path, without ``text`` one that records how it is called."""
        path = self._bin / name
        path.write_text(text, "utf-8")
        path.chmod(0o755)

    def called(self, name: str) -> str:
        """Arguments and standard input of all calls of a stand-in."""
        path = self.calls / name
        return path.read_text("utf-8") if path.exists() else ""

    def environment(self) -> dict[str, str]:
        """Of the scripts: nothing of the person who runs the tests."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "XDG_", "TMUX"))}
        own = {"HOME": str(self.home), "PYTHONPATH": str(ROOT), "CALLS": str(self.calls)}
        return {**kept, **own, "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}"}

    def run(self, script: str, **variables: str) -> Done:
        """Run a script with ``bash -eu``; what it leaves in the background is ended."""
        out, err = self.home / "out", self.home / "err"
        with out.open("wb") as output, err.open("wb") as errors:
            process = subprocess.Popen(
                ["bash", "-euc", script],
                cwd=self.home,
                env={**self.environment(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            code = process.wait(_PATIENCE_S)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        return Done(code, out.read_text("utf-8"), err.read_text("utf-8"))
