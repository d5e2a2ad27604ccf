"""Who writes a run, and what lies beside its logs: states, findings, planned steps."""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rltui.config import Config
from rltui.config.records import RulesConfig
from rltui.core.batch import Batch
from rltui.core.level import Level, RunState
from rltui.facts.groups import Sweep, setting_of
from rltui.facts.run_columns import conditions_in
from rltui.facts.sentences import summary
from rltui.health.model import Report
from rltui.health.stalled import stall_rule
from rltui.session import JudgedRun, Session
from rltui.session.event import EventKind, Watcher
from rltui.session.judging import with_stall
from rltui.sources.discovery.processes import FileHold
from tests.builders import START, a_batch, a_source, read_session, steps
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_tags
from tests.session.test_progress import rows
from tests.tables import cases

HELD, GONE, CLOSED = FileHold(True, True), FileHold(False, True), FileHold(False, False)
HOUR = 3600.0


class Processes:
    """What every look finds; counts the looks."""

    def __init__(self) -> None:
        self.hold: FileHold | None = HELD
        self.other: dict[str, FileHold] = {}
        """For files of a name."""
        self.looks = 0
        self.asked: list[Path] = []

    def look(self, files: Mapping[Path, str]) -> dict[Path, FileHold]:
        self.looks += 1
        self.asked = list(files)
        found = {p: self.other.get(p.name, self.hold) for p in files}
        return {p: hold for p, hold in found.items() if hold is not None}


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    made = Processes()
    monkeypatch.setattr("rltui.session.process_probe.look", made.look)
    return made


def watched(*batches: Batch, config: Config | None = None) -> tuple[Session, ManualClock]:
    """A session that saw the runs live, with a clock that stands at their last row."""
    clock = ManualClock(START + 190)
    session = a_session(*(batches or (rows(20),)), clock=clock, config=config)
    session.refresh_progress()
    return session, clock


def state_after(session: Session, clock: ManualClock, seconds: float) -> RunState:
    clock.advance(seconds)
    session.refresh_progress()
    found = session.runs()[0].progress
    return found.state


def rules(run: JudgedRun) -> list[str]:
    return [f.rule for f in run.report.firing()] if run.report else []


def test_a_run_that_nobody_writes_any_more_has_stopped(processes: Processes) -> None:
    session, clock = watched()
    processes.hold = GONE
    assert state_after(session, clock, 50) is RunState.LIVE
    assert state_after(session, clock, 50) is RunState.STOPPED
    (run,) = session.runs()
    assert (run.verdict.state_word, rules(run)) == ("stopped", [])
    assert run.verdict.level is not Level.WATCH
    assert state_after(session, clock, 20 * HOUR) is RunState.STOPPED
    assert state_after(session, clock, 24 * HOUR) is RunState.STOPPED


def test_a_run_that_a_process_holds_is_stalled(processes: Processes) -> None:
    session, clock = watched()
    assert state_after(session, clock, 100) is RunState.STALLED
    (run,) = session.runs()
    assert rules(run) == ["stalled"]
    processes.hold = GONE
    assert state_after(session, clock, 80) is RunState.STOPPED, "it was killed meanwhile"
    assert rules(run) == []


def test_a_writer_that_was_seen_to_keep_its_file_open(processes: Processes) -> None:
    session, clock = watched()
    processes.hold = CLOSED
    assert state_after(session, clock, 100) is RunState.STOPPED


def test_that_it_stopped_before_its_planned_steps_is_a_finding(processes: Processes) -> None:
    session, clock = watched(rows(20, hparams={"max_steps": 50}))
    watcher = Watcher(session)
    watcher.events()
    processes.hold = GONE
    assert state_after(session, clock, 100) is RunState.STOPPED
    (event,) = watcher.events()
    assert (event.kind, event.finding.rule, event.is_news) == (EventKind.CRASHED, "stopped", True)
    assert summary(event.finding) == "no process writes its log any more; 50 steps were planned"
    (run,) = session.runs()
    assert run.verdict.level is Level.WATCH


def test_a_run_that_stopped_is_never_called_stalled(processes: Processes) -> None:
    """Nobody is paged for the moment between two looks, and of each end once."""
    session, clock = watched(*(rows(20, run=f"run{i}", every=10 + i) for i in range(5)))
    session._live = True
    watcher = Watcher(session)
    watcher.events()
    processes.hold = GONE
    said = []
    for _ in range(300):
        clock.advance(1)
        session.refresh_progress()
        said += [(e.kind, e.run.name) for e in watcher.events()]
    assert said == [(EventKind.FINISHED, f"run{i}") for i in range(5)]
    assert {r.verdict.state_word for r in session.runs()} == {"stopped"}


def test_a_run_that_goes_on_after_all(processes: Processes) -> None:
    clock, reader = ManualClock(START + 190), FakeReader()
    session = a_session(rows(20, hparams={"max_steps": 50}), reader=reader, clock=clock)
    processes.hold = GONE
    assert state_after(session, clock, 100) is RunState.STOPPED
    (run,) = session.runs()
    fresh = rows(1, first=21)
    reader.feed(replace(fresh, source=fresh.source._replace(modified=clock.now())))
    session.drain()
    assert (run.progress.state, rules(run)) == (RunState.LIVE, [])
    processes.hold = HELD
    assert state_after(session, clock, 100) is RunState.STALLED


def test_the_log_that_was_written_last_tells_who_is_gone(processes: Processes) -> None:
    """An event file of the first attempt says nothing of the second one."""
    old = rows(20)
    newer = rows(5, first=21)
    source = a_source("second", order=1, modified=START + 2000)
    second = replace(newer, source=source)
    processes.hold = CLOSED
    processes.other = {old.source.path.name: GONE}
    clock = ManualClock(START + 2000)
    session = a_session(old, second, clock=clock)
    session.refresh_progress()
    assert state_after(session, clock, 300) is RunState.STALLED
    processes.other = {"second": GONE, old.source.path.name: GONE}
    session = a_session(old, second, clock=clock)
    assert state_after(session, clock, 0) is RunState.STOPPED


def test_looks_are_rare(processes: Processes) -> None:
    """One for all runs that fall silent; then the pauses grow, and none after the end."""
    batches = [rows(20, run=f"run{i}") for i in range(50)]
    session, clock = watched(*batches)
    assert processes.looks == 1, "who keeps its file open"
    for _ in range(60):
        clock.advance(1)
        session.refresh_progress()
    assert processes.looks == 1
    session._live = True
    before = processes.looks
    for _ in range(600):
        clock.advance(1)
        session.refresh_progress()
        wait_for_thread()
    assert 2 <= processes.looks - before <= 15
    processes.hold = GONE
    for _ in range(200):
        clock.advance(1)
        session.refresh_progress()
        wait_for_thread()
    before = processes.looks
    for _ in range(600):
        clock.advance(1)
        session.refresh_progress()
    assert processes.looks == before, "they have stopped"
    states = {run.progress.state for run in session.runs() if run.progress}
    assert states == {RunState.STOPPED}


def wait_for_thread() -> None:
    for thread in threading.enumerate():
        if thread.name == "rltui-vitals":
            thread.join()


def test_a_look_that_fails_costs_nothing_else(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(files: Mapping[Path, str]) -> dict[Path, FileHold]:
        raise ZeroDivisionError

    monkeypatch.setattr("rltui.session.process_probe.look", fails)
    session, clock = watched()
    assert state_after(session, clock, 100) is RunState.STALLED


@pytest.mark.parametrize(("rule", "hold"), [("stalled", HELD), ("stopped", GONE)])
def test_each_of_the_two_can_be_muted(processes: Processes, rule: str, hold: FileHold) -> None:
    config = replace(Config(), rules=RulesConfig(mute=(rule,)))
    session, clock = watched(rows(20, hparams={"max_steps": 50}), config=config)
    processes.hold = hold
    assert state_after(session, clock, 100).value == rule
    (run,) = session.runs()
    assert rules(run) == []


# -- beside the logs -----------------------------------------------------------------------


def write_rows(path: Path, steps: int, **more: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"step": s, "loss": 1 / s, **more}) for s in range(1, steps + 1)]
    path.write_text("\n".join(lines) + "\n")


def total_of(logdir: Path) -> list[tuple[int | None, RunState]]:
    found = [run.progress for run in read_session([logdir]).runs()]
    return [(p.total_steps, p.state) for p in found if p is not None]


def test_settings_beside_the_logs_tell_runs_apart_where_the_logs_hold_none(tmp_path: Path) -> None:
    for run, lr in (("a", "1e-6"), ("b", "3e-6")):
        write_rows(tmp_path / run / "train.jsonl", 40)
        (tmp_path / run / ".hydra").mkdir()
        (tmp_path / run / ".hydra" / "config.yaml").write_text(f"optim:\n  lr: {lr}\n")
    runs = read_session([tmp_path]).runs()
    assert [*Sweep(runs).settings] == ["optim.lr"]
    assert [setting_of(run, "optim.lr") for run in runs] == ["1e-6", "3e-6"]
    (condition,), _ = conditions_in("lr > 2e-6")
    assert [condition.holds(run) for run in runs] == [False, True]


def test_runs_share_the_names_and_values_of_settings_beside_their_logs(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write_rows(tmp_path / run / "train.jsonl", 40)
        (tmp_path / run / "args.json").write_text('{"a_long_name": "a long value"}')
    (one,), (other,) = (list(run.settings.items()) for run in read_session([tmp_path]).runs())
    assert one[0] is other[0]
    assert one[1] is other[1]


@cases(__file__, "test_planned_steps_beside_the_logs")
def test_planned_steps_beside_the_logs(
    name: str, text: str, total: int | None, tmp_path: Path
) -> None:
    """Unless they are of something else, which the run has long passed."""
    write_rows(tmp_path / "run" / "train.jsonl", 40)
    (tmp_path / "run" / name).write_text(text)
    assert total_of(tmp_path) == [(total, RunState.LIVE)]


def test_settings_above_several_runs_are_of_none(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"max_steps": 90}')
    for name in ("a", "b"):
        write_rows(tmp_path / name / "train.jsonl", 40)
    assert [total for total, _ in total_of(tmp_path)] == [None, None]


def test_settings_beside_the_logs_say_what_is_clipped(tmp_path: Path) -> None:
    row = '{{"reward": 0.{0}, "completions/mean_length": 50, "clip_ratio/region_mean": 0.4}}'
    run = tmp_path / "run"
    run.mkdir()
    (run / "logging.jsonl").write_text("\n".join(row.format(n) for n in range(10, 60)) + "\n")
    assert clipped(tmp_path)
    (run / "args.json").write_text('{"importance_sampling_level": "sequence", "epsilon": 3e-4}')
    assert not clipped(tmp_path)


def clipped(logdir: Path) -> bool:
    (run,) = read_session([logdir]).runs()
    return "clipfrac_high" in {f.rule for f in run.report.firing()}


TRIAL = "PPO_CartPole_1_0_2026"


def tune(directory: Path, status: str, *, done: bool = False, stop: object = None) -> Path:
    """What Ray Tune writes of one trial."""
    trial = directory / "exp" / TRIAL
    trial.mkdir(parents=True)
    lines = [
        json.dumps({"training_iteration": i, "time_total_s": 2 * i, "trial_id": "1_0", "config": {},
                    "episode_reward_mean": 9 * i, "done": done and i == 8})
        for i in range(1, 9)
    ]  # fmt: skip
    (trial / "result.json").write_text("\n".join(lines) + "\n")
    record = {"status": status, "relative_logdir": TRIAL, "stopping_criterion": stop or {}}
    state = {"trial_data": [[json.dumps(record), "{}"]], "runner_data": {}}
    (trial.parent / "experiment_state-2026.json").write_text(json.dumps(state))
    return trial


def test_the_last_result_of_a_trial_says_so(tmp_path: Path) -> None:
    trial = tune(tmp_path, "RUNNING", done=True)
    assert [state for _, state in total_of(tmp_path)] == [RunState.FINISHED]
    with (trial / "result.json").open("a") as file:  # it was restored and goes on
        file.write((trial / "result.json").read_text().splitlines()[0].replace(": 1,", ": 9,"))
    assert [state for _, state in total_of(tmp_path)] != [RunState.FINISHED]


@pytest.mark.parametrize(
    ("status", "state"),
    [("TERMINATED", RunState.FINISHED), ("ERROR", RunState.CRASHED), ("RUNNING", RunState.LIVE)],
)
def test_the_state_of_an_experiment(status: str, state: RunState, tmp_path: Path) -> None:
    tune(tmp_path, status)
    assert total_of(tmp_path) == [(None, state)]


@cases(__file__, "what_a_trial_stops_at")
def test_what_a_trial_stops_at(stop: object, total: int | None, tmp_path: Path) -> None:
    """Where it counts what the steps of the run are."""
    tune(tmp_path, "RUNNING", stop=stop)
    assert total_of(tmp_path) == [(total, RunState.LIVE)]


@pytest.mark.parametrize("text", ["", "[]", '{"trial_data": [[1]]}', '{"trial_data": ["{"]}'])
def test_a_broken_state_of_an_experiment_is_none(text: str, tmp_path: Path) -> None:
    trial = tune(tmp_path, "ERROR")
    (trial.parent / "experiment_state-2026.json").write_text(text)
    assert total_of(tmp_path) == [(None, RunState.LIVE)]


def test_an_end_that_is_written_after_the_last_row(processes: Processes, tmp_path: Path) -> None:
    """Looked for once the run is silent."""
    trial = tune(tmp_path, "RUNNING")
    clock = ManualClock((trial / "result.json").stat().st_mtime + 1)
    session = read_session([tmp_path], clock=clock)
    (run,) = session.runs()
    assert state_after(session, clock, 0) is RunState.LIVE
    tune_again = (trial.parent / "experiment_state-2026.json").read_text()
    (trial.parent / "experiment_state-2026.json").write_text(
        tune_again.replace("RUNNING", "TERMINATED")
    )
    assert state_after(session, clock, 100) is RunState.FINISHED
    assert rules(run) == []


def test_a_trial_that_was_restored_goes_on(tmp_path: Path) -> None:
    """What the record said of its first attempt is over."""
    trial = tune(tmp_path, "ERROR")
    written = (trial / "result.json").stat().st_mtime
    os.utime(trial.parent / "experiment_state-2026.json", (written - 600, written - 600))
    assert total_of(tmp_path) == [(None, RunState.LIVE)]


def a_run() -> JudgedRun:
    tags = grpo_tags(120, collapse=61)
    (run,) = a_session(a_batch(steps(1, tags))).runs()
    return run


def stalled(run: JudgedRun, report: Report) -> Report:
    return with_stall(report, run.progress._replace(state=RunState.STALLED), stall_rule())


def going_on(run: JudgedRun, report: Report) -> Report:
    return with_stall(report, run.progress._replace(state=RunState.LIVE), stall_rule())


def test_all_findings_stay_once_and_in_their_order() -> None:
    """Also with a cause at watch in front of a bad effect."""
    run = a_run()
    first, *rest = run.report.firing()
    report = replace(run.report, findings=(first._replace(level=Level.WATCH), first, *rest))
    found = stalled(run, report).findings
    assert [f for f in found if f.rule != "stalled"] == list(report.findings)
    assert found[len(report.firing())].rule == "stalled"
    assert going_on(run, stalled(run, report)) == report


def test_a_run_that_no_rule_judged_is_not_ok_after_a_stall() -> None:
    run = a_run()
    assert run.report is not None
    none = Level.UNKNOWN
    unjudged = replace(run.report, findings=(), judged=(), level=none, calm=none)
    assert stalled(run, unjudged).level is Level.WATCH
    assert going_on(run, stalled(run, unjudged)).level is Level.UNKNOWN
