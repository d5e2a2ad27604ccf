"""How runs ended: cases in ``endings.yaml``, bounds, and the document itself.

Which logs without rows are those of jobs that died.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import LogTail
from rltui.core.installation import shipped
from rltui.core.level import ExitKind
from rltui.health.crash import exit_status
from rltui.health.job_log import JobLogs

CASES = yaml.safe_load((Path(__file__).parent / "endings.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    lines = tuple(case.get("log", "").splitlines())
    tail, logged = LogTail(lines, case.get("row", len(lines))), case.get("logged", True)
    found = exit_status(tail, case.get("exit_code"), logged=logged)
    expect = case["expect"]
    if expect is None:
        assert found is None
        return
    assert found.kind is ExitKind(expect["kind"])
    assert found.reason.startswith(expect["reason"])
    assert found.line.startswith(expect.get("line", ""))
    assert found.users == expect.get("users", "")
    assert list(found.after) == expect.get("after", list(found.after))
    assert found.certain is expect.get("certain", found.certain)
    assert found.source
    assert len(found.reason) <= 60


def test_every_entry_is_tried() -> None:
    """Each reason of the document that is no template occurs in a case (ends by lines)."""
    known = yaml.safe_load(
        shipped("formats", "data", "log_signs", "endings.yaml").read_text(encoding="utf-8")
    )
    tried = {c["expect"]["reason"] for c in CASES["cases"] if c["expect"]}
    rare = {"NCCL error", "aborted", "import failed", "file not found", "tracker failed",
            "connection lost", "data-loader worker died"}  # fmt: skip
    fixed = {e["reason"] for e in known["endings"] if "{" not in e["reason"]}
    assert fixed - tried == rare, "each needs a case in tests/health/endings.yaml"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp:1", "NCCL error"),
        ("Aborted (core dumped)", "aborted"),
        ("ImportError: cannot import name 'x' from 'y'", "import failed"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'a'", "file not found"),
        ("wandb.errors.errors.CommError: run not found", "tracker failed"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "connection lost"),
        ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.",
         "data-loader worker died"),
        ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "a rank failed"),
    ],
)  # fmt: skip
def test_rare_ends(line: str, reason: str) -> None:
    lines = ("Traceback (most recent call last):", '  File "t.py", line 1', "    f()", line)
    found = exit_status(LogTail(lines, 4))
    assert found.reason == reason


def test_without_a_tail_no_end_is_known() -> None:
    assert exit_status(None) is None
    assert exit_status(LogTail((), 0)) is None


PIECES = st.sampled_from(
    ["Traceback (most recent call last):", "  File x", "ValueError: x", "Killed", "loss is nan",
     "(A pid=1) ", "[rank0]: ", "During handling of the above exception", "", "ERROR x"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    lines=st.lists(st.one_of(st.text(max_size=80), PIECES), max_size=40),
    row=st.integers(-3, 50),
    code=st.one_of(st.none(), st.integers(-300, 300)),
)
def test_any_lines(lines: list[str], row: int, code: int | None) -> None:
    found = exit_status(LogTail(tuple(lines), row), code)
    assert found is not None or code is None


def test_long_ends_are_cheap() -> None:
    """A few hundred lines of any kind take well under a tenth of a second."""
    lines = tuple(f"loss error grad {'x' * 400} {i}: nan inf Error" for i in range(400))
    exit_status(LogTail(lines, 400))
    began = time.process_time()
    exit_status(LogTail(lines, 400))
    assert time.process_time() - began < 0.5


TRACEBACK = """loading the model
Traceback (most recent call last):
  File "/w/train.py", line 12, in <module>
    main()
  File "/w/train.py", line 9, in main
    import gymnasium
ModuleNotFoundError: No module named 'gymnasium'
"""
DEEP = TRACEBACK.replace("    main()\n", '    f()\n  File "/w/f.py", line 1, in f\n' * 50)
OOM = TRACEBACK.replace(
    "ModuleNotFoundError: No module named 'gymnasium'",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
)
TIME = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n"
ELASTIC = """[rank1]: Traceback (most recent call last):
[rank1]:   File "/w/train.py", line 3, in <module>
[rank1]: ValueError: batch of 7 on 2 ranks
E0101 10:00:02.0 100 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) rank
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""
NCCL = (
    "[rank0]:[E101 10:00:00.0 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 600000 milliseconds before "
    "timing out.\n"
)
RAY = """(TaskRunner pid=44) loading
Traceback (most recent call last):
  File "/w/main_ppo.py", line 1, in main
ray.exceptions.RayTaskError(ValueError): ray::TaskRunner.run() (pid=44, ip=10.0.0.1)
ValueError: no such file
"""
DEEPSPEED = """[2026-01-01 10:00:01,000] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 1
[2026-01-01 10:00:01,000] [ERROR] [launch.py:325:sigkill_handler] x exits with return code = 1
"""


def shows(name: str, text: str, *, named: bool = False) -> bool:
    """As discovery asks: the cheap test first, but for a file that the user has named."""
    jobs, lines = JobLogs(), tuple(text.splitlines())
    if not (named or jobs.may_show(name, text.encode())):
        return False
    return jobs.show(name, LogTail(lines, len(lines)), named=named)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("slurm-4711.out", OOM + TIME),
        ("slurm-4711.out", "loading\nKilled\n"),
        ("slurm-12_3.err", TRACEBACK),
        ("alien-s3_8525499.out", TIME),
        ("ppo.4711.out", "Segmentation fault (core dumped)\n"),
        ("train.o4711", "bash: line 3: 77 Killed                  python train.py\n"),
        ("train.err", "loading\nKilled\n"),
        ("ppo_train.stderr", "Segmentation fault (core dumped)\n"),
        ("job.e4711", "Killed\n"),
        ("stderr.log", "Killed\n"),
        ("train.log", TRACEBACK),
        ("train.log", DEEP),
        ("train.log", "0: " + TRACEBACK.replace("\n", "\n0: ").rstrip("0: ")),
        ("output.log", ELASTIC),
        ("run.log", TRACEBACK + "wandb: You can sync this run later\n"),
        ("run.log", DEEPSPEED),
        ("run.log", RAY),
        ("run.log", "srun: error: node1: task 0: Killed\n"),
        ("run.log", "step 0 starts\n" + TIME),
    ],
)
def test_jobs_that_died(name: str, text: str) -> None:
    assert shows(name, text)
    assert shows(name, text, named=True)


@pytest.mark.parametrize(
    "text",
    [
        "Killed\n",
        NCCL,
        "RuntimeError: CUDA error: an illegal memory access was encountered\n",
        "tee: train.log: No space left on device\n",
        "train.py: error: unrecognized arguments: --lrr 3\n",
        'Traceback (most recent call last):\n  File "t.py", line 1\nKeyboardInterrupt\n',
        "[12.5] Out of memory: Killed process 77 (python)\n",
    ],
)
def test_a_log_that_the_user_names_counts_for_any_ending(text: str) -> None:
    assert shows("whatever.txt", text, named=True)
    assert shows("slurm-1.out", text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.log", "Killed\n"),
        ("notes.log", "the job ended with CUDA out of memory\n"),
        ("dmesg.log", "[1234.567890] Out of memory: Killed process 77 (python) total-vm:1kB\n"),
        ("kern.log", "Jan 1 00:00:00 n1 kernel: oom-kill:constraint=CONSTRAINT_MEMCG\n"),
        ("pip.log", "2026-01-01T10:00:00,123 " + TRACEBACK),
        ("pip-install.log", TRACEBACK + "ERROR: Failed building wheel for flash-attn\n"),
        ("wheel.log", "error: subprocess-exited-with-error\n" + TRACEBACK),
        ("debug.log", TRACEBACK),
        ("app.log", TRACEBACK + '10.0.0.1 - - "GET / HTTP/1.1" 500 -\n'),
        ("web.log", "[2026-01-01 10:00:00 +0000] [7] [INFO] Starting gunicorn 21.2\n" + TRACEBACK),
        ("serve.log", "ERROR:    Exception in ASGI application\n" + TRACEBACK),
        ("lab.log", "[I 2026-01-01 10:00:00.000 ServerApp] running\n" + TRACEBACK),
        ("tests.log", TRACEBACK + "=== 1 failed, 3 passed in 2.00s ===\n"),
        ("worker.log", "2026-01-01 10:00:00 ERROR job 7 failed\n" + TRACEBACK.partition("\n")[2]),
        ("train.log", TRACEBACK + "".join(f"going on with sample {n}\n" for n in range(20))),
        ("train.log", "loading the model\nfilling the buffer\n"),
        ("slurm-1.out", "loading the model\nfilling the buffer\n"),
        ("slurm-1.out", "training finished\n"),
    ],
)
def test_other_logs_below_a_directory_do_not_count(name: str, text: str) -> None:
    assert not shows(name, text)


def test_a_log_that_ends_in_nothing_of_the_kind_is_no_job_that_died() -> None:
    for text in ("", "hello\n", "training finished\n", "Training completed.\n"):
        assert not shows("x.log", text, named=True)


def test_to_rule_out_a_log_is_cheap() -> None:
    """A hundred ends of 64 KiB take well under the time of decoding them."""
    jobs, end = JobLogs(), b"some line of a log that is no training\n" * 1700
    jobs.may_show("a.log", end)
    began = time.process_time()
    for number in range(100):
        assert not jobs.may_show(f"{number}.log", end)
    assert time.process_time() - began < 0.5
