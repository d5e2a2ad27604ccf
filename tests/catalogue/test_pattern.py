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


@given(text=st.lists(parts, max_size=4).map("".join), tag=tags)
def test_what_two_patterns_match_makes_them_overlap(text: str, tag: str) -> None:
    try:
        pattern, other = parse(text), parse("*" + tag[1:].replace("\n", ""))
    except PatternError:
        return
    if pattern.match(tag) is not None and other.match(tag) is not None:
        assert pattern.overlaps(other)
        assert other.overlaps(pattern)


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


@pytest.mark.parametrize("text", ["{", "a}", "{A}", "{x}/{x}", "{x:word}"])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(PatternError):
        parse(text)
