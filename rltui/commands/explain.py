"""``rltui explain``: what a name means. Reads no log, and imports nothing that does."""

from __future__ import annotations

import argparse
import os
import sys

from rltui.commands.standard_output import emit
from rltui.commands.terminal import knows_links
from rltui.commands.verbs import Exit
from rltui.config import load_config
from rltui.health.configured import open_catalogue, open_rules
from rltui.output.explain import explain_document, explain_text, linked_files
from rltui.output.json_text import dump


def explain(options: argparse.Namespace) -> int:
    """Print what a name means."""
    config = load_config(options.config, os.environ, {})
    catalogue = open_catalogue(config)
    rules = open_rules(config, catalogue)
    document = explain_document(catalogue, rules, options.name, options.framework)
    text = dump(document) if options.json else explain_text(document, reasons=options.reasons)
    links = not options.json and knows_links(sys.stdout, os.environ)
    emit(linked_files(text) if links else text)
    return Exit.OK
