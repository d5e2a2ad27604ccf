"""The YAML documents of the package, parsed once for all tests of a process."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest.mock import patch

from rltui.catalogue import dialect
from rltui.core import yaml_document
from rltui.core.installation import shipped
from rltui.core.yaml_document import Node, parse_document


def nodes(values: Mapping[str, object]) -> dict[str, Node]:
    """Values as a document has them, by key."""
    text = json.dumps(values)
    return dict(parse_document(text, Path("overrides.yaml")).table().pairs())


_parse = yaml_document.parse_document
_parse_once = cache(_parse)
_PACKAGE = shipped()


def _parse_shipped_once(text: str, path: Path) -> Node:
    if _PACKAGE in path.parents:
        return _parse_once(text, path)
    return _parse(text, path)


@contextmanager
def parsed_once() -> Iterator[None]:
    """Nodes are never changed, so tests may share them: a process that starts parses for 40 ms,
    which tests do two thousand times."""
    with (
        patch.object(yaml_document, "parse_document", _parse_shipped_once),
        patch.object(dialect, "parse_document", _parse_shipped_once),
    ):
        yield
