"""Counts what the house consists of and compares it with the budget.

    python scripts/house.py             a table: counted, budget; exit with 1 where it is above
    python scripts/house.py --lower     lower the budget to what is counted, and never raise it

``scripts/budget.yaml`` is the budget. It may only fall, so that an ability moves into the rooms
that are there. Whoever has to raise it edits the file and writes the reason beside the number.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grimp
import yaml
from chosen_numbers import chosen_numbers  # beside this file

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "scripts" / "budget.yaml"
PACKAGE = "rltui"
#: Above these a class, function or module is named in the budget, with its reason.
MEMBERS, LINES, COMPLEXITY, MODULE_LINES = 20, 60, 15, 500


@dataclass(slots=True)
class House:
    """What is counted."""

    totals: dict[str, int] = field(default_factory=dict)
    packages: dict[str, int] = field(default_factory=dict)
    """Lines of Python by package below the root."""
    shares: dict[str, float] = field(default_factory=dict)
    """Share of the lines, in percent, that may not fall: they are not where to save."""
    large: dict[str, dict[str, int]] = field(default_factory=dict)
    """By kind (members, lines, complexity, module): name -> number above the limit."""


def count(root: Path = ROOT) -> House:
    """Count the package below ``root``."""
    house = House()
    sources = {
        path: path.read_text(encoding="utf-8") for path in sorted((root / PACKAGE).rglob("*.py"))
    }
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = {path: text.count("\n") for path, text in sources.items()}
    for path, number in lines.items():
        inner = path.relative_to(root / PACKAGE)
        package = inner.parts[0] if len(inner.parts) > 1 else PACKAGE
        house.packages[package] = house.packages.get(package, 0) + number
    functions = [f for tree in trees.values() for f in ast.walk(tree) if _is_function(f)]
    yaml_files = (root / PACKAGE).rglob("*.yaml")
    lazy = [line for path in sources for line in lazy_imports(trees[path], sources[path])]
    house.totals = {
        "tokens": sum(map(tokens, sources.values())),
        "lines": sum(lines.values()),
        "modules": len(sources),
        "functions": len(functions),
        "lines of YAML": sum(p.read_text(encoding="utf-8").count("\n") for p in yaml_files),
        "lazy imports": len(lazy),
        "lazy imports without a reason": sum(not reason for reason in lazy),
        "modules in circles of imports": sum(map(len, circles())),
        "lines of tests": _lines_below(root / "tests"),
        "chosen numbers": sum(chosen_numbers(root).values()),
    }
    house.shares = shares(sources, trees)
    house.large = {
        "members": dict(_large_classes(root, trees)),
        "lines": dict(_long_functions(root, trees)),
        "complexity": dict(_complex_functions(root, trees)),
        "module": {_name(root, p): n for p, n in lines.items() if n > MODULE_LINES},
    }
    return house


def tokens(text: str) -> int:
    """Names, operators and numbers of a module: what a reader reads, however it is laid out."""
    counted = (tokenize.NAME, tokenize.OP, tokenize.NUMBER)
    return sum(t.type in counted for t in tokenize.generate_tokens(io.StringIO(text).readline))


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _lines_below(folder: Path) -> int:
    return sum(p.read_text(encoding="utf-8").count("\n") for p in folder.rglob("*.py"))


def _name(root: Path, path: Path) -> str:
    return str(path.relative_to(root / PACKAGE))


def lazy_imports(tree: ast.Module, text: str) -> list[bool]:
    """For each import statement inside a function whether a comment on its line, or on the line
    above, says why it is not at the top."""
    rows = text.splitlines()
    found = {
        node.lineno
        for function in ast.walk(tree)
        if _is_function(function)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return [
        "#" in rows[line - 1] or rows[line - 2].lstrip().startswith("#") for line in sorted(found)
    ]


def circles() -> list[frozenset[str]]:
    """Sets of modules that import each other, at the top, inside functions, or for types. A
    package and what it re-exports count as one module."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    found = set()
    for module in graph.modules:
        both = graph.find_upstream_modules(module) & graph.find_downstream_modules(module)
        if both:
            found.add(frozenset(both | {module}))
    return sorted(found, key=sorted)


def shares(sources: Mapping[Path, str], trees: Mapping[Path, ast.Module]) -> dict[str, float]:
    """Blank lines, lines of docstrings, and lines with a comment, in percent of all lines; and the
    mean length of a line of code."""
    everything = sum(text.count("\n") for text in sources.values())
    rows = [row for text in sources.values() for row in text.splitlines()]
    filled = [len(row) for row in rows if row.strip()]
    comments = sum(
        token.type == tokenize.COMMENT
        for text in sources.values()
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )
    documented = sum(
        text.end_lineno - text.lineno + 1
        for tree in trees.values()
        for text in _docstrings(tree)
        if text.end_lineno is not None
    )
    return {
        "blank": round(100 * sum(not row.strip() for row in rows) / everything, 2),
        "docstrings": round(100 * documented / everything, 2),
        "comments": round(100 * comments / everything, 2),
        "characters a line": round(sum(filled) / len(filled), 2),
    }


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every string that stands as a statement: docstrings, also those of attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _large_classes(root: Path, trees: Mapping[Path, ast.Module]) -> Iterator[tuple[str, int]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                public = {f.name for f in node.body if _is_function(f)}  # type: ignore[attr-defined]
                number = sum(not name.startswith("_") for name in public)
                if number > MEMBERS:
                    yield f"{_name(root, path)}:{node.name}", number


def _long_functions(root: Path, trees: Mapping[Path, ast.Module]) -> Iterator[tuple[str, int]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                number = (node.end_lineno or node.lineno) - node.lineno + 1
                if number > LINES:
                    yield f"{_name(root, path)}:{node.name}", number


def _complex_functions(root: Path, trees: Mapping[Path, ast.Module]) -> Iterator[tuple[str, int]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if _is_function(node):
                number = complexity(node)
                if number > COMPLEXITY:
                    yield f"{_name(root, path)}:{node.name}", number  # type: ignore[attr-defined]


#: Each of these is one more way through a function.
_BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.comprehension,
)


def complexity(function: ast.AST) -> int:
    """Ways through a function: McCabe's number, with the operands of ``and`` and ``or``, the
    loops and conditions of comprehensions and the cases of a match counted, and without the
    functions that it defines."""
    number, todo = 1, list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if _is_function(node) or isinstance(node, ast.Lambda):
            continue
        number += isinstance(node, _BRANCHES)
        if isinstance(node, ast.BoolOp):
            number += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            number += len(node.ifs)
        elif isinstance(node, ast.Match):
            number += len(node.cases)
        todo += ast.iter_child_nodes(node)
    return number


def above(house: House, budget: Mapping[str, object]) -> list[str]:
    """A sentence for each number above its budget."""
    wrong = []
    for title, counted in (("total", house.totals), ("package", house.packages)):
        allowed: Mapping[str, int] = budget[f"{title}s"]  # type: ignore[assignment]
        for name, number in counted.items():
            if number > allowed.get(name, 0):
                wrong.append(f"{title} {name}: {number}, the budget is {allowed.get(name, 0)}")
    kept: Mapping[str, float] = budget["shares may not fall below"]  # type: ignore[assignment]
    for name, share in house.shares.items():
        if share < kept[name]:
            wrong.append(f"{name}: {share}, at least {kept[name]}: save structure instead")
    exceptions: Mapping[str, Mapping[str, int]] = budget["exceptions"]  # type: ignore[assignment]
    for kind, named in house.large.items():
        allowed = exceptions.get(kind) or {}
        for name, number in named.items():
            if number > allowed.get(name, 0):
                wrong.append(f"{kind} of {name}: {number}, and no exception that large is listed")
    return wrong


def lowered(house: House, text: str) -> str:
    """The text of the budget with what is counted where that is less, and without exceptions that
    are gone. Comments, which hold the reasons, stay."""
    counted: dict[str, Mapping[str, int]] = {
        "totals": house.totals,
        "packages": house.packages,
        **house.large,
    }
    rows: list[str] = []
    section = ""
    for row in text.splitlines():
        name, _, number = row.strip().rpartition(": ")
        if not name:
            section = row.strip().rstrip(":") if row.endswith(":") else section
        elif section in counted and not name.startswith("#"):
            if name not in counted[section]:
                continue
            row = row.removesuffix(number) + str(min(int(number), counted[section][name]))
        rows.append(row)
    return "\n".join(rows) + "\n"


def read_budget() -> dict[str, object]:
    """The budget in the repository."""
    found: dict[str, object] = yaml.safe_load(BUDGET.read_text(encoding="utf-8"))
    return found


def report(house: House, budget: Mapping[str, object]) -> str:
    """What is counted beside the budget."""
    rows = [f"{'':32} {'counted':>9} {'budget':>9}"]
    for title, counted in (("totals", house.totals), ("packages", house.packages)):
        allowed: Mapping[str, int] = budget[title]  # type: ignore[assignment]
        rows += [f"{name:32} {n:9,} {allowed.get(name, 0):9,}" for name, n in counted.items()]
    rows += [f"{name:32} {share:9}" for name, share in house.shares.items()]
    rows += [f"{kind:32} {len(named):9} exceptions" for kind, named in house.large.items()]
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Print the table; lower the budget, or fail where something is above it."""
    house, budget = count(), read_budget()
    if arguments == ["--lower"]:
        text = BUDGET.read_text(encoding="utf-8")
        BUDGET.write_text(lowered(house, text), encoding="utf-8")
        budget = read_budget()
    print(report(house, budget))
    wrong = above(house, budget)
    print(*wrong, sep="\n", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
