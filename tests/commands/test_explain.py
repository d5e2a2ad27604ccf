"""explain: tags, metrics, rules, lists, and unknown names.

``rltui lint``: everything that is wrong in the user's documents, at once.
"""

import json
import re
from pathlib import Path

import pytest

from rltui.cli import main
from tests.commands.conftest import Cli
from tests.places import ROOT
from tests.tables import table


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
    assert text.startswith("train/kl most likely means KL to reference; for others: ")
    assert cli("explain", "actor/loss").out.startswith("actor/loss most likely means total loss;")
    assert "no known framework (llm-rl, preference)" in text
    assert "omnisafe, ray-tune, trading, no known framework (classic-rl)" in text
    assert text.count("matched by") == text.count("judged by") == 1
    assert "KL (guessed) (kl.policy_ref), better inside its range: no known framework (ge" in text
    own = " ".join(cli("explain", "train/kl", "--framework", "omnisafe").out.split())
    assert "matched by Train/KL better inside its range judged by no update (no_update), " in own
    guess = " ".join(cli("explain", "train/kl", "--reasons").out.split()).partition("guessed) (")[2]
    assert "holds for no known framework (generic)" in guess
    assert "guessed by its name" in guess


def test_the_next_step_of_a_rule_is_that_of_its_symptom(cli: Cli) -> None:
    rule, symptom = (cli("explain", x).out.split() for x in ("truncation_high", "truncation"))
    told = symptom[symptom.index("step") + 1 : symptom.index("shown")]
    assert told[:3] == ["Find", "what", "makes"]
    assert " ".join(told) in " ".join(rule)


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
        ("stalled", ("No new row came for",), "rules.override"),
        ("clipfrac.value", ("judged by no rule: 0.3 to 0.6 is",), "rules.override"),
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
    for word in ("reads", "watch below 21 % of start, bad below", "check"):
        assert word in result.out
    assert "10 nats" not in result.out
    reasons = cli("explain", "entropy_collapse", "--reasons")
    for word in ("share 0.1", "0.06 to 10 nats"):
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


CONFIG, RULES, GOOD = table(__file__, "lint").values()


def lint(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[str]]:
    code = main(["lint", *map(str, arguments)])
    return code, capsys.readouterr().out.splitlines()


def document(tmp_path: Path, text: str, name: str = "x.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "path",
    ["config.example.yaml", "rltui/health/data/rules", "rltui/catalogue/data/dialects", "themes"],
)
def test_what_is_shipped_has_no_error(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = lint(capsys, ROOT / path)
    assert (code, len(lines)) == (0, 1)
    assert lines[0].endswith("no error")


def test_every_error_of_a_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = document(tmp_path, CONFIG, "config.yaml")
    code, lines = lint(capsys, path)
    assert code == 2
    places = [line.removeprefix(f"{path}:").partition(": ")[0] for line in lines[:-1]]
    assert places[:-1] == [
        "1:29", "2:9", "3:21", "3:40", "3:55", "3:73", "5:10", "5:27", "6:41", "7:8",
        "8:28", "8:46", "8:53", "9:1",
    ]  # fmt: skip
    assert any("did you mean 'entropy_collapse'?" in line for line in lines)
    assert "did you mean 'dark'?" in lines[-2]
    for word in ("finished", "reward.mean"):
        assert any(f"did you mean '{word}'?" in line for line in lines), word
    assert lines[-1] == "1 document, 15 errors"


def test_every_error_of_a_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = document(tmp_path, RULES)
    code, lines = lint(capsys, path)
    assert code == 2
    said = [line.removeprefix(f"{path}:") for line in lines]
    assert [line.partition(": ")[0] for line in said[:-1]] == [
        "3:3", "4:3", "5:13", "6:13", "7:22", "9:12", "14:55",
    ]  # fmt: skip
    for word in ("title", "actor", "outside", "entropy", "value", "watch"):
        assert any(f"did you mean '{word}'?" in line for line in said), word


def test_every_key_that_counts_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = "rules: {override: {nan: {hold: 2, release: 3}, kl_blowup: {min_points: 9}}}"
    path = document(tmp_path, counts, "config.yaml")
    _, lines = lint(capsys, path)
    known = re.findall(r":1:(\d+): .* has no parameter ('\w+')", "\n".join(lines))
    assert known == [("26", "'hold'"), ("35", "'release'"), ("60", "'min_points'")]


@pytest.mark.parametrize(("expect", "code"), [("watch", 0), ("ok", 2)])
def test_the_cases_of_rules(
    tmp_path: Path, expect: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = document(tmp_path, GOOD % expect)
    assert lint(capsys, path)[0] == 0
    found, lines = lint(capsys, path, "--run")
    assert found == code
    if code:
        assert lines[0] == f"{path}:14: mine, case 'one': expected ok, found watch"
    assert lines[-1].startswith("1 document, 1 case, ")


def test_your_own_documents_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("RLTUI_CONFIG", raising=False)
    assert lint(capsys) == (0, ["0 documents, no error"])
    (tmp_path / "rltui" / "rules").mkdir(parents=True)
    document(tmp_path, "view: {smooth: 2}", "rltui/config.yaml")
    document(tmp_path, RULES, "rltui/rules/mine.yaml")
    code, lines = lint(capsys)
    assert code == 2
    assert {line.partition(":")[0].rpartition("/")[2] for line in lines[:-1]} == {
        "config.yaml", "mine.yaml",
    }  # fmt: skip


def test_a_configuration_whose_rules_are_a_list_is_still_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    path = document(tmp_path, "rules: [nan]\nwatch: {}\n")
    assert main(["lint", "--config", str(path)]) == 2
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"{path}:1:8: expected a mapping, found a list"
