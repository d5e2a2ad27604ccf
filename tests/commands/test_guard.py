"""``rltui guard``: one action on one run, after a while of bad, and never a second one."""

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pytest

from rltui.cli import main
from rltui.commands.guard import AuditLog, Guard
from rltui.commands.guard_action import Done
from rltui.core.batch import Batch
from rltui.core.errors import UsageError
from rltui.core.level import RunState
from rltui.session.guarding import Hold
from tests.builders import START, a_batch, a_block, a_source
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_tags
from tests.tables import cases


class Recorder:
    """An action that notes when it was done."""

    words = "do it"

    def __init__(self, error: Exception | str = "") -> None:
        self.error = error
        self.done: list[Mapping[str, str]] = []

    def prepare(self) -> None:
        pass

    def do(self, facts: Mapping[str, str]) -> Done:
        self.done.append(facts)
        if isinstance(self.error, Exception):
            raise self.error
        return Done(self.error)


class Training:
    """A live run of a step a second, with NaN in some steps, and guards of it."""

    def __init__(self, audit: AuditLog, *sick: range) -> None:
        self.clock, self.reader = ManualClock(START), FakeReader()
        self.session = a_session(reader=self.reader, clock=self.clock)
        self.session.start()
        self.audit, self.rows = audit, 0
        self.tags = grpo_tags(200)
        for rows in sick:
            for step in rows:
                self.tags["actor/pg_loss"][step - 1] = math.nan

    def guard(self, action: Recorder, rows: int = 10, seconds: float = 0.0, **how: bool) -> Guard:
        return Guard(self.session, action, Hold(rows, seconds), self.audit, **how)

    def batch(self, rows: int, run: str = "grpo") -> Batch:
        first = self.rows + 1
        tags = {tag: values[self.rows : self.rows + rows] for tag, values in self.tags.items()}
        walls = [START + step for step in range(first, first + rows)]
        source = a_source(
            f"{run}/events.0", offset=self.rows, size=first + rows, modified=START + first + rows
        )
        return a_batch(a_block(tags, first=first, walls=walls), run=run, source=source)

    def grow(self, guard: Guard, rows: int, every: int = 1) -> int | None:
        """Log rows, and look each time; ends when the guard does."""
        for _ in range(0, rows, every):
            self.reader.feed(self.batch(every))
            self.rows += every
            self.clock.advance(every)
            self.session.drain()
            while self.session.unsettled:  # the verdict waits for its pause
                self.clock.advance(0.1)
                self.session.drain()
            code = guard.look()
            if code is not None:
                return code
        return None


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "state" / "guard" / "audit.jsonl")


def lines(audit: AuditLog) -> list[dict[str, Any]]:
    return [json.loads(line) for line in audit.path.read_text().splitlines()]


# -- one action ------------------------------------------------------------------------------


def test_a_guard_acts_once_a_run_has_been_bad_for_the_hold(
    audit: AuditLog, capsys: pytest.CaptureFixture[str]
) -> None:
    training, action = Training(audit, range(61, 201)), Recorder()
    guard = training.guard(action, rows=10)
    assert training.grow(guard, 60) is None
    said = capsys.readouterr().out
    assert said.count("grpo: guarded from step ") == said.count("\n") == 1
    assert training.grow(guard, 10) is None
    assert not action.done
    assert training.grow(guard, 10) == 1
    assert action.done == [{"run": "grpo", "step": "71", "symptom": "not_finite"}]
    before, after = lines(audit)
    assert (before["schema"], before["event"], before["action"]) == (
        *("rltui.guard/1", "acting", "do it"),
    )
    assert (before["step"], before["since"], before["rule"]) == (71, 61, "nan")
    assert (after["event"], after["error"], after["path"]) == ("done", "", before["path"])
    assert audit.path.stat().st_mode & 0o777 == 0o600


def test_what_is_over_before_the_hold_is_forgotten(
    audit: AuditLog, capsys: pytest.CaptureFixture[str]
) -> None:
    training, action = Training(audit, range(61, 66), range(120, 124)), Recorder()
    assert training.grow(training.guard(action, rows=10), 150) is None
    assert not action.done
    assert not audit.path.exists()
    said = capsys.readouterr().out
    assert said.count("must hold for 10 rows") == said.count("is over; nothing was done") == 2


def test_a_run_must_be_bad_for_a_time(audit: AuditLog) -> None:
    training, action = Training(audit, range(61, 201)), Recorder()
    guard = training.guard(action, rows=0, seconds=30.0)
    assert training.grow(guard, 85, every=5) is None
    assert training.grow(guard, 40, every=5) == 1


def test_a_guard_does_not_act_again_after_a_restart(audit: AuditLog) -> None:
    training, action = Training(audit, range(61, 201)), Recorder()
    assert training.grow(training.guard(action), 80) == 1
    assert training.grow(training.guard(action), 20) == 1
    assert len(action.done) == 1
    assert training.grow(training.guard(action, again=True), 20) == 1
    assert len(action.done) == 2


def test_another_run_in_the_same_place_is_another_one(audit: AuditLog) -> None:
    audit.write({"path": "/logs/grpo", "began": START})
    assert audit.acted("/logs/grpo", START + 0.5) is not None
    assert audit.acted("/logs/grpo", None) is not None
    assert audit.acted("/logs/grpo", START + 900.0) is None
    assert audit.acted("/logs/other", START) is None


def test_of_two_guards_at_the_same_time_one_acts(audit: AuditLog) -> None:
    training, first, second = Training(audit, range(61, 201)), Recorder(), Recorder()
    one, two = training.guard(first), training.guard(second)
    training.grow(two, 65)
    assert training.grow(one, 20) == 1
    assert training.grow(two, 20) == 1
    assert (len(first.done), len(second.done)) == (1, 0)


@pytest.mark.parametrize("error", ["exit code 3", RuntimeError("exit code 3")])
def test_a_failed_action_is_told_and_not_tried_again(
    audit: AuditLog, error: str | Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    training, action = Training(audit, range(61, 201)), Recorder(error)
    assert training.grow(training.guard(action), 80) == 70
    assert "exit code 3" in capsys.readouterr().out
    assert [line["event"] for line in lines(audit)] == ["acting", "failed"]
    assert training.grow(training.guard(action), 20) == 1
    assert len(action.done) == 1


def test_without_an_audit_log_nothing_is_done(
    audit: AuditLog, capsys: pytest.CaptureFixture[str]
) -> None:
    training, action = Training(audit, range(61, 201)), Recorder()
    guard = training.guard(action)
    assert training.grow(guard, 60) is None
    audit.path.mkdir(parents=True)  # no file can be written, as on a full disk
    assert training.grow(guard, 20) == 70
    assert not action.done
    assert "nothing was done: Is a directory" in capsys.readouterr().out


def test_an_end_that_cannot_be_logged_is_said(
    audit: AuditLog, capsys: pytest.CaptureFixture[str]
) -> None:
    class Filling(Recorder):
        def do(self, facts: Mapping[str, str]) -> Done:
            audit.path.unlink()
            audit.path.mkdir()
            return super().do(facts)

    training, action = Training(audit, range(61, 201)), Filling()
    assert training.grow(training.guard(action), 80) == 1
    assert len(action.done) == 1
    assert "its end is not in the audit log: Is a directory" in capsys.readouterr().out


@pytest.mark.parametrize("line", [{"began": "x"}, {"began": [1]}, {"began": None}, {}])
def test_in_doubt_a_guard_has_acted(
    audit: AuditLog, line: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    training, action = Training(audit, range(61, 201)), Recorder()
    training.grow(training.guard(action), 30)
    (run,) = training.session.runs()
    audit.path.parent.mkdir(parents=True)
    audit.path.write_text(json.dumps(line | {"path": str(run.data.path.resolve())}) + "\n")
    assert training.grow(training.guard(action), 60) == 1
    assert not action.done
    assert "a guard has acted already, at ?; --again allows it" in capsys.readouterr().out


def test_a_line_that_was_cut_off_hides_no_other(audit: AuditLog) -> None:
    audit.write(None)
    audit.path.write_text('{"path": "/logs/a", "beg')
    audit.write({"path": "/logs/b", "began": None})
    assert audit.acted("/logs/b", None) is not None


# -- which run -------------------------------------------------------------------------------


def test_several_live_runs_are_refused(audit: AuditLog) -> None:
    training, action = Training(audit), Recorder()
    training.reader.feed(training.batch(30, "a"), training.batch(30, "b"))
    training.clock.advance(30)
    training.session.drain()
    with pytest.raises(UsageError, match=r"2 are live: choose with --run \(a, b\)"):
        training.guard(action).look()


def test_a_run_that_is_not_live_is_not_its_own(audit: AuditLog) -> None:
    training, action = Training(audit, range(2, 201)), Recorder()
    training.clock.advance(90_000)
    assert training.grow(training.guard(action, rows=0, waits=True), 60, every=60) is None
    assert not action.done


def test_where_all_runs_have_ended_it_leaves_at_once(
    audit: AuditLog, capsys: pytest.CaptureFixture[str]
) -> None:
    training = Training(audit)
    training.clock.advance(90_000)
    assert training.grow(training.guard(Recorder()), 60, every=60) == 3
    assert "all runs have ended" in capsys.readouterr().out


def test_a_run_that_ends_later_is_waited_for_and_so_is_one_out_of_reach(audit: AuditLog) -> None:
    training, empty = Training(audit), Training(audit)
    guard = empty.guard(Recorder())
    assert guard.look() is None  # no run yet
    empty.clock.advance(90_000)
    assert empty.grow(guard, 60, every=60) is None
    training.clock.advance(90_000)
    training.reader.out_of_reach = (Path("host:/logs"),)
    assert training.grow(training.guard(Recorder()), 60, every=60) is None


def test_a_guard_ends_with_its_run(audit: AuditLog, capsys: pytest.CaptureFixture[str]) -> None:
    training, action = Training(audit), Recorder()
    guard = training.guard(action)
    assert training.grow(guard, 60, every=60) is None
    (run,) = training.session.runs()
    run.progress = run.progress._replace(state=RunState.FINISHED)
    assert guard.look() == 0
    assert "finished; nothing was done" in capsys.readouterr().out


def test_a_host_out_of_reach_is_no_reason(audit: AuditLog) -> None:
    training, action = Training(audit, range(61, 201)), Recorder()
    guard = training.guard(action)
    training.grow(guard, 65)
    (run,) = training.session.runs()
    run.progress, run.full_report = run.progress._replace(lost_at=1.0), None
    assert guard.look() is None
    assert not action.done


# -- the program -----------------------------------------------------------------------------


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return dict(os.environ)


def write_rows(log: Path, first: int, last: int, *, sick: bool = False) -> None:
    with log.open("a") as file:
        for step in range(first, last + 1):
            row = {"step": step, "loss": math.nan if sick else 1 / (step + 3), "lr": 1e-5}
            file.write(json.dumps(row) + "\n")


def until(stream: IO[str], text: str) -> Iterator[str]:
    for line in stream:
        yield line
        if text in line:
            return


def test_a_guard_ends_a_real_training(tmp_path: Path, environ: dict[str, str]) -> None:
    logdir = tmp_path / "runs"
    logdir.mkdir()
    log = logdir / "log.jsonl"
    write_rows(log, 1, 40)
    write_rows(log, 41, 60, sick=True)
    with subprocess.Popen(["sleep", "600"]) as training:
        command = [sys.executable, "-m", "rltui", "guard", str(logdir), "--hold", "3"]
        command += ["--on-bad", f"signal TERM {training.pid}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ, text=True) as guard:
            assert guard.stdout is not None
            assert "not finite" in "".join(until(guard.stdout, "must hold for 3 rows"))
            assert training.poll() is None
            write_rows(log, 61, 64, sick=True)
            assert "done\n" in "".join(guard.stdout)
        assert guard.returncode == 1
        assert training.wait(60) == -signal.SIGTERM
    assert [path.name for path in logdir.iterdir()] == ["log.jsonl"]
    events = [line["event"] for line in lines(AuditLog(tmp_path / "state/rltui/guard/audit.jsonl"))]
    assert events == ["acting", "done"]


def test_a_dry_run_says_when_and_does_nothing(
    tmp_path: Path, environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    flag, logdir = tmp_path / "stop", tmp_path / "runs"
    for name in ("good", "sick"):
        (logdir / name).mkdir(parents=True)
        write_rows(logdir / name / "log.jsonl", 1, 40)
        write_rows(logdir / name / "log.jsonl", 41, 90, sick=name == "sick")
    command = ["guard", str(logdir), "--dry-run", "--on-bad", f"touch '{flag}'"]
    assert main(command) == 1
    good, sick = capsys.readouterr().out.splitlines()
    assert good == f"good: would not make the file {flag}: no reason held for 20 rows"
    assert sick.startswith(f"sick: would make the file {flag} at step 61 of 90, 29 rows before")
    assert sick.endswith("held since 41")
    assert main([*command, "--json", "--hold", "5"]) == 1
    good, sick = map(json.loads, capsys.readouterr().out.splitlines())
    assert good["acts"] is False
    assert (sick["acts"], sick["step"], sick["rows_left"]) == (True, 46, 44)
    assert (sick["refused"], good["why_not"]) == (None, "no reason held for 5 rows")
    assert main([*command, "--hold", "60"]) == 0
    assert capsys.readouterr().out.endswith(": held 49 of 60 rows\n")
    assert main(["guard", str(logdir / "good"), "--dry-run"]) == 0
    assert not flag.exists()
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("action", "why"),
    [("signal TERM 1", "1 is no process"), ("run no-such-program", "no program no-such-program")],
)
def test_a_dry_run_says_that_the_action_would_be_refused(
    action: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows(tmp_path / "log.jsonl", 1, 30)
    assert main(["guard", str(tmp_path), "--dry-run", "--on-bad", action, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "would be refused: --on-bad" in err
    assert why in err
    assert why in json.loads(out)["refused"]


@cases(__file__, "test_wrong_options_are_told")
def test_wrong_options_are_told(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_rows(tmp_path / "log.jsonl", 1, 30)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "log.jsonl"))
    try:
        code = main(["guard", str(tmp_path), *words])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert message in capsys.readouterr().err
