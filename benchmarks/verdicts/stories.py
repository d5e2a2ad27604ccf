"""Stories of sick runs as ``rltui brief`` says them, each beside what its curves say:
``python -m benchmarks.verdicts.stories CORPORA > docs/stories.md``.

The runs, what a person read off their curves before the verdict, and what that person thinks of it
are in ``stories.yaml``. CORPORA is the directory of the labelled logs; of each only its path is
told.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import yaml

from rltui.config import load_config
from rltui.output.brief import story_text
from rltui.session import Session

TABLE = Path(__file__).with_suffix(".yaml")
_HEAD = """\
# Stories

Sick runs: what a person read off the curves first, and the worst story as `rltui brief` says
it. *Right*: first cause and action are those of the curves, no effect stands before its cause.
Written by `python -m benchmarks.verdicts.stories CORPORA`; the logs are not part of the project.
"""


class Read(NamedTuple):
    """One run, read by a person."""

    path: str
    """Below the directory of all logs."""
    curves: str
    """What moved first, the cause that its owner can change, and what followed."""
    verdict: str
    """ "right", "partly" or "wrong"."""
    why: str = ""
    """What is not right."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", type=Path)
    corpora = parser.parse_args().corpora
    reads = [Read(**entry) for entry in yaml.safe_load(TABLE.read_text(encoding="utf-8"))]
    counts = Counter(read.verdict for read in reads)
    told = ", ".join(f"{counts[word]} {word}" for word in ("right", "partly", "wrong"))
    sys.stdout.write(f"{_HEAD}\nOf {len(reads)}: {told}.\n")
    for read in reads:
        sys.stdout.write(_section(read, corpora))
    return 0


def _section(read: Read, corpora: Path) -> str:
    why = f": {read.why}" if read.why else ""
    story = _story(corpora / read.path) or "  no story\n"
    head = f"\n## {read.path}\n\nCurves: {read.curves} *{read.verdict.capitalize()}{why}.*\n"
    return f"{head}\n```text\n{story}```\n"


def _story(path: Path) -> str:
    """The worst story of the first run below a path, without the line that names it and its age."""
    session = Session((path,), load_config(None, {}, {}))
    try:
        session.read_all()
        texts = [story_text(run, "") for run in session.runs()]
    finally:
        session.stop()
    return next((text.partition("\n")[2] for text in texts if text), "")


if __name__ == "__main__":
    sys.exit(main())
