"""How runs ended: cases in ``endings.yaml``, bounds, and the document itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.core.batch import LogTail
from rltui.core.errors import DocumentError
from rltui.core.installation import shipped
from rltui.core.level import ExitKind
from rltui.health.crash import bare, exit_status, read_exit_signs

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
    assert found is not None
    assert found.kind is ExitKind(expect["kind"])
    assert found.reason.startswith(expect["reason"])
    assert found.line.startswith(expect.get("line", ""))
    assert list(found.after) == expect.get("after", list(found.after))
    assert found.certain is expect.get("certain", found.certain)
    assert found.source
    assert len(found.reason) <= 60


def test_every_entry_is_tried() -> None:
    """Each reason of the document that is no template occurs in a case (ends by lines)."""
    known = yaml.safe_load(shipped("health", "data", "endings.yaml").read_text(encoding="utf-8"))
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
    assert found is not None
    assert found.reason == reason


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("(TaskRunner pid=1, ip=10.0.0.1) x", "x"),
        ("[rank12]: x", "x"),
        ("(WorkerDict pid=3) [rank0]:   x", "  x"),
        ("3: x", "x"),
        ("(raylet) x", "(raylet) x"),
        ("plain", "plain"),
    ],
)
def test_prefixes(line: str, rest: str) -> None:
    assert bare(line) == rest


def test_nothing_is_known_of_nothing() -> None:
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


def test_a_wrong_document_says_where(tmp_path: Path) -> None:
    path = tmp_path / "endings.yaml"
    path.write_text("schema: 1\nendings:\n- {id: x, kind: crushed}\nexit_codes: {}\n")
    with pytest.raises(DocumentError, match="did you mean 'crashed'"):
        read_exit_signs(path)
