"""Looks the locked dependencies up in the database of known vulnerabilities.

    python scripts/audit.py LOCK...     needs pip-audit on the PATH or beside this interpreter

Exits with 1 when a dependency is known to be vulnerable. pip-audit passes a dependency over when
the database does not answer for it, and still reports success; this reports how many it passed
over, and gives a warning on GitHub when nothing was audited.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Audit:
    """What the database knows about the dependencies of one lock file."""

    audited: int
    passed_over: tuple[str, ...]
    vulnerable: tuple[str, ...]
    """A line for each vulnerability: package, version, id, versions that fix it."""

    def lines(self) -> list[str]:
        """The result in words."""
        known = f"{len(self.vulnerable)} known vulnerabilities"
        found = [f"{self.audited} dependencies audited, {known}", *self.vulnerable]
        if self.audited and self.passed_over:
            found.append(f"{len(self.passed_over)} not audited: {', '.join(self.passed_over)}")
        if not self.audited:
            text = "Nothing was audited: the database of vulnerabilities does not answer"
            found.append(f"::warning::{text}" if os.environ.get("GITHUB_ACTIONS") else text)
        return found


def read_report(report: Mapping[str, Any]) -> Audit:
    """The audit in pip-audit's JSON."""
    checked = [d for d in report["dependencies"] if "skip_reason" not in d]
    return Audit(
        len(checked),
        tuple(d["name"] for d in report["dependencies"] if "skip_reason" in d),
        tuple(
            f"{d['name']} {d['version']}: {v['id']}, fixed in {_listed(v['fix_versions'])}"
            for d in checked
            for v in d["vulns"]
        ),
    )


def _listed(versions: Sequence[str]) -> str:
    return ", ".join(versions) or "no version"


def audit(program: str, lock: Path) -> Audit:
    """Runs pip-audit. Raises ``RuntimeError`` when it fails for another reason than the network."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        options = ["--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json"]
        done = subprocess.run(
            [program, "--requirement", str(lock), *options, "--output", str(report)],
            capture_output=True,
            text=True,
            check=False,
        )
        if report.exists():
            return read_report(json.loads(report.read_text(encoding="utf-8")))
    if any(word in done.stderr for word in ("ConnectionError", "Could not connect", "Timeout")):
        return Audit(0, (), ())
    raise RuntimeError(done.stderr)


def main(locks: Sequence[str]) -> int:
    """Audits every lock file; 1 for a known vulnerability."""
    beside = Path(sys.executable).with_name("pip-audit")
    program = str(beside) if beside.exists() else shutil.which("pip-audit")
    if program is None or not locks:
        print("usage: audit.py LOCK..., where pip-audit is installed", file=sys.stderr)
        return 2
    worst = 0
    for lock in locks:
        result = audit(program, Path(lock))
        print(f"{lock}:", *result.lines(), sep="\n  ")
        worst = max(worst, bool(result.vulnerable))
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
