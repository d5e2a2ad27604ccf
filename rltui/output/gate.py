"""Whether runs are as expected: text, JSON, JUnit XML, annotations of GitHub, a first file.

Names and texts from logs are cleaned, so that none has a line end, and escaped as each form
demands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from rltui.core.level import Level
from rltui.core.text import Json, clean, counted
from rltui.draw.glyph import glyph_set
from rltui.facts.gate import Condition, Outcome
from rltui.session import JudgedRun


class Gated(NamedTuple):
    """A run with how far it meets each condition of a file."""

    run: JudgedRun
    file: Path
    outcomes: Sequence[tuple[Condition, Outcome]]

    @property
    def failed(self) -> list[tuple[int, str, str]]:
        """Line, text and sentence of each condition that it does not meet."""
        found = [(c.line, clean(c.text), o.words) for c, o in self.outcomes if not o.met]
        return [(line, text, f"{text}: {words}") for line, text, words in found]


def gate_text(runs: Sequence[Gated]) -> str:
    """A line for each run, and below it one for each condition that it does not meet."""
    lines = []
    for gated in runs:
        failed = gated.failed
        skipped = sum(o.skipped for _, o in gated.outcomes)
        asked = len(gated.outcomes) - skipped
        badge = glyph_set("braille").badge(Level.BAD if failed else Level.OK)
        words = (
            f"{len(failed)} of {counted(asked, 'condition')} not met"
            if failed
            else f"all {asked} met"
        )
        words += f", {skipped} left out" if skipped else ""
        lines.append(f"{badge} {gated.run.name}: {words}\n")
        file = clean(str(gated.file))
        lines += [f"    {file}:{line}: {sentence}\n" for line, _, sentence in failed]
    return "".join(lines)


def gate_document(runs: Sequence[Gated]) -> Json:
    """The document ``rltui.gate/1``."""
    entries = [
        {
            "run": gated.run.key.name,
            "path": str(gated.run.data.path),
            "met": not gated.failed,
            "conditions": [
                {"condition": c.text, "line": c.line, **o._asdict()} for c, o in gated.outcomes
            ],
        }
        for gated in runs
    ]
    return {"schema": "rltui.gate/1", "met": all(e["met"] for e in entries), "runs": entries}


def gate_junit(runs: Sequence[Gated]) -> str:
    """JUnit XML by the schema of Jenkins: a suite for each run, a case for each condition."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for gated in runs:
        name = quoteattr(gated.run.name)
        skipped = sum(o.skipped for _, o in gated.outcomes)
        counts = f'tests="{len(gated.outcomes)}" failures="{len(gated.failed)}" errors="0"'
        lines.append(f'<testsuite name={name} {counts} skipped="{skipped}">')
        for condition, outcome in gated.outcomes:
            lines.append(f"<testcase classname={name} name={quoteattr(clean(condition.text))}>")
            if outcome.skipped or not outcome.met:
                kind = "skipped" if outcome.skipped else "failure"
                lines.append(f'<{kind} type="condition" message={quoteattr(outcome.words)}/>')
            lines.append("</testcase>")
        lines.append("</testsuite>")
    return "\n".join([*lines, "</testsuites>\n"])


def gate_github(runs: Sequence[Gated]) -> str:
    """The text, then a workflow command of GitHub for each condition that is not met.

    GitHub takes for a command what begins a line with ``::``, as none of the text does, and
    ``##[`` anywhere in a line.
    """
    lines = []
    for gated in runs:
        file = _escaped(clean(str(gated.file)))
        for line, text, sentence in gated.failed:
            title = _escaped(f"{gated.run.name}: {text}")
            message = sentence.replace("%", "%25")
            lines.append(f"::error file={file},line={line},title={title}::{message}\n")
    return (gate_text(runs) + "".join(lines)).replace("##[", "# #[")


def _escaped(text: str) -> str:
    """A clean text as a property of a workflow command."""
    return text.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


def learned_text(conditions: Iterable[tuple[str, str]], runs: Sequence[JudgedRun]) -> str:
    """A first file with these conditions, and what the good runs had."""
    lines = [f"# Learned by rltui gate --learn from {len(runs)} good runs:"]
    lines += [f"#   {run.name}" for run in runs]
    lines += ["# What differs between seeds alone stays within. Behind each: what these runs had."]
    lines.append("expect:")
    for text, note in conditions:
        quoted = text.replace("'", "''") if text.startswith("tag ") else ""
        line = f"  - '{quoted}'" if quoted else f"  - {text}"
        lines.append(f"{line}  # {note}" if note else line)
    return "\n".join(lines) + "\n"
