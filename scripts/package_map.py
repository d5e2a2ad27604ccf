"""Draws the packages and the arrows of their imports, from the imports themselves.

python scripts/package_map.py            rewrite docs/architecture.md
python scripts/package_map.py --check    exit with 1 when it is not up to date
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
_WALKTHROUGHS = ROOT / "scripts" / "walkthroughs.md"
_PACKAGE = "rltui"
_HEAD = """\
# Architecture

Two walks come first, each function in its order: one row from the log to the cell, and one finding
from the rule to every surface. Then the packages, and who imports whom.
"""
_PACKAGES = """\
## The packages

Generated from the imports by `scripts/package_map.py` (`make docs`). An arrow points from the
package that imports to the one that is imported. Data flows against the arrows: from the files
of a run at the bottom to the screen at the top. The import contracts in `pyproject.toml` say
which arrows there may be. Arrows that follow from others are left out of the picture, the table
has all.
"""

#: box -> boxes that it imports.
Arrows = Mapping[str, set[str]]


def arrows(graph: grimp.ImportGraph, parent: str) -> dict[str, set[str]]:
    """Imports between the children of ``parent``, each with all that is below it."""
    boxes = graph.find_children(parent)
    box_of = {m: b for b in boxes for m in (b, *graph.find_descendants(b))}
    found: dict[str, set[str]] = {box: set() for box in boxes}
    for module, box in box_of.items():
        for imported in graph.find_modules_directly_imported_by(module):
            target = box_of.get(imported, box)
            if target != box:
                found[box].add(target)
    return found


def reach(found: Arrows, start: str) -> set[str]:
    """What ``start`` imports, directly or through others."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        for box in found[todo.pop()] - seen:
            seen.add(box)
            todo.append(box)
    return seen


def needed(found: Arrows) -> dict[str, set[str]]:
    """The arrows that do not follow from others; all of them where they form circles."""
    reached = {box: reach(found, box) for box in found}
    return {
        box: {
            target
            for target in targets
            if box in reached[target]
            or not any(target in reached[other] for other in targets - {target})
        }
        for box, targets in found.items()
    }


def diagram(found: Arrows) -> list[str]:
    """A Mermaid flow chart, which GitHub draws."""
    lines = ["```mermaid", "flowchart TD"]
    for box in sorted(found):
        name = _short(box)
        lines.append(f"    {_node(box)}[{name}]")
    for box, targets in sorted(needed(found).items()):
        lines += [f"    {_node(box)} --> {_node(target)}" for target in sorted(targets)]
    return [*lines, "```"]


def table(found: Arrows, root: Path) -> list[str]:
    """What each box is for, and everything that it imports."""
    lines = ["| package | what it does | imports |", "| --- | --- | --- |"]
    for box in sorted(found):
        imports = ", ".join(f"`{_short(t)}`" for t in sorted(found[box]))
        lines.append(f"| `{_short(box)}` | {purpose(box, root)} | {imports or 'none of them'} |")
    return lines


def purpose(module: str, root: Path) -> str:
    """The first sentence of the docstring of ``module``."""
    path = root.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return first.replace("``", "`").replace("|", "\\|")


def packages_with_parts(graph: grimp.ImportGraph, root: Path) -> list[str]:
    """Packages that have packages within, outermost first; each gets a diagram of its own."""

    def is_package(module: str) -> bool:
        return root.joinpath(*module.split("."), "__init__.py").is_file()

    return sorted(
        module
        for module in graph.modules
        if module != _PACKAGE and any(is_package(c) for c in graph.find_children(module))
    )


def page(root: Path = ROOT) -> str:
    """The text of docs/architecture.md."""
    graph = grimp.build_graph(_PACKAGE, cache_dir=None)
    whole = arrows(graph, _PACKAGE)
    parts = [
        _HEAD,
        _WALKTHROUGHS.read_text(encoding="utf-8"),
        _PACKAGES,
        "\n".join([*diagram(whole), "", *table(whole, root)]) + "\n",
    ]
    for package in packages_with_parts(graph, root):
        inner = arrows(graph, package)
        lines = [f"## {package}", "", purpose(package, root), "", *diagram(inner)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def documents() -> dict[Path, str]:
    """Path -> the text that it should have."""
    return {PAGE: page()}


def _short(module: str) -> str:
    return module.rpartition(".")[2]


def _node(module: str) -> str:
    # "end" and "graph" are words of Mermaid: no node may be called so.
    return f"{_short(module)}_"


def main(arguments: Iterable[str] = tuple(sys.argv[1:])) -> int:
    """Write or check."""
    text = page()
    fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    if "--check" in arguments:
        if not fresh:
            print(f"{PAGE.relative_to(ROOT)} is not up to date")
        return 0 if fresh else 1
    if not fresh:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
