"""The blocks of docs/api.md, run in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_the_blocks_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = _BLOCK.findall((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    (tmp_path / "runs").symlink_to(ROOT / "tests/fixtures/labelled/trl")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        if ".frame(" in block:
            pytest.importorskip("pandas", reason="pandas is not installed")
        exec(compile(block, "docs/api.md", "exec"), names)
    printed = capsys.readouterr().out
    assert len(blocks) == 5
    for words in ("'sft_healthy'", "trl SFT", "bad", "fired", "no such file"):
        assert words in printed
