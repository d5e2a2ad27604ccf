"""``rltui gate``: whether runs are as expected, for CI and nightlies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rltui.commands.command import (
    choice_of,
    nothing_readable,
    open_config,
    open_session,
    report_trouble,
    with_faults,
)
from rltui.commands.standard_output import emit, tell
from rltui.commands.verbs import Exit
from rltui.config import Config
from rltui.core.errors import UsageError
from rltui.facts.gate import (
    Known,
    Others,
    job_of,
    learned,
    read_conditions,
    why_not_good,
)
from rltui.files.disk import check_target, target_file
from rltui.output.gate import (
    Gated,
    gate_document,
    gate_junit,
    gate_text,
    github_lines,
    learned_text,
)
from rltui.output.json_document import dump
from rltui.session import RunView, Session
from rltui.session.judging import open_rules
from rltui.session.meaning import open_catalogue


def gate(options: argparse.Namespace) -> int:
    """Compare runs with a file of conditions, or write a first one."""
    if options.learn:
        return _learn(options)
    if options.expect is None:
        raise UsageError("--expect FILE is missing (--learn writes a first one from good runs)")
    if options.output is not None:
        raise UsageError("--output is where --learn writes to; the results go to --junit FILE")
    config, where = open_config(options), (*options.logdirs, *options.history)
    target = None if options.junit is None else check_target(options.junit, where)
    conditions = read_conditions(options.expect, known_names(config))
    for condition in conditions:
        needed = {"reference": options.reference, "good": options.history}.get(condition.needs, 1)
        if not needed:
            given = "--reference RUN" if condition.needs == "reference" else "--history LOGDIR"
            place = f"{options.expect}:{condition.line}"
            raise UsageError(f"{place}: {condition.text!r} needs {given}")
    session = open_session(options, config)
    session.read_all()
    runs = session.runs()
    if not any(r.is_readable for r in runs):
        return nothing_readable(options, session)

    good = _good_runs(options, config, runs) if options.history else []
    found = []
    for run in runs:
        job = job_of(run)
        others = Others(session.reference.run, [r for r in good if job_of(r) == job])
        found.append(Gated(run, [(c, c.judge(run, others)) for c in conditions]))
    if target is not None:
        with target_file(target) as file:
            file.write(gate_junit(found, options.expect).encode())
    if options.json:
        emit(dump(gate_document(found, options.expect)))
    else:
        write = github_lines if options.annotate == "github" else gate_text
        emit(write(found, options.expect))
    report_trouble(session)
    code = Exit.BAD if any(g.failed for g in found) else Exit.OK
    if code == Exit.OK and session.reader.state.out_of_reach:
        code = Exit.NOTHING
    return with_faults(code, session.faults)


def known_names(config: Config) -> Known:
    """The names that conditions may have, with those of the user."""
    catalogue = open_catalogue(config)
    return Known(catalogue.metrics, {r.id for r in open_rules(config, catalogue)})


def _good_runs(
    options: argparse.Namespace, config: Config, judged: Sequence[RunView]
) -> list[RunView]:
    """The good runs below --history, the newest first, without those that are judged."""
    choice = choice_of(options)._replace(run_glob=None, reference=None)
    session = Session(options.history, config, choice=choice)
    session.scan()
    session.read_all()
    own = {r.data.path.resolve() for r in judged}
    good = [r for r in _chosen(session.runs()) if r.data.path.resolve() not in own]
    return sorted(good, key=lambda r: r.data.files.modified or 0.0, reverse=True)


def _chosen(runs: Sequence[RunView]) -> list[RunView]:
    """The good ones; standard error says why others are left out."""
    for run in runs:
        if why := why_not_good(run):
            tell(f"rltui: {run.name} is left out: {why}\n")
    return [r for r in runs if not why_not_good(r)]


def _learn(options: argparse.Namespace) -> int:
    if options.expect is not None or options.junit is not None or options.history:
        raise UsageError("--learn writes a file of conditions: --expect, --junit and --history "
                         "are for a gate that has one")  # fmt: skip
    target: Path | None = options.output
    target = None if target is None else check_target(target, options.logdirs)
    session = open_session(options)
    session.read_all()
    if not any(r.is_readable for r in session.runs()):
        return nothing_readable(options, session)
    good = _chosen(session.runs())
    jobs = sorted({job_of(r) for r in good})
    if len(jobs) > 1:
        names = ", ".join(" ".join(filter(None, job)) for job in jobs)
        raise UsageError(f"the good runs are of {len(jobs)} jobs: {names}; choose one with --run")
    if len(good) < 2:
        raise UsageError(f"{len(good)} good runs: two at least show how far seeds differ")
    text = learned_text(learned(good), good)
    if target is None:
        emit(text)
    else:
        with target_file(target) as file:
            file.write(text.encode())
    report_trouble(session)
    return with_faults(Exit.OK, session.faults)
