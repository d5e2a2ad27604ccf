"""What every verb prints, where standard output or standard error leads nowhere.

Logs that are chosen by name, and what rltui writes beside them, which is no log.
"""

import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.commands.verbs import NAMES
from tests.commands.conftest import Cli, write_jsonl
from tests.tables import cases, table

ROOT = Path(__file__).parents[2]
LOGS, EXPECT = "LOGS", "EXPECT"
WHERE = str(ROOT / "tests/fixtures/labelled/verl/grpo_kl_blowup")
PLACES = {LOGS: WHERE, EXPECT: str(ROOT / "examples/gate/expect.yaml")}
#: Commands that print on standard output without a terminal, and the exit code of each.
COMMANDS = table(__file__)["commands"]
every_command = pytest.mark.parametrize(("command", "code"), COMMANDS.items(), ids=list(COMMANDS))

Replace = Callable[[str, int], None]


@pytest.fixture
def led_to(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replace]:
    """Let standard output or standard error lead to a descriptor; as at the end of a process, what
    is left in it must go somewhere without an error."""
    with contextlib.ExitStack() as streams:

        def replace(name: str, descriptor: int) -> None:
            stream = streams.enter_context(os.fdopen(descriptor, "w", encoding="utf-8"))
            monkeypatch.setattr(sys, name, stream)

        yield replace


def code_of(command: str) -> int:
    try:
        return main([PLACES.get(word, word) for word in command.split(" ")])
    except SystemExit as left:
        return int(left.code or 0)


def unread_pipe() -> int:
    """A pipe whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    return write


def test_every_verb_is_tried() -> None:
    assert {command.partition(" ")[0] for command in COMMANDS} >= {*NAMES, "help"}


@every_command
def test_a_reader_that_leaves_changes_nothing(
    command: str, code: int, led_to: Replace, capsys: pytest.CaptureFixture[str]
) -> None:
    led_to("stdout", unread_pipe())
    assert (code_of(command), capsys.readouterr().err) == (code, "")


@every_command
def test_a_full_disk_is_an_error(
    command: str, code: int, led_to: Replace, capsys: pytest.CaptureFixture[str]
) -> None:
    led_to("stdout", os.open("/dev/full", os.O_WRONLY))
    assert code_of(command) == 70
    assert capsys.readouterr().err == "rltui: output: No space left on device\n"


@pytest.mark.parametrize("descriptor", [unread_pipe, lambda: os.open("/dev/full", os.O_WRONLY)])
def test_messages_that_nobody_can_read_change_nothing(
    descriptor: Callable[[], int], led_to: Replace, tmp_path: Path
) -> None:
    for command, code in ((f"check {tmp_path}", 3), ("explain no-such-name", 2), ("chekc", 2)):
        led_to("stderr", descriptor())
        assert code_of(command) == code


@pytest.mark.parametrize("command", ["check LOGS", "export LOGS", "--version", "demo --list"])
def test_a_closed_standard_output_is_an_error(command: str) -> None:
    """In a process: the number is free for the next file, a log, unless something takes it."""
    words = command.replace(LOGS, shlex.quote(WHERE))
    shell = f'"{sys.executable}" -m rltui {words} >&-'
    done = subprocess.run(
        ["sh", "-c", shell], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (70, "rltui: output: Bad file descriptor\n")


@cases(__file__, "a_result_is_no_log")
def test_a_result_is_no_log(
    cli: Cli, well: Path, tmp_path: Path, verb: str, name: str, what: str
) -> None:
    written = cli(*verb.split(), well)
    assert written.code == 0
    (well / name).write_text(written.out)
    found = cli("check", well, "--json")
    assert found.out.count('"run": ') == 1
    shown = cli("doctor", well).out
    assert f"{name}: is {what}, not a log" in shown
    alone = cli("check", well / name)
    assert (alone.code, alone.err) == (2, f"rltui: {well / name}: is {what}, not a log\n")


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Logs of two formats in two directories: discovery takes them for one run, ``grpo``."""
    steps = range(1, 31)
    write_jsonl(tmp_path / "two" / "grpo" / "metrics.jsonl", {"loss": [1 / s for s in steps]})
    table = tmp_path / "two" / "ppo" / "progress.csv"
    table.parent.mkdir()
    table.write_text("step,loss\n" + "".join(f"{s},{3 + s}\n" for s in steps))
    return tmp_path / "two"


def names(cli: Cli, *arguments: str | Path) -> list[str]:
    result = cli("check", "--json", *arguments)
    return [Path(run["path"]).name for run in json.loads(result.out)["runs"]]


@pytest.mark.parametrize(
    ("glob", "found"),
    [("grpo", ["grpo"]), ("ppo", ["ppo"]), ("p*", ["ppo"]), ("*", ["grpo", "ppo"])],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_run_is_chosen_by_its_own_name(
    cli: Cli, two: Path, tmp_path: Path, glob: str, found: list[str], jobs: str
) -> None:
    write_jsonl(tmp_path / "more" / "other.jsonl", {"loss": [1.0] * 20})
    more = [tmp_path / "more"] if glob != "*" else []
    result = cli("check", two, *more, "--run", glob, "-j", jobs)
    heads = [line.split()[1] for line in result.out.splitlines() if "(step" in line]
    assert heads == found


def test_a_name_of_a_log_that_is_of_the_run_is_no_name_of_a_run(cli: Cli, tmp_path: Path) -> None:
    values = {"loss": [1 / s for s in range(1, 31)]}
    write_jsonl(tmp_path / "exp" / "metrics.jsonl", values)
    table = tmp_path / "exp" / "below" / "progress.csv"
    table.parent.mkdir()
    rows = (f"{s},{v!r}\n" for s, v in enumerate(values["loss"], 1))
    table.write_text("step,loss\n" + "".join(rows))
    assert cli("check", tmp_path, "--run", "exp").code == 0
    result = cli("check", tmp_path, "--run", "progress")
    assert (result.code, result.out) == (3, "")
    assert "no run matches 'progress'" in result.err


def test_a_second_run_of_one_directory_has_no_other_name(cli: Cli, tmp_path: Path) -> None:
    from tests.formats.encode import event, header, simple

    for number, factor in enumerate((1.0, -3.0)):
        rows = b"".join(event(s, 1.7e9 + s, simple(b"loss", factor * s)) for s in range(1, 40))
        path = tmp_path / "run" / f"events.out.tfevents.17{number}0000000.h"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(header() + rows)
    (tmp_path / "other.jsonl").write_text('{"step": 1, "loss": 1.0}\n')
    document = json.loads(cli("check", tmp_path, "--run", "run", "--json").out)
    assert [run["run"] for run in document["runs"]] == ["run", "run#2"]
