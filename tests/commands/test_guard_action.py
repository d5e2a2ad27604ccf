"""What a guard does, with real processes: to what its user named, once, and through no shell."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest

from rltui.commands import guard_action
from rltui.commands.guard_action import Command, Signal, parse_action
from rltui.core.errors import UsageError

FACTS = {"run": "grpo", "step": "97", "symptom": "not_finite"}
#: Writes its arguments and the facts in its environment into a file.
WRITES = "import json, os, sys; " + (
    "json.dump([sys.argv[2:], {k: v for k, v in os.environ.items() if k[:6] == 'GUARD_'}, "
    "sys.stdin.read()], open(sys.argv[1], 'w'))"
)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.fixture
def writer(tmp_path: Path) -> Path:
    program = tmp_path / "writer"
    script = tmp_path / "writer.py"  # a path with a blank cannot stand after #!
    script.write_text(WRITES)
    program.write_text(f'#!/bin/sh\nexec {quote(sys.executable)} {quote(str(script))} "$@"\n')
    program.chmod(0o700)
    return program


# -- signals ---------------------------------------------------------------------------------


def test_a_signal_ends_the_process_that_was_named(child: subprocess.Popen[bytes]) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        action = parse_action(f"signal TERM {child.pid}")
        action.prepare()
        assert action.words == f"send TERM to process {child.pid} (sleep)"
        assert action.do(FACTS) == ("", None)
        assert child.wait(60) == -signal.SIGTERM
        assert other.poll() is None
        other.kill()


def test_a_process_that_has_ended_gets_none(child: subprocess.Popen[bytes]) -> None:
    action = parse_action(f"signal sigterm {child.pid}")
    action.prepare()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # its number is still taken
    assert action.do(FACTS).error == f"process {child.pid} has ended"
    with pytest.raises(UsageError, match="no process"):
        parse_action(f"signal TERM {child.pid}").prepare()


@pytest.mark.parametrize("field", [1, 2])
def test_a_later_process_of_the_same_number_gets_none(
    child: subprocess.Popen[bytes], field: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = Signal(signal.SIGKILL, child.pid)
    action.prepare()
    now = guard_action._process(child.pid)
    assert now is not None
    later = tuple(x + 1 if at == field else x for at, x in enumerate(now))  # type: ignore[operator]
    monkeypatch.setattr(guard_action, "_process", lambda pid: later)
    assert (
        action.do(FACTS).error == f"process {child.pid} is another one by now: no signal was sent"
    )
    assert child.poll() is None


def test_a_number_that_is_given_away_after_the_look_is_not_hit(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    action = parse_action(f"signal TERM {child.pid}")
    action.prepare()
    look, kill = guard_action._process, os.kill

    def then_it_ends(pid: int) -> tuple[str, int, int] | None:
        found = look(pid)
        kill(child.pid, signal.SIGKILL)
        child.wait(60)  # its number is free
        return found

    monkeypatch.setattr(guard_action, "_process", then_it_ends)
    with subprocess.Popen(["sleep", "600"]) as later:
        # what a kernel does to who names the process by its number only
        monkeypatch.setattr(os, "kill", lambda pid, number: kill(later.pid, number))
        assert action.do(FACTS).error == "No such process"
        assert later.poll() is None
        monkeypatch.undo()
        later.kill()
        assert later.wait(60) == -signal.SIGKILL


@pytest.mark.parametrize("lacks", ["the kernel", "the libc of Python"])
def test_without_the_call_a_signal_is_sent_by_number(
    lacks: str, child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(pid: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    action = parse_action(f"signal TERM {child.pid}")
    action.prepare()
    if lacks == "the kernel":
        monkeypatch.setattr(os, "pidfd_open", missing)
    else:
        monkeypatch.delattr(os, "pidfd_open")
    assert action.do(FACTS).error == ""
    assert child.wait(60) == -signal.SIGTERM


def test_a_process_of_another_user_is_refused(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    with pytest.raises(UsageError, match="belongs to another user"):
        parse_action(f"signal TERM {child.pid}").prepare()


def test_what_is_no_training_is_refused() -> None:
    for pid in (0, 1, os.getpid()):
        with pytest.raises(UsageError, match="no process of a training"):
            Signal(signal.SIGTERM, pid).prepare()


# -- files -----------------------------------------------------------------------------------


def test_a_flag_file_is_made_and_nothing_is_overwritten(tmp_path: Path) -> None:
    flag = tmp_path / "stop now"
    action = parse_action(f"touch '{flag}'")
    action.prepare()
    assert not flag.exists()
    assert action.do(FACTS).error == ""
    assert flag.read_bytes() == b""
    assert action.do(FACTS).error == "File exists"
    with pytest.raises(UsageError, match="is there already"):
        action.prepare()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    flag, target = tmp_path / "stop", tmp_path / "elsewhere"
    action = parse_action(f"touch {quote(str(flag))}")
    action.prepare()
    flag.symlink_to(target)
    assert action.do(FACTS).error == "File exists"
    assert not target.exists()


def test_a_directory_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        parse_action(f"touch {quote(str(tmp_path))}/missing/stop").prepare()


# -- commands --------------------------------------------------------------------------------


def test_names_are_in_variables_whatever_they_hold(
    tmp_path: Path, writer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out, trap = Path("out.json"), Path("trap")
    name = f"a'b\"; touch {trap}; $(touch {trap}) `touch {trap}`\n* | {{step}} \x1b[31m"
    action = parse_action(f"run {quote(str(writer))} {out} {{run}} --stop")
    action.prepare()
    assert action.do(FACTS | {"run": name}) == ("", 0)
    words, variables, read = json.loads(out.read_text())
    assert words == ["{run}", "--stop"]  # the user's words, as they are
    shown = name.replace("\n", "\\x0a").replace("\x1b", "\\x1b")
    assert variables == {"GUARD_RUN": shown, "GUARD_STEP": "97", "GUARD_SYMPTOM": "not_finite"}
    assert read == ""
    assert not trap.exists()


def test_a_name_is_not_endless(tmp_path: Path, writer: Path) -> None:
    out = tmp_path / "out.json"
    assert Command([str(writer), str(out)]).do(FACTS | {"run": "-" * 5000}).error == ""
    assert len(json.loads(out.read_text())[1]["GUARD_RUN"]) == 200


def test_a_shell_that_the_user_asks_for_has_the_name_in_a_variable(tmp_path: Path) -> None:
    out, trap = tmp_path / "out", tmp_path / "trap"
    action = Command(["sh", "-c", f'printf %s "$GUARD_RUN" > {quote(str(out))}'])
    assert action.do(FACTS | {"run": f"$(touch {trap})"}).exit_code == 0
    assert out.read_text() == f"$(touch {trap})"
    assert not trap.exists()


def test_a_command_that_fails_says_why() -> None:
    done = Command(["sh", "-c", "echo first >&2; printf 'no\\033[2Jjob\\n' >&2; exit 3"]).do(FACTS)
    assert done == ("exit code 3: no\\x1b[2Jjob", 3)


def test_a_secret_of_a_command_is_not_shown() -> None:
    done = Command(["sh", "-c", "echo token=hunter2 >&2; exit 3", "Bearer hunter3"])
    assert "hunter" not in done.words
    assert done.do(FACTS) == ("exit code 3: token=***", 3)


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    done = Command(["sh", "-c", f"sleep 600 3> {quote(str(fifo))}"], patience_s=0.5).do(FACTS)
    assert done == ("ended, for it took more than 0.5 s", None)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # once nobody has it open for writing
    os.close(reader)


def test_a_program_that_is_missing_is_told_at_once_and_later() -> None:
    action = parse_action("run /no/such/program")
    with pytest.raises(UsageError, match="no program"):
        action.prepare()
    assert action.do(FACTS).error == "No such file or directory"


def test_a_program_is_the_one_that_was_found_at_the_start(
    tmp_path: Path, writer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out.json"
    action = parse_action(f"run ./{writer.name} '{out}'")
    action.prepare()
    monkeypatch.chdir(elsewhere)
    assert action.do(FACTS) == ("", 0)
    assert json.loads(out.read_text())[1]["GUARD_STEP"] == "97"


def test_no_program_is_taken_from_where_the_guard_happens_to_be(
    tmp_path: Path, writer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.rename(tmp_path / "scancel")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".", prepend=os.pathsep)
    for text in ("scancel 12", "run scancel 12"):
        with pytest.raises(UsageError, match="in a relative directory of PATH"):
            parse_action(text).prepare()
    parse_action("run ./scancel 12").prepare()


def test_a_slurm_job_is_cancelled_or_sent_a_signal(
    tmp_path: Path, writer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.json"
    program = tmp_path / "scancel"
    program.write_text(f'#!/bin/sh\nexec {quote(str(writer))} {quote(str(out))} "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for text, words in (
        ("scancel 1234", ["1234"]),
        ("scancel 1234_5 usr1", ["--signal=USR1", "1234_5"]),
    ):
        action = parse_action(text)
        action.prepare()
        assert action.do(FACTS).error == ""
        assert json.loads(out.read_text())[0] == words


REFUSED = (
    "|  |signal|signal TERM|signal TERM x|signal TERM -1|signal 9 {step}|signal TREM 5|scancel"
    "|scancel --all|scancel {run}|scancel ١٢|scancel 5 WHAT|touch|touch a b|touch ''|run|run 'open"
    "|reboot now"
)


@pytest.mark.parametrize("text", REFUSED.split("|"))
def test_what_cannot_be_done_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--on-bad"):
        parse_action(text)
