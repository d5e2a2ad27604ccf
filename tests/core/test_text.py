"""Text from logs: harmless on the way in, never wider than its place.

Words that people type: whole, begun, ambiguous and misspelt names.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcwidth

from rltui.core.errors import DocumentError, RltuiError
from rltui.core.installation import shipped
from rltui.core.level import choose
from rltui.core.text import (
    cell_width,
    clean,
    clean_bytes,
    fit,
    fit_middle,
    kept_clean,
    natural,
    pad,
)
from tests.tables import cases

#: Any code point, lone surrogates included: JSON can carry them.
ANY = st.text(st.characters(exclude_categories=()))
#: Texts around our own escapes, where two inputs could become one.
TRICKY = st.text(st.sampled_from("\\xuU0015bdc\x1b\x05\xad\u200b\U000e0001a"), max_size=12)
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


def restored(text: str) -> str:
    """What was cleaned: every escape becomes its character again."""
    return ESCAPE.sub(lambda m: chr(int(m[1] or m[2] or m[3], 16)), text)


@given(ANY)
def test_nothing_unsafe_survives(text: str) -> None:
    for char in clean(text):
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(ANY | TRICKY)
def test_different_texts_stay_different(text: str) -> None:
    assert restored(clean(text)) == text


@given(ANY | TRICKY)
def test_what_was_kept_stays_and_is_never_unsafe(text: str) -> None:
    assert kept_clean(clean(text)) == clean(text)
    bare = kept_clean(text).replace("\\", "/")
    assert clean(bare) == bare


@given(st.binary(), st.binary())
def test_different_bytes_stay_different(one: bytes, other: bytes) -> None:
    assert (clean_bytes(one) == clean_bytes(other)) == (one == other)


@given(st.binary())
def test_bytes_become_safe(raw: bytes) -> None:
    assert all(unicodedata.category(c)[0] != "C" for c in clean_bytes(raw))


@cases(__file__, "what_is_shown")
def test_what_is_shown(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@pytest.mark.parametrize(
    ("text", "cells"),
    [("abc", 3), ("a\x1b大", 3), ("大", 2), ("e\u0301", 1), ("", 0), ("✔▲✖", 3), ("☁\ufe0f", 2)],
)
def test_cell_width(text: str, cells: int) -> None:
    assert cell_width(text) == cells


def test_every_character_has_the_width_of_wcwidth() -> None:
    shown = (c for c in map(chr, range(sys.maxunicode + 1)) if clean(c) == c)
    assert [hex(ord(c)) for c in shown if cell_width(c) != wcwidth(c)] == []


@given(ANY.map(clean), st.integers(-2, 30))
def test_fit_never_exceeds_its_place(text: str, width: int) -> None:
    cut = fit(text, width)
    assert cell_width(cut) <= max(width, 0)
    if cell_width(text) <= width:
        assert cut == text


@given(ANY.map(clean), st.integers(0, 30), st.booleans())
def test_pad_fills_its_place(text: str, width: int, right: bool) -> None:
    assert cell_width(pad(text, width, right=right)) == width


def test_fit_says_that_something_is_lost() -> None:
    assert fit("entropy", 4) == "ent…"
    assert fit("大大大", 4) == "大…"
    assert fit("entropy", 4, ellipsis="...") == "e..."
    assert fit("entropy", 2, ellipsis="...") == ".."
    assert fit("entropy", 1) == "…"
    assert fit("entropy", 0) == ""
    assert pad("ab", 4) == "ab  "
    assert pad("ab", 4, right=True) == "  ab"
    assert pad("entropy", 4) == "ent…"


@cases(__file__, "both_ends_are_kept")
def test_both_ends_are_kept(text: str, width: int, share: float | str, cut: str) -> None:
    assert fit_middle(text, width, float(Fraction(share))) == cut


@given(ANY.map(clean), st.integers(-2, 30), st.floats(0, 1))
def test_both_ends_never_exceed_their_place(text: str, width: int, share: float) -> None:
    cut = fit_middle(text, width, share)
    assert cell_width(cut) <= max(width, 0)
    assert text.startswith(cut.partition("…")[0])
    if cell_width(text) <= width:
        assert cut == text


# -- level, block, clock, errors, shipped files --------------------------------------------


def test_document_error_without_a_place() -> None:
    error = DocumentError("is odd", path="x.yaml")
    assert str(error) == "x.yaml: is odd"
    assert error.path == Path("x.yaml")
    assert str(DocumentError("odd", path="x.yaml", line=3)) == "x.yaml:3: odd"


def test_shipped_finds_files_of_checkout_and_package() -> None:
    assert shipped("config.example.yaml").is_file()
    assert shipped("core", "text.py").is_file()
    with pytest.raises(RltuiError, match="no/such/file is missing"):
        shipped("no", "such", "file")


LEAVE, ACTOR, MODEL, RUNS = "leave", "the actor", "the reward model", "the runs"
NAMES = {"quit": LEAVE, "q": LEAVE, "actor": ACTOR, "act": ACTOR, "reward model": MODEL,
         "rm": MODEL, "runs": RUNS}  # fmt: skip


@pytest.mark.parametrize(
    ("word", "value"),
    [("q", LEAVE), ("qu", LEAVE), ("a", ACTOR), ("ACTO", ACTOR), ("rew", MODEL), ("ru", RUNS)],
)
def test_a_beginning_is_enough(word: str, value: str) -> None:
    assert choose(word, NAMES) == (value, "")


@pytest.mark.parametrize(
    ("word", "hint"),
    [("r", "; did you mean reward model or runs?"), ("actro", "; did you mean actor?"),
     ("zzz", ""), ("", "")],
)  # fmt: skip
def test_what_is_not_clear_chooses_nothing(word: str, hint: str) -> None:
    assert choose(word, NAMES) == (None, hint)


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    names = ["GPU 10", "GPU 2", "node 1 GPU 10", "node 01 GPU 9", "GPU", "GPU 0"]
    assert sorted(names, key=natural) == [
        "GPU", "GPU 0", "GPU 2", "GPU 10", "node 01 GPU 9", "node 1 GPU 10",
    ]  # fmt: skip
