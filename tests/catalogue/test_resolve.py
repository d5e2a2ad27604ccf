"""Patterns, unknown tags, scenarios.

Patterns: the short ways to match give what the regular expression gives.
Spellings of one name, redundant prefixes, and names that must not be mistaken.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.catalogue import Catalogue, Category, load_catalogue, select
from rltui.catalogue.guess import (
    distinct_titles,
    guess_category,
    likely_reward,
    shared_head,
    short_title,
)
from rltui.catalogue.normal import normal
from rltui.catalogue.pattern import PatternError, parse, without_prefix
from rltui.core.text import clean
from tests.tables import cases, table

CATALOGUE = load_catalogue()
PIECES = st.sampled_from(table(__file__)["pieces"])
TAGS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=6).map("".join))


@settings(max_examples=300, deadline=None)
@given(tag=TAGS, framework=st.sampled_from(sorted(CATALOGUE.dialects)))
def test_any_text_resolves(tag: str, framework: str) -> None:
    tag = clean(tag)  # as every tag is on the way in
    info = CATALOGUE.resolver(framework).resolve(tag)
    assert info.tag == tag
    assert info.title
    assert "\x1b" not in info.title
    assert isinstance(info.category, Category)


@settings(max_examples=100, deadline=None)
@given(tags=st.lists(TAGS, max_size=8))
def test_any_set_of_tags_is_recognised(tags: list[str]) -> None:
    assert CATALOGUE.recognise(tags).framework in CATALOGUE.dialects


@settings(max_examples=100, deadline=None)
@given(tags=st.lists(TAGS, max_size=8, unique=True), head=st.sampled_from(["", "my_run/", "x_"]))
def test_any_set_of_tags_has_a_head_and_a_reward_among_them_or_none(
    tags: list[str], head: str
) -> None:
    tags = [f"{head}{tag}" for tag in tags]
    common = shared_head(tags)
    assert all(tag.startswith(common) and tag != common for tag in tags) or not common
    assert likely_reward(tags) in (None, *tags)


@cases(__file__, "unknown_category")
def test_unknown_category(tag: str, category: str) -> None:
    assert guess_category(tag) is Category(category)


@cases(__file__, "unknown_title")
def test_unknown_title(tag: str, title: str) -> None:
    assert short_title(tag) == title


def test_a_loop_is_recognised_by_printed_names(catalogue: Catalogue) -> None:
    found = catalogue.recognise(["Reward", "KL_ref", "Adv Std", "Actor Loss", "Avg Response Len"])
    assert (found.framework, found.algorithm) == ("minimind", "GRPO")


def test_patterns() -> None:
    assert parse("a/{x}/b@{n:int}").match("a/p/q/b@12") == {"x": "p/q", "n": "12"}
    assert parse("a/{x:part}/b").match("a/p/q/b") is None
    assert parse("mean[@_]4").match("mean_4") == {}
    assert parse("mean[0-9]").match("meanx") is None
    assert parse("a.b").match("axb") is None
    assert parse("a?c").match("abc") == {}
    assert parse("a/*").ties(parse("*/b"))
    assert not parse("a/{x:part}/b").ties(parse("a/{x:part}/t/{y:part}/b"))
    assert not parse("a[12]*").ties(parse("a[34]*"))
    assert parse("lr(1e-3)").exact


def test_longest_literal_wins(catalogue: Catalogue) -> None:
    resolver = catalogue.resolver("trl")
    assert resolver.resolve("rewards/f/std").metric == catalogue.metrics["reward.component.std"]
    verl = catalogue.resolver("verl")
    assert verl.resolve("val-aux/a/acc/mean@2").metric == catalogue.metrics["val.score"]
    assert verl.resolve("val-aux/a/reward/mean@2").metric == catalogue.metrics["val.reward.mean"]


def test_select() -> None:
    present = {"a.x", "a.y", "c", "d"}
    assert select(("a.*", "b|c|d", "d", "c"), present) == ("a.x", "a.y", "c", "d")


def test_scenarios(catalogue: Catalogue) -> None:
    titles = ["Is it learning?", "Is it stable?", "Is it efficient?", "Is the data healthy?"]
    for scenario in catalogue.scenarios.values():
        assert [q.title for q in scenario.questions] == titles
        assert scenario.questions[0].id == "learning"  # by which badges.yaml names it
        assert scenario.headline
    llm = catalogue.scenarios["llm-rl"]
    present = {"entropy", "grad_norm.actor", "loss.kl"}
    assert select(llm.questions[1].metrics, present) == ("grad_norm.actor", "entropy", "loss.kl")


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


@cases(__file__, "ends_and_weight")
def test_ends_and_weight(text: str, prefix: str, suffix: str, literal: int, exact: bool) -> None:
    pattern = parse(text)
    found = (pattern.prefix, pattern.suffix, pattern.literal, pattern.exact)
    assert found == (prefix, suffix, literal, exact)


@cases(__file__, "name_behind_a_prefix")
def test_name_behind_a_prefix(tag: str, prefix: str, name: str | None) -> None:
    assert without_prefix(tag, prefix) == name


@cases(__file__, "test_the_mode_may_follow_the_first_part")
def test_the_mode_may_follow_the_first_part(catalogue: Catalogue, tag: str, key: str) -> None:
    metric = catalogue.resolver("tunix").resolve(tag).metric
    assert metric.key == key


@pytest.mark.parametrize("text", ["{", "a}", "{A}", "{x}/{x}", "{x:word}", "[b-a]"])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(PatternError):
        parse(text)


@cases(__file__, "characters_of_a_set_stand_for_themselves")
def test_characters_of_a_set_stand_for_themselves(text: str, inside: str, outside: str) -> None:
    pattern = parse(text)
    assert [c for c in inside if pattern.match(c) is None] == []
    assert [c for c in outside if pattern.match(c) is not None] == []


def test_a_range_that_is_empty_is_named() -> None:
    with pytest.raises(PatternError, match="range 'z-a' is empty: 'a' comes before 'z'"):
        parse("x[0-9z-a]")


@cases(__file__, "normal_form")
def test_normal_form(tag: str, form: str) -> None:
    assert normal(tag) == form


def key_of(
    catalogue: Catalogue, framework: str, tag: str, scenario: str | None = None
) -> str | None:
    metric = catalogue.resolver(framework, None, scenario).resolve(tag).metric
    return metric.key if metric else None


def test_milliseconds_are_scaled(catalogue: Catalogue) -> None:
    info = catalogue.resolver("generic").resolve("timing/step_time_ms")
    assert info.metric is catalogue.metrics["time.step"]
    assert (info.scale, info.unit) == (0.001, "ms")


@cases(__file__, "plain_names_of_own_scripts")
@cases(__file__, "forms_of_plain_names", "form")
def test_plain_names_of_own_scripts(name: str, key: str, form: str, catalogue: Catalogue) -> None:
    tag = form.format(name)
    meant = {"grpo/loss": "loss.policy"}.get(tag, key)
    assert key_of(catalogue, "generic", tag, "generic") == meant


@pytest.mark.parametrize("tag", ["epoch/time", "step/count", "batch/size", "agent/episode", "step"])
def test_a_word_of_the_loop_is_not_left_out_of_what_it_counts(
    tag: str, catalogue: Catalogue
) -> None:
    counts = (None, "hyper.batch_size", "progress.step")
    assert key_of(catalogue, "generic", tag, "generic") in counts


def test_a_tag_of_the_user_in_a_known_framework(catalogue: Catalogue) -> None:
    own = catalogue.resolver("cleanrl").resolve("Mean Episode Return")
    assert own.metric is catalogue.metrics["episode_return.mean"]
    assert own.added
    assert not catalogue.resolver("cleanrl").resolve("charts/SPS").added
    assert key_of(catalogue, "trl-ppo-classic", "kl", "llm-rl") is None


def test_two_meanings_of_one_normal_form_are_none(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "id: mine\nentries:\n  - source: me\n    tags:\n"
        "      a/reward: reward.mean\n      a_reward: episode_return.mean\n"
        "      b/loss: loss.value\n      b_loss: loss.value\n"
    )
    resolver = load_catalogue((tmp_path,)).resolver("mine")
    assert resolver.resolve("A Reward").metric is not None  # as most loops would write it
    assert resolver.resolve("a.reward").metric is None
    assert resolver.resolve("B.Loss").metric is not None


def test_one_monitor_file_does_not_make_a_run_of_sb3(catalogue: Catalogue) -> None:
    assert catalogue.recognise(["monitor/r", "monitor/l"]).framework == "sb3"
    assert catalogue.recognise(["monitor/r", "monitor/l", "loss"]).framework == "generic"
    assert catalogue.recognise(["monitor/r", "monitor/l", "eprewmean"]).framework == "baselines"


@cases(__file__, "category_from_words")
def test_category_from_words(tag: str, category: str) -> None:
    assert guess_category(tag) is Category(category)


@cases(__file__, "a_name_cut_short_by_a_console")
def test_a_name_cut_short_by_a_console(tag: str, title: str, catalogue: Catalogue) -> None:
    assert catalogue.resolver("baselines").resolve(tag).title == title


@cases(__file__, "names_of_agents_and_asynchronous_trainers_are_told_in_words")
def test_names_of_agents_and_asynchronous_trainers_are_told_in_words(
    catalogue: Catalogue, framework: str, tag: str, metric: str, title: str | None
) -> None:
    info = catalogue.resolver(framework).resolve(tag)
    assert info.metric.key == metric
    assert title in (None, info.title)


def test_a_part_that_says_all_of_the_title_stands_alone() -> None:
    tags = ["time/step_old_log_probs", "time/old_log_probs"]
    assert distinct_titles("old log-probs", tags) == [
        "old log-probs, step old log probs",
        "old log probs",
    ]
