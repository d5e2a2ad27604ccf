"""YAML with positions: every error says where, nothing but DocumentError comes out.

What ships is read by both parsers of PyYAML: many builds have no libyaml.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.errors import DocumentError
from rltui.core.template import fill, parts_of, read_template
from rltui.core.yaml_document import Node, parse_document, read_document
from tests.places import FIXTURES, ROOT
from tests.tables import cases

PATH = Path("some.yaml")


def parse(text: str) -> Node:
    return parse_document(text, PATH)


def at(error: DocumentError) -> tuple[int | None, int | None]:
    return error.line, error.column


def test_values_and_positions() -> None:
    root = parse("a: 1\nb:\n  - x\n  - [2.5, true, null]\n")
    assert root.plain() == {"a": 1, "b": ["x", [2.5, True, None]]}
    table = root.table()
    items = table.need("b").items()
    assert [(n.line, n.column) for n in (table.need("a"), *items)] == [(1, 4), (3, 5), (4, 5)]
    inner = items[1].items()
    assert (inner[0].number(), inner[1].boolean(), inner[2].value) == (2.5, True, None)
    assert (table.key_node("b").line, table.key_node("b").column) == (2, 1)
    table.finish()


@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 0.001), ("1E5", 1e5), ("-2e+3", -2000.0), ("1.5e3", 1500.0)]
)
def test_exponents_are_numbers(text: str, value: float) -> None:
    assert parse(f"a: {text}").table().need("a").number() == value
    assert parse(f"a: '{text}'").table().need("a").text() == text


def test_unknown_key_names_the_nearest() -> None:
    table = parse("title: x\n\n  \nthreshhold: 3\n").table()
    table.get("title")
    table.get("threshold")
    with pytest.raises(DocumentError) as caught:
        table.finish()
    assert at(caught.value) == (4, 1)
    assert caught.value.hint == "threshold"
    assert str(caught.value) == (
        "some.yaml:4:1: unknown key 'threshhold'; did you mean 'threshold'?"
    )


def test_missing_and_double_keys() -> None:
    with pytest.raises(DocumentError, match="'id' is missing"):
        parse("a: 1").table().need("id")
    with pytest.raises(DocumentError, match="'id' is missing"):
        parse("id:").table().need("id")
    with pytest.raises(DocumentError, match="is defined twice") as caught:
        parse("a: 1\nb: 2\na: 3\n").table()
    assert at(caught.value) == (3, 1)
    with pytest.raises(DocumentError, match="is defined twice"):
        parse("1: a\n'1': b\n").table()


@cases(__file__, "wrong_types")
def test_wrong_types(text: str, accessor: str, says: str) -> None:
    node = parse(text).table().need("a")
    with pytest.raises(DocumentError, match=says) as caught:
        getattr(node, accessor)()
    assert caught.value.line == 1


def test_choice_and_texts() -> None:
    assert parse("a: up").table().need("a").choice(["up", "down"]) == "up"
    with pytest.raises(DocumentError, match="one of up, down; did you mean 'down'"):
        parse("a: dwn").table().need("a").choice(["up", "down"])
    assert parse("a: one").table().need("a").texts() == ("one",)
    assert parse("a: [one, two]").table().need("a").texts() == ("one", "two")


@cases(__file__, "what_is_not_ours")
def test_what_is_not_ours(text: str, where: list[int | None]) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(text)
    assert at(caught.value) == tuple(where)
    assert "\n" not in str(caught.value)


def test_a_number_of_too_many_digits() -> None:
    try:
        int("9" * 6000)
    except ValueError:
        pass
    else:
        pytest.skip("Python 3.10.6 and older read integers of any length")
    with pytest.raises(DocumentError) as caught:
        parse("a: " + "9" * 6000)
    assert at(caught.value) == (1, 4)
    assert "\n" not in str(caught.value)


def test_alias_bombs_and_loops_are_stopped() -> None:
    ten = ",".join(["x"] * 10)
    lines = [f"a0: &a0 [{ten}]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(DocumentError, match="too many values"):
        parse("\n".join(lines))
    with pytest.raises(DocumentError, match="nested too deeply"):
        parse("&a [*a]")
    with pytest.raises(DocumentError, match="nested too deeply"):
        parse("[" * 100 + "]" * 100)
    for opener in ("[", "{a: ", "- ", "? "):  # the C loader would overflow the stack
        with pytest.raises(DocumentError, match="nested too deeply"):
            parse(opener * 60_000)


@given(st.text(st.sampled_from("ab:-[]{}&*!'\"?|>%@ \n\t#,0.e\x07"), max_size=60))
def test_any_text_is_a_document_or_an_error(text: str) -> None:
    with contextlib.suppress(DocumentError):
        parse(text).plain()


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with pytest.raises(DocumentError, match="cannot be read: No such file"):
        read_document(path)
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(DocumentError, match="cannot be read"):
        read_document(path)
    with pytest.raises(DocumentError, match="cannot be read"):
        read_document(tmp_path)
    path.write_text("\ufeffa: größe\n", encoding="utf-8")
    assert read_document(path).plain() == {"a": "größe"}


# -- templates: fields, formats, errors with their place -----------------------------------


def _node(text: str) -> Node:
    return Node(text, Path("x.yaml"), 3, 7)


def test_every_field_is_shown_by_the_caller() -> None:
    assert fill("{a} and {b:full}", lambda name, form: f"<{name}|{form}>") == "<a|> and <b|full>"
    assert fill("no field", lambda name, form: "") == "no field"


@pytest.mark.parametrize("text", ["{", "}", "{A}", "{a!r}", "{a.b}", "{}", "{{a}}", "{a:b:c}"])
def test_stray_braces_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a field looks like"):
        parts_of(text)


@cases(__file__, "errors_name_the_place")
def test_errors_name_the_place(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_template(_node(text), ("source", "n"), ("words", "full"))
    assert str(caught.value).startswith("x.yaml:3:7: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("folder", ["rltui", "themes", "examples"])
def test_both_parsers_read_the_same(folder: str) -> None:
    quick = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = [p for p in (ROOT / folder).rglob("*.y*ml") if "__pycache__" not in p.parts]
    assert documents
    for path in [*documents, ROOT / "config.example.yaml"]:
        text = path.read_text(encoding="utf-8")
        slow = list(yaml.load_all(text, yaml.SafeLoader))
        assert slow == list(yaml.load_all(text, quick)), path


@pytest.mark.parametrize("text", ["9" * 400, "a{99999999999999999999}", "(" * 5000])
def test_what_is_too_large_is_an_error_of_its_place(text: str) -> None:
    node = parse_document(f"[{text if text.isdigit() else json.dumps(text)}]", Path("a.yaml"))
    (entry,) = node.items()
    with pytest.raises(DocumentError, match=r"^a\.yaml:1:2: "):
        entry.number() if text.isdigit() else entry.pattern()


WITHOUT = """
import json, sys, yaml
for name in [n for n in dir(yaml) if n.startswith("C") and n.endswith(("Loader", "Dumper"))]:
    delattr(yaml, name)
from rltui.cli import main
for words in json.loads(sys.argv[1]):
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    assert code in (0, 1, None), words
"""
RUN = str(FIXTURES / "labelled" / "verl")
VERBS = [["check", RUN], ["explain", "entropy"], ["lint"], ["demo", "--list"]]


def test_every_verb_works_without_libyaml() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(VERBS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "not valid YAML" not in done.stderr
