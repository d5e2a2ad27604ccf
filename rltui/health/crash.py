"""How a run ended, read from the end of its console log and its exit code. Pure.

The patterns are in ``data/log_signs/endings.yaml``: names of exceptions and messages of schedulers
and drivers, never metrics. Whether a process is still running is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, NamedTuple

from rltui.core.batch import LogTail
from rltui.core.level import ExitKind
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed
from rltui.formats.log_sign import Patterns, bare, first_match, line_forms, signs

#: Ordinary lines that may follow the line that matched; after more of them the process went on.
GOES_ON = 12
#: The same in a log without any row, for an error that the process may have survived: it has not
#: come far enough to show by its rows that it lives.
GOES_ON_EARLY = 3
#: Longest reason and longest quoted line, in characters.
MAX_REASON, MAX_LINE = 60, 300
_WEIGHTS = ("root", "stop", "error", "consequence")
_STOP, _ERROR = _WEIGHTS.index("stop"), _WEIGHTS.index("error")


class ExitStatus(NamedTuple):
    """The end of a run and its reason."""

    kind: ExitKind
    reason: str
    """A few words for a header: ``CUDA out of memory``."""
    line: str
    """The line that shows it, without prefixes; empty when only the exit code does."""
    advice: str
    source: str
    certain: bool = True
    """False where the process may have caught the error: believe it once the log stays quiet."""
    after: tuple[str, ...] = ()
    """What stopped the run after that, in the words of a reason, oldest first."""


def _weight(node: Node) -> int:
    return _WEIGHTS.index(node.choice(_WEIGHTS))


class Ending(NamedTuple):
    """A reason why a run is over: one entry of ``endings``."""

    id: str
    kind: ExitKind
    weight: Annotated[int, Keyed(read=_weight)]
    place: Annotated[str, Keyed("in", lambda node: node.choice(("line", "exception")))]
    patterns: Patterns
    reason: str
    advice: str
    source: str
    certain: bool = True
    rowless: bool = False
    """Whether it counts only in a log without any row."""
    says: Patterns = ()
    """Of complaints about the same while the training goes on."""


class _Code(NamedTuple):
    """One entry of ``exit_codes``."""

    kind: ExitKind
    reason: str
    advice: str


class _Document(NamedTuple):
    """``data/log_signs/endings.yaml``; see there for the meaning of each field."""

    endings: tuple[Ending, ...]
    exit_codes: Mapping[str, _Code]
    aftermath: Patterns
    caught: Patterns


class _Seen(NamedTuple):
    """A line that matches a sign."""

    at: int
    sign: Ending
    match: re.Match[str]
    worth: tuple[int, int, int]
    """The least is the cause."""


class _Raised(NamedTuple):
    """The last line of a traceback."""

    at: int
    caught: bool
    chained: bool
    """Another traceback was caused by it."""


@lru_cache(maxsize=16)
def exit_status(
    tail: LogTail | None, exit_code: int | None = None, *, logged: bool = True
) -> ExitStatus | None:
    """How the run ended, or None when nothing shows that it did.

    Only lines after the last row of metrics count: a run that logged again had not ended. But one
    with an exit code has, and a tracker may write its last row after what it printed at its end. An
    exit code of 0 outweighs any line. ``logged``: whether the run has any row; signs that are too
    weak to end a training that was going on count in a log without rows. The last few results are
    cached, so that an unchanged tail costs nothing.
    """
    if exit_code == 0:
        return _from_code(0)
    lines = [] if tail is None or tail.after_row <= 0 else list(tail.lines[-tail.after_row :])
    if exit_code is not None and tail is not None and not lines:
        lines = _last_traceback(tail.lines)
    worker = line_forms().worker
    workers = frozenset(at for at, line in enumerate(lines) if worker.search(line))
    plain = [bare(line) for line in lines]
    found = _from_lines(plain, workers, failed=exit_code is not None, logged=logged)
    if exit_code is None or (found is not None and found.kind is not ExitKind.FINISHED):
        return found

    return _from_code(exit_code)


def advice_about(text: str) -> str:
    """What to do about a complaint of the same as an ending; "" where that is not known."""
    return next((e.advice for e in _known().endings if first_match(e.says, text)), "")


def _from_code(code: int) -> ExitStatus:
    code = 128 - code if code < 0 else code
    known = _known().exit_codes.get(str(code))
    if known is None:
        advice = "The end of the log says more."
        return ExitStatus(ExitKind.CRASHED, f"exit code {code}", "", advice, "exit(3)")
    return ExitStatus(known.kind, known.reason, "", known.advice, f"exit code {code}")


def _from_lines(
    lines: list[str], workers: frozenset[int], *, failed: bool, logged: bool
) -> ExitStatus | None:
    raised = _raised(lines)
    last = {r.at: r for r in raised}
    seen = []
    for at, line in enumerate(lines):
        if at in last and last[at].caught and not failed:
            continue
        found = _sign_in(line, at in last, at in workers and not failed, logged=logged)
        if found is not None:
            sign, match = found
            chained = at in last and last[at].chained
            seen.append(_Seen(at, sign, match, (sign.weight, int(chained), at)))
    certain = failed or any(s.sign.certain for s in seen)
    thrown = [r.at for r in raised if not r.caught]
    for cause in sorted(seen, key=lambda s: s.worth):
        most = GOES_ON if logged or cause.sign.certain else GOES_ON_EARLY
        if failed or not _goes_on(lines, max([cause.at, *thrown]), most):
            return _exit_status(cause, lines[cause.at], _stops(seen, cause), certain)
        later = [s for s in seen if s.at > cause.at and s.sign.weight == _STOP]
        if not later:
            return None
        thrown = []  # the process went on after these; something stopped it later

    return None


def _sign_in(
    line: str, thrown: bool, by_worker: bool, *, logged: bool
) -> tuple[Ending, re.Match[str]] | None:
    """The first sign that a line matches; ``thrown``: it is the last line of a traceback."""
    for sign in _known().endings:
        if (sign.place == "exception" and not thrown) or (sign.rowless and logged):
            continue
        if by_worker and sign.weight >= _ERROR:
            continue
        match = first_match(sign.patterns, line)
        if match is not None:
            return sign, match
    return None


def _stops(seen: Sequence[_Seen], cause: _Seen) -> tuple[str, ...]:
    """What stopped the run after its cause, each reason once."""
    later = (s.sign.reason for s in seen if s.at > cause.at and s.sign.weight == _STOP)
    return tuple(dict.fromkeys(r for r in later if r != cause.sign.reason))


def _exit_status(cause: _Seen, line: str, after: tuple[str, ...], certain: bool) -> ExitStatus:
    sign, match = cause.sign, cause.match
    line = _cut(line.strip(), MAX_LINE)
    reason = sign.reason.replace("{line}", line)
    if match.re.groups and "{1}" in reason:
        reason = reason.replace("{1}", match[1] or "")
    reason = _cut(reason.replace("{1}", "?"), MAX_REASON)
    return ExitStatus(sign.kind, reason, line, sign.advice, sign.source, certain, after)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _raised(lines: list[str]) -> list[_Raised]:
    """The exceptions that tracebacks end with."""
    out: list[_Raised] = []
    inside = caught = False
    before = ""
    forms = line_forms()
    for at, line in enumerate(lines):
        if forms.traceback.search(line):
            caught = not inside and first_match(_known().caught, before) is not None
            inside = True
        elif inside and line and not line[0].isspace():
            if forms.exception.search(line):
                out.append(_Raised(at, caught, _leads_on(lines, at)))
            inside = False
        elif not inside and before.startswith("    ") and forms.exception.search(line):
            out.append(_Raised(at, False, _leads_on(lines, at)))  # began before the tail
        if line:
            before = line

    return out


def _last_traceback(lines: Sequence[str]) -> list[str]:
    """The traceback with which a log ends; none where it ends otherwise."""
    forms = line_forms()
    begins = [at for at, line in enumerate(lines) if forms.traceback.search(line)]
    if not begins or not forms.exception.search(bare(lines[-1])):
        return []
    return list(lines[begins[-1] :])


def _leads_on(lines: list[str], at: int) -> bool:
    chained = line_forms().chained
    return any(chained.search(line) for line in lines[at + 1 : at + 8])


def _goes_on(lines: list[str], at: int, most: int) -> bool:
    """Whether more than ``most`` ordinary lines follow: then the process did not end there."""
    ordinary = sum(first_match(_known().aftermath, line) is None for line in lines[at + 1 :])
    return ordinary > most


def _known() -> _Document:
    return signs(_Document, "endings")
