"""``rltui explain``: what a tag, metric, rule or symptom means."""

from __future__ import annotations

import argparse
from pathlib import Path

from rltui.commands.command import Command, Exit, open_config
from rltui.commands.standard_output import emit


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="tag, metric key, rule or symptom")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument(
        "--reasons", action="store_true", help="of a rule, also where each limit comes from"
    )
    parser.add_argument("--framework", metavar="ID", help="whose tag it is")
    parser.add_argument("--config", metavar="FILE", type=Path, help="configuration file")


def _run(options: argparse.Namespace) -> int:
    from rltui.output.explain import explain_document, explain_text
    from rltui.output.json_document import dump
    from rltui.session.judging import open_rules
    from rltui.session.meaning import open_catalogue

    config = open_config(options)
    catalogue = open_catalogue(config)
    rules = open_rules(config, catalogue)
    document = explain_document(catalogue, rules, options.name, options.framework)
    emit(dump(document) if options.json else explain_text(document, reasons=options.reasons))
    return Exit.OK


COMMAND = Command(
    "explain",
    "say what a tag, metric, rule or symptom means; without a name list them",
    "rltui explain actor/ppo_kl",
    _arguments,
    _run,
)
