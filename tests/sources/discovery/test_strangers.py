"""Console logs whose names say nothing, among all the other texts that lie about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rltui.sources import discover
from rltui.sources.discovery import log_head
from rltui.sources.discovery import walk as strangers
from tests.places import FIXTURES

CONSOLES = sorted((FIXTURES / "console").iterdir())
LOG = "".join(f"step {n}: loss={1 / n:.4f} reward={n}\n" for n in range(1, 30))


def found_in(logdir: Path) -> list[str]:
    return [file.path.name for run in discover([logdir]).runs for file in run.files]


@pytest.mark.parametrize("suffix", ["", ".md"])
@pytest.mark.parametrize("console", CONSOLES, ids=lambda path: path.stem)
def test_a_console_log_of_any_name_is_found(console: Path, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"monday{suffix}"
    path.write_bytes(console.read_bytes())
    assert found_in(tmp_path) == found_in(path) == [path.name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", LOG),
        ("readme", LOG),
        ("requirements.txt", LOG),
        (".history", LOG),
        ("diary.md", "# Monday\n" + LOG),
        ("diary.txt", "It went like this:\n```\n" + LOG + "```\n"),
        ("links.md", "See [the paper](https://example.org).\n" + LOG),
        ("run_me", "#!/usr/bin/env python\n" + LOG),
        ("sketch.txt", "import torch\n" + LOG),
        ("pickle", "\0" + LOG),
        ("notes.txt", "best: step 5 loss=0.1 reward=3\n"),
        ("notes2.txt", "step 5 loss=0.1\n" * 9),
        ("prompts.txt", "why is the sky blue, and what is 3 + 4?\n" * 50),
        ("program.py", LOG),
        ("settings.yaml", LOG),
    ],
)
def test_what_is_no_log_makes_no_run_and_no_word(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    found = discover([tmp_path])
    assert (found.runs, found.refused, found.notes) == ((), (), ())


def test_few_of_many_texts_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in range(20):
        (tmp_path / f"shard{folder}").mkdir()
        for number in range(60):
            (tmp_path / f"shard{folder}" / f"{number}.txt").write_text("a text of a data set\n")
    opened: list[Path] = []
    monkeypatch.setattr(log_head, "read_head", lambda path: opened.append(path) or b"a text")
    assert found_in(tmp_path) == []
    assert len(opened) == strangers.MOST_STRANGERS
    assert max(sum(p.parent == path.parent for p in opened) for path in opened) == 40


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_text_that_cannot_be_read_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(LOG)
    (tmp_path / "secret.txt").chmod(0)
    found = discover([tmp_path])
    assert (found.runs, found.notes) == ((), ())
