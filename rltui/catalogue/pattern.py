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
#: Wildcards, to be kept where all else is split; and what tensorboardX replaces in tags.
_UNSAFE_SPLIT = re.compile(r"(\*|\?|\[[^\]]+\]|\{[^}]*\})")
_UNSAFE = re.compile(r"[^-/\w.]")
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
    def cleaned(self) -> Pattern | None:
        """Pattern as tensorboardX writes it, with ``_`` for what is not safe in a path; None where
        nothing is replaced."""
        parts = _UNSAFE_SPLIT.split(self.text)
        text = "".join(p if n % 2 else _UNSAFE.sub("_", p) for n, p in enumerate(parts))
        return None if text == self.text else parse(text)

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
        parts = []
        at = 0
        for found in _TOKEN.finditer(self.text):
            parts += [re.escape(self.text[at : found.start()]), _regex_of(found)]
            at = found.end()
        return re.compile("".join((*parts, re.escape(self.text[at:]))), re.DOTALL)

    def match(self, tag: str) -> dict[str, str] | None:
        """The labels when the whole tag matches, else None."""
        if self.exact:
            return {} if tag == self.text else None
        if not (tag.startswith(self.prefix) and tag.endswith(self.suffix)):
            return None
        if self._lone is not None:
            begin = len(self.prefix)
            end = len(tag) - len(self.suffix)
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
    plain = _TOKEN.sub("", text)
    if "{" in plain or "}" in plain:
        raise PatternError("a capture looks like {name}, {name:int} or {name:part}")
    tokens = list(_TOKEN.finditer(text))
    for found in tokens:
        _regex_of(found)
    names = tuple(found["name"] for found in tokens if found["name"])
    if len(set(names)) != len(names):
        raise PatternError("a name is captured twice")
    begin, end = (tokens[0].start(), tokens[-1].end()) if tokens else (len(text), 0)

    return Pattern(text, names, len(plain), text[:begin], text[end:])


def normal_pattern(pattern: Pattern, normal: Callable[[str], str]) -> Pattern | None:
    """The pattern of the normal forms of the tags that ``pattern`` matches.

    None when it would have no literal part left. ``normal`` writes a text in normal form.
    """
    parts: list[str] = []
    at = 0
    for found in _TOKEN.finditer(pattern.text):
        wild = found[0]  # slashes and separators are the same there
        if found["set"] and not found["set"][0].isalnum():
            wild = "_"
        elif found["kind"] == "part":
            wild = "{" + found["name"] + "}"
        parts += (_joined(pattern.text[at : found.start()], normal), wild)
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


def without_prefix(tag: str, prefix: str) -> str | None:
    """The name behind a prefix of a dialect; None where the tag does not begin with it.

    ``*/eval/`` stands behind the first part, which stays: ``rewards/eval/sum`` is ``rewards/sum``.
    """
    first = tag[: tag.find("/") + 1] if prefix.startswith("*/") else ""
    prefix = prefix.replace("*/", first, 1)
    return first + tag[len(prefix) :] if tag.startswith(prefix) and tag != prefix else None


def _regex_of(found: re.Match[str]) -> str:
    """A wildcard as a regular expression. Raises PatternError when it is none."""
    if found["star"]:
        return ".*"
    if found["one"]:
        return "."
    if found["set"]:
        return "[" + _MEMBER.sub(_member, found["set"]) + "]"
    kind = found["kind"]
    if kind not in _KINDS:
        raise PatternError(f"unknown kind of capture {kind!r}; int or part")
    return f"(?P<{found['name']}>{_KINDS[kind]})"


def _member(found: re.Match[str]) -> str:
    first, last = found.groups()
    if last is None:
        return re.escape(first)
    if last < first:
        raise PatternError(f"range {found[0]!r} is empty: {last!r} comes before {first!r}")
    return f"{re.escape(first)}-{re.escape(last)}"
