"""``rltui gate``: exit codes, every form, hostile names, files that are learned and linted."""

import json
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.commands.conftest import Cli, write_jsonl
from tests.fakes import grpo_tags
from tests.places import ROOT

EXAMPLE = ROOT / "examples" / "gate" / "expect.yaml"
FORGED = "a\n::error::forged ##[error]b,c:d%0A<x a='\"'>&\x1b[1m"


def expecting(folder: Path, *conditions: str) -> Path:
    path = folder / "expect.yaml"
    path.write_text("expect:\n" + "".join(f"  - {c}\n" for c in conditions))
    return path


def nightlies(folder: Path, count: int, **changed: float) -> Path:
    """Good runs of one job; ``changed`` are factors of tags that end so."""
    for seed in range(count):
        dice = random.Random(seed)
        tags = {t: [x * dice.gauss(1, 0.02) for x in v] for t, v in grpo_tags(60).items()}
        for name, factor in changed.items():
            tags[f"actor/{name}"] = [x * factor for x in tags[f"actor/{name}"]]
        for source in ("gsm", "it's: #1"):  # each has a tag of the same metric
            rise = [0.3 + n / 200 + dice.gauss(0, 0.02) for n in range(60)]
            tags[f"val-core/{source}/reward/mean@1"] = rise
        write_jsonl(folder / f"night_s{seed}" / "metrics.jsonl", tags)
    return folder


@pytest.mark.parametrize(
    ("logdir", "condition", "code"),
    [("well", "no bad", 0), ("bad_logs", "no bad", 1), ("well", "steps >= 61", 1)],
)
def test_the_exit_code_says_whether_all_is_met(
    logdir: str, condition: str, code: int, cli: Cli, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    result = cli(
        "gate", request.getfixturevalue(logdir), "--expect", expecting(tmp_path, condition)
    )
    assert (result.code, result.err) == (code, "")
    assert "met" in result.out
    assert (f"expect.yaml:2: {condition}" in result.out) is bool(code)


def test_mistakes_exit_with_2_and_their_place(cli: Cli, well: Path, tmp_path: Path) -> None:
    for condition, words in {
        "reward.meen last > 1": "expect.yaml:2:5: no metric 'reward.meen'",
        "entropy last within 5 % of reference": "expect.yaml:2: 'entropy last within 5 % of "
        "reference' needs --reference",
        "entropy last like last 8 good runs": "needs --history",
    }.items():
        result = cli("gate", well, "--expect", expecting(tmp_path, condition))
        assert (result.code, result.out) == (2, "")
        assert words in result.err
    assert not (well / "x.xml").exists()
    for arguments in ([], ["--learn", "--junit", "x"], ["--learn", "--json"],
                      ["--expect", EXAMPLE, "-o", "x"],
                      ["--expect", tmp_path / "none.yaml"], ["--learn"],
                      ["--expect", EXAMPLE, "--junit", well / "x.xml"]):  # fmt: skip
        assert cli("gate", well, *arguments).code == 2


def test_a_document_has_no_annotations(cli: Cli, well: Path) -> None:
    result = cli("gate", well, "--expect", EXAMPLE, "--json", "--annotate", "github")
    assert (result.code, "--annotate github marks the text" in result.err) == (2, True)


def test_a_logdir_without_a_log_exits_with_3(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments in (["--expect", EXAMPLE], ["--learn"]):
        assert cli("gate", tmp_path / "empty", *arguments).code == 3


def test_names_from_logs_forge_nothing(cli: Cli, tmp_path: Path) -> None:
    logs, junit = tmp_path / "logs", tmp_path / "gate.xml"
    home = logs / FORGED.replace("/", "")
    write_jsonl(home / "metrics.jsonl", {FORGED: [1.0, 2.0], "actor/entropy": [1.0, 2.0]})
    write_jsonl(logs / "b" / "metrics.jsonl", {"actor/entropy": [1.0, 2.0]})
    file = expecting(tmp_path, json.dumps(f"tag {' '.join(FORGED.split())} last > 5"), "steps > 9")
    result = cli("gate", logs, "--expect", file, "--junit", junit, "--annotate", "github")
    commands = [line for line in result.out.splitlines() if line.lstrip().startswith("::")]
    assert result.code == 1
    assert len(commands) == 4
    for line in commands:
        place = f"::error file={str(file).replace(':', '%3A')},line="
        assert line.startswith(place)
        assert line.split("::", 2)[1].count(",") == 2
    assert "##[" not in result.out
    assert "\x1b" not in result.out
    suites = ElementTree.parse(junit).getroot()
    assert [s.get("failures") for s in suites] == ["2", "2"]
    assert len({s.get("name") for s in suites}) == 2
    assert all("\n" not in (case.get("name") or "") for case in suites.iter("testcase"))


def test_junit_is_what_jenkins_takes(cli: Cli, well: Path, tmp_path: Path) -> None:
    # elements and attributes of junit-10.xsd of its xUnit plugin
    allowed = {
        "testsuites": (set(), "testsuite"),
        "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, "testcase"),
        "testcase": ({"classname", "name"}, "failure skipped"),
        "failure": ({"type", "message"}, ""),
        "skipped": ({"type", "message"}, ""),
    }
    junit = tmp_path / "gate.xml"
    file = expecting(tmp_path, "no bad", "entropy last > 9", "lr.critic last > 0 if logged")
    result = cli("gate", well, "--expect", file, "--junit", junit)
    assert (result.code, "1 of 2 conditions not met, 1 left out" in result.out) == (1, True)
    root = ElementTree.parse(junit).getroot()
    for element in root.iter():
        attributes, children = allowed[element.tag]
        assert set(element.keys()) == attributes
        assert {child.tag for child in element} <= {*children.split()}
    assert [len(list(root.iter(tag))) for tag in ("testcase", "failure", "skipped")] == [3, 1, 1]
    assert [(s.get("tests"), s.get("failures"), s.get("skipped")) for s in root] == [
        ("3", "1", "1")
    ]


def test_the_document_has_every_condition(cli: Cli, well: Path, tmp_path: Path) -> None:
    file = expecting(tmp_path, "no bad", "entropy last 10 > 9")
    document = json.loads(cli("gate", well, "--expect", file, "--json").out)
    (run,) = document["runs"]
    assert (document["schema"], document["met"], run["met"]) == ("rltui.gate/1", False, False)
    verdict, entropy = run["conditions"]
    assert (verdict["met"], verdict["value"]) == (True, None)
    assert (entropy["tag"], entropy["first_step"], entropy["last_step"]) == (
        "actor/entropy",
        51,
        60,
    )
    assert entropy["low"] == pytest.approx(9)


def test_a_gate_is_learned_and_finds_what_is_different(cli: Cli, tmp_path: Path) -> None:
    good, learned = nightlies(tmp_path / "good", 8), tmp_path / "learned.yaml"
    write_jsonl(good / "night_s9" / "metrics.jsonl", grpo_tags(60, collapse=30))
    result = cli("gate", good, "--learn", "-o", learned)
    assert (result.code, result.out) == (0, "")
    assert "nothing is learned from night_s9: bad" in result.err
    assert cli("lint", learned).code == 0
    assert cli("gate", good, "--expect", learned, "--run", "night_s[0-7]").code == 0
    assert "it''s: #1" in learned.read_text()
    hot = nightlies(tmp_path / "hot", 1, entropy=1.5)
    result = cli("gate", hot, "--expect", learned)
    assert result.code == 1
    assert "entropy mean between" in result.out
    mixed = tmp_path / "mixed"
    write_jsonl(mixed / "a" / "metrics.jsonl", grpo_tags(60))
    write_jsonl(mixed / "b" / "metrics.jsonl", grpo_tags(60))
    result = cli("gate", mixed, "--learn")
    assert result.code == 2
    assert "there are 2 good runs of 2 jobs (verl GRPO a; verl GRPO b)" in result.err
    result = cli("gate", mixed, "--learn", "--run", "a")
    assert "and there is 1 good run; see --run" in result.err


def test_what_was_edited_is_not_learned_anew_unasked(cli: Cli, tmp_path: Path) -> None:
    good, learned = nightlies(tmp_path / "good", 2), tmp_path / "learned.yaml"
    learned.write_text("mine")
    result = cli("gate", good, "--learn", "-o", learned)
    assert (result.code, learned.read_text()) == (2, "mine")
    assert f"{learned} is there already, perhaps edited: --force writes it anew" in result.err
    assert cli("gate", good, "--learn", "-o", learned, "--force").code == 0
    assert "no bad" in learned.read_text()


def test_a_run_is_compared_with_earlier_good_ones_and_a_reference(cli: Cli, tmp_path: Path) -> None:
    history, well = nightlies(tmp_path / "h", 4), nightlies(tmp_path / "well", 1)
    sick = nightlies(tmp_path / "sick", 1, entropy=3.0)
    like = expecting(tmp_path, "entropy mean like last 3 good runs", "no kl_blowup")
    assert cli("gate", well, "--expect", like, "--history", history).code == 0
    result = cli("gate", sick, "--expect", like, "--history", history)
    assert result.code == 1
    assert "allowed: " in result.out
    near = expecting(tmp_path, "entropy mean within 10 % of reference")
    chosen = ["--expect", near, "--reference", history / "night_s3"]
    assert [cli("gate", logs, *chosen).code for logs in (well, sick)] == [0, 1]


def test_the_example_is_met_by_a_good_run_and_no_other(cli: Cli, well: Path) -> None:
    assert cli("lint", EXAMPLE).code == 0
    assert cli("gate", well, "--expect", EXAMPLE).code == 0
    sick = ROOT / "tests/fixtures/labelled/verl/grpo_kl_blowup"
    assert cli("gate", sick, "--expect", EXAMPLE).code == 1
    labelled = ROOT / "tests/fixtures/labelled"
    for kind in ("sb3/ppo_cartpole_healthy", "sb3/dqn_cartpole_healthy", "trl/sft_healthy"):
        assert cli("gate", labelled / kind, "--expect", EXAMPLE).code == 0, kind
    nightly = (ROOT / "examples/github-actions/nightly.yml").read_text()
    assert "rltui gate runs --expect ci/expect.yaml --junit gate.xml --annotate github" in nightly


def test_a_rule_may_be_for_other_runs(cli: Cli, tmp_path: Path) -> None:
    sft = ROOT / "tests/fixtures/labelled/trl/sft_healthy"
    result = cli("gate", sft, "--expect", expecting(tmp_path, "no entropy_collapse"))
    assert (result.code, "entropy_collapse is not for such a run" in result.out) == (1, True)
    maybe = expecting(tmp_path, "no bad", "no entropy_collapse if logged")
    assert cli("gate", sft, "--expect", maybe).code == 0


def test_lint_finds_every_mistake(cli: Cli, tmp_path: Path) -> None:
    result = cli(
        "lint", expecting(tmp_path, "no bed", "entropy > 1", "no bad", "state is live or x")
    )
    assert result.code == 2
    assert [f"expect.yaml:{line}:5:" in result.out for line in (2, 3, 4, 5)] == [
        True,
        True,
        False,
        True,
    ]
