"""``rltui doctor``: what was detected: installation, terminal, configuration, logs; and why."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from rltui.catalogue import load_catalogue
from rltui.commands.alerts import survival, targets_of
from rltui.commands.lint import errors_in, own_documents
from rltui.commands.standard_output import emit
from rltui.commands.terminal import marker_of, mouse_of
from rltui.commands.verbs import Exit
from rltui.config import Config, config_dirs, config_path, load_config
from rltui.core.address import is_streamed
from rltui.core.errors import RltuiError
from rltui.core.installation import packages
from rltui.core.text import Json
from rltui.formats import FORMATS
from rltui.formats.words import words
from rltui.output.doctor_report import doctor_text
from rltui.session.logdir_facts import logdir_facts
from rltui.trackers import TRACKERS
from rltui.version import __version__

_VARIABLES = (
    *("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR"),
    *("TERM_PROGRAM", "LC_ALL", "LC_CTYPE", "LANG"),
)
#: The value of these names a host or a path: that they are set is enough.
_PRIVATE = ("TMUX", "SSH_CONNECTION", "SSH_TTY")


def doctor(options: argparse.Namespace) -> int:
    """Print what was detected; an error of the configuration or a path decides the exit code."""
    wrong = ""
    try:
        config = load_config(options.config, os.environ, {})
    except RltuiError as error:  # the defaults are used
        config = Config()
        wrong = str(error)
    document: Json = {
        "schema": "rltui.doctor/1",
        "rltui": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **packages(),
        "terminal": _terminal(config),
        "config": _config_facts(options.config, config, wrong),
        "formats": {
            "logs": [f.name for f in FORMATS],
            "trackers": list(dict.fromkeys(t.name for t in TRACKERS)),
        },
        "alerts": {
            "events": list(config.hooks.events),
            "targets": targets_of(config.hooks),
            "after_logout": survival(),
        },
        "logdirs": [_logdir(p, config) for p in options.logdirs],
    }
    emit(json.dumps(document, indent=2) + "\n" if options.json else doctor_text(document))

    logdirs = document["logdirs"]
    failed = any(d["error"] and not d["out_of_reach"] for d in logdirs)
    if document["config"]["errors"] or failed:
        return Exit.USAGE
    if any(not d["runs"] for d in logdirs):
        return Exit.NOTHING

    return Exit.OK


def _terminal(config: Config) -> Json:
    size = shutil.get_terminal_size()
    colours = "unknown"  # in an installation without what draws it
    with suppress(ImportError):
        from rich.console import Console  # the screen's, which other verbs do without

        from rltui.tui.theming import depth_of  # it imports Textual

        console = Console(force_terminal=True)
        colours = depth_of(console.color_system, console.no_color)

    return {
        "is_terminal": {s: getattr(sys, s).isatty() for s in ("stdin", "stdout", "stderr")},
        "columns": size.columns,
        "rows": size.lines,
        "colours": colours,
        "encoding": sys.stdout.encoding,
        "marker": marker_of(config),
        "mouse": mouse_of(config),
        "environment": {v: os.environ[v] for v in _VARIABLES if v in os.environ}
        | {v: "(set)" for v in _PRIVATE if v in os.environ},
    }


def _config_facts(given: Path | None, config: Config, wrong: str) -> Json:
    try:
        path = config_path(given, os.environ)
        dirs = config_dirs(given, os.environ)
        documents = own_documents(given)
    except RltuiError as error:
        return {"path": str(given), "read": False, "documents": [], "errors": [str(error)]}
    errors = [line for p, kind in documents.items() for line in errors_in(p, kind)]
    if wrong and wrong not in errors and not any(wrong.startswith(str(p)) for p in documents):
        errors.insert(0, wrong)

    return {
        "path": str(path),
        "read": config.path is not None,
        "directories": {d.name: d.is_dir() for d in (dirs.dialects, dirs.rules, dirs.themes)},
        "documents": [str(p) for p in documents if p != path],
        "variables": sorted(v for v in os.environ if v.startswith("RLTUI_")),
        "theme": config.view.theme,
        "errors": errors,
    }


def _logdir(path: Path, config: Config) -> Json:
    try:
        catalogue = load_catalogue(config.dialect_dirs)
    except RltuiError:  # reported with the configuration
        catalogue = load_catalogue()
    step_keys = (*words().step_keys, *catalogue.step_keys())
    facts = logdir_facts(
        *(path, step_keys), inotify=config.watch.inotify, remote_s=config.watch.remote_s
    )

    return {
        "path": str(path),
        "error": facts.error or None,
        "out_of_reach": facts.out_of_reach,
        "filesystem": facts.filesystem or None,
        "inotify": facts.inotify,
        "why": facts.why,
        "runs": [
            {
                "run": run.key.name,
                "files": [
                    {
                        "path": str(f.path),
                        "format": f.kind,
                        "bytes": f.size if f.size >= 0 else None,
                    }
                    for f in run.files
                ],
            }
            for run in facts.runs
        ],
        "unreadable": [str(p) for p in facts.unreadable],
        "not_read": [{"path": str(n.path), "reason": n.message} for n in facts.not_read],
        "not_named": facts.more,
        "requests": None if facts.costs is None else asdict(facts.costs),
        "streamed": is_streamed(path),
    }
