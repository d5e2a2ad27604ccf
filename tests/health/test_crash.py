"""How runs ended: cases in ``endings.yaml``, bounds, and the document itself.

Which logs without rows are those of jobs that died.
"""

from __future__ import annotations

import time
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
from tests.tables import table

CASES = table(__file__, "endings")


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
    assert found.advice.startswith(expect.get("advice", ""))
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
    fixed = {e["reason"] for e in known["endings"] if "{" not in e["reason"]}
    assert fixed <= tried, "each needs a case in tests/health/endings.yaml"


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


JOB_LOGS = table(__file__, "job_logs")
DEEP = JOB_LOGS["texts"]["TRACEBACK"].replace(
    "    main()\n", '    f()\n  File "/w/f.py", line 1, in f\n' * 50
)


def shows(name: str, text: str, *, named: bool = False) -> bool:
    """As discovery asks: the cheap test first, but for a file that the user has named."""
    jobs, lines = JobLogs(), tuple(text.splitlines())
    if not (named or jobs.may_show(name, text.encode())):
        return False
    return jobs.show(name, LogTail(lines, len(lines)), named=named)


@pytest.mark.parametrize("case", JOB_LOGS["cases"])
def test_which_logs_are_those_of_jobs_that_died(case: dict[str, str]) -> None:
    name, kind, text = case["name"], case["is"], case["log"].format(**JOB_LOGS["texts"])
    assert kind == "named" or shows(name, text) is (kind == "found")
    assert kind == "other" or shows(name, text, named=True)
    assert kind != "named" or shows("slurm-1.out", text)


def test_a_traceback_of_a_hundred_lines_is_one_of_a_job() -> None:
    assert shows("train.log", DEEP)


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
