"""Actions on a run that several screens have: compare all runs with it, keep a note on it."""

from __future__ import annotations

from typing import Any

from rltui.session import RunView, Session
from rltui.session.notes import note_on, write_note
from rltui.tui.screen import ShellScreen
from rltui.tui.shell import ShellApp


def compare(shell: ShellApp[Any], session: Session, run: RunView) -> None:
    """Compare all runs with this one; when it is the reference already, with the given reference
    or with none. A run alone is not compared with itself, only with the given reference."""
    now, given = session.reference.run, session.reference.given
    if len(session.views) == 1:
        if given is None:
            shell.say("there is no other run to compare with")
            return
        wanted = given if now is None else None
    elif now is run:
        wanted = None if given is run else given
    else:
        wanted = run
    session.reference.choose(wanted)
    shell.say("compared with no run" if wanted is None else f"compared with {wanted.name}")


async def ask_note(screen: ShellScreen[Any], run: RunView | None) -> None:
    """Ask for the note on a run, with the present one as its beginning."""
    if run is not None:
        await screen.ask(f"note {note_on(run)}")


def keep_note(screen: ShellScreen[Any], run: RunView | None, text: str) -> None:
    """Keep a note on a run."""
    if run is None:
        return
    try:
        write_note(run, text)
    except OSError as problem:
        screen.shell.say(f"the note is not kept: {problem.strerror}")
        return
    screen.shell.say(f"noted on {run.name}" if text else f"no note on {run.name}")
    screen.on_news()
