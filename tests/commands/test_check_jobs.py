"""``check -j``: several processes say what one says."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.commands.check_jobs import Judged, in_processes, judged, shares_of
from rltui.config import load_config
from rltui.session import Session
from rltui.session.session import Choice
from tests.builders import read_session
from tests.places import ROOT

FIXTURES = ROOT / "tests" / "fixtures"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of every format, and runs that share parts of their names."""
    logdir = tmp_path_factory.mktemp("runs")
    for kind in ("tfevents", "jsonl", "csv", "console", "trainer_state", "wandb", "mlflow"):
        shutil.copytree(FIXTURES / kind, logdir / "all" / kind)
    for name in ("exp/seed1", "exp/seed2", "other/seed1"):
        directory = logdir / name
        directory.mkdir(parents=True)
        rows = (f'{{"step": {i}, "loss": {3 / (i + 1)}}}\n' for i in range(50))
        (directory / "metrics.jsonl").write_text("".join(rows))
    long_ago = time.time() - 30 * 86400  # so that no age in the text changes
    for path in logdir.rglob("*"):
        os.utime(path, (long_ago, long_ago))
    return logdir


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["check", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def document(text: str) -> Any:
    found = json.loads(text)
    found.pop("as_of")
    return found


def test_json_is_that_of_one_process(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = checked(capsys, str(logdir), "--json", "-j1")
    two = checked(capsys, str(logdir), "--json", "-j2")
    assert document(one[1]) == document(two[1])
    assert one[0::2] == two[0::2]
    assert len(document(one[1])["runs"]) > 10


def test_shares_survive_pickling_with_any_configuration(logdir: Path, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "rules:\n  mute: [kl_blowup]\n  override:\n    entropy_collapse: {share: 0.2}\n"
        "metrics:\n  loss: {title: my loss, range: [null, 2.0]}\n"
    )
    config = load_config(path, {}, {})
    session = Session([logdir], config)
    session.scan()
    shares = shares_of(session, config, Choice(), 3, "json")
    assert len(shares) == 3
    runs = [run.key for share in shares for run in share.runs]
    assert sorted(runs) == sorted(run.key for run in session.found or ())
    again = [pickle.loads(pickle.dumps(share)) for share in shares]
    found = Judged(session, (run for share in again for run in judged(share)))
    whole = read_session([logdir], config)
    assert found.is_whole
    assert [(r.key, r.level) for r in found.runs] == [
        (r.key, r.verdict.level) for r in whole.runs()
    ]


def test_this_process_does_a_share_while_the_others_do_theirs(tmp_path: Path) -> None:
    for name in "ab":
        os.mkfifo(tmp_path / name)
    (tmp_path / "here").write_text("here")
    results = in_processes(Path.read_text, [tmp_path / n for n in "ab"], [tmp_path / "here"])
    assert next(results) == "here"  # the others wait for somebody who writes
    for name in "ba":
        (tmp_path / name).write_text(name)
        assert next(results) == name
    assert not list(results)


def test_a_process_that_ends_with_its_work_is_said() -> None:
    with pytest.raises(RuntimeError, match="ended before it had judged"):
        next(in_processes(os._exit, [1]))


def children_of(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True, check=False
    )
    return [int(x) for x in found.stdout.split()]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="lists processes as Linux does")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_over(tmp_path: Path, number: signal.Signals) -> None:
    for name in ("a", "b"):
        os.mkfifo(tmp_path / name)
    # Two processes that wait for ever, as for a file system that hangs.
    code = (
        "from pathlib import Path\n"
        "from rltui.commands.check_jobs import in_processes\n"
        f"paths = [Path({str(tmp_path)!r}, n) for n in 'ab']\n"
        "print('begun', flush=True)\n"
        "list(in_processes(Path.read_text, paths))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    process.stdout.readline()
    writers = [os.open(tmp_path / n, os.O_WRONLY) for n in "ab"]  # until both have opened theirs
    try:
        workers = children_of(process.pid)
        assert len(workers) >= 2
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.kill()
        process.wait(20)
        end = time.monotonic() + 20
        # Path.exists raises for a process that ends meanwhile.
        while any(os.path.exists(f"/proc/{p}/cmdline") for p in workers):  # noqa: PTH110
            assert time.monotonic() < end, "a process is left over"
    finally:
        for writer in writers:
            os.close(writer)
        process.kill()
        process.communicate()
