"""Opens the comparison of runs, or says why there is none."""

from __future__ import annotations

from typing import Any

from rltui.facts.comparison import compared_runs
from rltui.facts.runs import runs_matching
from rltui.pages.comparison.screen import ComparisonScreen, Open
from rltui.session import RunView, Session
from rltui.tui.shell import ShellApp

_NAME = "comparison"


def open_comparison(
    shell: ShellApp[Any],
    session: Session,
    opens: Open,
    at: tuple[RunView, str] | None = None,
    *,
    grouped: bool = False,
) -> None:
    """Show the marked runs side by side, or all; ``at`` is a run and the tag to begin with.
    ``grouped``: by the first grouping that there is."""
    runs = compared_runs(session.runs(), shell.view.marked)
    if len(runs) < 2:
        reading = session.reading() is not None
        shell.say("the runs are being read" if reading else "there is no other run to compare with")
        return
    text = "" if len(shell.view.marked) > 1 else shell.state.runs_filter
    passing = runs_matching(runs, text)
    if at is not None and at[0] not in passing:
        text = ""
    elif len(passing) < 2:
        shell.say(f"the filter shows {_shown(session.runs(), text, passing)}; Esc clears it")
        return
    if not shell.is_screen_installed(_NAME):  # kept: making a screen takes time
        shell.install_screen(ComparisonScreen(session), _NAME)
    screen = shell.get_screen(_NAME, ComparisonScreen)
    if screen in shell.screen_stack:  # below the metric that it opened
        screen.begin(screen.opens, at, screen.status.filter)
        shell.pop_screen()
        return
    screen.begin(opens, at, text, grouped=grouped)
    shell.push_screen(screen)


def _shown(runs: list[RunView], text: str, passing: list[RunView]) -> str:
    """How many runs pass the filter ``text``, as the list counts them, and how many of those can
    be compared where that is not all."""
    shown = runs_matching(runs, text)
    some = f", {len(passing)} with values" if len(passing) < len(shown) else ""
    return f"{len(shown)} of {len(runs)} runs{some}"
