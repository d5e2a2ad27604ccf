"""Steps that several verbs share: open configuration and session, report what is wrong."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Iterable, Sequence
from typing import Any

from rltui.catalogue import load_catalogue
from rltui.commands.standard_output import tell
from rltui.commands.verbs import Exit
from rltui.config import Config, load_config
from rltui.core.batch import Note
from rltui.core.errors import UsageError
from rltui.core.level import Level
from rltui.core.text import clean
from rltui.core.yaml_document import nearest
from rltui.draw.prose import note_text
from rltui.session import Session
from rltui.session.session import Choice

#: Notes about logdirs and hosts that are written at most.
_MOST_TROUBLES = 100


def open_config(options: argparse.Namespace) -> Config:
    """The configuration: flags beat environment beats file beats defaults."""
    names = ("theme", "marker", "mouse")
    flags = {f"view.{name}": getattr(options, name, None) for name in names}
    return load_config(options.config, os.environ, flags)


def choice_of(options: argparse.Namespace, **how: Any) -> Choice:
    """Which runs are read and how, according to the options; ``how``: see Choice."""
    given = {
        name: getattr(options, name)
        for name in ("run_glob", "framework", "algorithm", "verify", "reference", "align")
        if hasattr(options, name)
    }
    return Choice(**given, **how)


def open_session(options: argparse.Namespace, config: Config | None = None, **how: bool) -> Session:
    """A session over the LOGDIR arguments; raises for paths that cannot be logs. ``how`` much is
    forgiven: see Choice."""
    choice = choice_of(options, **how)
    config = config or open_config(options)
    session = Session(options.logdirs, config, choice=choice, pipe=getattr(options, "pipe", 0))
    session.scan()
    if config.hooks.goals and choice.waits:  # told by those who follow
        from rltui.facts.goals import open_goals  # few users have one

        session.goals = open_goals(config)
    gc.set_threshold(20_000, 20, 20)  # from here on there is garbage
    if options.debug_log is not None:
        options.debug_log.opened(session)
    return session


def check_metrics(keys: Sequence[str]) -> None:
    """Raises UsageError for a key that the catalogue does not have."""
    known = load_catalogue().metrics if keys else {}
    for key in keys:
        if key not in known:
            raise UsageError(f"no metric {key!r} in the catalogue", hint=nearest(key, known))


def report_notes(notes: Iterable[Note], most: int, indent: str = "rltui: ") -> None:
    """Write notes about files, ``most`` of them at most, to standard error."""
    notes = list(notes)
    for note in notes[:most]:
        tell(f"{indent}{note_text(note, str(note.path))}\n")
    if len(notes) > most:
        tell(f"{indent}and {len(notes) - most} more notes\n")


def report_trouble(session: Session) -> None:
    """Write to standard error which logdirs and hosts cannot be read."""
    report_notes((n for n in session.reach.notes if n.level >= Level.WATCH), _MOST_TROUBLES)


def with_faults(code: int, faults: Sequence[str]) -> int:
    """The exit code where rltui itself failed in some run, which is said on standard error."""
    for fault in faults[:_MOST_TROUBLES]:
        tell(f"rltui: {fault}\n")
    return Exit.INTERNAL if faults else code


def nothing_readable(options: argparse.Namespace, session: Session) -> int:
    """Report that there is no log below the LOGDIR arguments, and what was in the way."""
    if session.naming.missed:
        tell(f"rltui: {session.naming.missed}\n")
        return Exit.NOTHING
    names = ", ".join(clean(str(p)) for p in options.logdirs)
    runs = session.runs()
    what = "no row of metrics" if runs else "no readable log"
    tell(f"rltui: {what} below {names}\n")
    for run in runs:
        crash = run.verdict.crash
        held = sum(s.size for s in run.data.files.sources.values())
        ended = f"{crash.kind.value}: {crash.reason}" if crash is not None else ""
        tell(f"  {run.name}: {ended or f'logs of {held:,} bytes, no value yet'}\n")
    report_notes(session.troubles(), 10, "  ")

    return Exit.NOTHING
