"""YAML documents with positions: config, dialects, rules, themes.

The only importer of PyYAML. A document is parsed to a tree of :class:`Node`, which is read by
records (:mod:`rltui.core.yaml_record`) or with the typed accessors of :class:`Table`. Every error
has file, line and column, and the most similar valid word. The first one ends the reading, but
within :func:`every_error`: there readers go on without what is wrong.
"""

from __future__ import annotations

import errno
import io
import os
import re
import select
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

from rltui.core.errors import DocumentError, RltuiError, UsageError
from rltui.core.installation import is_shipped, shipped
from rltui.core.kept_documents import KEPT
from rltui.core.later import regex
from rltui.core.level import similar

#: Longer documents are no documents; a pipe is waited for this long, seconds.
_MOST_BYTES = 8 << 20
_PATIENCE_S = 2.0
T = TypeVar("T")
Key = TypeVar("Key")


@dataclass(slots=True, eq=False)
class Node:
    """A value of the document and its place; line and column count from 1. Never changed.

    Not frozen, and compared by identity: thousands of them are made at start, as keys too.
    """

    value: Any
    path: Path
    line: int
    column: int

    is_kept: ClassVar[bool] = False
    """Whether an earlier start read all of its document, without an error."""

    def fail(self, message: str, *, hint: str | None = None) -> NoReturn:
        """Raise a DocumentError at this node."""
        raise self._error(message, hint)

    def complain(self, message: str, *, hint: str | None = None) -> None:
        """Note a DocumentError at this node, see :func:`note`."""
        note(self._error(message, hint))

    def _error(self, message: str, hint: str | None) -> DocumentError:
        return DocumentError(message, path=self.path, line=self.line, column=self.column, hint=hint)

    def plain(self) -> Any:
        """The value without positions: dict, list or scalar."""
        if isinstance(self.value, dict):
            return {k.value: v.plain() for k, v in self.value.items()}
        if isinstance(self.value, list):
            return [v.plain() for v in self.value]
        return self.value

    def _need(self, kind: type[T] | tuple[type[T], ...], name: str) -> T:
        """The value, which must be of a kind."""
        value = self.value
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(f"expected {name}, found {_kind(value)}")
        return value

    def text(self) -> str:
        """The value as a string; numbers are not accepted."""
        return self._need(str, "text")

    def number(self) -> float:
        """The value as a float."""
        value = self._need((int, float), "a number")
        try:
            return float(value)
        except OverflowError:
            self.fail("the number is too large")

    def integer(self) -> int:
        """The value as an int."""
        return self._need(int, "a whole number")

    def boolean(self) -> bool:
        """The value as a bool."""
        return self._need(bool, "true or false")

    def choice(self, options: Iterable[str]) -> str:
        """The value, which must be one of ``options``; else the most similar one, where reading
        goes on."""
        known = list(options)
        word = self.text()
        if word in known:
            return word
        hint = nearest(word, known)
        self.complain(f"unknown word {word!r}; one of {', '.join(known)}", hint=hint)
        return hint or known[0]

    def name(self, known: Collection[str], what: str) -> str:
        """The value, which must be one of the ``known`` names of ``what``."""
        word = self.text()
        if word not in known:
            self.fail(f"unknown {what} {word!r}", hint=nearest(word, known))
        return word

    def pattern(self) -> re.Pattern[str]:
        """The value as a regular expression."""
        if self.is_kept:
            return regex(self.text())
        try:
            return re.compile(self.text())
        except (re.error, OverflowError, RecursionError) as error:
            self.fail(f"not a regular expression: {error}")

    def items(self) -> list[Node]:
        """The entries of a list."""
        return self._need(list, "a list")

    def each(self, read: Callable[[Node], T]) -> list[T]:
        """Results of ``read`` for the entries of a list."""
        return list(read_each(enumerate(self.items()), lambda _, node: read(node)).values())

    def texts(self) -> tuple[str, ...]:
        """A list of texts; one text alone counts as a list of one."""
        if isinstance(self.value, str):
            return (self.value,)
        return tuple(n.text() for n in self.items())

    def table(self) -> Table:
        """The value as a mapping."""
        self._need(dict, "a mapping")
        return Table(self)


class _KeptNode(Node):
    """A list or mapping of a document that was kept. Its parts become nodes when they are asked
    for: a rule is read without its cases."""

    __slots__ = ("_parts",)
    is_kept = True

    def __init__(self, parts: Any, path: Path, line: int, column: int) -> None:
        self._parts = parts
        self.path = path
        self.line = line
        self.column = column

    def __getattr__(self, name: str) -> Any:  # of the value, which is not set yet
        if name != "value":
            raise AttributeError(name)
        path = self.path
        if isinstance(self._parts, list):
            self.value = [_unpacked(path, *part) for part in self._parts]
        else:
            self.value = {
                Node(key, path, line, column): _unpacked(path, *part)
                for key, (line, column, *part) in self._parts.items()
            }
        return self.value


class _KeptValue(Node):
    """A value of one, which was right."""

    is_kept = True


def _unpacked(path: Path, line: int, column: int, value: Any) -> Node:
    kind = _KeptNode if isinstance(value, (list, dict)) else _KeptValue
    return kind(value, path, line, column)


def _packed(node: Node) -> list[Any]:
    """A node as what JSON holds."""
    value = node.value
    if isinstance(value, list):
        value = [_packed(part) for part in value]
    elif isinstance(value, dict):
        value = {k.value: [k.line, k.column, *_packed(v)] for k, v in value.items()}
    return [node.line, node.column, value]


class Table:
    """A mapping whose keys are taken one by one; :meth:`finish` rejects the remaining ones."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._entries: dict[str, Node] = {}
        self._keys: dict[str, Node] = {}
        for key, value in node.value.items():
            name = key.value if isinstance(key.value, str) else str(key.value)
            if name in self._entries:
                key.complain(f"key {name!r} is defined twice")
            self._entries[name] = value
            self._keys[name] = key
        self._taken: set[str] = set()
        self._below: Table | None = None

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._entries))

    def get(self, key: str) -> Node | None:
        """The node under ``key`` or None; marks the key as known. A null counts as absent."""
        self._taken.add(key)
        node = self._entries.get(key)
        below = self._below.get(key) if self._below else None
        return below if node is None or node.value is None else node

    def read(self, key: str, get: Callable[[Node], T], default: Any = None) -> Any:
        """Result of ``get`` for the node under ``key``; ``default`` when it is absent."""
        node = self.get(key)
        found = {} if node is None else read_each([(key, node)], lambda _, node: get(node))
        return found.get(key, default)

    def over(self, below: Table) -> Table:
        """This mapping; what it lacks is taken from the one ``below``."""
        found = Table(self.node)
        found._below = below
        found._taken = self._taken
        return found

    def need(self, key: str) -> Node:
        """The node under ``key``; an error at the mapping when it is missing."""
        node = self.get(key)
        if node is None:
            self.node.fail(f"key {key!r} is missing")
        return node

    def key_node(self, key: str) -> Node:
        """The node of the key itself, for errors about the key."""
        return self._keys[key]

    def pairs(self) -> Iterator[tuple[str, Node]]:
        """All keys with their nodes; marks all as known (for free-form mappings)."""
        self._taken.update(self._entries)
        yield from self._entries.items()

    def each(self, read: Callable[[Node], T]) -> dict[str, T]:
        """Results of ``read`` for each key of a free-form mapping."""
        return read_each(self.pairs(), lambda _, node: read(node))

    def named(self, known: Collection[str], what: str = "unknown key") -> dict[str, Node]:
        """The nodes of the keys, all of which should be ``known``; ``what`` begins the message
        about another one."""
        for key, node in self._keys.items():
            if key not in known:
                node.complain(f"{what} {key!r}", hint=nearest(key, known))
        return {key: node for key, node in self.pairs() if key in known}

    def finish(self) -> None:
        """Complain of the keys that were not taken, with the most similar known ones."""
        for key, node in self._keys.items():
            if key not in self._taken:
                node.complain(f"unknown key {key!r}", hint=nearest(key, self._taken))


def read_each(nodes: Iterable[tuple[Key, Node]], read: Callable[[Key, Node], T]) -> dict[Key, T]:
    """Results of ``read`` for each key; where reading goes on, without those that are wrong."""
    found = {}
    for key, node in nodes:
        try:
            found[key] = read(key, node)
        except DocumentError as error:  # noqa: PERF203 - documents are small
            note(error)
    return found


class IncompleteError(DocumentError):
    """A value that cannot be made because of errors that were noted."""


_ERRORS: ContextVar[list[RltuiError] | None] = ContextVar("errors", default=None)


def note(error: RltuiError) -> None:
    """Add ``error`` to those of :func:`every_error`; raises it where only the first one counts."""
    found = _ERRORS.get()
    if found is None:
        raise error
    if not isinstance(error, IncompleteError):
        found.append(error)


@contextmanager
def every_error(path: Path) -> Iterator[list[RltuiError]]:
    """Readers go on behind errors meanwhile. The list holds all of them afterwards: those of the
    document ``path`` in the order of their places, then others."""
    found: list[RltuiError] = []
    token = _ERRORS.set(found)
    try:
        yield found
    except RltuiError as error:
        note(error)
    finally:
        _ERRORS.reset(token)

    def place(error: RltuiError) -> tuple[bool, int, int]:
        if not isinstance(error, DocumentError):
            return True, 0, 0
        return error.path != path, error.line or 0, error.column or 0

    found[:] = sorted({str(error): error for error in found}.values(), key=place)


def complain_of(message: str, node: Node | None, word: str, options: Collection[str]) -> None:
    """Note an error about a ``word`` that is none of ``options``: at the key or entry of ``node``
    that holds it, or without a place."""
    hint = nearest(word, options)
    for item in node.value if node is not None else ():
        if item.value == word:
            item.complain(message, hint=hint)
            return
    note(UsageError(message, hint=hint))


def nearest(word: str, options: Iterable[str]) -> str | None:
    """The option most similar to ``word``, or None when none is close."""
    return next(iter(similar(word, options, most=1, cutoff=0.6)), None)


def shipped_table(*parts: str) -> Table:
    """The table of a shipped document at ``parts``, after its schema number. Raises
    DocumentError."""
    table = read_document(shipped(*parts)).table()
    table.need("schema").integer()
    return table


def read_document(path: Path) -> Node:
    """Read one YAML file. An empty file is an empty mapping.

    Raises DocumentError when the file cannot be read or is not YAML.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "rb", buffering=0) as file:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                found = file.read(_MOST_BYTES + 1)
            else:  # a pipe that somebody writes to
                found = b"".join(_arriving(file))
        if len(found) > _MOST_BYTES:
            raise OSError(errno.EFBIG, f"has more than {_MOST_BYTES >> 20} MiB")
        text = found.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DocumentError(f"cannot be read: {reason}", path=path) from error
    return parse_document(text, path)


def _arriving(file: io.RawIOBase) -> Iterator[bytes]:
    """Yield what is written to a pipe until its end, as it comes."""
    size = 0
    begun = not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
    while size <= _MOST_BYTES:
        ready = select.select([file], [], [], _PATIENCE_S)[0]
        part = file.read(1 << 16) if ready else None
        if part is None or not (part or begun):
            raise OSError(errno.ETIMEDOUT, "is a pipe to which nobody writes")
        if not part:
            return
        size += len(part)
        begun = True
        yield part


def parse_document(text: str, path: Path) -> Node:
    """Parse YAML text; ``path`` is used only in error messages.

    Raises DocumentError when the text is not YAML.
    """
    kept = KEPT[-1] if KEPT and is_shipped(path) else None
    found = kept and kept.find(text)
    if found:
        return _unpacked(path, *found)
    node = parse_anew(text, path)
    if kept is not None:
        kept.add(text, _packed(node))
    return node


def parse_anew(text: str, path: Path) -> Node:
    """:func:`parse_document` of a text that is not kept."""
    import yaml  # a help needs none

    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = loader_class(text)

    try:
        if sum(map(text.count, _OPENERS)) > _MAX_OPENED:
            # its depth may overflow the stack of the C loader, which ends the process
            depth = 0
            for event in yaml.parse(text, Loader=loader_class):
                depth += isinstance(event, yaml.CollectionStartEvent)
                depth -= isinstance(event, yaml.CollectionEndEvent)
                if depth > _MAX_DEPTH:
                    raise DocumentError("nested too deeply", path=path)
        found = loader.get_single_node()
        return Node({}, path, 1, 1) if found is None else _Converter(loader, path).convert(found, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = f"not valid YAML: {error.problem or error.context}"
        raise DocumentError(
            "nested too deeply" if "nesting depth" in problem else problem,
            path=path,
            line=mark.line + 1 if mark else None,
            column=mark.column + 1 if mark else None,
        ) from error
    except yaml.YAMLError as error:
        raise DocumentError(f"not valid YAML: {' '.join(str(error).split())}", path=path) from error
    finally:
        loader.dispose()


#: The tag of texts, which need no construction.
_TEXT = "tag:yaml.org,2002:str"
#: What begins a list or a mapping within a line.
_OPENERS = ("[", "{", "- ", "? ")
#: Up to this many of them the depth needs no check of its own.
_MAX_OPENED = 1000
#: Deeper nesting is a mistake (an alias inside itself).
_MAX_DEPTH = 32
#: More values come from an alias bomb: the shipped documents have about ten thousand.
_MAX_NODES = 500_000
#: YAML 1.1 requires a dot and a sign in ``1e-3``; everywhere else it is a number.
_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+")


class _Converter:
    """Converts the nodes of PyYAML, within bounds."""

    def __init__(self, loader: Any, path: Path) -> None:
        self._loader = loader
        self._path = path
        self._left = _MAX_NODES

    def convert(self, node: Any, depth: int) -> Node:
        mark = node.start_mark
        line = mark.line + 1
        column = mark.column + 1
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            what = (
                "too many values (aliases of aliases?)" if self._left < 0 else "nested too deeply"
            )
            raise DocumentError(what, path=self._path, line=line, column=column)
        value: Any = node.value
        if (  # most values are texts
            node.tag == _TEXT
            and isinstance(value, str)
            and (node.style or value[:1].isalpha() or not _EXPONENT.fullmatch(value))
        ):
            return Node(value, self._path, line, column)
        if node.id == "mapping":
            value = {self._key(k, depth + 1): self.convert(v, depth + 1) for k, v in value}
        elif node.id == "sequence":
            value = [self.convert(v, depth + 1) for v in value]
        elif not node.style and _EXPONENT.fullmatch(node.value):
            value = float(node.value)
        else:
            try:
                value = self._loader.construct_object(node)
            except (ValueError, KeyError, IndexError, AttributeError) as error:
                # PyYAML's constructors of tagged scalars (``!!bool x``) raise what they stumble on.
                problem = f"not a valid value: {error}"
                raise DocumentError(problem, path=self._path, line=line, column=column) from error

        return Node(value, self._path, line, column)

    def _key(self, node: Any, depth: int) -> Node:
        key = self.convert(node, depth)
        if isinstance(key.value, (dict, list)):
            key.fail(f"a key must be one word, found {_kind(key.value)}")
        return key


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false"}
    for kind, name in names.items():
        if isinstance(value, kind):
            return name
    return f"{value!r}"
