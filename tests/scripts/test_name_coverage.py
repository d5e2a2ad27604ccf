"""The measure of named tags counts what it says."""

from pathlib import Path

import pytest

from tests.test_documentation import load_script

name_coverage = load_script("name_coverage")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(
        "".join(
            f'{{"step": {i}, "loss": {i}.5, "zorp_x": 1.0, "reward_zorp": 2.0}}\n' for i in (1, 2)
        )
    )
    return folder


def test_measure(log: Path) -> None:
    (run,) = name_coverage.measure(log)
    assert run.framework == "generic"
    assert {info.tag: name_coverage.faults(info) for info in run.infos} == {
        "loss": (),
        "zorp_x": ("no metric", "other"),
        "reward_zorp": ("no metric",),
    }
