"""Patterns: the short ways to match give what the regular expression gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.catalogue.pattern import PatternError, parse

parts = st.sampled_from(["a", "b/", "loss", "/", "*", "?", "[ab]", "{x}", "{n:int}", "{p:part}"])
tags = st.text(st.sampled_from("ab/los7٣\n"), max_size=8)


@given(text=st.lists(parts, max_size=4).map("".join), tag=tags)
def test_a_match_is_that_of_the_regular_expression(text: str, tag: str) -> None:
    try:
        pattern = parse(text)
    except PatternError:
        return
    found = pattern._regex.fullmatch(tag)
    assert pattern.match(tag) == (None if found is None else found.groupdict())


ends = st.sampled_from(["", "a", "b/", "a/b", "loss", "7"])
wild = st.sampled_from(["*", "{x}", "{n:int}", "{p:part}"])
ONE_WILDCARD = st.tuples(ends, wild, ends).map("".join)


@given(ONE_WILDCARD, ONE_WILDCARD, tags)
def test_patterns_with_one_wildcard_tie_if_they_match_one_tag(a: str, b: str, tag: str) -> None:
    pattern, other = parse(a), parse(b)
    assert pattern.ties(other) == other.ties(pattern)
    if pattern.match(tag) is not None and other.match(tag) is not None:
        assert pattern.ties(other)


@pytest.mark.parametrize(
    ("text", "prefix", "suffix", "literal", "exact"),
    [
        ("actor/loss", "actor/loss", "actor/loss", 10, True),
        ("val/*/mean", "val/", "/mean", 9, False),
        ("{x}", "", "", 0, False),
        ("a*b?c", "a", "c", 3, False),
    ],
)
def test_ends_and_weight(text: str, prefix: str, suffix: str, literal: int, exact: bool) -> None:
    pattern = parse(text)
    found = (pattern.prefix, pattern.suffix, pattern.literal, pattern.exact)
    assert found == (prefix, suffix, literal, exact)


@pytest.mark.parametrize("text", ["{", "a}", "{A}", "{x}/{x}", "{x:word}", "[b-a]"])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(PatternError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("[a&&b]", "a&b", "-c"),
        ("[a||b]", "a|b", "-c"),
        ("[a~~b]", "a~b", "-c"),
        ("[[a]", "[a", "b"),
        ("[^a]", "^a", "b"),
        ("[\\d]", "\\d", "7"),
        ("[a-c-]", "abc-", "d"),
        ("[+--]", "+,-", "."),
        ("[a-z--9]", "az-./9", ":"),
    ],
)
def test_characters_of_a_set_stand_for_themselves(text: str, inside: str, outside: str) -> None:
    pattern = parse(text)
    assert [c for c in inside if pattern.match(c) is None] == []
    assert [c for c in outside if pattern.match(c) is not None] == []


def test_a_range_that_is_empty_is_named() -> None:
    with pytest.raises(PatternError, match="range 'z-a' is empty: 'a' comes before 'z'"):
        parse("x[0-9z-a]")
