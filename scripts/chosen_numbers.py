"""Counts the numbers by which the judge decides and that somebody chose.

    python scripts/chosen_numbers.py [ROOT]     the count, by file

Counted is each number but 0, 1 and -1: in the rules all of ``parameters``, ``watch`` and ``bad``;
in the code of the judge defaults of arguments and fields, and constants of modules.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

_USUAL = (0, 1, -1)
_CHOSEN = ("parameters", "watch", "bad")


def chosen_numbers(root: Path) -> dict[str, int]:
    """File below ``root`` -> how many numbers were chosen in it, the files without any left out."""
    health = root / "rltui" / "health"
    found = {
        path: sum(1 for _ in _of_document(yaml.safe_load(path.read_text(encoding="utf-8"))))
        for path in sorted((health / "data" / "rules").rglob("*.yaml"))
    }
    for path in sorted(health.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[path] = sum(1 for node in _chosen(tree) for _ in _literals(node))
    return {str(path.relative_to(root)): count for path, count in found.items() if count}


def _of_document(document: object) -> Iterator[object]:
    """The numbers below the keys of ``_CHOSEN``, however deep these are."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key in _CHOSEN:
                yield from _numbers(value)
            elif key != "cases":
                yield from _of_document(value)
    elif isinstance(document, list):
        for value in document:
            yield from _of_document(value)


def _numbers(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif _counts(value):
        yield value


def _chosen(tree: ast.Module) -> Iterator[ast.expr]:
    """Values of module constants, defaults of arguments, and defaults of fields."""
    bodies = [tree.body, *(n.body for n in ast.walk(tree) if isinstance(n, ast.ClassDef))]
    for statement in (s for body in bodies for s in body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            yield statement.value
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from node.args.defaults
            yield from (default for default in node.args.kw_defaults if default is not None)


def _literals(node: ast.expr) -> Iterator[object]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and _counts(part.value):
            yield part.value


def _counts(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value not in _USUAL


def main(arguments: list[str]) -> int:
    """Print the count of each file and of all."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found = chosen_numbers(root)
    for name, count in found.items():
        print(f"{name:60} {count:5}")
    print(f"{'chosen numbers':60} {sum(found.values()):5}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
