"""Lists the names that the sources of a framework log and the catalogue does not know.

    python -m scripts.logged_names CHECKOUT --framework verl    the names without a meaning
    python -m scripts.logged_names CHECKOUT --all               every name and what it means

The sources are read as syntax trees, nothing is run. A name is a key of a dictionary that is called
metrics, stats, logs or the like, one with a slash beside a value that is computed, or an argument
of a logging call. ``*`` stands for what is filled in at run time. Dictionaries are followed through
variables, functions of the checkout and comprehensions, so that a prefix that is put before
(``{f"actor/{k}": v for k, v in metrics.items()}``) is part of the name.

The list is for a reader: a setting may be in it, and a name that is built elsewhere is not.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product, zip_longest
from pathlib import Path

from rltui.catalogue import load_catalogue
from rltui.core.text import word_set
from scripts.name_coverage import is_known

#: Words of variables, attributes and arguments that hold figures by name.
_HOLDERS = word_set(
    "metric metrics stat stats statistics log logs logged logging scalars status timing timings "
    "timer"
)
#: Calls with dictionaries or keywords of figures, and those with one name and its figure.
_LOG_MANY = word_set(
    "log log_metrics log_dict log_stats log_data log_scalars add_scalars store_metrics record_many "
    "update_metrics record_metrics scalar stat"
)
_LOG_ONE = word_set(
    "add_scalar log_scalar log_metric record_metric record logkv logkv_mean add_metric metric "
    "report_scalar add_histogram Metric timer marked_timer simple_timer log_time"
)
#: Methods of a dictionary, or of what is kept under one of its keys, that add a figure.
_ADDERS = word_set("append extend add update insert")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: What a name may consist of, and what is part of no name.
_NAME = re.compile(r"[\w*@%.,:+=()\[\]{}<>| /-]+")
_FILLED = re.compile(r"%[-+.\d]*[sdifger]")
_STARS = re.compile(r"\*{2,}")
_NOT_READ = word_set("tests test testing docs build .git .venv node_modules")
#: Most strings that a variable may stand for, deepest call that is followed.
_MOST, _DEEPEST = 12, 2

Names = dict[str, frozenset[int]]
"""Name -> the places (numbers of nodes) where its last part is written."""
Texts = frozenset[str]


class Scope:
    """What the variables of a function hold, as far as that is known."""

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.names: dict[str, Names] = defaultdict(dict)
        self.texts: dict[str, Texts] = {}
        self.places: dict[str, frozenset[int]] = {}
        """Variable of a loop over names -> the places of these names."""
        self.returned: Names = {}


class LoggedNames:
    """The names that the files of a checkout log."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = defaultdict(list)
        self._where: dict[str, Path] = {}
        self._of_place: dict[int, set[str]] = defaultdict(set)
        self._as_is: set[str] = set()
        self._constants: dict[str, Texts] = {}
        self._results: dict[object, Names] = {}
        self._path = Path()
        trees = {path: tree for path in paths if (tree := _parsed(path)) is not None}
        for tree in trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    self._functions[node.name].append(node)
        for self._path, tree in trees.items():
            self._constants = {}
            module = Scope()
            self._run(tree.body, module)
            self._constants = module.texts
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    self._run(node.body, Scope())

    def found(self) -> dict[str, Path]:
        """Name -> the file where it is first logged, in alphabetical order. A name that gets a
        prefix on its way is listed with that only."""
        final = set()
        for names in self._of_place.values():
            final |= {n for n in names if not any(m.endswith(f"/{n}") for m in names)}
        return {n: p for n, p in sorted(self._where.items()) if n in final | self._as_is}

    def _keep(self, names: Names, *, as_is: bool = False) -> None:
        """Keep names; ``as_is``: these are not given a prefix later."""
        together = Counter(place for places in names.values() for place in places)
        for name, places in names.items():
            if not _NAME.fullmatch(name) or not name.strip("*/_ .-"):
                continue
            self._where.setdefault(name, self._path)
            if as_is or any(together[place] > 1 for place in places):
                self._as_is.add(name)
            for place in places:
                self._of_place[place].add(name)

    # statements

    def _run(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if isinstance(node, ast.ClassDef):
                self._run(node.body, scope)
            return
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._assign(target, node.value, scope)
        elif isinstance(node, ast.Return) and node.value is not None:
            scope.returned |= self._names(node.value, scope)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._loop(node.target, node.iter, scope)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._calls(part, scope)
            elif isinstance(part, ast.withitem):
                self._calls(part.context_expr, scope)
        for field in ("body", "orelse", "finalbody"):
            self._run(getattr(node, field, ()), scope)
        for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self._run(handler.body, scope)

    def _assign(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Subscript):
            found = self._subscript(target, scope)
            root = _root(target)
            slash = any("/" in name for name in found) and not isinstance(target.slice, ast.Name)
            if _holds(root) or (slash and not _plain(value)):
                self._keep(found)
                if root is target.value:
                    scope.names[_text(root)] |= found
            return
        names = self._names(value, scope)
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            scope.names[_text(part)] = scope.names.get(_text(part), {}) | names
            if _holds(part):
                self._keep(names)
        if isinstance(target, ast.Name) and (texts := self._texts(value, scope)) != {"*"}:
            scope.texts[target.id] = _few(scope.texts.get(target.id, frozenset()) | texts)

    def _loop(self, target: ast.expr, over: ast.expr, scope: Scope) -> None:
        """``for stat in ("mean", "max")``; ``for name, values in metrics.items()``."""
        if isinstance(over, ast.List | ast.Tuple | ast.Set):
            rows = over.elts
            for at, part in enumerate(target.elts if isinstance(target, ast.Tuple) else [target]):
                cells = [
                    row.elts[at] if isinstance(row, ast.Tuple) and at < len(row.elts) else row
                    for row in rows
                ]
                if isinstance(part, ast.Name) and cells:
                    texts = frozenset().union(*(self._texts(cell, scope) for cell in cells))
                    scope.texts[part.id] = _few(texts)
            return
        first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
        if isinstance(first, ast.Name):
            known = self._names(over, scope)
            scope.texts[first.id] = frozenset(known) if known else frozenset("*")
            scope.places[first.id] = frozenset().union(*known.values())

    def _calls(self, node: ast.expr, scope: Scope) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                self._call(part, scope)
            elif isinstance(part, ast.Dict):
                names = self._written(part, scope, computed=True)
                self._keep({name: places for name, places in names.items() if "/" in name})

    def _call(self, node: ast.Call, scope: Scope) -> None:
        name = _callee(node)
        holder = node.func.value if isinstance(node.func, ast.Attribute) else None
        for keyword in node.keywords:
            if keyword.arg and _HOLDERS & _words(keyword.arg):
                self._keep(self._names(keyword.value, scope))
        if name in _LOG_ONE and node.args:
            variables = (part.id for part in ast.walk(node.args[0]) if isinstance(part, ast.Name))
            places = frozenset((id(node),)).union(*(scope.places.get(v, ()) for v in variables))
            self._keep(dict.fromkeys(self._texts(node.args[0], scope), places))
        if name in _LOG_MANY:
            before = next((k.value for k in node.keywords if k.arg == "prefix"), None)
            for value in node.args:
                names = self._names(value, scope)
                if before is not None:
                    heads = self._texts(before, scope)
                    names = {f"{h}/{n}": places for n, places in names.items() for h in heads}
                self._keep(names, as_is=True)
        elif holder is not None and name in _ADDERS:
            if isinstance(holder, ast.Subscript) and _holds(_root(holder)):
                self._keep(self._subscript(holder, scope))
            elif name == "update" and node.args:
                names = self._names(node.args[0], scope)
                scope.names[_text(holder)] |= names
                if _holds(holder):
                    self._keep(names)
        elif holder is not None and name == "setdefault" and node.args and _holds(holder):
            found = dict.fromkeys(self._texts(node.args[0], scope), frozenset((id(node),)))
            self._keep(found)
            scope.names[_text(holder)] |= found

    # values

    def _names(self, node: ast.expr, scope: Scope) -> Names:
        """The names of the figures that an expression holds."""
        parts: Iterable[ast.expr] = ()
        match node:
            case ast.Dict():
                return self._written(node, scope, computed=False)
            case ast.DictComp():
                return self._comprehended(node, scope)
            case ast.Call():
                return self._result(node, scope)
            case ast.Name() | ast.Attribute():
                return scope.names.get(_text(node), {})
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                parts = (left, right)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts = elements
            case ast.Await(value=value) | ast.Starred(value=value):
                parts = (value,)
        return _joined(self._names(part, scope) for part in parts)

    def _written(self, node: ast.Dict, scope: Scope, *, computed: bool) -> Names:
        """The keys of a dictionary that is written out; with ``computed`` only those whose values
        are no texts."""
        out: Names = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                out |= self._names(value, scope)
            elif not (computed and _plain(value)):
                out |= dict.fromkeys(self._texts(key, scope), frozenset((id(key),)))
        return {name: places for name, places in out.items() if name != "*"}

    def _comprehended(self, node: ast.DictComp, scope: Scope) -> Names:
        if len(node.generators) != 1:
            return {}
        loop = node.generators[0]
        known = self._names(loop.iter, scope)
        first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        if not known or not isinstance(first, ast.Name):
            self._loop(loop.target, loop.iter, scope)
            texts = self._texts(node.key, scope)
            return dict.fromkeys(texts - {"*"}, frozenset((id(node),)))
        out: Names = {}
        kept = scope.texts.get(first.id)
        for name, places in known.items():
            scope.texts[first.id] = frozenset((name,))
            out |= dict.fromkeys(self._texts(node.key, scope), places)
        scope.texts[first.id] = kept or frozenset("*")
        return out

    def _result(self, node: ast.Call, scope: Scope) -> Names:
        """What a call returns: by the function of that name, else what it is given."""
        if isinstance(node.func, ast.Attribute) and _callee(node) in ("items", "copy", "pop"):
            return self._names(node.func.value, scope)
        given = [self._names(value, scope) for value in node.args]
        if _callee(node) == "dict":
            named = {k.arg: frozenset((id(k),)) for k in node.keywords if k.arg}
            return _joined((*given, named))
        functions = self._functions.get(_callee(node), [])
        if len(functions) != 1 or scope.depth >= _DEEPEST:
            return _joined(given) if len(functions) != 1 or len(node.args) == 1 else {}
        return self._inlined(node, functions[0], scope)

    def _inlined(
        self, node: ast.Call, to: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope
    ) -> Names:
        inner = Scope(scope.depth + 1)
        wanted = [a.arg for a in (*to.args.posonlyargs, *to.args.args)]
        if wanted[:1] in (["self"], ["cls"]):
            del wanted[0]
        pairs = [*zip(wanted, node.args, strict=False)]
        pairs += [(k.arg, k.value) for k in node.keywords if k.arg]
        for name, value in pairs:
            inner.names[name] = dict(self._names(value, scope))
            inner.texts[name] = self._texts(value, scope)
        kept = tuple(sorted((n, *sorted(v)) for n, v in inner.names.items()))
        said = tuple(sorted((n, *sorted(v)) for n, v in inner.texts.items()))
        key = (id(to), inner.depth, kept, said)
        if key not in self._results:
            self._results[key] = {}  # a function that calls itself adds nothing
            self._run(to.body, inner)
            self._results[key] = inner.returned
        return self._results[key]

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Names:
        """The name in ``metrics["x"]`` and in ``self._metrics[mode]["x"]``."""
        texts = self._texts(node.slice, scope)
        named = isinstance(node.slice, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Name)
        return dict.fromkeys(texts - {"*"}, frozenset((id(node),))) if named else {}

    def _texts(self, node: ast.expr, scope: Scope) -> Texts:
        """The strings that an expression may be, ``*`` for what is not known."""
        match node:
            case ast.Constant(value=str() as text):
                return frozenset((text,))
            case ast.Name(id=name):
                return scope.texts.get(name) or self._constants.get(name) or frozenset("*")
            case ast.IfExp(body=left, orelse=right):
                return _few(self._texts(left, scope) | self._texts(right, scope))
            case ast.FormattedValue(value=value):
                return self._texts(value, scope)
        parts = _parts(node)
        return self._concatenated(parts, scope) if parts else frozenset("*")

    def _concatenated(self, parts: Iterable[ast.expr], scope: Scope) -> Texts:
        ways = product(*(self._texts(part, scope) for part in parts))
        return _few(frozenset(_STARS.sub("*", "".join(way)) for way in ways))


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError):
        return None


def _parts(node: ast.expr) -> list[ast.expr]:
    """What a text is put together from: an f-string, a sum, a ``%``; empty for others."""
    match node:
        case ast.JoinedStr(values=values):
            return values
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return [left, right]
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str() as text), right=right):
            given = right.elts if isinstance(right, ast.Tuple) else [right]
            empty = ast.Constant("")
            texts = map(ast.Constant, _FILLED.split(text))
            return [part for pair in zip_longest(texts, given, fillvalue=empty) for part in pair]
    return []


def _few(texts: Texts) -> Texts:
    return texts if len(texts) <= _MOST else frozenset("*")


def _joined(parts: Iterable[Names]) -> Names:
    out: Names = {}
    for part in parts:
        out |= part
    return out


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _text(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _holds(node: ast.expr) -> bool:
    """Whether a variable or attribute is called as what holds figures."""
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return not _HOLDERS.isdisjoint(_words(last))


def _plain(node: ast.expr) -> bool:
    """Whether a value is written out: a text, or a collection of such."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(map(_plain, node.elts))
    if isinstance(node, ast.Dict):
        return all(map(_plain, node.values))
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and not isinstance(node.value, int | float)
    )


def _callee(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def sources(checkout: Path) -> Iterator[Path]:
    """The Python files of a checkout, or of one of its folders, without its tests."""
    for path in sorted(checkout.rglob("*.py")):
        parts = path.relative_to(checkout).parts
        if _NOT_READ.isdisjoint(parts) and not parts[-1].startswith(("test_", "conftest")):
            yield path


def example(name: str) -> str:
    """A name as a run may log it: something in the place of each ``*``."""
    return name.replace("@*", "@8").replace("*", "x")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT")
    parser.add_argument("--framework", default="generic", help="the dialect to compare with")
    parser.add_argument(
        "--prefix", action="append", default=[""], help="put before names elsewhere, as train/"
    )
    parser.add_argument("--all", action="store_true", help="list the known names, too")
    options = parser.parse_args(arguments)
    found = LoggedNames(sources(options.checkout)).found()
    resolver = load_catalogue().resolver(options.framework)
    unknown = 0
    for name, path in found.items():
        ways = (resolver.resolve(head + example(name)) for head in options.prefix)
        metric = next((info.metric for info in ways if is_known(info)), None)
        unknown += metric is None
        if metric is None or options.all:
            where = path.relative_to(options.checkout)
            print(f"{name}\t{metric.key if metric else '-'}\t{where}")
    print(f"{len(found)} names, {unknown} without a meaning", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
