"""``rltui explain``: what a name means; ``rltui schema``: the schemas of documents. Read no log,
and import nothing that does."""

from __future__ import annotations

import argparse
import json
import os
import sys

from rltui.commands.standard_output import emit
from rltui.commands.terminal import knows_links
from rltui.commands.verbs import SCHEMAS, Exit
from rltui.config import load_config
from rltui.core.installation import shipped
from rltui.health.configured import open_catalogue, open_rules
from rltui.output.explain import explain_document, explain_text, linked_files
from rltui.output.json_text import dump


def schema(options: argparse.Namespace) -> int:
    """Print the schema of a document, or name and description of each."""
    texts = {n: shipped("docs", "schemas", f"{n}.json").read_text("utf-8") for n in SCHEMAS}
    listed = (f"{name:15}{json.loads(text)['description']}\n" for name, text in texts.items())
    emit(texts[options.document] if options.document else "".join(listed))
    return Exit.OK


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
