"""check and snapshot: exit codes, the two JSON documents, what goes to which stream.

A LOGDIR that does not exist yet: ``watch`` waits for it, ``check --follow --wait`` so long.
"""

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rltui.commands.check import await_any
from rltui.core.address import parse_logdir
from rltui.output.verdict_types import FindingDocument, NoteDocument, RunVerdict, SourceDocument
from tests.clock import ManualClock
from tests.commands.conftest import Cli, write_jsonl
from tests.fakes import grpo_tags


def strict(text: str) -> Any:
    def refuse(word: str) -> NoReturn:
        raise AssertionError(f"not strict JSON: {word}")

    return json.loads(text, parse_constant=refuse)


# -- exit codes ----------------------------------------------------------------------------


def test_a_healthy_run_exits_with_0(cli: Cli, well: Path) -> None:
    result = cli("check", well)
    assert (result.code, result.err) == (0, "")
    assert "nothing to report" in result.out
    assert "✔ calm" in result.out


def test_a_bad_run_exits_with_1_and_says_what_and_since_when(cli: Cli, bad_logs: Path) -> None:
    result = cli("check", bad_logs)
    assert (result.code, result.err) == (1, "")
    assert "✖ a (verl GRPO" in result.out
    assert "entropy collapse, since" in result.out
    for words in ("check first: ", "then: ", "usual causes: ", "next step: "):
        assert words in result.out
    assert result.out.splitlines()[-1].startswith("3 runs, worst bad:")


@pytest.mark.parametrize(("limit", "code"), [("bad", 1), ("watch", 1), ("never", 0)])
def test_fail_on(cli: Cli, bad_logs: Path, limit: str, code: int) -> None:
    assert cli("check", bad_logs, "--fail-on", limit).code == code


def test_an_empty_path_is_a_usage_error_and_judges_nothing(
    cli: Cli, well: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(well)
    result = cli("check", "")
    assert (result.code, result.out) == (2, "")
    assert "the path is empty" in result.err


def test_fail_on_watch_is_stricter_than_bad(cli: Cli, tmp_path: Path) -> None:
    tags = grpo_tags(60)
    tags["actor/pg_clipfrac"] = [0.002] * 30 + [0.25] * 30
    write_jsonl(tmp_path / "logs" / "clip.jsonl", tags)
    document = strict(cli("check", tmp_path / "logs", "--json").out)
    assert document["level"] == "watch", document["runs"][0]["findings"]
    assert cli("check", tmp_path / "logs").code == 0
    assert cli("check", tmp_path / "logs", "--fail-on", "watch").code == 1


@pytest.mark.parametrize("command", ["check", "snapshot"])
def test_a_directory_without_logs_exits_with_3(cli: Cli, tmp_path: Path, command: str) -> None:
    result = cli(command, tmp_path)
    assert (result.code, result.out) == (3, "")
    assert result.err == f"rltui: no readable log below {tmp_path}\n"


def test_a_directory_without_logs_is_still_a_json_document(cli: Cli, tmp_path: Path) -> None:
    result = cli("check", tmp_path, "--json")
    document = strict(result.out)
    assert result.code == 3
    assert (document["level"], document["runs"]) == ("unknown", [])


# -- framework and algorithm ---------------------------------------------------------------


def test_an_unknown_framework_exits_with_2_and_names_the_nearest(cli: Cli, well: Path) -> None:
    result = cli("check", well, "--framework", "verll")
    assert (result.code, result.out) == (2, "")
    assert "unknown framework 'verll'" in result.err
    assert "did you mean 'verl'?" in result.err


def test_framework_and_algorithm_can_be_said(cli: Cli, well: Path) -> None:
    run = strict(cli("check", well, "--json").out)["runs"][0]
    assert (run["framework"], run["algorithm"]) == ("verl", "GRPO")
    forced = cli("check", well, "--json", "--framework", "generic", "--algorithm", "PPO")
    run = strict(forced.out)["runs"][0]
    assert (run["framework"], run["algorithm"]) == ("generic", "PPO")


# -- JSON ----------------------------------------------------------------------------------

TOP = {"schema", "logdirs", "as_of", "level", "notes", "runs"}
RUN, SOURCE = set(RunVerdict.__annotations__), set(SourceDocument.__annotations__)
NOTE, FINDING = set(NoteDocument.__annotations__), set(FindingDocument.__annotations__)
EVIDENCE = {"statistic", "value", "threshold", "step_first", "step_last"}
_METRIC = "tag metric title category unit direction guessed level count nonfinite last min max mean"
METRIC = {*_METRIC.split(), "mark", "low", "high", "healthy"}
LEVELS = {"ok", "watch", "bad", "unknown"}
STATES = {"live", "stalled", "finished", "stopped", "crashed", "unknown"}


def check_run(run: dict[str, Any], *, metrics: bool) -> None:
    assert set(run) == RUN | ({"metrics"} if metrics else set())
    assert run["level"] in LEVELS
    assert run["state"] in STATES
    assert set(run["categories"].values()) <= LEVELS
    assert isinstance(run["restarts"], int)
    for source in run["sources"]:
        assert set(source) == SOURCE
        assert all(set(n) == NOTE for n in source["notes"])
    for finding in run["findings"]:
        assert set(finding) == FINDING
        assert set(finding["evidence"]) >= EVIDENCE
        assert finding["level"] in {"watch", "bad"}
        assert finding["state"] in {"firing", "resolved"}
        assert "\n" not in finding["summary"]
    for diagnosis in run["diagnoses"]:
        assert {"id", "level", "summary", "check"} < set(diagnosis)
        assert diagnosis["level"] in LEVELS
        for check in diagnosis["check"]:
            assert {"metric", "tag", "level", "value"} < set(check)
            assert check["level"] in LEVELS
    for move in run["first_movers"]:
        assert {"metric", "tag", "step", "before", "after", "factor"} < set(move)
        assert move["factor"] is None or move["factor"] > 0
    assert all(set(s) == {"rule", "missing"} for s in run["skipped"])
    for metric in run.get("metrics", ()):
        assert set(metric) == METRIC
        assert metric["level"] in LEVELS
        assert metric["last"] is None or set(metric["last"]) == {"step", "wall_time", "value"}


def test_check_json_has_exactly_the_documented_keys(cli: Cli, bad_logs: Path) -> None:
    document = strict(cli("check", bad_logs, "--json").out)
    assert set(document) == TOP
    assert document["schema"] == "rltui.check/1"
    assert document["level"] == "bad"
    assert len(document["runs"]) == 3
    for run in document["runs"]:
        check_run(run, metrics=False)


def test_snapshot_json_adds_the_metrics(cli: Cli, bad_logs: Path) -> None:
    result = cli("snapshot", bad_logs, "--json")
    document = strict(result.out)
    assert (result.code, result.err) == (0, "")
    assert set(document) == TOP
    assert document["schema"] == "rltui.snapshot/1"
    for run in document["runs"]:
        check_run(run, metrics=True)
        assert {m["tag"] for m in run["metrics"]} >= set(grpo_tags(1))


def test_a_guess_is_said_wherever_its_verdict_is(cli: Cli, tmp_path: Path) -> None:
    rows = [x / 50 for x in range(100)] + [0.05, 0.06] * 40
    log = tmp_path / "run.jsonl"
    log.write_text("".join(f'{{"step": {i}, "ally_reward": {x}}}\n' for i, x in enumerate(rows)))
    words = "guessed: ally_reward is reward, by its name"
    text = cli("check", log).out
    assert words in text
    assert "; a guess: ally_reward" in text
    assert "reward (guessed)" in cli("snapshot", log).out
    (run,) = strict(cli("snapshot", log, "--json").out)["runs"]
    assert run["guessed"] == [{"tag": "ally_reward", "metric": "reward.mean"}]
    assert [f["evidence"]["guessed"] for f in run["findings"]] == [True] * len(run["findings"])
    assert [m["guessed"] for m in run["metrics"]] == [True]


def test_numbers_that_are_not_finite_are_null_and_counted(cli: Cli, bad_logs: Path) -> None:
    document = strict(cli("snapshot", bad_logs, "--json", "--run", "nan").out)
    metrics = {m["tag"]: m for m in document["runs"][0]["metrics"]}
    loss = metrics["actor/pg_loss"]
    assert (loss["count"], loss["nonfinite"]) == (60, 20)
    assert (loss["last"]["step"], loss["last"]["value"]) == (60, None)
    assert loss["min"] is not None
    assert metrics["actor/grad_norm"]["nonfinite"] == 1
    assert metrics["actor/grad_norm"]["max"] < 10


def test_resolved_findings_set_neither_level_nor_exit_code(cli: Cli, tmp_path: Path) -> None:
    tags = grpo_tags(120)
    tags["actor/ppo_kl"][20:30] = [3.0] * 10
    write_jsonl(tmp_path / "logs" / "spike.jsonl", tags)
    document = strict(cli("check", tmp_path / "logs", "--json").out)
    states = {f["state"] for f in document["runs"][0]["findings"]}
    assert states == {"resolved"}, document["runs"][0]["findings"]
    assert document["level"] == "ok"
    assert cli("check", tmp_path / "logs", "--fail-on", "watch").code == 0


def test_snapshot_text_has_every_metric_with_unit_and_tag(cli: Cli, well: Path) -> None:
    result = cli("snapshot", well)
    assert (result.code, result.err) == (0, "")
    shown = {line.split()[-1] for line in result.out.splitlines() if "/" in line}
    folded = {"critic/score/max", "critic/score/min", "critic/rewards/max", "critic/rewards/min"}
    folded |= {"response_length/max", "response_length/min"}
    assert set(grpo_tags(1)) - folded <= shown


# -- jobs that died before their first row -------------------------------------------------

OOM = (
    "loading model\n"
    "Traceback (most recent call last):\n"
    '  File "train.py", line 9, in <module>\n'
    "    main()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
)
LIMIT = (
    "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n"
)


def job(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_job_that_died_before_its_first_row(cli: Cli, tmp_path: Path) -> None:
    logdir = job(tmp_path / "jobs" / "slurm-7.out", OOM + LIMIT).parent
    result = cli("check", logdir)
    assert (result.code, result.err) == (1, "")
    assert "✖ slurm-7 (crashed" in result.out
    assert "crashed: CUDA out of memory, then Slurm time limit" in result.out
    assert "no row of metrics; the log ends with" in result.out
    assert "| loading model" in result.out
    assert result.out.count("DUE TO TIME LIMIT") == 1
    shown = cli("snapshot", logdir)
    assert (shown.code, shown.err) == (0, "")
    assert "crashed: CUDA out of memory" in shown.out
    assert "| loading model" in shown.out


def test_the_time_limit_before_the_first_row_is_bad(cli: Cli, tmp_path: Path) -> None:
    """A job that logged rows may go on from a checkpoint; this one has nothing to go on from."""
    log = job(tmp_path / "slurm-8.out", "filling the buffer\n" + LIMIT)
    assert cli("check", log).code == 1
    rows = "".join(f"step {n}, loss 0.5{n}, reward 0.1\n" for n in range(1, 30))
    assert cli("check", job(tmp_path / "slurm-9.out", rows + LIMIT)).code == 0


def test_the_document_of_a_job_that_died(cli: Cli, tmp_path: Path) -> None:
    logdir = job(tmp_path / "jobs" / "slurm-7.out", OOM + LIMIT).parent
    for verb, code in (("check", 1), ("snapshot", 0)):
        result = cli(verb, logdir, "--json")
        assert (result.code, result.err) == (code, "")
        document = strict(result.out)
        (run,) = document["runs"]
        assert (run["state"], run["level"], run["last_step"]) == ("crashed", "bad", None)
        ending = run["ending"]
        assert (ending["kind"], ending["reason"]) == ("crashed", "CUDA out of memory")
        assert ending["after"] == ["Slurm time limit"]
        assert ending["tail"] == (OOM + LIMIT).splitlines()


def test_a_log_that_is_named_may_end_in_any_way_of_dying(cli: Cli, tmp_path: Path) -> None:
    log = job(tmp_path / "notes", "loading\nSegmentation fault (core dumped)\n")
    assert cli("check", log).code == 1
    assert cli("check", tmp_path).code == 3
    quiet = job(tmp_path / "calm.log", "loading\nfilling the buffer\n")
    result = cli("check", quiet)
    assert result.code == 2
    assert "no rows of metrics in it so far" in result.err


def test_there_is_nothing_to_export_of_a_job_that_died(cli: Cli, tmp_path: Path) -> None:
    log = job(tmp_path / "slurm-7.out", OOM)
    for verb in ("export", "plot"):
        result = cli(verb, log, *(["loss"] if verb == "plot" else []))
        assert result.code == 3, verb
        assert "no row of metrics" in result.err
        assert "crashed: CUDA out of memory" in result.err


@pytest.mark.parametrize(("head", "word"), [("", "row"), ("total_timesteps,", "step")])
def test_rows_that_are_counted_are_called_rows(
    cli: Cli, tmp_path: Path, head: str, word: str
) -> None:
    lines = [f"{head}eprewmean,explained_variance,approxkl"]
    lines += [f"{2048 * n},"[: len(head) * 9] + f"{n},0.5,0.0{n:03d}" for n in range(1, 41)]
    (tmp_path / "progress.csv").write_text("\n".join(lines) + "\n")
    last = "40" if word == "row" else "81,920"
    assert f"{word} {last}" in cli("check", tmp_path).out
    (run,) = strict(cli("check", "--json", tmp_path).out)["runs"]
    assert (run["step_unit"], run["last_step"]) == (word, int(last.replace(",", "")))
    assert f"  {word}  " in cli("plot", tmp_path, "eprewmean").out.splitlines()[-1] + "  "


def test_without_a_wait_it_is_an_error(cli: Cli, tmp_path: Path) -> None:
    for options in ([], ["--follow"], ["--follow", "--wait", "0"]):
        result = cli("check", tmp_path / "none", *options)
        assert (result.code, result.out) == (2, "")
        assert result.err == f"rltui: {tmp_path / 'none'}: no such file or directory\n"


def test_a_wait_is_for_those_who_follow(cli: Cli, tmp_path: Path) -> None:
    assert cli("check", tmp_path, "--wait", "5").err == "rltui: --wait needs --follow\n"


@pytest.mark.parametrize(
    ("there", "said"), [("grpo-7", "; did you mean '{}/grpo-7'?"), ("other", "")]
)
def test_the_wait_is_said_and_ends_when_it_is_there(
    there: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / there).mkdir()
    clock, path = ManualClock(), tmp_path / "gpro-7" / "logs"

    def passes(seconds: float) -> None:
        clock.advance(seconds)
        if clock.monotonic() > 30:
            path.mkdir(parents=True, exist_ok=True)

    await_any([path], 3600, clock, passes)
    assert 30 < clock.monotonic() < 32
    assert capsys.readouterr().err == (
        f"rltui: {path}: does not exist yet{said.format(tmp_path)}; waiting for it\n"
    )
    path.rmdir()
    begun = clock.monotonic()
    await_any([path], 10, clock, clock.advance)
    assert clock.monotonic() - begun == 10


@pytest.mark.parametrize("text", [".", "-", "node7:/none"])
def test_nobody_waits_for_what_is_there_or_elsewhere(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    monkeypatch.chdir(tmp_path)
    await_any([parse_logdir(text), tmp_path / "none"], 60, clock, clock.advance)
    assert not clock.monotonic()
