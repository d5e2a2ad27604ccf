"""How a run ended, read from the end of its console log and its exit code. Pure.

The patterns are in ``data/log_signs/endings.yaml``: names of exceptions and messages of schedulers
and drivers, never metrics. Whether a process is still running is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, NamedTuple

from rltui.core.batch import LogTail
from rltui.core.level import ExitKind
from rltui.core.text import Names, fit
from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed
from rltui.formats.log_sign import Patterns, bare, first_match, line_forms, signs

#: Ordinary lines that may follow the line that matched; after more of them the process went on.
GOES_ON = 12
#: The same in a log without any row, for an error that the process may have survived: it has not
#: come far enough to show by its rows that it lives.
GOES_ON_EARLY = 3
#: Longest reason and longest quoted line, in cells.
MAX_REASON = 60
MAX_LINE = 300
_WEIGHTS = ("root", "stop", "error", "consequence")
_STOP = _WEIGHTS.index("stop")
_ERROR = _WEIGHTS.index("error")


class ExitStatus(NamedTuple):
    """The end of a run and its reason."""

    kind: ExitKind
    reason: str
    """A few words for a header: ``CUDA out of memory``."""
    line: str = ""
    """The line that shows it, without prefixes; empty when only the exit code does."""
    advice: str = ""
    source: str = ""
    certain: bool = True
    """False where the process may have caught the error: believe it once the log stays quiet."""
    after: Names = ()
    """Later reasons why the run stopped, in the words of a reason, oldest first."""
    users: str = ""
    """Sentence about the processes that used most of the memory, where the log lists them."""


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
    users: Patterns = ()
    """Patterns of lines with the ``size`` in GB and ``name`` of a process that used the memory."""
    says: Patterns = ()
    """Patterns of complaints about this reason while the training goes on."""


class _Document(NamedTuple):
    """``data/log_signs/endings.yaml``; see there for the meaning of each field."""

    endings: tuple[Ending, ...]
    exit_codes: Mapping[str, ExitStatus]
    aftermath: Patterns
    caught: Patterns


class _Seen(NamedTuple):
    """A line that matches a sign. The least is the cause: the weightiest, without one that another
    exception came of, the earliest."""

    weight: int
    is_chained: bool
    at: int
    sign: Ending
    reason: str

    def is_before(self, other: _Seen) -> bool:
        """Whether the other one stopped the run after this."""
        return other.at > self.at and other.weight == _STOP


class _Raised(NamedTuple):
    """The last line of a traceback."""

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
        # the traceback with which the log ends
        forms = line_forms()
        begins = [at for at, line in enumerate(tail.lines) if forms.traceback.search(line)]
        if begins and forms.exception.search(bare(tail.lines[-1])):
            lines = list(tail.lines[begins[-1] :])
    worker = line_forms().worker
    workers = frozenset(at for at, line in enumerate(lines) if worker.search(line))
    plain = [bare(line) for line in lines]
    found = _from_lines(plain, workers, failed=exit_code is not None, logged=logged)
    if exit_code is None or (found is not None and found.kind is not ExitKind.FINISHED):
        return found

    return _from_code(exit_code)


def advice_about(text: str) -> str:
    """Advice about a complaint of the same as an ending; "" where there is none."""
    return next((e.advice for e in _known().endings if first_match(e.says, text)), "")


def _from_code(code: int) -> ExitStatus:
    code = 128 - code if code < 0 else code
    known = _known().exit_codes.get(str(code))
    if known is not None:
        return known._replace(source=f"exit code {code}")
    advice = "The end of the log says more."
    return ExitStatus(ExitKind.CRASHED, f"exit code {code}", "", advice, "exit(3)")


def _from_lines(
    lines: list[str], workers: frozenset[int], *, failed: bool, logged: bool
) -> ExitStatus | None:
    raised = _raised(lines)
    seen = []
    for at, line in enumerate(lines):
        last = raised.get(at)
        if last is not None and last.caught and not failed:
            continue
        found = _sign_in(line, last is not None, at in workers and not failed, logged=logged)
        if found is not None:
            sign, reason = found
            is_chained = last is not None and last.chained
            seen.append(_Seen(sign.weight, is_chained, at, sign, reason))
    seen.sort(key=lambda found: found[:3])
    thrown = [at for at, last in raised.items() if not last.caught]
    for cause in seen:
        most = GOES_ON if logged or cause.sign.certain else GOES_ON_EARLY
        stops = [s.sign.reason for s in sorted(seen, key=lambda s: s.at) if cause.is_before(s)]
        if failed or not _goes_on(lines, max([cause.at, *thrown]), most):
            return ExitStatus(
                cause.sign.kind,
                cause.reason,
                fit(lines[cause.at].strip(), MAX_LINE),
                cause.sign.advice,
                cause.sign.source,
                certain=failed or any(s.sign.certain for s in seen),
                after=tuple(dict.fromkeys(r for r in stops if r != cause.sign.reason)),
                users=_users(cause.sign, lines[cause.at :]),
            )
        if not stops:
            return None
        thrown = []  # the process went on after these; something stopped it later

    return None


def _users(sign: Ending, lines: list[str]) -> str:
    """Sentence about the processes that used most of the memory, where the log lists them."""
    found = (first_match(sign.users, line) for line in lines)
    sizes = [(float(m["size"]), m["name"]) for m in found if m is not None]
    largest = sorted(sizes, reverse=True)[:3]
    listed = ", ".join(f"{fit(name, MAX_REASON)} ({size:g} GB)" for size, name in largest)
    return f"Largest users: {listed}." if listed else ""


def _sign_in(
    line: str, thrown: bool, by_worker: bool, *, logged: bool
) -> tuple[Ending, str] | None:
    """The first sign that a line matches, with its reason; ``thrown``: it is the last line of a
    traceback."""
    for sign in _known().endings:
        if (sign.place == "exception" and not thrown) or (sign.rowless and logged):
            continue
        if by_worker and sign.weight >= _ERROR:
            continue
        match = first_match(sign.patterns, line)
        if match is not None:
            reason = sign.reason.replace("{line}", line.strip())
            named = match[1] or "" if match.re.groups else "?"
            return sign, fit(reason.replace("{1}", named), MAX_REASON)
    return None


def _raised(lines: list[str]) -> dict[int, _Raised]:
    """The exceptions that tracebacks end with, by the place of their lines."""
    out: dict[int, _Raised] = {}
    inside = caught = False
    before = ""
    forms = line_forms()
    for at, line in enumerate(lines):
        if forms.traceback.search(line):
            caught = not inside and first_match(_known().caught, before) is not None
            inside = True
        elif line and not line[0].isspace() and (inside or before.startswith("    ")):
            if forms.exception.search(line):
                chained = any(map(forms.chained.search, lines[at + 1 : at + 8]))
                out[at] = _Raised(inside and caught, chained)  # one may have begun before the tail
            inside = False
        if line:
            before = line

    return out


def _goes_on(lines: list[str], at: int, most: int) -> bool:
    """Whether more than ``most`` ordinary lines follow: then the process did not end there."""
    ordinary = sum(first_match(_known().aftermath, line) is None for line in lines[at + 1 :])
    return ordinary > most


def _known() -> _Document:
    return signs(_Document, "endings")
