"""Counts what the house consists of and compares it with the budget.

    python scripts/house.py             a table: counted, budget; exit with 1 where it is above
    python scripts/house.py --lower     lower the budget to what is counted, and never raise it

``scripts/budget.yaml`` is the budget. Its numbers fall, so that an ability moves into the rooms
that are there. A number that is above the one of the commit before fails, unless its line says
which grant it comes from: ``tokens: 500000  # grant: ...``. Lines are free: whoever parts a long
expression into steps with names pays nothing.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
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
MEMBERS, LINES, COMPLEXITY, MODULE_LINES = 20, 80, 20, 500
#: A line of the budget with this says which grant its number comes from.
GRANT = "# grant:"
#: The section of the budget that holds the tokens of each package.
PACKAGES = "tokens by package"


@dataclass(slots=True)
class House:
    """What is counted."""

    totals: dict[str, float] = field(default_factory=dict)
    packages: dict[str, int] = field(default_factory=dict)
    """Tokens by package below the root."""
    large: dict[str, dict[str, int]] = field(default_factory=dict)
    """By kind (members, lines, complexity, module): name -> number above the limit."""


def count(root: Path = ROOT) -> House:
    """Count the package below ``root``."""
    house = House()
    paths = sorted((root / PACKAGE).rglob("*.py"))
    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = {path: text.count("\n") for path, text in sources.items()}
    code_lines = 0
    for path, text in sources.items():
        inner = path.relative_to(root / PACKAGE)
        package = inner.parts[0] if len(inner.parts) > 1 else PACKAGE
        tokens = _tokens(text)
        house.packages[package] = house.packages.get(package, 0) + len(tokens)
        code_lines += len({token.start[0] for token in tokens})

    total = sum(house.packages.values())
    lazy = [line for path in sources for line in lazy_imports(trees[path], sources[path])]
    yaml_files = (root / PACKAGE).rglob("*.yaml")
    house.totals = {
        "tokens": total,
        "tokens per code line": round(total / code_lines, 2),
        "private functions with one caller": len(single_callers(sources, trees)),
        "docstrings without a subject": sum(map(_without_subject, sources.values())),
        "modules in circles, names in strings counted": sum(map(len, circles(root, sources))),
        "lazy imports without a reason": sum(not reason for reason in lazy),
        "lines of YAML": sum(p.read_text(encoding="utf-8").count("\n") for p in yaml_files),
        "lines of tests": _lines_below(root / "tests"),
        "chosen numbers": sum(chosen_numbers(root).values()),
    }
    house.large = {
        "members": dict(_large_classes(root, trees)),
        "lines": dict(_long_functions(root, trees)),
        "complexity": dict(_complex_functions(root, trees)),
        "module": {_name(root, p): n for p, n in lines.items() if n > MODULE_LINES},
    }
    return house


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """Names, operators and numbers of a module: what a reader reads, however it is laid out."""
    counted = (tokenize.NAME, tokenize.OP, tokenize.NUMBER)
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token for token in found if token.type in counted]


def single_callers(
    sources: Mapping[Path, str], trees: Mapping[Path, ast.Module]
) -> list[tuple[Path, str]]:
    """Private functions whose name occurs once besides its definition."""
    names = Counter(
        token.string
        for text in sources.values()
        for token in _tokens(text)
        if token.type == tokenize.NAME
    )
    private = {
        (path, node.name)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("_") and not node.name.startswith("__")
    }
    return sorted((path, name) for path, name in private if names[name] == 2)


_SUBJECTLESS = re.compile(r'^\s*r?"""(?:What|Those|That|The same|As|Of)\b', re.MULTILINE)


def _without_subject(text: str) -> int:
    """Number of docstrings that begin with a relative clause or point at a neighbour."""
    return len(_SUBJECTLESS.findall(text))


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


_MODULE_NAME = re.compile(rf"""["']({PACKAGE}(?:\.\w+)+)(?::\w+)?["']""")


def circles(root: Path, sources: Mapping[Path, str]) -> list[frozenset[str]]:
    """Sets of modules that import each other: at the top, inside functions, for types, or by the
    name of a module in a string. A package and what it re-exports count as one module."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    for path, text in sources.items():
        importer = ".".join(path.relative_to(root).with_suffix("").parts)
        importer = importer.removesuffix(".__init__")
        for imported in _MODULE_NAME.findall(text):
            if {importer, imported} <= graph.modules and importer != imported:
                graph.add_import(importer=importer, imported=imported)

    found = set()
    for module in graph.modules:
        both = graph.find_upstream_modules(module) & graph.find_downstream_modules(module)
        if both:
            found.add(frozenset(both | {module}))
    return sorted(found, key=sorted)


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
    for section, counted in _sections(house).items():
        allowed: Mapping[str, float] = budget[section]  # type: ignore[assignment]
        for name, number in counted.items():
            if number > allowed.get(name, 0):
                wrong.append(f"{section}, {name}: {number}, the budget is {allowed.get(name, 0)}")

    exceptions: Mapping[str, Mapping[str, int]] = budget["exceptions"]  # type: ignore[assignment]
    for kind, named in house.large.items():
        listed = exceptions.get(kind) or {}
        for name, number in named.items():
            if number > listed.get(name, 0):
                wrong.append(f"{kind} of {name}: {number}, and no exception that large is listed")
    return wrong


def _sections(house: House) -> dict[str, Mapping[str, float]]:
    return {"totals": house.totals, PACKAGES: house.packages}


def raised(before: str, now: str) -> list[str]:
    """A sentence for each number of the budget ``now`` that is above the one ``before``, or is an
    exception that was not listed, and names no grant of its own in its line. What moves from one
    package to another may raise that one while the total does not rise."""
    known = {key: (number, line) for key, number, line in _numbers(before)}
    wrong = []
    for (section, name), number, line in _numbers(now):
        is_new_count = section == "totals" and (section, name) not in known
        was, line_before = known.get((section, name), (0.0, ""))
        grant = line.partition(GRANT)[2]
        is_granted = grant != "" and grant != line_before.partition(GRANT)[2]
        if section == PACKAGES or is_new_count or is_granted:
            continue
        if number > was:
            wrong.append(f"{section}, {name}: raised from {was:g} to {number:g} without a grant")
    return wrong


def _numbers(text: str) -> Iterator[tuple[tuple[str, str], float, str]]:
    """(section, name), number, line of each line of a budget with a number."""
    section = ""
    for line in text.splitlines():
        name, _, number = line.partition("#")[0].strip().rpartition(":")
        if name and number:
            yield (section, name), float(number), line
        elif name:
            section = name


def budget_before() -> str | None:
    """The budget of the commit before, None where that is not known: the newest commit where the
    file has changes that are not committed, else its first parent."""
    now = BUDGET.read_text(encoding="utf-8")
    for commit in ("HEAD", "HEAD^"):
        name = BUDGET.relative_to(ROOT).as_posix()
        shown = subprocess.run(
            ("git", "show", f"{commit}:{name}"), cwd=ROOT, capture_output=True, check=False
        )
        if shown.returncode:
            return None
        text = shown.stdout.decode()
        if text != now:
            return text
    return now


def lowered(house: House, text: str) -> str:
    """The text of the budget with what is counted where that is less, and without exceptions that
    are gone. Comments, which hold the reasons, stay."""
    counted: dict[str, Mapping[str, float]] = {**_sections(house), **house.large}
    rows: list[str] = []
    section = ""
    for row in text.splitlines():
        entry, mark, comment = row.partition("  #")
        name, _, number = entry.strip().rpartition(": ")
        if not name:
            section = row.strip().rstrip(":") if row.endswith(":") else section
        elif section in counted and not name.startswith("#"):
            if name not in counted[section]:
                continue
            least = min(float(number), counted[section][name])
            row = f"{entry.removesuffix(number)}{least:.10g}{mark}{comment}"
        rows.append(row)
    return "\n".join(rows) + "\n"


def read_budget() -> dict[str, object]:
    """The budget in the repository."""
    found: dict[str, object] = yaml.safe_load(BUDGET.read_text(encoding="utf-8"))
    return found


def report(house: House, budget: Mapping[str, object]) -> str:
    """What is counted beside the budget."""
    rows = [f"{'':46} {'counted':>9} {'budget':>9}"]
    for section, counted in _sections(house).items():
        allowed: Mapping[str, float] = budget[section]  # type: ignore[assignment]
        rows += [f"{name:46} {n:9,} {allowed.get(name, 0):9,}" for name, n in counted.items()]
    rows += [f"{kind:46} {len(named):9} exceptions" for kind, named in house.large.items()]
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Print the table; lower the budget, or fail where something is above it or it was raised."""
    house, budget = count(), read_budget()
    text = BUDGET.read_text(encoding="utf-8")
    if arguments == ["--lower"]:
        text = lowered(house, text)
        BUDGET.write_text(text, encoding="utf-8")
        budget = read_budget()
    print(report(house, budget))
    before = budget_before()
    wrong = above(house, budget) + ([] if before is None else raised(before, text))
    print(*wrong, sep="\n", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
