"""The same runs judged by rl-doctor (package ``rldoctor``), installed beside some interpreter.

Each source that it accepts is handed to it; the reading is generous: its worst finding of any
source counts, at whatever step, and a detector meets every rule that it may be talking about.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.verdicts.labels import Label
from benchmarks.verdicts.score import Scored

#: Detector -> rules that its findings may speak of. ``reward_composition`` has no counterpart.
MEANS: Mapping[str, tuple[str, ...]] = {
    "advantage_collapse": ("zero_std_groups", "reward_flat_no_learning"),
    "clip_saturation": ("clipfrac_high",),
    "entropy_collapse": ("entropy_collapse",),
    "gradient_pathology": ("grad_explosion", "nan", "reward_flat_no_learning", "no_update"),
    "kl_drift": ("kl_blowup", "reward_flat_no_learning"),
    "length_pathology": ("truncation_high", "length_hacking", "length_blowup"),
    "plateau": ("reward_flat_no_learning", "eval_stall"),
    "reward_hacking": ("reward_hacking", "eval_stall"),
}

_BAD = {"CRITICAL": True, "WARNING": False}
_FILES = ("trainer_state.json", "progress.csv", "progress.json", "result.json")
_SECONDS = 120


def score_peer(label: Label, program: Path) -> Scored:
    """What ``rl-doctor diagnose`` finds in a labelled run. Raises OSError without the program."""
    out = Scored(label, unreadable=True)
    for source in _sources(label.path):
        said = _diagnose(source, program)
        if said is None:
            continue
        out.unreadable = False
        for rules, bad in said:
            _count(out, rules, bad=bad)
    return out


def _count(out: Scored, rules: tuple[str, ...], *, bad: bool) -> None:
    label = out.label
    met = [s.rule for s in label.failures if set(s.rules) & set(rules)]
    for rule in met:
        out.hits[rule] = out.hits.get(rule, False) or bad
    if not met and not label.allowed & set(rules):
        out.alarms[rules[0]] = out.alarms.get(rules[0], False) or bad


def _sources(path: Path) -> Iterator[Path]:
    """What its reader takes: documents, JSON Lines, CSV of SB3 and RLlib, event directories."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    yield from (f for f in files if f.suffix == ".jsonl" or f.name in _FILES)
    yield from sorted({f.parent for f in files if "tfevents" in f.name})


def _diagnose(source: Path, program: Path) -> list[tuple[tuple[str, ...], bool]] | None:
    """(rules, at level bad) of each finding that fires; None: not readable, or nothing judged."""
    command = [str(program), "diagnose", str(source), "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        findings = json.loads(done.stdout)["findings"]
    except (ValueError, KeyError, subprocess.TimeoutExpired):
        return None
    if all(f["severity"] == "SKIPPED" for f in findings):
        return None
    return [
        (MEANS[f["detector"]], _BAD[f["severity"]])
        for f in findings
        if f["severity"] in _BAD and f["detector"] in MEANS
    ]
