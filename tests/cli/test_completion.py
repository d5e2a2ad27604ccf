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
from rltui.cli.program import build_parser
from rltui.commands.verbs import SHELLS
from rltui.demo import SCENARIOS
from tests.commands.conftest import Cli
from tests.tables import table

OFFERED, PATHS, COMPLETED = table(__file__).values()

pytestmark = pytest.mark.usefixtures("_in_a_directory")


@pytest.fixture
def _in_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs of mine").mkdir()
    monkeypatch.chdir(tmp_path)


def need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def script(shell: str) -> str:
    return completion_script(build_parser(), shell)


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_printed(cli: Cli, shell: str) -> None:
    result = cli("--print-completion", shell)
    assert (result.code, result.err) == (0, "")
    assert result.out == script(shell)


def test_all_names_are_offered_that_there_are(cli: Cli) -> None:
    """The script is made without reading a document."""
    document = json.loads(cli("explain", "--json").out)
    explained = {name for kind in ("metrics", "rules", "symptoms") for name in document[kind]}
    assert set(known_values("name")) == explained
    assert set(known_values("scenario")) == set(SCENARIOS)


def test_another_shell_is_an_error(cli: Cli) -> None:
    assert "bash, zsh, fish" in cli("--print-completion", "tcsh").err


_BASH = """
for line in "$@"; do
    words=($line)
    [[ $line == *" " ]] && words+=("")
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    _rltui
    echo "$line>${COMPREPLY[*]}"
done
"""


def test_bash_offers_commands_options_and_choices() -> None:
    need("bash")
    out = output("bash", "-c", script("bash") + _BASH, "bash", *OFFERED)
    found = (x.split(">") for x in out.splitlines())
    assert {line: sorted(words.split()) for line, words in found} == OFFERED


def test_fish_offers_commands_options_choices_and_paths(tmp_path: Path) -> None:
    need("fish")
    (tmp_path / "rltui.fish").write_text(script("fish"))
    asked = "; ".join(f"echo '>{x}'; complete -C '{x}'" for x in (*OFFERED, *PATHS))
    out = output("fish", "--no-config", "-c", f"source rltui.fish; {asked}")
    found = {}
    for part in out.split(">")[1:]:
        line, *offers = part.splitlines()
        found[line] = sorted(x.partition("\t")[0] for x in offers)
    assert found == OFFERED | PATHS


#: What makes ctrl-t print what stands on the line, and the script complete it.
_SETUP = {
    "bash": """
        unset HISTFILE; bind 'set enable-bracketed-paste off'
        show() { echo "<$READLINE_LINE>"; READLINE_LINE=; }
        bind -x '"\\C-t": show'
        eval "$(cat _rltui)"
    """,
    "zsh": """
        unset zle_bracketed_paste; autoload -Uz compinit; compinit -D -u
        show() { print -r -- "<$BUFFER>"; BUFFER=; zle redisplay }; zle -N show
        bindkey '^T' show; bindkey '^I' complete-word
        eval "$(cat _rltui)"
    """,
}
_ZSH, _EVAL = _SETUP["zsh"], 'eval "$(cat _rltui)"'
_SETUP["zsh, source"] = _ZSH.replace(_EVAL, "source ./_rltui")
_SETUP["zsh, fpath"] = "fpath=($PWD $fpath)" + _ZSH.replace(_EVAL, "")


@pytest.mark.parametrize("kind", _SETUP)
def test_tab_completes_in_the_line_editor(kind: str, tmp_path: Path) -> None:
    shell = kind.partition(",")[0]
    need(shell)
    (tmp_path / "_rltui").write_text(script(shell))
    with Line(shell, _SETUP[kind]) as line:
        assert {typed: line.completed(typed) for typed in COMPLETED} == COMPLETED


class Line:
    """An interactive shell, in which ctrl-t prints what stands on the line."""

    def __init__(self, shell: str, setup: str) -> None:
        self._shell = [shell, "-f" if shell == "zsh" else "--norc", "-i"]
        Path("setup").write_text(setup)

    def __enter__(self) -> Line:
        self._pid, self._end = pty.fork()
        if self._pid == 0:
            os.execvp(self._shell[0], self._shell)
        os.write(self._end, b". ./setup; echo bou''nd\n")
        self._until("bound")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._end)
        os.waitpid(self._pid, 0)

    def completed(self, text: str) -> str:
        """What the line is after a tab, without the blank or the equal sign before a value."""
        os.write(self._end, f"{text}\t\x14".encode())
        return self._until(">").rpartition("<")[2].rstrip(">= ")

    def _until(self, mark: str) -> str:
        text, end = "", time.monotonic() + 60
        while mark not in text:
            assert select.select([self._end], [], [], max(0, end - time.monotonic()))[0], text
            text += os.read(self._end, 65536).decode()
        return text[: text.index(mark) + len(mark)]
