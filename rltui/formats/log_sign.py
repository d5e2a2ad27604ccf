"""Signs of what lines of a log mean: the documents below ``data/log_signs``, and their search.

``endings`` (why a run is over), ``complaints``, ``job_logs`` and ``phases`` are vocabularies of
signs, ``lines`` the forms of lines that all of them know. Of several signs in a line the first
counts, in the order of the document. A text that stands in every line of a sign is looked for
before its pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, NamedTuple, TypeVar

from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, read_record, shipped_record

T = TypeVar("T")
Patterns = tuple[re.Pattern[str], ...]

#: Characters of a line that are searched: what matches begins early in a line.
LOOKED_AT = 600
#: Launchers put their prefixes in front of one another.
_MOST_PREFIXES = 4


class Sign(NamedTuple):
    """A pattern, and what a line means in which it is found."""

    pattern: re.Pattern[str]
    source: str
    level: str = ""
    words: tuple[str, ...] = ()
    """One of these texts stands in every such line; none: that is not known."""


def _pattern(node: Node) -> re.Pattern[str]:
    return read_record(node, Sign).pattern


#: In a document: a sign, or a list of them, of which only the patterns are wanted.
_Form = Annotated[re.Pattern[str], Keyed(read=_pattern)]
AnyOf = Annotated[Patterns, Keyed(read=lambda node: tuple(node.each(_pattern)))]


class LineForms(NamedTuple):
    """``data/log_signs/lines.yaml``; see there for the meaning of each field."""

    prefix: _Form
    logger_prefix: _Form
    worker: _Form
    traceback: _Form
    own_traceback: _Form
    chained: _Form
    exception: _Form
    repeated: _Form
    varying: _Form


def signs(kind: type[T], name: str) -> T:
    """The document of this name as a record, read once. Raises DocumentError."""
    return shipped_record(kind, "formats", "data", "log_signs", f"{name}.yaml")


def line_forms() -> LineForms:
    """The forms that lines have."""
    return signs(LineForms, "lines")


def first_match(patterns: Iterable[re.Pattern[str]], line: str) -> re.Match[str] | None:
    """The match of the first pattern that is found in a line."""
    for pattern in patterns:
        found = pattern.search(line)
        if found is not None:
            return found
    return None


def without_prefixes(line: str) -> str:
    """A line without the prefixes of Ray, torchrun and srun."""
    for _ in range(_MOST_PREFIXES):
        found = line_forms().prefix.match(line)
        if found is None:
            break
        line = line[found.end() :]
    return line


def bare(line: str) -> str:
    """The searched part of a line without prefixes, that of the logger of vLLM included."""
    line = without_prefixes(line)[:LOOKED_AT]
    return line_forms().logger_prefix.sub("", line).rstrip()
