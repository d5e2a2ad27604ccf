"""``rltui gate``: whether runs are as expected, for CI and nightlies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rltui.commands import command
from rltui.commands.standard_output import emit, tell
from rltui.commands.verbs import Exit
from rltui.config import Config
from rltui.core.errors import UsageError
from rltui.core.text import clean
from rltui.facts.gate import (
    Condition,
    Known,
    Others,
    job_of,
    judge,
    learned,
    left_out,
    read_conditions,
)
from rltui.files.disk import check_target, target_file
from rltui.output.gate import Gated, gate_document, gate_github, gate_junit, gate_text, learned_text
from rltui.output.json_text import dump
from rltui.session import JudgedRun, Session

#: Jobs that a message names.
_SOME = 5


def gate(options: argparse.Namespace) -> int:
    """Compare runs with the conditions of a file, or write a first file."""
    target = _target(options)
    config = command.open_config(options)
    conditions = () if options.learn else read_conditions(options.expect, Known.of(config))
    for condition in conditions:
        for part, option in (("off", "reference"), ("runs", "history")):
            if condition.parts[part] and not getattr(options, option):
                place = f"{options.expect}:{condition.line}"
                raise UsageError(f"{place}: {condition.text!r} needs --{option}")
    session = command.open_session(options, config)
    session.read_all()
    if not any(r.is_readable for r in session.runs()):
        return command.nothing_readable(options, session)

    found = _gated(options, config, session, conditions)
    result = _learned(session.runs()) if options.learn else gate_junit(found)
    if target is not None:
        with target_file(target) as file:
            file.write(result.encode())
    if not options.learn:
        write = gate_github if options.annotate == "github" else gate_text
        emit(dump(gate_document(found)) if options.json else write(found))
    elif target is None:
        emit(result)
    command.report_trouble(session)
    met = not any(g.failed for g in found)
    lost = Exit.NOTHING if session.reader.state.out_of_reach else Exit.OK
    return command.with_faults(lost if met else Exit.BAD, session.faults)


def _target(options: argparse.Namespace) -> Path | None:
    """The file to write, if any. Raises UsageError, for options without a meaning too."""
    if (options.expect is None) is not options.learn:
        raise UsageError("one of --expect FILE and --learn is needed: learn first, then expect")
    if (options.junit or options.history or options.json) if options.learn else options.output:
        raise UsageError("--junit, --history and --json go with --expect, --output with --learn")
    if options.json and options.annotate == "github":
        raise UsageError("--annotate github marks the text, which --json takes the place of")
    given = options.junit or options.output
    where = (*options.logdirs, *options.history)
    if given is None:
        return None
    target = check_target(given, where)
    if options.output and not options.force and target.is_file():
        there = f"{clean(str(given))} is there already, perhaps edited"
        raise UsageError(f"{there}: --force writes it anew")
    return target


def _gated(
    options: argparse.Namespace, config: Config, session: Session, conditions: Sequence[Condition]
) -> list[Gated]:
    """Every run, judged by the conditions."""
    earlier: list[JudgedRun] = []
    if options.history:  # its good runs, the newest first, without those that are judged
        choice = command.choice_of(options)._replace(run_glob=None, reference=None)
        history = Session(options.history, config, choice=choice)
        history.scan()
        history.read_all()
        own = {r.data.path.resolve() for r in session.runs()}
        good = _good([r for r in history.runs() if r.data.path.resolve() not in own])
        earlier = sorted(good, key=lambda r: r.data.files.modified or 0.0, reverse=True)
    compared = sum(bool(c.parts["runs"]) for c in conditions)
    found = []
    for run in session.runs():
        alike = [r for r in earlier if job_of(r) == job_of(run)]
        others = Others(session.reference.run, alike, compared)
        outcomes = [(c, judge(c, run, others)) for c in conditions]
        found.append(Gated(run, options.expect, outcomes))
    return found


def _good(runs: Sequence[JudgedRun]) -> list[JudgedRun]:
    """The good ones of some runs; standard error says why others are left out."""
    wrong = left_out(runs)
    for run in runs:
        if run.key in wrong:
            tell(f"rltui: nothing is learned from {run.name}: {wrong[run.key]}\n")
    return [r for r in runs if r.key not in wrong]


def _learned(runs: Sequence[JudgedRun]) -> str:
    """A first file of conditions. Raises UsageError for good runs of several jobs, or too few."""
    good = _good(runs)
    jobs = [" ".join(filter(None, job)) for job in sorted({*map(job_of, good)})]
    if len(good) < 2 or len(jobs) > 1:
        found = "is 1 good run" if len(good) == 1 else f"are {len(good) or 'no'} good runs"
        if len(jobs) > 1:
            found += f" of {len(jobs)} jobs ({'; '.join(jobs[:_SOME])})"
        raise UsageError(f"two good runs of one job are needed, and there {found}; see --run")
    return learned_text(learned(good), good)
