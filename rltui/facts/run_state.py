"""The state of a run in words, the same in every view."""

from __future__ import annotations

from rltui.core.level import Level, RunState
from rltui.facts import numbers, sentences
from rltui.health.model import Finding
from rltui.session import RunView

#: States that go on: their age is a duration.
_LASTING = ("stalled", "quiet")
#: States without an age.
_AGELESS = ("waiting", "no points", "log deleted")


def state_words(run: RunView) -> str:
    """ "live, 5 s ago", "stalled for 1 h", "crashed 2 d ago"."""
    word, age = run.verdict.state_word, age_words(run)
    if not age:
        return word
    return f"{word}{_joint(word)}{age}"


def why_unknown(run: RunView) -> str:
    """Why a run has no verdict, or its level without a finding, for people; "" where findings, or
    their absence, say it."""
    report = run.report
    if run.verdict.level is not Level.UNKNOWN:
        silent = run.verdict.state_word == RunState.STALLED.value
        return "" if not silent or (report and report.firing()) else f"silent for {age_words(run)}"
    if not run.infos:
        return "no scalar yet"
    if report is None:
        return "no verdict before the run has been read"
    if report.few_rows is not None:
        return sentences.too_few(report.few_rows)
    if report.judged:
        return "no rule knows its metrics; none has a value that is not finite"
    return "no rule can judge this run"


def since_step(run: RunView, finding: Finding) -> str:
    """The step at which a finding began. It is named where that is a number of rows, and of what
    is about the run as a whole, where it could be a time: "31", "row 31", "step 31"."""
    word = f"{run.step_word} " if run.step_word != "step" or finding.tag is None else ""
    return f"{word}{numbers.step(finding.since_step)}"


def _joint(word: str) -> str:
    return {"live": ", "}.get(word, " for " if word in _LASTING else " ")


def age_words(run: RunView) -> str:
    """How long ago the newest write was, behind the word of the state: "2 d ago"; of a state that
    goes on just how long: "1 h"; of a host out of reach since when. Empty where that says
    nothing."""
    word = run.verdict.state_word
    if word == "unreachable" and run.progress is not None:
        return f"since {numbers.clock(run.progress.lost_at)}"
    if run.progress is None or run.progress.age_s is None or word in _AGELESS:
        return ""
    age = numbers.age(run.progress.age_s)
    return age if word in _LASTING else f"{age} ago"
