"""Tag patterns: shell wildcards with named captures.

=============== ========================================================================
``*``           any text, also across slashes, also empty
``?``           one character
``[@_]``        one of these characters (a range such as ``[0-9]`` works too)
``{name}``      any text of at least one character, kept as a label
``{name:int}``  digits, kept as a label
``{name:part}`` text without a slash, kept as a label
=============== ========================================================================

Everything else is literal. Among the patterns that match a tag, one without wildcards wins,
then the one with the longest literal part.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

_TOKEN = re.compile(
    r"(?P<star>\*)|(?P<one>\?)|\[(?P<set>[^\]]+)\]|\{(?P<name>[a-z][a-z0-9_]*)(?::(?P<kind>[a-z]+))?\}"
)
#: A text without these is literal.
_WILD = re.compile(r"[*?\[{}]")
#: A character of a set, or a range of characters.
_MEMBER = re.compile(r"(.)(?:-(.))?", re.DOTALL)
_KINDS = {None: ".+", "int": "[0-9]+", "part": "[^/]+"}


class PatternError(ValueError):
    """The text is not a pattern."""


@dataclass
class Pattern:
    """One checked pattern, never changed; its regular expression is compiled on first use.

    Not frozen: a thousand of them are made at start.
    """

    text: str
    names: tuple[str, ...]
    literal: int
    """Number of literal characters: how specific the pattern is."""
    prefix: str
    suffix: str
    """Literal begin and end, for a cheap first comparison."""

    @cached_property
    def exact(self) -> bool:
        """Whether it has no wildcard at all."""
        return self.literal == len(self.text)

    @cached_property
    def core(self) -> str:
        """The longest literal part."""
        return max(_TOKEN.sub("\n", self.text).split("\n"), key=len)

    @cached_property
    def _lone(self) -> tuple[str, str | None] | None:
        """Name and kind of the only wildcard when that is a star (name "") or a capture.

        Most patterns are of this form and need no regular expression.
        """
        inner = self.text[len(self.prefix) : len(self.text) - len(self.suffix)]
        found = _TOKEN.fullmatch(inner)
        if found is None or not (found["star"] or found["name"]):
            return None
        return found["name"] or "", found["kind"]

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile("".join(_read(self.text).regex), re.DOTALL)

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

    def ties(self, other: Pattern) -> bool:
        """Whether some tag that begins and ends like both patterns matches both.

        Finds every tie of patterns with one wildcard, and most others.
        """
        begin, other_begin = sorted((self.prefix, other.prefix), key=len, reverse=True)
        end, other_end = sorted((self.suffix, other.suffix), key=len, reverse=True)
        if not (begin.startswith(other_begin) and end.endswith(other_end)):
            return False
        if self.exact or other.exact:
            return self.match(other.text) is not None or other.match(self.text) is not None
        tags = [f"{begin}{middle}{end}" for middle in ("", "0", "x", "x/0")]

        return any(self.match(t) is not None and other.match(t) is not None for t in tags)


def _fill(name: str, kind: str | None, text: str) -> dict[str, str] | None:
    """The labels when a lone wildcard matches ``text``, else None."""
    if not name:
        return {}
    if not text or (kind == "part" and "/" in text):
        return None
    if kind == "int" and not (text.isascii() and text.isdigit()):
        return None
    return {name: text}


def parse(text: str) -> Pattern:
    """Parse a pattern. Raises PatternError when a capture is malformed or a name repeats."""
    if not _WILD.search(text):
        return Pattern(text, (), len(text), text, text)
    read = _read(text)
    if len(set(read.names)) != len(read.names):
        raise PatternError("a name is captured twice")
    prefix, suffix = text[: read.prefix_end], text[read.suffix_begin :]
    return Pattern(text, tuple(read.names), read.literal, prefix, suffix)


def normal_pattern(pattern: Pattern, normal: Callable[[str], str]) -> Pattern | None:
    """The pattern of the normal forms of the tags that ``pattern`` matches.

    None when it would have no literal part left. ``normal`` writes a text in normal form.
    """
    parts: list[str] = []
    at = 0
    for found in _TOKEN.finditer(pattern.text):
        parts += (_joined(pattern.text[at : found.start()], normal), _loose(found))
        at = found.end()
    parts.append(_joined(pattern.text[at:], normal))
    text = "".join(parts).strip("_")
    out = parse(text)

    return out if out.literal > 1 else None


def _joined(literal: str, normal: Callable[[str], str]) -> str:
    """A literal part in normal form; separators at its ends stay."""
    if not literal:
        return ""
    form = normal(literal)
    begin = "_" if not (literal[0].isalnum() or literal[0] == "%") else ""
    end = "_" if not (literal[-1].isalnum() or literal[-1] == "%") else ""
    return f"{begin}{form}{end}" if form else "_"


def _loose(found: re.Match[str]) -> str:
    """A wildcard for normal forms: slashes and separators are the same there."""
    if found["set"]:
        return "_" if not found["set"][0].isalnum() else found[0]
    return "{" + found["name"] + "}" if found["kind"] == "part" else found[0]


@dataclass(slots=True, eq=False)
class _Reading:
    """What the text of a pattern contains, from left to right."""

    regex: list[str]
    names: list[str]
    literal: int
    prefix_end: int
    suffix_begin: int = 0


def _read(text: str) -> _Reading:
    out = _Reading([], [], 0, len(text))
    at = 0
    for found in _TOKEN.finditer(text):
        out.literal += _literal(text[at : found.start()], out.regex)
        out.prefix_end = min(out.prefix_end, found.start())
        _wild(found, out.regex, out.names)
        at = out.suffix_begin = found.end()
    out.literal += _literal(text[at:], out.regex)
    return out


def _literal(plain: str, regex: list[str]) -> int:
    if "{" in plain or "}" in plain:
        raise PatternError("a capture looks like {name}, {name:int} or {name:part}")
    regex.append(re.escape(plain))
    return len(plain)


def _wild(found: re.Match[str], regex: list[str], names: list[str]) -> None:
    if found["star"]:
        regex.append(".*")
    elif found["one"]:
        regex.append(".")
    elif found["set"]:
        regex.append("[" + _MEMBER.sub(_member, found["set"]) + "]")
    else:
        kind = found["kind"]
        if kind not in _KINDS:
            raise PatternError(f"unknown kind of capture {kind!r}; int or part")
        regex.append(f"(?P<{found['name']}>{_KINDS[kind]})")
        names.append(found["name"])


def _member(found: re.Match[str]) -> str:
    first, last = found.groups()
    if last is None:
        return re.escape(first)
    if last < first:
        raise PatternError(f"range {found[0]!r} is empty: {last!r} comes before {first!r}")
    return f"{re.escape(first)}-{re.escape(last)}"
