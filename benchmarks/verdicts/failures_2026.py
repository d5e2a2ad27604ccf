"""Failures of LLM and agent training, made: ``python -m benchmarks.verdicts.failures_2026``.

For each row of ``failures_2026.yaml`` (which explains how it is written) logs of 200 rows as the
framework of the row writes them, with the companions of a healthy run: with the sign from its
onset on, at 0.8, 1.2 and 2 times its limit, and healthy twins without it, the same with twice
the noise, and with something like it where that is normal. All share the noise of the row,
so that nothing but the sign tells a run from its twin.

Each log is judged, and printed is for each row whether its failure was found, how bad, and how
long after its onset, as a share of the run; and what was said of healthy logs. Found is a finding
that the healthy twin does not have, and that is one of ``rules`` where these are given. It appears
at the shortest part of the run in which it is found, to the row. A sign that slides takes rows to
reach its limit: what comes within 15 % of the run only when counted from there is counted apart.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import yaml

from benchmarks.machine import table
from benchmarks.verdicts.noise import noise
from benchmarks.verdicts.replay import Judge, Logged, Said
from rltui.core.block import FloatArray
from rltui.sources.side_files.settings_files import read_settings

TABLE = Path(__file__).with_suffix(".yaml")
ROWS, ONSET = 200, 80
STRENGTHS = (0.8, 1.2, 2.0)
#: Rows until a sign has gone all its way.
_OVER = 10
#: Noise relative to a value, how much of it remains in the next row, and how much more is "noisy".
_NOISE, _MEMORY, _NOISY = 0.05, 0.5, 2.0
#: Held-out scores are logged in one of so many rows.
_EVAL_EVERY = 10
_EVAL = ("val", "eval", "validation", "test/")
#: A restarted run repeats so many rows after so many seconds; a row takes so many.
_REPEATED, _PAUSE, _SECONDS = 5, 3600.0, 120.0
#: A time of day at which all runs begin.
_BEGIN = 1.78e9
#: A failure is found in time within this share of the run.
_IN_TIME = 0.15


class Series(NamedTuple):
    """What a name is logged as; see the table."""

    begin: float
    end: float
    relative: float = _NOISE
    absolute: float = 0.0
    most: float = np.inf

    @property
    def path(self) -> FloatArray:
        """Without noise."""
        time: FloatArray = np.linspace(0.0, 1.0, ROWS)
        eased: FloatArray = (1 - np.exp(-3 * time)) / (1 - np.exp(-3.0))
        return self.begin + (self.end - self.begin) * eased

    def with_noise(self, path: FloatArray, seed: int, noisiness: float) -> FloatArray:
        """Another path with the noise of this one."""
        shaken = noisiness * noise(np.random.default_rng(seed), ROWS, _MEMORY)
        values = path * np.exp(self.relative * shaken) + self.absolute * shaken
        return np.minimum(values, self.most)


def series(text: object) -> Series:
    """Parse. Raises ValueError."""
    words = str(text).split()
    values, options = [], {}
    for word in words:
        if word.startswith("~"):
            options["relative"] = float(word[1:])
        elif word.startswith("+-"):
            options |= {"absolute": float(word[2:]), "relative": 0.0}
        elif word.startswith("<"):
            options["most"] = float(word[1:])
        elif word != ">":
            values.append(float(word))
    if not 1 <= len(values) <= 2:
        raise ValueError(text)
    return Series(values[0], values[-1], **options)


class Sign(NamedTuple):
    """How a name shows a failure; see the table."""

    usual: Series
    verb: str
    limit: Any
    about: float = 0.0
    over: int = _OVER
    lasts: int = ROWS

    def goal(self, usual: float, strength: float) -> float:
        """Where it goes at a strength, from its usual value."""
        if self.verb == "at":
            return float(self.limit[STRENGTHS.index(strength)])
        limit = float(self.limit)
        goals = {
            "above": self.about + (limit - self.about) * strength,
            "below": limit / strength,
            "full": 1 - (1 - limit) / strength,
            "to": usual + (limit - usual) * strength,
            "times": usual * limit**strength if limit > 0 else usual,
            "gone": usual * max(0.0, 1 - strength),
        }
        return goals[self.verb]

    def path(self, onset: int, strength: float) -> FloatArray:
        """Without noise; a sign that was there from the start has no usual part."""
        usual, rows = self.usual.path, np.arange(ROWS)
        goal = self.goal(float(usual[onset]), strength)
        there = np.clip((rows - onset + 1) / self.over, 0.0, 1.0)
        there[rows >= onset + self.lasts] = 0.0
        path = usual + (goal - usual) * there
        return np.maximum(path, 0.0) if usual.min() >= 0 else path

    def crossed(self, onset: int, strength: float) -> int:
        """Rows from the onset to the limit; as many as it slides if it stays short of that."""
        usual = float(self.usual.path[onset])
        goal = self.goal(usual, strength)
        limit = self.goal(usual, 1.0) if self.verb != "at" else goal
        part = (limit - usual) / (goal - usual) if goal != usual else 1.0
        return math.ceil(self.over * min(1.0, part))


class Failure(NamedTuple):
    """One row of the table."""

    row: str
    """Its number in the list of failures, and a letter where several names show it."""
    what: str
    framework: str
    expects: str
    """What a user would call it."""
    rules: tuple[str, ...]
    """Ids of the rules that say so; empty while nobody has said which."""
    onset: int
    quiet: bool
    """The sign is normal here."""
    restart: bool
    settings: Mapping[str, object]
    signs: Mapping[str, Sign]
    also: Mapping[str, object]
    normal: Sequence[Mapping[str, Any]]


class Framework(NamedTuple):
    """How a framework logs a healthy run."""

    recognised: str
    rows: str
    """How a row is written; see ``_written``."""
    names: Mapping[str, object]


class Log(NamedTuple):
    """One log that is made."""

    failure: Failure
    kind: str
    """A strength (``1.2``), ``healthy``, ``noisy``, or a note of the table."""
    healthy: bool
    values: Mapping[str, FloatArray]
    settings: Mapping[str, object]

    @property
    def name(self) -> str:
        """Of its directory."""
        return f"{self.failure.row}-{self.kind}".replace(" ", "_")


@cache
def _document() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return found


@cache
def framework(name: str) -> Framework:
    """One of the table, with what it takes from another."""
    given = _document()["frameworks"][name]
    names: dict[str, object] = {}
    recognised, rows = name, given.get("rows", "step")
    if "like" in given:
        base = framework(given["like"])
        without = tuple(given.get("without", ()))
        names = {k: v for k, v in base.names.items() if not (without and k.startswith(without))}
        rows = given.get("rows", base.rows)
    return Framework(given.get("recognised", recognised), rows, names | given["names"])


def failures() -> tuple[Failure, ...]:
    """All of the table."""
    rules = {str(row): tuple(ids) for row, ids in _document()["rules"].items()}
    return tuple(
        Failure(
            str(row),
            given["what"],
            given["framework"],
            given["expects"],
            rules.get(str(row), ()),
            given.get("onset", ONSET),
            given.get("quiet", False),
            given.get("restart", False),
            given.get("settings", {}),
            {name: _sign(sign) for name, sign in given["signs"].items()},
            given.get("also", {}),
            given.get("normal", ()),
        )
        for row, given in _document()["failures"].items()
    )


def _sign(given: Mapping[str, Any]) -> Sign:
    options = {key: given[key] for key in ("about", "over", "lasts") if key in given}
    (verb,) = set(given) - {"usual", *options}
    return Sign(series(given["usual"]), verb, given[verb], **options)


FAILURES = failures()


def logs(failure: Failure) -> Iterator[Log]:
    """All logs of a row."""
    for strength in STRENGTHS:
        values = _values(failure, strength=strength)
        yield Log(failure, f"{strength:g}", failure.quiet, values, failure.settings)
    for kind, noisiness in (("healthy", 1.0), ("noisy", _NOISY)):
        values = _values(failure, noisiness=noisiness)
        yield Log(failure, kind, True, values, failure.settings)
    for each in failure.normal:
        values = _values(failure, other=each["names"])
        yield Log(failure, each["note"], True, values, each.get("settings", failure.settings))


def _values(
    failure: Failure,
    *,
    strength: float | None = None,
    noisiness: float = 1.0,
    other: Mapping[str, object] | None = None,
) -> dict[str, FloatArray]:
    """What is logged by name; ``other`` series instead of those of the row."""
    values, sums = dict[str, FloatArray](), dict[str, str]()
    names = {**framework(failure.framework).names, **failure.also}
    for name, given in (names | dict.fromkeys(failure.signs) | dict(other or {})).items():
        if str(given).startswith("= "):
            sums[name] = str(given)[2:]
            continue
        sign = failure.signs[name] if given is None else None
        usual = sign.usual if sign else series(given)
        path = sign.path(failure.onset, strength) if sign and strength else usual.path
        seed = zlib.crc32(f"{failure.row} {name}".encode())
        values[name] = usual.with_noise(path, seed, noisiness)
    for name, words in sums.items():
        values[name] = _sum(words.split(), values)
    return values


def _sum(words: Sequence[str], values: Mapping[str, FloatArray]) -> FloatArray:
    """Of names and numbers with a sign between them, at least 0."""
    total = np.zeros(ROWS)
    for sign, word in zip(("+", *words[1::2]), words[::2], strict=True):
        part = values[word] if word in values else np.full(ROWS, float(word))
        total += part if sign == "+" else -part
    return np.maximum(total, 0.0)


def write(log: Log, folder: Path) -> Path:
    """Write a log as its framework does, in a directory of its own, which is returned."""
    place = folder / log.name
    place.mkdir(parents=True)
    form = framework(log.failure.framework).rows
    onset = log.failure.onset if log.failure.restart else ROWS
    order = [*range(onset), *range(onset - _REPEATED, ROWS)] if onset < ROWS else range(ROWS)
    lines = []
    for number, row in enumerate(order):
        wall = _BEGIN + _SECONDS * number + (_PAUSE if number >= onset else 0.0)
        figures = {
            name: float(f"{x[row]:.7g}")
            for name, x in log.values.items()
            if not name.startswith(_EVAL) or (row + 1) % _EVAL_EVERY == 0
        }
        lines.append(json.dumps(_written(form, row + 1, wall, figures)))
    (place / f"{_FILE.get(form, 'metrics')}.jsonl").write_text("\n".join(lines) + "\n")
    if log.settings:
        (place / "config.yaml").write_text(yaml.safe_dump(dict(log.settings)))
    return place


#: Stem of the file, by form.
_FILE = {"swift": "logging"}


def _written(form: str, step: int, wall: float, figures: dict[str, float]) -> dict[str, object]:
    """A row of a file: of verl's logger (``data``), of ms-swift, with the counter of SB3, or with
    a counter of that name, as exported from a tracker."""
    if form == "data":
        return {"step": step, "data": figures | {"training/global_step": step}}
    if form == "swift":
        return {**figures, "global_step/max_steps": f"{step}/{ROWS}"}
    if form == "sb3":
        return {**figures, "time/total_timesteps": 2048 * step, "time/iterations": step}
    return {form: step, **figures, "_timestamp": wall}


class Found(NamedTuple):
    """What was said of a failure at one strength."""

    rules: tuple[str, ...] = ()
    """Empty: it was not found."""
    bad: bool = False
    after: float = 0.0
    """How long after the onset, as a share of the run."""
    slid: float = 0.0
    """After how much of that the first of its signs was beyond its limit."""

    def __str__(self) -> str:
        if not self.rules:
            return "no"
        return f"{'bad' if self.bad else 'watch'} {self.after:.0%}"


class Judged(NamedTuple):
    """What was said of the logs of a row."""

    found: tuple[Found, ...]
    """By strength."""
    alarms: Mapping[str, tuple[str, ...]]
    """Healthy log -> rules that spoke of it."""
    healthy: int
    taken_for: tuple[str, ...]
    """Other frameworks that its logs were taken for."""


def judged(failure: Failure, judge: Judge, folder: Path) -> Judged:
    """Make all logs of a row in ``folder``, and judge them."""
    runs, said = dict[str, Logged](), dict[str, list[Said]]()
    healthy, others = set[str](), set[str]()
    for log in logs(failure):
        place = write(log, folder)
        (run,) = judge.read(place)
        runs[log.kind] = replace(run, hyperparameters=read_settings([place]).values)
        said[log.kind] = judge.judge(runs[log.kind])
        recognition = judge.view(runs[log.kind]).recognition
        assert recognition is not None
        others.add(recognition.framework)
        if log.healthy:
            healthy.add(log.kind)
    usual = {each.rule for each in said["healthy"]}
    found = tuple(
        _found(failure, strength, judge, runs[f"{strength:g}"], said[f"{strength:g}"], usual)
        for strength in STRENGTHS
    )
    alarms = {kind: tuple(sorted({x.rule for x in said[kind]})) for kind in runs if kind in healthy}
    return Judged(
        found,
        {kind: rules for kind, rules in alarms.items() if rules},
        len(healthy),
        tuple(sorted(others - {framework(failure.framework).recognised})),
    )


def _found(
    failure: Failure,
    strength: float,
    judge: Judge,
    run: Logged,
    said: Sequence[Said],
    usual: set[str],
) -> Found:
    new = [x for x in said if x.rule not in usual and x.rule in (failure.rules or [x.rule])]
    rules = {x.rule for x in new}
    if not rules:
        return Found()
    first, last = run.span
    row = (last - first) / (ROWS - 1)
    early, late = 0, ROWS - failure.onset
    while early < late:  # once found, a failure stays found: it may at most be over
        middle = (early + late) // 2
        part = run.until(first + row * (failure.onset + middle - 1))
        if any(x.rule in rules for x in judge.judge(part)):
            late = middle
        else:
            early = middle + 1
    slid = min(sign.crossed(failure.onset, strength) for sign in failure.signs.values())
    bad = any(x.bad for x in new)
    return Found(tuple(sorted(rules)), bad, early / ROWS, slid / ROWS)


@cache
def _judge() -> Judge:
    """One per process."""
    return Judge()


def _judged(failure: Failure, folder: Path) -> Judged:
    return judged(failure, _judge(), folder)


def report(done: Iterable[tuple[Failure, Judged]], *, details: bool) -> Iterator[str]:
    """The table, and its sums."""
    rows, named = [], list[str]()
    found, soon, slow = (dict.fromkeys(STRENGTHS, 0) for _ in range(3))
    failing = healthy = alarms = 0
    for failure, result in done:
        cells = [*map(str, result.found)]
        rows.append((failure.row, failure.what, failure.framework, failure.expects, *cells,
                     f"{len(result.alarms)} of {result.healthy}"))  # fmt: skip
        failing += not failure.quiet
        healthy += result.healthy
        alarms += len(result.alarms)
        for strength, each in zip(STRENGTHS, result.found, strict=True):
            said = bool(each.rules) and not failure.quiet
            found[strength] += said
            soon[strength] += said and each.after <= _IN_TIME
            slow[strength] += said and _IN_TIME < each.after <= _IN_TIME + each.slid
            if each.rules:
                named.append(f"- {failure.row} at {strength:g}: {', '.join(each.rules)}")
        named += [f"- {failure.row}, {kind} (healthy): {', '.join(rules)}"
                  for kind, rules in result.alarms.items()]  # fmt: skip
        if result.taken_for:
            named.append(f"- {failure.row} was taken for {', '.join(result.taken_for)}")
    heads = (f"at {strength:g}" for strength in STRENGTHS)
    yield from table(("#", "failure", "logged by", "expected", *heads, "healthy alarms"), rows)
    words = (
        f"{count} at {strength:g}, {soon[strength]} of them within {_IN_TIME:.0%} of the run after "
        f"their onset and {slow[strength]} more after their limit"
        for strength, count in found.items()
    )
    yield f"\nFound of {failing} failures, by times their limit: {'; '.join(words)}."
    yield f"Alarms on {alarms} of {healthy} healthy logs."
    if details:
        yield from ["", *named]


def main() -> int:
    """Make the logs, judge them, and print the table."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.verdicts.failures_2026",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the logs in this directory")
    parser.add_argument("--only", default="", help="rows of this number or letter, as 9 or 9b")
    parser.add_argument("--details", action="store_true", help="also what was said of each log")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    chosen = [f for f in FAILURES if options.only in ("", f.row, f.row.rstrip("abcdefg"))]
    with TemporaryDirectory() as temporary, ProcessPoolExecutor(options.jobs) as pool:
        folder = options.out or Path(temporary)
        done = pool.map(_judged, chosen, [folder] * len(chosen))
        lines = report(zip(chosen, done, strict=True), details=options.details)
        sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
