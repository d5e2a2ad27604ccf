"""Settings that are the likely cause of the worst story, in words."""

from __future__ import annotations

from rltui.facts import sentences
from rltui.health.model import Suspect
from rltui.session import RunView


def suspect_of(run: RunView, tag: str) -> Suspect | None:
    """What is unusual about a setting that is a likely cause; None for any other tag."""
    suspects = run.report.diagnosed.suspects if run.report else ()
    return next((s for s in suspects if s.tag == tag), None)


def usually(suspect: Suspect) -> str:
    """ "usually ≤ 0.02"."""
    return f"usually {sentences.bounds(suspect.low, suspect.high)}"


def suspect_words(suspect: Suspect) -> str:
    """ "usually ≤ 0.02: the likely cause of what fires"."""
    return f"{usually(suspect)}: the likely cause of what fires"
