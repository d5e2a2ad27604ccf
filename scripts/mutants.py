"""Mutation tests of modules where a mistake would go unnoticed for long: changes each line in every
way that mutmut knows, and lists the changes that no test of the module notices.

    python scripts/mutants.py [NAME...]     needs mutmut (pip install mutmut) beside pytest

Works on a copy of the checkout below build/mutants. Minutes for a module; exits with 1 when the
tests of a module notice less than LEAST of its changes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Share of the changes that tests must notice.
LEAST = 0.85
#: Name -> module and its tests, no others: a module is tested where it lies.
MODULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "text": ("rltui/core/text.py", ("tests/core/test_text.py",)),
    "tail": ("rltui/files/tail.py", ("tests/files/test_tail.py",)),
    "framing": ("rltui/formats/tfevents/framing.py", ("tests/formats/test_framing.py",)),
    "lineage": (
        "rltui/store/lineage.py",
        ("tests/store/test_continuation.py", "tests/store/test_copies.py"),
    ),
    "engine": (
        "rltui/health/engine.py",
        ("tests/health/test_engine.py", "tests/health/test_freshness.py"),
    ),
}
_CONFIG = """
[tool.mutmut]
source_paths = ["rltui"]
only_mutate = ["{module}"]
also_copy = {copied}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-p", "no:randomly", "-p", "no:xdist"]
"""


@dataclass(frozen=True, slots=True)
class Score:
    """How many changes of a module its tests notice."""

    total: int
    survivors: tuple[str, ...]
    """Names of the changes that no test noticed."""

    @property
    def share(self) -> float:
        """Share of the changes that were noticed, 0 to 1."""
        return 1 - len(self.survivors) / self.total


def read_score(stats: Mapping[str, int], results: str) -> Score:
    """From ``mutmut export-cicd-stats`` and ``mutmut results``. Raises ``ValueError`` when the
    run did not finish. A change that makes the tests hang counts as noticed."""
    if not stats["total"] or stats["check_was_interrupted_by_user"] or "not checked" in results:
        raise ValueError("mutmut did not finish")
    lines = [line.strip().rpartition(": ") for line in results.splitlines()]
    alive = tuple(name for name, _, state in lines if state in ("survived", "no tests"))
    return Score(stats["total"] - stats["skipped"], alive)


def copy(module: str, tests: Sequence[str], target: Path) -> None:
    """The files of the checkout, with a configuration for mutmut."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    shutil.rmtree(target, ignore_errors=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    copied = sorted(p.name for p in target.iterdir() if p.name != "tests")
    with (target / "pyproject.toml").open("a", encoding="utf-8") as file:
        values = {"copied": json.dumps(copied), "tests": json.dumps(list(tests))}
        file.write(_CONFIG.format(module=module, **values))


def mutate(name: str) -> Score:
    """Test all changes of a module; prints each survivor as a diff."""
    module, tests = MODULES[name]
    target = ROOT / "build" / "mutants" / name
    copy(module, tests, target)

    def mutmut(*arguments: str) -> str:
        command = [sys.executable, "-m", "mutmut", *arguments]
        done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"mutmut {arguments[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    mutmut("run")
    mutmut("export-cicd-stats")
    stats = json.loads((target / "mutants" / "mutmut-cicd-stats.json").read_text("utf-8"))
    score = read_score(stats, mutmut("results"))
    for survivor in score.survivors:
        lines = mutmut("show", survivor).splitlines()
        changed = [s for s in lines if s[:1] in "+-" and s[:3] not in ("+++", "---")]
        print(survivor.rpartition(".")[2], *changed, sep="\n  ")
    return score


def main(names: Sequence[str]) -> int:
    """Mutates the named modules, or all."""
    if not set(names) <= set(MODULES):
        print(f"usage: mutants.py [{'|'.join(MODULES)}]...", file=sys.stderr)
        return 2
    worst = 1.0
    for name in names or MODULES:
        score = mutate(name)
        noticed = score.total - len(score.survivors)
        print(f"{name}: {noticed} of {score.total} changes noticed ({score.share:.0%})", flush=True)
        worst = min(worst, score.share)
    return int(worst < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
