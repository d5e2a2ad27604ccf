"""``rltui lint``: every error of configuration, dialects, rules and themes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from rltui.catalogue import load_catalogue
from rltui.catalogue.dialect import read_body, read_head, read_text
from rltui.commands.standard_output import emit
from rltui.commands.verbs import Exit
from rltui.config import config_dirs, config_path, load_config
from rltui.core.errors import DocumentError, UsageError
from rltui.core.text import clean, counted
from rltui.core.yaml_document import Node, complain_of, every_error, nearest, read_document
from rltui.draw.theme import load_theme
from rltui.facts.gate import Known, read_conditions
from rltui.facts.goals import open_goals
from rltui.health.cases import run_cases
from rltui.health.configured import open_catalogue, open_rules
from rltui.health.rule import OWN_RANGE
from rltui.health.rules import Given, load_rules, read_rules
from rltui.tui.keys import keys_of

_ENDINGS = (".yaml", ".yml")
#: Keys that only one kind of document has at its top.
_KINDS = {
    "gate": ("expect",),
    "dialect": ("id", "entries", "fingerprint", "inherits"),
    "theme": ("colours", "dark", "ansi"),
    "config": ("view", "watch", "metrics", "dialects", "keys", "hooks"),
}


def lint(options: argparse.Namespace) -> int:
    """Print every error of the named documents, or of the user's."""
    documents = _named(options.files) if options.files else own_documents(options.config)
    lines = [line for path, kind in documents.items() for line in errors_in(path, kind)]
    said = [counted(len(documents), "document")]
    if options.run_cases and not lines:
        # the cases of the documents; without FILE the shipped ones, too
        own = [p for p, k in documents.items() if (k or _kind(read_document(p))) == "rules"]
        results = run_cases(r for r in load_rules(own) if not options.files or r.path in own)
        said.append(counted(len(results), "case"))
        lines += [
            f"{c.path}:{c.line}: {c.rule}, case {c.case!r}: {c.message}"
            for c in results
            if c.message
        ]
    said.append(counted(len(lines), "error") if lines else "no error")
    emit("".join(f"{clean(line)}\n" for line in [*lines, ", ".join(said)]))

    return Exit.USAGE if lines else Exit.OK


def own_documents(given: Path | None) -> dict[Path, str | None]:
    """The user's documents, each with its kind; None where its keys show it. ``given`` is the
    value of ``--config``."""
    config = config_path(given, os.environ)
    dirs = config_dirs(given, os.environ)
    others = (p for d in (dirs.dialects, dirs.rules, dirs.themes) for p in _yaml(d))
    documents: dict[Path, str | None] = dict.fromkeys(others)
    known = config.is_file() or given is not None
    return {config: "config", **documents} if known else documents


def _named(files: Iterable[Path]) -> dict[Path, str | None]:
    """The documents that the user names. Raises UsageError for a path that does not exist."""
    found: list[Path] = []
    for path in files:
        if not path.exists():
            raise UsageError(f"no such file: {path}")
        found += _yaml(path) if path.is_dir() else [path]

    return dict.fromkeys(found)


def _yaml(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in _ENDINGS) if folder.is_dir() else []


def errors_in(path: Path, kind: str | None) -> list[str]:
    """Every error of a document, one line each; ``kind`` is None where its keys show it."""
    try:
        kind = kind or _kind(read_document(path))
        read = _READERS.get(kind)
        if read is None:
            known = Known.of(load_config(None, os.environ, {}))
            read = partial(read_conditions, known=known)
    except DocumentError as error:
        return [str(error)]
    with every_error(path) as errors:
        read(path)
    return [str(e) if isinstance(e, DocumentError) else f"{path}: {e}" for e in errors]


def _kind(root: Node) -> str:
    """Kind of a document, by its keys. Raises DocumentError when it is no mapping."""
    keys = set(root.table())
    rules = root.value and next((v for k, v in root.value.items() if k.value == "rules"), None)
    if rules is not None and isinstance(rules.value, list):
        return "rules"
    return next((kind for kind, words in _KINDS.items() if keys & set(words)), "config")


def _read_config(path: Path) -> None:
    config = load_config(path, {}, {})
    try:
        catalogue = open_catalogue(config)
        open_rules(config, catalogue)
    except DocumentError as error:
        if error.path == path:
            raise
        bare = replace(config, dirs=None)  # the other documents have errors of their own
        catalogue = open_catalogue(bare)
        open_rules(bare, catalogue)
    if config.metrics and OWN_RANGE in config.rules.mute:
        complain_of("mutes the ranges of metrics", config.rules.mute_node, OWN_RANGE, ())
    for name in config.metrics:
        hint = nearest(name, catalogue.metrics)
        tags = (catalogue.resolver(d).resolve(name) for d in catalogue.dialects)
        if hint != name and hint and not any(info.metric for info in tags):
            complain_of(f"unknown metric {name!r}", config.metrics_node, name, catalogue.metrics)
    open_goals(config)
    keys_of(config)
    load_theme(config.view.theme, config.theme_dirs)


def _read_dialect(path: Path) -> None:
    known = load_catalogue()
    text = read_text(path)
    head = read_head(path, text, tuple(known.scenarios))
    read_body(path, text, known.metrics)
    parent = head.inherits_at
    if parent is not None and parent.text() != head.id:
        parent.choice(known.dialects)


_READERS: dict[str, Callable[[Path], object]] = {
    "config": _read_config,
    "dialect": _read_dialect,
    "rules": lambda path: read_rules(path, Given(frozenset(load_catalogue().metrics))),
    "theme": load_theme,
}
