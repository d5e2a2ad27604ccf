"""All errors of a document in one reading, and none that only follows from another."""

from pathlib import Path
from typing import Annotated, NamedTuple

import pytest

from rltui.core.errors import DocumentError, UsageError
from rltui.core.yaml_document import every_error, note, read_document
from rltui.core.yaml_record import Keyed, read_record


class Run(NamedTuple):
    name: str
    kind: Annotated[str, Keyed(read=lambda node: node.choice(("long", "short")))]
    steps: int | None = None
    tags: tuple[str, ...] = ()


class Document(NamedTuple):
    runs: tuple[Run, ...]


def errors(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    with every_error(path) as found:
        read_record(read_document(path), Document)
    return [f"{e.line}:{e.column} {e.message}" for e in found]  # type: ignore[attr-defined]


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
def test_any_document_gives_its_errors_and_an_end(tmp_path: Path, text: str) -> None:
    assert errors(tmp_path, text)


def test_errors_of_other_documents_come_last_and_each_once(tmp_path: Path) -> None:
    own, other = (DocumentError("wrong", path=tmp_path / name, line=3) for name in "xy")
    with every_error(tmp_path / "x") as found:
        for error in (UsageError("no theme"), other, own, own):
            note(error)
    assert [str(e).rpartition("/")[2] for e in found] == ["x:3: wrong", "no theme", "y:3: wrong"]


def test_the_first_error_counts_where_nobody_asks_for_all() -> None:
    with pytest.raises(UsageError, match="no theme"):
        note(UsageError("no theme"))
