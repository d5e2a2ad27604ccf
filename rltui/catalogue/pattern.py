"""Tag patterns: shell wildcards with named captures. Knows no files and no metrics.

=============== ========================================================================
``*``           any text, also across slashes, also empty
``?``           one character
``[@_]``        one of these characters (a range such as ``[0-9]`` works too)
``{name}``      any text of at least one character, kept as a label
``{name:int}``  digits, kept as a label
``{name:part}`` text without a slash, kept as a label
=============== ========================================================================

Everything else stands for itself. Among the patterns that match a tag, one without wildcards
wins, then the one with the longest literal part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_TOKEN = re.compile(
    r"(?P<star>\*)|(?P<one>\?)|\[(?P<set>[^\]]+)\]|\{(?P<name>[a-z][a-z0-9_]*)(?::(?P<kind>[a-z]+))?\}"
)
#: A text without these stands for itself.
_WILD = re.compile(r"[*?\[{}]")
_DIGITS = frozenset("0123456789")
_SLASH = frozenset("/")
_KINDS = {None: ".+", "int": "[0-9]+", "part": "[^/]+"}


class PatternError(ValueError):
    """The text is not a pattern."""


@dataclass(frozen=True, slots=True)
class _Token:
    """One position: which characters (None: any) and whether they may repeat (or be absent)."""

    chars: frozenset[str] | None
    star: bool
    part: bool = False
    """Any character but the slash."""


@dataclass(frozen=True)
class Pattern:
    """One checked pattern. Immutable; what it takes to match and compare is made on first use."""

    text: str
    names: tuple[str, ...]
    literal: int
    """Number of literal characters: how specific the pattern is."""
    prefix: str
    suffix: str
    """Literal begin and end, for a cheap first look."""

    @cached_property
    def exact(self) -> bool:
        """Whether it has no wildcard at all."""
        return self.literal == len(self.text)

    @cached_property
    def _lone(self) -> tuple[str, str | None] | None:
        """Name and kind of the only wildcard when that is a star (name "") or a capture.

        Most patterns are so, and need no regular expression.
        """
        inner = self.text[len(self.prefix) : len(self.text) - len(self.suffix)]
        found = _TOKEN.fullmatch(inner)
        if found is None or not (found["star"] or found["name"]):
            return None
        return found["name"] or "", found["kind"]

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile("".join(_read(self.text).regex), re.DOTALL)

    @cached_property
    def _tokens(self) -> tuple[_Token, ...]:
        return tuple(_read(self.text).tokens)

    def match(self, tag: str) -> dict[str, str] | None:
        """The labels when the whole tag matches, else None."""
        if self.exact:
            return {} if tag == self.text else None
        if not (tag.startswith(self.prefix) and tag.endswith(self.suffix)):
            return None
        if self._lone is not None:
            begin, end = len(self.prefix), len(tag) - len(self.suffix)
            return _fill(*self._lone, tag[begin:end]) if begin <= end else None
        found = self._regex.fullmatch(tag)
        return None if found is None else found.groupdict()

    def overlaps(self, other: Pattern) -> bool:
        """Whether some tag matches both."""
        a, b = self.prefix, other.prefix
        if not (a.startswith(b) or b.startswith(a)):
            return False
        a, b = self.suffix, other.suffix
        if not (a.endswith(b) or b.endswith(a)):
            return False
        if self.exact and other.exact:
            return self.text == other.text
        return _intersect(self._tokens, other._tokens)


def _fill(name: str, kind: str | None, text: str) -> dict[str, str] | None:
    """The labels when a lone wildcard stands for ``text``, else None."""
    if not name:
        return {}
    if not text or (kind == "part" and "/" in text):
        return None
    if kind == "int" and not (text.isascii() and text.isdigit()):
        return None
    return {name: text}


def parse(text: str) -> Pattern:
    """Read a pattern. Raises PatternError when a capture is malformed or named twice."""
    if not _WILD.search(text):
        return Pattern(text, (), len(text), text, text)
    read = _read(text)
    if len(set(read.names)) != len(read.names):
        raise PatternError("a name is captured twice")
    prefix, suffix = text[: read.prefix_end], text[read.suffix_begin :]
    return Pattern(text, tuple(read.names), read.literal, prefix, suffix)


@dataclass(slots=True, eq=False)
class _Reading:
    """What is found in the text of a pattern, from left to right."""

    regex: list[str]
    tokens: list[_Token]
    names: list[str]
    literal: int
    prefix_end: int
    suffix_begin: int = 0


def _read(text: str) -> _Reading:
    out = _Reading([], [], [], 0, len(text))
    at = 0
    for found in _TOKEN.finditer(text):
        out.literal += _literal(text[at : found.start()], out.regex, out.tokens)
        out.prefix_end = min(out.prefix_end, found.start())
        _wild(found, out.regex, out.tokens, out.names)
        at = out.suffix_begin = found.end()
    out.literal += _literal(text[at:], out.regex, out.tokens)
    return out


def _literal(plain: str, regex: list[str], tokens: list[_Token]) -> int:
    if "{" in plain or "}" in plain:
        raise PatternError("a capture looks like {name}, {name:int} or {name:part}")
    regex.append(re.escape(plain))
    tokens.extend(_Token(frozenset(c), False) for c in plain)
    return len(plain)


def _wild(found: re.Match[str], regex: list[str], tokens: list[_Token], names: list[str]) -> None:
    if found["star"]:
        regex.append(".*")
        tokens.append(_Token(None, True))
    elif found["one"]:
        regex.append(".")
        tokens.append(_Token(None, False))
    elif found["set"]:
        chars = _members(found["set"])
        regex.append("[" + "".join(re.escape(c) for c in sorted(chars)) + "]")
        tokens.append(_Token(chars, False))
    else:
        kind = found["kind"]
        if kind not in _KINDS:
            raise PatternError(f"unknown kind of capture {kind!r}; int or part")
        chars_or_any, part = (_DIGITS if kind == "int" else None), kind == "part"
        regex.append(f"(?P<{found['name']}>{_KINDS[kind]})")
        tokens += [_Token(chars_or_any, False, part), _Token(chars_or_any, True, part)]
        names.append(found["name"])


def _members(text: str) -> frozenset[str]:
    out: set[str] = set()
    i = 0
    while i < len(text):
        if i + 2 < len(text) and text[i + 1] == "-":
            out.update(chr(c) for c in range(ord(text[i]), ord(text[i + 2]) + 1))
            i += 3
        else:
            out.add(text[i])
            i += 1
    if not out:
        raise PatternError("an empty set of characters")
    return frozenset(out)


def _intersect(a: tuple[_Token, ...], b: tuple[_Token, ...]) -> bool:
    """Whether two token sequences accept a common string (product automaton, depth first)."""
    seen: set[tuple[int, int]] = set()
    todo = [(0, 0)]
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        i, j = state
        if i == len(a) and j == len(b):
            return True
        if i < len(a) and a[i].star:
            todo.append((i + 1, j))
        if j < len(b) and b[j].star:
            todo.append((i, j + 1))
        if i < len(a) and j < len(b) and _common(a[i], b[j]):
            todo.append((i if a[i].star else i + 1, j if b[j].star else j + 1))
    return False


def _common(a: _Token, b: _Token) -> bool:
    if a.chars is None:
        return b.chars is None or bool(b.chars - _SLASH if a.part else b.chars)
    if b.chars is None:
        return bool(a.chars - _SLASH if b.part else a.chars)
    return not a.chars.isdisjoint(b.chars)
