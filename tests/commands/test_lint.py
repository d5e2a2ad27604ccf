"""``rltui lint``: everything that is wrong in the user's documents, at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.cli import main
from tests.places import ROOT

CONFIG = """\
view: {theme: drak, smooth: 3}
watch: {fast: 1}
hooks: {on_finding: ftp://x, terminal: loud}
rules:
  mute: [entropy_colapse]
  override: {kl_blowup.update: {watch: {hihg: 0.1}}}
keys: {qit: [x]}
metrics: {entropy: {range: [3, 1], category: actr}}
nothing: 1
"""
RULES = """\
schema: 1
rules:
- id: mine
  titel: mine
  category: actr
  detector: outsid
  metrics: [kl.coef, entropyy]
  watch: {high: 2}
  summary: 'x {valu}'
  short: 'x'
  healthy: '{low}'
  advice: a
  cases:
  - {name: one, series: {kl.coef: '1x9 3x9'}, expect: wach}
"""
GOOD = """\
schema: 1
rules:
- id: mine
  title: mine
  category: actor
  detector: outside
  metrics: [kl.coef]
  watch: {high: 2}
  summary: 'x {value}'
  short: 'x'
  healthy: '{low}'
  advice: a
  cases:
  - {name: one, series: {kl.coef: '1x9 3x9'}, expect: %s}
"""


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
        "1:29", "2:9", "3:21", "3:40", "5:10", "6:41", "7:8", "8:28", "8:46", "9:1",
    ]  # fmt: skip
    assert any("did you mean 'entropy_collapse'?" in line for line in lines)
    assert "did you mean 'dark'?" in lines[-2]
    assert lines[-1] == "1 document, 11 errors"


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
