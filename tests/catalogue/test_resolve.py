"""Patterns, unknown tags, scenarios."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.catalogue import Catalogue, Category, load_catalogue, select
from rltui.catalogue.guess import guess_category, likely_reward, shared_head, short_title
from rltui.catalogue.pattern import parse
from rltui.core.text import clean

CATALOGUE = load_catalogue()
PIECES = st.sampled_from(
    [
        "train/",
        "eval/",
        "eval_",
        "val-core/",
        "actor/",
        "mean@4",
        "/",
        "",
        "rewards/",
        "acc/",
        "é\x1b",
    ]
)
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


@pytest.mark.parametrize(
    ("tag", "category"),
    [
        ("val/foo", Category.VALIDATION),
        ("test/reward", Category.VALIDATION),
        ("actor/foo", Category.ACTOR),
        ("policy/foo_time", Category.ACTOR),
        ("my_value/x", Category.CRITIC),
        ("reward/foo", Category.CRITIC),
        ("mean_token_count", Category.LENGTH),
        ("timing/foo", Category.TIMING),
        ("perf/x", Category.PERF),
        ("deep/throughput", Category.PERF),
        ("Frames/sec", Category.PERF),
        ("tokens_decoded_per_second", Category.PERF),
        ("rollout_seconds", Category.TIMING),
        ("unit_match_rate", Category.CRITIC),
        ("foo/bar", Category.OTHER),
        ("", Category.OTHER),
        ("奖励/平均", Category.OTHER),
    ],
)
def test_unknown_category(tag: str, category: Category) -> None:
    assert guess_category(tag) is category


@pytest.mark.parametrize(
    ("tag", "title"),
    [
        ("a/b/reward_std", "reward std"),
        ("x/layer00/mean", "layer00 mean"),
        ("trailing/", "trailing"),
        ("/", "/"),
        ("a", "a"),
    ],
)
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
    titles = [
        "Is it learning?",
        "Is it stable?",
        "Is it efficient?",
        "Is the data healthy?",
    ]
    for scenario in catalogue.scenarios.values():
        assert [q.title for q in scenario.questions] == titles
        assert scenario.headline
    llm = catalogue.scenarios["llm-rl"]
    present = {"entropy", "grad_norm.actor", "loss.kl"}
    assert select(llm.questions[1].metrics, present) == ("entropy", "loss.kl", "grad_norm.actor")
