"""Completion scripts, in the shells that are installed."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from rltui.cli.completion import completion_script, known_values
from rltui.commands.verbs import SHELLS, VERBS
from rltui.demo import SCENARIOS
from tests.commands.conftest import Cli
from tests.tables import table

#: What is typed -> what is offered.
CASES = table(__file__)

pytestmark = pytest.mark.usefixtures("_in_a_directory")


@pytest.fixture
def _in_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs of mine").mkdir()
    monkeypatch.chdir(tmp_path)


def need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_printed(cli: Cli, shell: str) -> None:
    result = cli("--print-completion", shell)
    assert (result.code, result.err) == (0, "")
    assert result.out == completion_script(shell)


def test_all_names_are_offered_that_there_are(cli: Cli) -> None:
    """The script is made without reading a document."""
    verbs = {verb.name: verb for verb in VERBS}
    document = json.loads(cli("explain", "--json").out)
    explained = {name for kind in ("metrics", "rules", "symptoms") for name in document[kind]}
    assert set(known_values(verbs["explain"].operands[0])) == explained
    scenario = next(o for o in verbs["demo"].options if "--scenario" in o.names)
    assert list(known_values(scenario)) == list(SCENARIOS)


def test_another_shell_is_an_error(cli: Cli) -> None:
    assert "bash, zsh, fish" in cli("--print-completion", "tcsh").err


_BASH = """
compopt() { [[ $* == "+o bashdefault +o default" ]] && echo no paths; }
for line in "$@"; do
    words=($line)
    [[ $line == *" " ]] && words+=("")
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    _rltui
    echo "$line>${COMPREPLY[*]}"
done
"""


def bash(*lines: str) -> dict[str, list[str]]:
    out = output("bash", "-c", completion_script("bash") + _BASH, "bash", *lines)
    found = (x.split(">") for x in out.splitlines() if ">" in x)
    return {line: sorted(words.split()) for line, words in found}


def test_bash_offers_commands_options_and_choices() -> None:
    need("bash")
    assert bash(*CASES) == CASES


def test_bash_splits_words_at_equal_signs() -> None:
    need("bash")
    assert bash("rltui check --fail-on = b") == {"rltui check --fail-on = b": ["bad"]}


def test_bash_leaves_paths_to_readline() -> None:
    """It quotes them; where a value is no path, it is told to offer none."""
    need("bash")
    assert bash("rltui check lo", "rltui lint --config lo") == {
        "rltui check lo": [],
        "rltui lint --config lo": [],
    }
    plain = completion_script("bash") + _BASH
    assert "no paths" in output("bash", "-c", plain, "bash", "rltui check --run lo")
    assert "no paths" not in output("bash", "-c", plain, "bash", "rltui check lo")


def test_fish_offers_commands_options_and_choices(tmp_path: Path) -> None:
    need("fish")
    (tmp_path / "rltui.fish").write_text(completion_script("fish"))
    asked = "; ".join(f"echo '>{x}'; complete -C '{x}'" for x in CASES)
    out = output("fish", "--no-config", "-c", f"source rltui.fish; {asked}")
    found = {}
    for part in out.split(">")[1:]:
        line, *offers = part.splitlines()
        found[line] = sorted(x.partition("\t")[0] for x in offers)
    own = {"rltui --color n": found.pop("rltui --color n")}
    assert {k: v for k, v in CASES.items() if k not in own} == found
    assert "never" in own["rltui --color n"]


def test_fish_offers_paths(tmp_path: Path) -> None:
    need("fish")
    (tmp_path / "rltui.fish").write_text(completion_script("fish"))
    ask = "source rltui.fish; complete -C 'rltui check lo'; complete -C 'rltui explain ./lo'"
    assert output("fish", "--no-config", "-c", ask).splitlines() == ["logs of mine/"]


def test_zsh_completes_in_its_line_editor(tmp_path: Path) -> None:
    need("zsh")
    (tmp_path / "rltui.zsh").write_text(completion_script("zsh"))
    setup = (
        "PROMPT='%% '; unset zle_bracketed_paste; autoload -Uz compinit; compinit -D -u;"
        "source ./rltui.zsh; bindkey '^I' complete-word; unsetopt beep; print re''ady\n"
    )
    with ZshLine(setup) as line:
        assert line.completed("rltui sn") == "rltui snapshot"
        assert line.completed("rltui check --fail") == "rltui check --fail-on="
        assert line.completed("rltui check --fail-on=b") == "rltui check --fail-on=bad"
        assert line.completed("rltui export --format j") == "rltui export --format jsonl"
        assert line.completed("rltui watch --theme hi") == "rltui watch --theme high-contrast"
        assert line.completed("rltui help sn") == "rltui help snapshot"
        assert line.completed("rltui --color n") == "rltui --color never"
        assert line.completed("rltui demo --scenario slo") == "rltui demo --scenario slow-step"
        assert line.completed("rltui explain grad_ex") == "rltui explain grad_explosion"
        assert line.completed("rltui check lo") == "rltui check logs\\ of\\ mine/"


class ZshLine:
    """An interactive zsh, in which ctrl-x prints what stands on the line."""

    def __init__(self, setup: str) -> None:
        self._setup = setup + (
            'show() { print -r -- "<$BUFFER>"; BUFFER=; zle redisplay }; zle -N show;'
            "bindkey '^X' show; print bou''nd\n"
        )

    def __enter__(self) -> ZshLine:
        self._pid, self._end = pty.fork()
        if self._pid == 0:
            os.execvp("zsh", ["zsh", "-f", "-i"])
        os.write(self._end, self._setup.encode())
        self._until("bound")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._end)
        os.waitpid(self._pid, 0)

    def completed(self, text: str) -> str:
        """What the line is after a tab."""
        os.write(self._end, f"{text}\t\x18".encode())
        return self._until(">").rpartition("<")[2].rstrip(">").strip()

    def _until(self, mark: str) -> str:
        text, end = "", time.monotonic() + 60
        while mark not in text:
            assert select.select([self._end], [], [], max(0, end - time.monotonic()))[0], text
            text += os.read(self._end, 65536).decode()
        return text[: text.index(mark) + len(mark)]
