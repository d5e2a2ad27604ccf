"""``check`` of several hosts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main


@pytest.mark.parametrize(("bad", "code"), [(False, 3), (True, 1)])
def test_check_of_a_host_out_of_reach_is_not_fine(
    bad: bool,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What can be read is judged; a bad run counts for more."""
    rows = [{"step": s, "loss": 1 / s} for s in range(1, 30)]
    last = '{"step": 30, "loss": NaN}\n' if bad else ""
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows) + last)
    monkeypatch.setenv("RLTUI_SSH", "false")
    assert main(["check", str(tmp_path), "gone:/runs"]) == code
    found = capsys.readouterr()
    assert "gone:/runs: not reachable since " in found.err
    assert "30" in found.out or "29" in found.out


def test_doctor_tells_a_host_out_of_reach_from_a_wrong_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLTUI_SSH", "false")
    assert main(["doctor", "--json", "gone:/runs"]) == 3
    (found,) = json.loads(capsys.readouterr().out)["logdirs"]
    assert found["out_of_reach"]
    assert "gone" in found["error"]
    assert main(["doctor", "gone:/runs", "/no/such/path"]) == 2
