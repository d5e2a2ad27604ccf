"""explain: tags, metrics, rules, lists, and unknown names."""

from __future__ import annotations

import json

import pytest

from tests.commands.conftest import Cli


def test_a_tag_with_its_meaning_and_on_demand_its_source(cli: Cli) -> None:
    result = cli("explain", "actor/ppo_kl", "--framework", "verl")
    assert (result.code, result.err) == (0, "")
    assert "kl.old_new" in result.out
    assert "judged by" in result.out
    assert "verl.yaml:" not in result.out
    reasons = cli("explain", "actor/ppo_kl", "--framework", "verl", "--reasons").out
    assert "matched by" in reasons
    assert "verl.yaml:" in reasons


@pytest.mark.parametrize("name", ["learning_rate", "lr.actor", "entropy_collapse", "kl_spike"])
def test_what_a_user_needs_fits_on_a_screen(cli: Cli, name: str) -> None:
    lines = cli("explain", name).out.splitlines()
    assert len(lines) <= 34
    assert max(map(len, lines)) <= 78
    assert len(cli("explain", name, "--reasons").out) > len("\n".join(lines)) + 1


def test_a_name_says_where_it_holds_which_entry_matched_and_what_judges_it(cli: Cli) -> None:
    text = " ".join(cli("explain", "train/kl").out.split())
    update, reference = text.index("(kl.old_new)"), text.index("(kl.policy_ref)")
    assert "omnisafe" in text[update:reference]
    assert "no known framework (classic-rl)" in text[update:reference]
    assert "matched by KL, kl, Train/KL" in text
    assert "no known framework (llm-rl, preference)" in text
    guess = text[text.index("KL (guessed) (kl.policy_ref)") :]
    assert "holds for no known framework (generic)" in guess
    assert "guessed by its name" in guess
    assert "judged by no update (no_update), KL blow-up (kl_blowup)" in guess


def test_a_name_that_only_frameworks_know_says_so(cli: Cli) -> None:
    text = " ".join(cli("explain", "timesteps_this_iter").out.split())
    assert "holds for rllib" in text
    assert "In runs of no known framework it means nothing by its name" in text
    assert cli("explain", "foo/bar_kl").code == 2


def test_the_document_says_what_a_run_of_no_known_framework_gets(cli: Cli) -> None:
    tags = json.loads(cli("explain", "kl", "--json").out)["tags"]
    own = {tuple(t["scenarios"]): t for t in tags if t["framework"] == "generic"}
    assert own["classic-rl",]["metric"] == "kl.old_new"
    assert "reward_flat_no_learning" in own["classic-rl",]["rules"]
    assert own["generic",]["guessed"]
    assert own["reward-model", "sft"]["metric"] is None
    assert own["reward-model", "sft"]["rules"] == []
    loss = json.loads(cli("explain", "loss", "--json").out)["tags"]
    assert [t["scenarios"] for t in loss if t["framework"] == "generic"] == [[]]


SYMPTOM = (
    "check first entropy: did it drop suddenly?",
    "then        clip fraction: is it spiking?",
    "shown by    reward_drop",
)


@pytest.mark.parametrize(
    ("name", "said", "unsaid"),
    [
        ("entropy", ("logged as", "actor/entropy"), "judged by no rule"),
        ("stalled", ("Nothing new was written",), "rules.override"),
        ("action_std", ("judged by no rule: It shrinks in healthy runs",), "rules.override"),
        ("reward_crash", SYMPTOM, "did you mean"),
        ("the reward crashes", SYMPTOM, "did you mean"),
    ],
)
def test_what_is_said_of_a_metric_a_state_and_a_symptom(
    cli: Cli, name: str, said: tuple[str, ...], unsaid: str
) -> None:
    result = cli("explain", name)
    assert result.code == 0
    assert all(words in result.out for words in said)
    assert unsaid not in result.out


def test_a_rule_with_thresholds_advice_and_sources(cli: Cli) -> None:
    result = cli("explain", "entropy_collapse")
    assert result.code == 0
    for word in ("reads", "watch unless ≥ 15 % of start, bad unless ≥", "check"):
        assert word in result.out
    assert "window" not in result.out
    assert "dev run" not in result.out
    reasons = cli("explain", "entropy_collapse", "--reasons")
    for word in ("dev run", "fires", "window"):
        assert word in reasons.out


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("entropi", "entropy"), ("entropy_colapse", "entropy_collapse"), ("kl.old_nwe", "kl.old_new")],
)
def test_a_name_that_nobody_knows(cli: Cli, name: str, nearest: str) -> None:
    result = cli("explain", name)
    assert (result.code, result.out) == (2, "")
    assert f"unknown name '{name}'" in result.err
    assert f"did you mean '{nearest}'?" in result.err
