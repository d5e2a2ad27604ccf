"""snapshot as Markdown."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rltui.core.text import clean
from rltui.output.markdown import escaped, snapshot_markdown
from rltui.output.text_report import snapshot_text
from tests.fakes import a_session, grpo_batch, grpo_clock


def test_findings_checks_and_vital_signs() -> None:
    text = snapshot_markdown(a_session(grpo_batch(60), clock=grpo_clock()))
    lines = text.splitlines()
    assert lines[0].startswith("## ✖ grpo")
    assert any(x.startswith("- ✖ entropy collapse, since") for x in lines)
    assert any(x.lstrip().startswith("- check first: KL to old policy") for x in lines)
    assert "| ✖ | entropy |" in text
    tables = [x for x in lines if x.startswith("|")]
    assert all(x.replace(r"\|", "").count("|") == 6 for x in tables)


def rendered(markdown: str) -> str:
    """As a site renders it that links bare addresses."""
    renderer = MarkdownIt("gfm-like")
    assert renderer.linkify is not None
    renderer.linkify.set({"fuzzy_link": False})
    return str(renderer.render(markdown))


@pytest.mark.parametrize(
    "word",
    [
        "https://evil.example/x", "www.evil.example", "mail me@evil.example now", "@octocat",
        "see #12", "owner/repo#12", "HTTP://EVIL.EXAMPLE", "a`https://evil.example`b",
        "`@octocat", "a|https://evil.example|b", "mean@8",
    ],
)  # fmt: skip
def test_addresses_and_names_are_not_linked(word: str) -> None:
    html = rendered(escaped(word))
    assert "<a " not in html
    assert shown(html) == word
    for linked in ("://", "@", "#1", "www."):
        assert linked not in re.sub("<code>.*?</code>", "", html)


def shown(html: str) -> str:
    return unescape(re.sub("<[^>]+>", "", html)).strip()


@given(st.text(st.sampled_from("aw.:/@#1|`*_<>&;[]()!\\~ "), max_size=30))
def test_what_is_shown_is_the_text(text: str) -> None:
    words = f"x {text} x"
    html = rendered(escaped(words))
    assert "<a " not in html
    assert shown(html) == clean(words).strip()


def test_what_is_bad_stands_before_what_is_not() -> None:
    session = a_session(grpo_batch(120, collapse=61))
    lines = snapshot_text(session).split("\n\n")[1:]
    assert len(lines) > 3
    worst = [min("✖▲✔·".index(x.strip()[0]) for x in part.splitlines()[1:]) for part in lines]
    assert worst == sorted(worst)
    for part in lines:
        order = ["✖▲✔·".index(x.strip()[0]) for x in part.splitlines()[1:]]
        assert order == sorted(order)
    heads = [x for x in snapshot_markdown(session).splitlines() if x.startswith("**")]
    assert [x[-1] for x in heads] == sorted((x[-1] for x in heads), key="✖▲✔·".index)
