"""snapshot: a table of runs, Markdown, a picture."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rltui.cli import main
from rltui.core.text import clean
from rltui.output.markdown import escaped, snapshot_markdown
from rltui.output.text_report import snapshot_text
from tests.commands.conftest import Cli, write_jsonl
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags
from tests.tables import cases


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Four seeds of two settings."""
    for name, gain in (("low", 0.5), ("high", 0.7)):
        for seed in range(1, 5):
            tags = grpo_tags(60, collapse=None)
            tags["critic/score/mean"] = [0.1 + gain * i / 59 + 0.01 * seed for i in range(60)]
            write_jsonl(tmp_path / f"grpo_{name}_s{seed}.jsonl", tags)
    return tmp_path


def test_runs_side_by_side_begin_with_the_best(cli: Cli, sweep: Path) -> None:
    result = cli("snapshot", sweep, "--compare")
    head, best, *_ = result.out.splitlines()
    assert result.code == 0
    assert head.split()[:4] == ["run", "step", "verdict", "reward"]
    assert best.startswith("grpo_high_s4")
    assert "0.810 *" in best
    assert "* the best" in result.out


def test_differences_of_groups_are_in_words(cli: Cli, sweep: Path) -> None:
    out = cli("snapshot", sweep, "--group-by", "name").out
    assert out.splitlines()[1].split()[:2] == ["grpo_high_s*", "4"]
    assert "larger than the spread over runs explains (p = 0.0286, by permutation; 4 and" in out


def test_the_table_as_markdown(cli: Cli, sweep: Path) -> None:
    lines = cli("snapshot", sweep, "--compare", "--markdown").out.splitlines()
    assert lines[0].startswith("| run | step | verdict | reward |")
    assert set(lines[1]) <= set("| -")
    assert len([x for x in lines if x.startswith("|")]) == 10


def test_a_table_is_no_json(cli: Cli, sweep: Path) -> None:
    assert cli("snapshot", sweep, "--compare", "--json").code == 2
    result = cli("snapshot", sweep, "--group-by", "lr")
    assert result.code == 2
    assert "can be grouped by name" in result.err


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
    renderer.linkify.set({"fuzzy_link": False})
    return str(renderer.render(markdown))


@cases(__file__, "addresses_and_names_are_not_linked", "word")
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


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "a" / "metrics.jsonl", {"actor/entropy": [2.0, 1.9, 1.8]})
    return tmp_path


def test_a_picture_is_written_and_nothing_printed(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.svg"
    assert main(["snapshot", str(logs / "a"), "--svg", str(target)]) == 0
    assert target.read_text().startswith("<svg")
    assert capsys.readouterr().out == ""


def test_never_into_a_log_directory(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = logs / "a" / "out.svg"
    assert main(["snapshot", str(logs / "a"), "--svg", str(target)]) == 2
    assert "never writes" in capsys.readouterr().err
    assert not target.exists()


def test_without_a_log_there_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["snapshot", str(tmp_path / "empty"), "--svg", str(tmp_path / "x.svg")]) == 3
    assert not (tmp_path / "x.svg").exists()
