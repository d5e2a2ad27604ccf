"""All errors of a document in one go, and none that only follows from another."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.core.errors import DocumentError
from rltui.core.every_error import every_error
from rltui.core.yaml_document import Node, read_document


def errors(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")

    def read() -> None:
        top = read_document(path).table()
        for node in top.need("runs").items():
            table = node.table()
            table.need("name").text()
            table.need("kind").choice(("long", "short"))
            table.read("steps", Node.integer)
            table.read("tags", Node.texts)
            table.finish()
        top.finish()

    return [f"{e.line}:{e.column} {e.message}" for e in every_error(path, read)]  # type: ignore[attr-defined]


def test_every_error_of_every_entry(tmp_path: Path) -> None:
    text = (
        "runs:\n"
        "- {name: a, kind: lng, steps: many, color: red}\n"
        "- {kind: short, tags: 3}\n"
        "- 7\n"
        "extra: 1\n"
    )
    assert errors(tmp_path, text) == [
        "2:19 unknown word 'lng'; one of long, short",
        "2:31 expected a whole number, found text",
        "2:37 unknown key 'color'",
        "3:3 key 'name' is missing",
        "3:23 expected a list, found 3",
        "4:3 expected a mapping, found 7",
        "5:1 unknown key 'extra'",
    ]


def test_a_missing_key_hides_nothing(tmp_path: Path) -> None:
    found = errors(tmp_path, "runs:\n- {steps: x}\n")
    assert found == [
        "2:3 key 'name' is missing",
        "2:3 key 'kind' is missing",
        "2:11 expected a whole number, found text",
    ]


@pytest.mark.parametrize("text", ["", "[1]", "runs: 3", "a: {b: [}", "runs: [[[]]]", "? [1]\n: 2"])
def test_it_always_ends_and_finds_something(tmp_path: Path, text: str) -> None:
    assert errors(tmp_path, text)


def test_an_error_of_another_document_ends_it(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("[", "utf-8")
    (found,) = every_error(tmp_path / "x.yaml", lambda: read_document(other))
    assert isinstance(found, DocumentError)
    assert found.path == other
