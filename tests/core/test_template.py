"""Templates: fields, formats, errors with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.errors import DocumentError
from rltui.core.yaml_document import Node, fill, parts_of, read_template


def _node(text: str) -> Node:
    return Node(text, Path("x.yaml"), 3, 7)


def test_every_field_is_shown_by_the_caller() -> None:
    assert fill("{a} and {b:full}", lambda name, form: f"<{name}|{form}>") == "<a|> and <b|full>"
    assert fill("no field", lambda name, form: "") == "no field"


@pytest.mark.parametrize("text", ["{", "}", "{A}", "{a!r}", "{a.b}", "{}", "{{a}}", "{a:b:c}"])
def test_stray_braces_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a field looks like"):
        parts_of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{sourse}", "unknown field 'sourse'; did you mean 'source'?"),
        ("{source:loud}", "format 'loud' is not one of words, full"),
        ("{source", "not a template"),
    ],
)
def test_errors_name_the_place(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_template(_node(text), ("source", "n"), ("words", "full"))
    assert str(caught.value).startswith("x.yaml:3:7: ")
    assert message in str(caught.value)
