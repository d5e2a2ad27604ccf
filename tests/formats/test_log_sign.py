"""Signs in the lines of logs: their documents, and the forms that all vocabularies know."""

import pytest
import yaml

from rltui.core.installation import shipped
from rltui.formats.log_sign import bare, line_forms
from tests.tables import cases

FOLDER = shipped("formats", "data", "log_signs")


@cases(__file__, "test_prefixes")
def test_prefixes(line: str, rest: str) -> None:
    assert bare(line) == rest


def signs_in(value: object) -> list[dict[str, object]]:
    if isinstance(value, dict):
        inner = [sign for part in value.values() for sign in signs_in(part)]
        return [value, *inner] if "pattern" in value else inner
    return [sign for part in value for sign in signs_in(part)] if isinstance(value, list) else []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_sign_has_a_source_and_words_as_they_are_sought(path: object) -> None:
    known = signs_in(yaml.safe_load(path.read_text("utf-8")))  # type: ignore[attr-defined]
    assert all(str(sign["source"]).strip() for sign in known)
    words = [word for sign in known for word in sign.get("words", ())]  # type: ignore[attr-defined]
    assert [w for w in words if w != w.lower() or any(map(str.isdigit, w))] == []


@cases(__file__, "a_traceback_of_python_itself_has_no_time_before_it")
def test_a_traceback_of_python_itself_has_no_time_before_it(line: str, is_own: bool) -> None:
    assert line_forms().traceback.search(line)
    assert bool(line_forms().own_traceback.search(line)) == is_own
