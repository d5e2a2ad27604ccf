"""``rltui watch``: the live app (floor 7)."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from rltui.commands.command import (
    Command,
    Exit,
    add_logdirs,
    add_reading,
    add_screen,
    open_config,
    open_session,
)
from rltui.core.errors import UsageError

if TYPE_CHECKING:
    from rltui.config import Config
    from rltui.session import Session


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_logdirs(parser)
    add_reading(parser)
    add_screen(parser)


def _run(options: argparse.Namespace) -> int:
    need_terminal()
    config = open_config(options)
    return show(open_session(options, config), config)


def need_terminal() -> None:
    """Raise UsageError when standard input or output is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "watch needs a terminal on standard input, output and error; "
            "use `rltui snapshot` or `rltui check` in scripts and pipes"
        )


def show(session: Session, config: Config) -> int:
    """Run the app over a session; one line with the verdict stays in the scrollback."""
    from rltui.present.keys import keys_of
    from rltui.present.report import verdict_line
    from rltui.present.theme import load_theme
    from rltui.present.view import View
    from rltui.tui.app import RltuiApp

    theme = load_theme(config.view.theme, config.theme_dirs)
    view = View(
        axis=config.view.x_axis,
        smooth=config.view.smooth,
        marker=marker_of(config),
        keys=keys_of(config),
    )
    app = RltuiApp(session, view, theme, config.theme_dirs)
    app.run(mouse=config.view.mouse)
    sys.stdout.write(verdict_line(session) + "\n")
    return app.return_code or Exit.OK


def marker_of(config: Config) -> str:
    """The marker to draw with: as configured, or what the locale can show."""
    if config.view.marker != "auto":
        return config.view.marker
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    # The Linux console and dumb terminals have no braille whatever the locale says.
    plain = os.environ.get("TERM", "") in ("linux", "dumb", "vt100", "vt220")
    return "braille" if encoding == "utf8" and not plain else "ascii"


COMMAND = Command(
    "watch",
    "watch runs live: curves, badges, findings",
    "rltui watch runs/",
    _arguments,
    _run,
)
