"""How a run ended, read from the end of its console log and its exit code. Pure.

The patterns are in ``data/endings.yaml``: names of exceptions and messages of schedulers and
drivers, never metrics. Whether a process is still running is not known here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

from rltui.core.batch import LogTail
from rltui.core.installation import shipped
from rltui.core.level import ExitKind
from rltui.core.text import any_of
from rltui.core.yaml_document import Node, read_document
from rltui.core.yaml_record import Keyed, record_of

#: Ordinary lines that may follow the line that matched; after more of them the process went on.
GOES_ON = 12
#: The same in a log without any row, for an error that the process may have survived: it has not
#: come far enough to show by its rows that it lives.
GOES_ON_EARLY = 3
#: Longest reason and longest quoted line, in characters.
MAX_REASON, MAX_LINE = 60, 300
#: Characters of a line that are searched: what matches begins early in a line.
_LOOKED_AT = 600

#: A line that complains, and what about. That something will change one day is no trouble now.
_COMPLAINT = re.compile(
    r"(?:\b(?:WARN(?:ING)?|ERROR|CRITICAL)\b|\b(?!Future|\w*Deprecation)\w+(?:Warning|Error):|"
    r"^(?:Warning|Error):)(?: [\d-]+ [\d:]+ \[[^\]]+\])?\W*(.+)"
)
_Patterns = tuple[re.Pattern[str], ...]
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

_WEIGHTS = ("root", "stop", "error", "consequence")
_STOP, _ERROR = _WEIGHTS.index("stop"), _WEIGHTS.index("error")
_PREFIX = re.compile(
    r"(?:\((?:[\w.:<>/-]+ )?pid=\d+[^)]*\)|\[(?:rank|default)\d+\]:|\d+: (?=\S| {2})|"
    r"\[repeated \d+x across cluster\])\s?"
)
#: A line of a Ray actor that is not the driver: an error that ends the training is raised in the
#: driver, too (RayTaskError); one in a single sample may have been handled.
_WORKER = re.compile(r"\((?!TaskRunner |main_task |run |train )[\w.:<>/-]+ pid=\d+")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):|^ray\.exceptions\.\w+\(\w+\): ray::")
_CHAINED = re.compile(r"^(?:During handling of the above exc|The above exception was the direct)")
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(?:\([\w.]+\))?(?::(?:\s|$)|$)")
_LOGGED = re.compile(r"^(?:ERROR|INFO|WARNING) [\d-]+ [\d:]+ \[[^\]]+\] ?")


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


class Complaint(NamedTuple):
    """What a log says again and again while the training goes on."""

    text: str
    """Without the numbers that differ."""
    times: int
    advice: str
    """What to do about it where that is known, else ""."""


def _weight(node: Node) -> int:
    return _WEIGHTS.index(node.choice(_WEIGHTS))


class _Sign(NamedTuple):
    """One entry of ``endings``."""

    id: str
    kind: ExitKind
    weight: Annotated[int, Keyed(read=_weight)]
    place: Annotated[str, Keyed("in", lambda node: node.choice(("line", "exception")))]
    patterns: _Patterns
    reason: str
    advice: str
    source: str
    certain: bool = True
    rowless: bool = False
    """Whether it counts only in a log without any row."""
    says: _Patterns = ()
    """Of complaints about the same while the training goes on."""


class _Code(NamedTuple):
    """One entry of ``exit_codes``."""

    kind: ExitKind
    reason: str
    advice: str


class _Document(NamedTuple):
    """``data/endings.yaml``; see there for the meaning of each field."""

    endings: tuple[_Sign, ...]
    exit_codes: Mapping[str, _Code]
    aftermath: _Patterns
    caught: _Patterns


class _Seen(NamedTuple):
    """A line that matches a sign."""

    at: int
    sign: _Sign
    match: re.Match[str]
    worth: tuple[int, int, int]
    """The least is the cause."""


class _Knowledge(NamedTuple):
    signs: tuple[_Sign, ...]
    any_line: re.Pattern[str]
    """Matches every line that some pattern for plain lines may match: a cheap filter."""
    aftermath: re.Pattern[str]
    caught: re.Pattern[str]
    codes: dict[int, ExitStatus]


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
    known = _knowledge()
    if exit_code == 0:
        return known.codes[0]
    lines = [] if tail is None or tail.after_row <= 0 else list(tail.lines[-tail.after_row :])
    if exit_code is not None and tail is not None and not lines:
        lines = _last_traceback(tail.lines)
    workers = frozenset(at for at, line in enumerate(lines) if _WORKER.match(line))
    failed = exit_code is not None
    plain = [bare(line) for line in lines]
    found = _from_lines(plain, known, workers, failed=failed, logged=logged)
    if exit_code is None:
        return found
    if found is not None and found.kind is not ExitKind.FINISHED:
        return found

    return _from_code(exit_code, known)


@lru_cache(maxsize=16)
def complaints(tail: LogTail) -> tuple[Complaint, ...]:
    """Warnings and errors that the last lines of a log repeat, the most frequent first."""
    found = (_COMPLAINT.search(line[:_LOOKED_AT]) for line in tail.lines)
    counts = Counter(_NUMBER.sub("#", m[1].strip()) for m in found if m)
    repeated = [(text, n) for text, n in counts.most_common() if n > GOES_ON_EARLY]
    return tuple(Complaint(_cut(text, MAX_LINE), n, _advice_about(text)) for text, n in repeated)


def _advice_about(text: str) -> str:
    signs = _knowledge().signs
    return next((s.advice for s in signs if any(p.search(text) for p in s.says)), "")


def without_prefixes(line: str) -> str:
    """A line without the prefixes of Ray, torchrun and srun."""
    for _ in range(4):
        found = _PREFIX.match(line)
        if found is None:
            break
        line = line[found.end() :]
    return line


def bare(line: str) -> str:
    """The same without the prefix of vLLM."""
    line = without_prefixes(line)
    return _LOGGED.sub("", line[:_LOOKED_AT]).rstrip()


def _from_code(code: int, known: _Knowledge) -> ExitStatus:
    code = 128 - code if code < 0 else code
    return known.codes.get(code) or ExitStatus(
        ExitKind.CRASHED, f"exit code {code}", "", "The end of the log says more.", "exit(3)"
    )


def _from_lines(
    lines: list[str], known: _Knowledge, workers: frozenset[int], *, failed: bool, logged: bool
) -> ExitStatus | None:
    raised = _raised(lines, known)
    last = {r.at: r for r in raised}
    seen = []
    for at, line in enumerate(lines):
        if at not in last and known.any_line.search(line) is None:
            continue
        if at in last and last[at].caught and not failed:
            continue
        found = _sign_in(line, at in last, at in workers and not failed, known, logged=logged)
        if found is not None:
            sign, match = found
            chained = at in last and last[at].chained
            seen.append(_Seen(at, sign, match, (sign.weight, int(chained), at)))
    certain = failed or any(s.sign.certain for s in seen)
    thrown = [r.at for r in raised if not r.caught]
    for cause in sorted(seen, key=lambda s: s.worth):
        most = GOES_ON if logged or cause.sign.certain else GOES_ON_EARLY
        if failed or not _goes_on(lines, max([cause.at, *thrown]), most, known):
            return _exit_status(cause, lines[cause.at], _stops(seen, cause), certain)
        later = [s for s in seen if s.at > cause.at and s.sign.weight == _STOP]
        if not later:
            return None
        thrown = []  # the process went on after these; something stopped it later

    return None


def _sign_in(
    line: str, thrown: bool, by_worker: bool, known: _Knowledge, *, logged: bool
) -> tuple[_Sign, re.Match[str]] | None:
    """The first sign that a line matches; ``thrown``: it is the last line of a traceback."""
    for sign in known.signs:
        if (sign.place == "exception" and not thrown) or (sign.rowless and logged):
            continue
        if by_worker and sign.weight >= _ERROR:
            continue
        match = next((m for p in sign.patterns if (m := p.search(line)) is not None), None)
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


def _raised(lines: list[str], known: _Knowledge) -> list[_Raised]:
    """The exceptions that tracebacks end with."""
    out: list[_Raised] = []
    inside = caught = False
    before = ""
    for at, line in enumerate(lines):
        if _TRACEBACK.search(line):
            caught = not inside and known.caught.search(before) is not None
            inside = True
        elif inside and line and not line[0].isspace():
            if _EXCEPTION.match(line):
                out.append(_Raised(at, caught, _leads_on(lines, at)))
            inside = False
        elif not inside and _EXCEPTION.match(line) and before.startswith("    "):
            out.append(_Raised(at, False, _leads_on(lines, at)))  # began before the tail
        if line:
            before = line

    return out


def _last_traceback(lines: Sequence[str]) -> list[str]:
    """The traceback with which a log ends; none where it ends otherwise."""
    begins = [at for at, line in enumerate(lines) if _TRACEBACK.search(line)]
    if not begins or not _EXCEPTION.match(bare(lines[-1])):
        return []
    return list(lines[begins[-1] :])


def _leads_on(lines: list[str], at: int) -> bool:
    return any(_CHAINED.match(line) for line in lines[at + 1 : at + 8])


def _goes_on(lines: list[str], at: int, most: int, known: _Knowledge) -> bool:
    """Whether more than ``most`` ordinary lines follow: then the process did not end there."""
    ordinary = sum(1 for line in lines[at + 1 :] if known.aftermath.search(line) is None)
    return ordinary > most


@lru_cache(maxsize=1)
def _knowledge() -> _Knowledge:
    return read_exit_signs(shipped("health", "data", "endings.yaml"))


def read_exit_signs(path: Path) -> _Knowledge:
    """The document of endings. Raises DocumentError when it is wrong."""
    table = read_document(path).table()
    table.need("schema").integer()
    read = record_of(table, _Document)
    table.finish()

    plain = [p.pattern for s in read.endings if s.place == "line" for p in s.patterns]
    aftermath, caught = ([p.pattern for p in group] for group in (read.aftermath, read.caught))
    codes = {
        int(key): ExitStatus(code.kind, code.reason, "", code.advice, f"exit code {key}")
        for key, code in read.exit_codes.items()
    }
    return _Knowledge(read.endings, any_of(plain), any_of(aftermath), any_of(caught), codes)
