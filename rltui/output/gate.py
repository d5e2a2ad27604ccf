"""Whether runs are as expected: text, JSON, JUnit XML, annotations of GitHub, a first file.

Names and texts from logs cannot break out of any of them: they are cleaned of control characters,
line ends among them, and escaped as each form demands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from rltui.core.level import Level
from rltui.core.text import clean
from rltui.draw.glyph import glyph_set
from rltui.facts.gate import Condition, Learned, Outcome
from rltui.output.json_document import Json
from rltui.session import RunView

_GLYPHS = glyph_set("braille")


class Gated(NamedTuple):
    """A run with how far it meets each condition."""

    run: RunView
    outcomes: Sequence[tuple[Condition, Outcome]]

    @property
    def failed(self) -> list[tuple[Condition, Outcome]]:
        """The conditions that it does not meet."""
        return [(c, o) for c, o in self.outcomes if not o.met]


def gate_text(runs: Sequence[Gated], file: Path) -> str:
    """A line for each run, and below it one for each condition that it does not meet."""
    lines = []
    for gated in runs:
        failed, asked = gated.failed, len(gated.outcomes)
        badge = _GLYPHS.badge(Level.BAD if failed else Level.OK)
        count = f"{len(failed)} of {asked}" if failed else f"all {asked}"
        words = "conditions not met" if failed else "conditions met"
        lines.append(f"{badge} {gated.run.name}: {count} {words}")
        for condition, outcome in failed:
            lines.append(
                f"    {clean(str(file))}:{condition.line}: {_sentence(condition, outcome)}"
            )
    return "\n".join(lines) + "\n"


def _sentence(condition: Condition, outcome: Outcome) -> str:
    """ "reward.mean last 10 > 0.4: critic/score/mean is 0.31 (steps 91 to 100)"."""
    why = f" ({clean(condition.why)})" if condition.why else ""
    return f"{clean(condition.text)}: {outcome.words}{why}"


def gate_document(runs: Sequence[Gated], file: Path) -> Json:
    """The document ``rltui.gate/1``."""
    return {
        "schema": "rltui.gate/1",
        "expect": str(file),
        "met": not any(gated.failed for gated in runs),
        "runs": [
            {
                "run": gated.run.key.name,
                "name": gated.run.name,
                "path": str(gated.run.data.path),
                "met": not gated.failed,
                "conditions": [_entry(c, o) for c, o in gated.outcomes],
            }
            for gated in runs
        ],
    }


def _entry(condition: Condition, outcome: Outcome) -> Json:
    first, last = outcome.steps or (None, None)
    return {
        "condition": condition.text,
        "line": condition.line,
        "why": condition.why,
        "met": outcome.met,
        "text": outcome.words,
        "tag": outcome.tag,
        "value": outcome.value,
        "low": outcome.allowed.low,
        "high": outcome.allowed.high,
        "first_step": first,
        "last_step": last,
    }


def gate_junit(runs: Sequence[Gated], file: Path) -> str:
    """JUnit XML: a suite for each run, a case for each condition."""
    root = ElementTree.Element("testsuites", name="rltui gate")
    for gated in runs:
        name, failed = gated.run.name, len(gated.failed)
        suite = ElementTree.SubElement(
            root, "testsuite", name=name, tests=str(len(gated.outcomes)), failures=str(failed),
            errors="0",
        )  # fmt: skip
        for condition, outcome in gated.outcomes:
            case = ElementTree.SubElement(
                suite, "testcase", name=clean(condition.text), classname=name,
                file=clean(str(file)), line=str(condition.line),
            )  # fmt: skip
            if not outcome.met:
                message = _sentence(condition, outcome)
                ElementTree.SubElement(case, "failure", message=message).text = message
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def github_lines(runs: Sequence[Gated], file: Path) -> str:
    """The text, and a workflow command of GitHub for each condition that is not met.

    GitHub takes a line for a command that begins with ``::``, which none of the text does, and a
    line that has ``##[`` anywhere.
    """
    lines = []
    for gated in runs:
        for condition, outcome in gated.failed:
            title = _property(f"{gated.run.name}: {clean(condition.text)}")
            place = f"file={_property(clean(str(file)))},line={condition.line}"
            message = _data(_sentence(condition, outcome))
            lines.append(f"::error {place},title={title}::{message}\n")
    return (gate_text(runs, file) + "".join(lines)).replace("##[", "# #[")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def learned_text(conditions: Iterable[Learned], runs: Sequence[RunView]) -> str:
    """A first file of conditions for the job of these good runs."""
    names = ", ".join(r.name for r in runs)
    lines = [
        "# Conditions for rltui gate --expect. Behind each: what it was in",
        f"# {len(runs)} good runs: {names}",
        "# The limits are wide enough for runs that differ in their seed alone.",
        "expect:",
    ]
    for condition, note in conditions:
        text = condition.replace("'", "''") if condition.startswith("tag ") else condition
        text = f"'{text}'" if condition.startswith("tag ") else text
        lines.append(f"  - {text}" + (f"  # {note}" if note else ""))
    return "\n".join(lines) + "\n"
