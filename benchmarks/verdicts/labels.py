"""What people decided about logged runs: ``labels.yaml``, a list of entries with

path: verl/grpo_lr_nan        below the directory of the file
framework: verl 0.7.1
steps: 25                     length of the run
healthy: false
sickness: [nan]               rule ids, or [none]
findings:
- {sickness: nan, visible_from_step: 21, earliest_step: 15}
tolerated: [kl_blowup]        neither demanded nor wrong
kind: format                  for reading only: left out
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

#: A label is also met by a rule that says the same more exactly.
MET_BY: Mapping[str, tuple[str, ...]] = {
    "reward_flat_no_learning": ("reward_drop", "zero_std_groups", "no_update"),
    "ratio_off": ("rollout_mismatch",),
    "length_hacking": ("length_blowup",),
}

#: One of this many origins is sealed.
_SEALED_SHARE = 3
_FRAMEWORK_END = re.compile(r"[ ,(/]")
_REPOSITORY = re.compile(r"\s*(?:https?://)?(?:github\.com/|huggingface\.co/)?([\w.-]+)/[\w.-]+")


@dataclass(frozen=True, slots=True)
class Failure:
    """A finding that a careful reader demands."""

    rule: str
    visible_from: int
    """First step at which it can be seen."""
    earliest: int | None
    """Signs from this step on count as well; None: from a tenth of the run before."""
    until: int | None = None
    """Last step at which it can be seen; None: to the end."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that meet it."""
        return (self.rule, *MET_BY.get(self.rule, ()))

    def begins(self, steps: int) -> float:
        """The first step of a finding that meets it, in a run of ``steps``."""
        usual = self.visible_from - 0.1 * steps - 5
        return usual if self.earliest is None else min(usual, self.earliest)


@dataclass(frozen=True, slots=True)
class Label:
    """One labelled run."""

    path: Path
    name: str
    framework: str
    """The first word of the label's framework, in lower case."""
    steps: int
    healthy: bool
    failures: tuple[Failure, ...]
    allowed: frozenset[str]
    """Rules that may speak: demanded, tolerated, and those that say the same."""
    corpus: str = ""
    """Name of the directory of the file."""
    full_framework: str = ""
    """The label's framework as written."""
    made: str = ""
    """How the logs were made, or "owner/repository: ..." for published ones."""


def read_labels(file: Path) -> list[Label]:
    """The labels of a file, or of the ``labels.yaml`` in a directory. Raises OSError."""
    file = file / "labels.yaml" if file.is_dir() else file
    entries = yaml.safe_load(file.read_text("utf-8"))
    return [_label(file.parent, e) for e in entries if e.get("kind") != "format"]


def origin(corpus: str, framework: str, made: str) -> str:
    """Where a run comes from: the first word of its framework, and the owner of the repository for
    a corpus of published logs, else the name of the corpus."""
    word = _FRAMEWORK_END.split(framework.strip().lower())[0]
    found = _REPOSITORY.match(made) if corpus.startswith("public") else None
    return f"{word} {found[1].lower() if found else corpus}"


def is_sealed(name: str) -> bool:
    """Whether an origin is kept aside, by the hash of its name."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % _SEALED_SHARE == 0


def by_origin(files: Iterable[Path], *, sealed: bool) -> dict[str, list[Label]]:
    """The labels of all files by origin, of the sealed origins or of the others. Raises OSError."""
    found: dict[str, list[Label]] = {}
    for label in (x for file in files for x in read_labels(file)):
        name = origin(label.corpus, label.full_framework, label.made)
        if is_sealed(name) == sealed:
            found.setdefault(name, []).append(label)
    return dict(sorted(found.items()))


def judged_rules(labels: list[Label]) -> frozenset[str]:
    """The rules that labels speak of: others have no right and wrong here."""
    return frozenset(rule for label in labels for rule in label.allowed)


def _label(root: Path, entry: dict[str, object]) -> Label:
    found = {f["sickness"]: f for f in entry.get("findings") or []}  # type: ignore[attr-defined]
    sick = [s for s in entry.get("sickness") or [] if s != "none"]  # type: ignore[attr-defined]
    tolerated = list(entry.get("tolerated") or [])  # type: ignore[call-overload]
    named = {*sick, *tolerated}
    also = {rule for name in named for rule in MET_BY.get(name, ())}
    return Label(
        path=root / str(entry["path"]),
        name=str(entry["path"]),
        framework=str(entry.get("framework") or "unknown").lower().split()[0].split("[")[0],
        steps=int(str(entry["steps"])),
        healthy=bool(entry["healthy"]),
        failures=tuple(
            Failure(
                s,
                found.get(s, {}).get("visible_from_step", 0),
                found.get(s, {}).get("earliest_step"),
                found.get(s, {}).get("until_step"),
            )
            for s in sick
        ),
        allowed=frozenset(named | also),
        corpus=root.resolve().name,
        full_framework=str(entry.get("framework") or "unknown"),
        made=str(entry.get("made") or ""),
    )


def arguments(
    program: str, text: str | None, *, needed: bool = True, jobs: bool = True
) -> argparse.ArgumentParser:
    """The parser of a program that reads LABELS; ``needed``: one at least; ``jobs``: it may judge
    in several processes."""
    parser = argparse.ArgumentParser(
        prog=f"benchmarks.verdicts{program}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("labels", nargs="+" if needed else "*", type=Path, metavar="LABELS")
    if jobs:
        parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser
