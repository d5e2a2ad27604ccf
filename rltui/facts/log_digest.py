"""Errors and warnings in all console logs of a run, read on demand, a slice at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rltui.core.address import PIPE, is_remote
from rltui.core.clock import Clock
from rltui.core.text import counted
from rltui.facts import findings, numbers
from rltui.facts.cache import per_version
from rltui.facts.runs import last_lines
from rltui.files.disk import is_directory, opened
from rltui.files.disk import status as status_of
from rltui.formats.row_times import StampReader
from rltui.session.complaints import (
    ComplaintScan,
    Line,
    Message,
    rank_of_file,
    step_in,
    text_in,
)
from rltui.session.progress import clock_series
from rltui.session.run import JudgedRun
from rltui.sources.side_files.sample_files import files_below
from rltui.store import Series

#: Seconds of a slice of reading, bytes that are read at once, the longest line, and bytes at the
#: end of a file elsewhere that are read.
_SLICE_S = 0.1
_AT_ONCE = 1 << 20
_MOST_LINE = 1 << 16
_MOST_REMOTE = 1 << 25
#: Seconds until logs are looked at again: those of ranks are written while the run is silent.
AGAIN_S = 2.0
#: Endings of logs of ranks and workers.
_SUFFIXES = (".log", ".out", ".err", ".txt", ".stdout", ".stderr", "stderr")
#: Share of the run, and steps at least, within which a message belongs to the onset of a finding.
_NEAR = 0.05
_NEAR_STEPS = 2

_TIME = re.compile(rb"\b\d\d:\d\d:\d\d\b")

Read = Callable[[], Callable[[], None]]


class Said(NamedTuple):
    """A message as it is shown."""

    text: str
    """Its newest line: with the numbers of that."""
    is_error: bool
    times: int
    when: str
    """Its first and last step, else time: "12 to 40"; "" where the logs tell neither."""
    who: str
    """Its ranks: "0-7", or how many processes; "" where the logs do not tell."""
    onset: str
    """ "3 steps before KL blow-up"; "" where no finding began at about its first step."""


class _File:
    """A log that is being read: where it is, its size, the begin of a line whose end is not read
    yet, and the newest step."""

    def __init__(self, path: Path, rank: str) -> None:
        self.path = path
        self.rank = rank
        self.size = _size(path)
        self.begin = self.at = max(0, self.size - _MOST_REMOTE) if is_remote(path) else 0
        self.rest = b""
        self.step: int | None = None


def _size(path: Path) -> int:
    try:
        return status_of(path).st_size
    except OSError:
        return 0


class LogDigest:
    """The messages of one run. Does no I/O: :meth:`request` returns what is to be read next, which
    the owner calls on a thread, and the result of that where the digest lives."""

    def __init__(self, run: JudgedRun, root: Callable[[], Path], clock: Clock) -> None:
        """``root`` finds the directory with the logs of the ranks, on any thread."""
        self._run = run
        self._root = root
        self._clock = clock
        self._scan = ComplaintScan()
        self._files: list[_File] | None = None
        self._generations: tuple[int, ...] = ()
        self._looked = -1, -math.inf
        """Version of the run and time of the newest slice."""
        self.is_reading = True
        """Whether some of the logs has not been read to its end."""
        self.said: Sequence[Said] = ()
        """The errors, then the warnings, the most frequent first."""
        self.note = "reading"
        """How much of the logs was read."""

    def request(self) -> Read | None:
        """The next slice; None when everything was read and nothing is known to be new."""
        run = self._run
        files = self._run.data.files
        version, at = self._looked
        is_known = not self.is_reading and version == run.version
        if is_known and self._clock.monotonic() - at < AGAIN_S:
            return None
        if files.generations != self._generations:  # a log began anew
            self._generations, self._files, self._scan = files.generations, None, ComplaintScan()
        logs = list(files.tails)
        version = run.version
        piped = [line for p in logs if p == PIPE for line in files.tails[p].lines]

        def read() -> Callable[[], None]:
            if self._files is None:
                self._files = self._find(logs)
                self._scan.scan("\n".join(piped).encode(), "", None)
            files = self._files
            until = self._clock.monotonic() + _SLICE_S
            for file in files:
                file.size = max(file.at, _size(file.path))
            complete = all(self._read(f, until) for f in files)

            def apply() -> None:
                found = [*self._scan.messages.values(), self._scan.lost]
                as_of = self._run.as_of
                shown = [
                    m
                    for m in found
                    if m.times
                    and (as_of is None or (_step_of(self._run, m.first) or as_of + 1) <= as_of)
                ]
                order = sorted(shown, key=lambda m: (not m.text, not m.is_error, -m.times))
                self.said = [self._said(m) for m in order]
                self.is_reading = not complete
                self._looked = version, self._clock.monotonic()
                self.note = _note(files, complete)

            return apply

        return read

    def _find(self, logs: Iterable[Path]) -> list[_File]:
        """The logs with metrics, and those of the ranks beside them."""
        root = self._root()
        found = {p: rank_of_file(str(p)) or "" for p in logs if p != PIPE}
        if root != PIPE and is_directory(root):
            for path in files_below(root, _SUFFIXES, lambda p: rank_of_file(str(p)) is not None):
                found.setdefault(path, rank_of_file(str(path.relative_to(root))) or "")
        return list(starmap(_File, found.items()))

    def _read(self, file: _File, until: float) -> bool:
        """Read on in a file, at least a piece; returns whether its end was reached."""
        with suppress(OSError), opened(file.path) as read:
            while file.at < file.size:
                data = read(min(_AT_ONCE, file.size - file.at), file.at)
                if not data:
                    break
                file.at += len(data)
                whole, _, file.rest = (file.rest + data).rpartition(b"\n")
                if len(file.rest) > _MOST_LINE:
                    whole += b"\n" + file.rest
                    file.rest = b""
                file.step = self._scan.scan(whole, file.rank, file.step)
                if self._clock.monotonic() >= until:
                    return file.at >= file.size
        return True

    def _said(self, message: Message) -> Said:
        begin, end = (_step_of(self._run, line) for line in (message.first, message.last))
        if begin is not None and end is not None:
            when = [numbers.step(x) for x in sorted({begin, end})]
        else:
            times = (_TIME.search(raw) for _, raw in (message.first, message.last))
            when = list(dict.fromkeys(t[0].decode() for t in times if t))
        ranks: list[list[int]] = []  # first and last of those in a row: "0-3, 7"
        for rank in sorted(int(r) for r in message.ranks if r.isdecimal()):
            if ranks and rank == ranks[-1][1] + 1:
                ranks[-1][1] = rank
            else:
                ranks.append([rank, rank])
        who = ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in ranks)
        who = who or (f"{len(message.ranks)} procs" if message.ranks else "")
        onset = "" if begin is None else _onset(self._run, begin)
        text = text_in(message.last[1])[0] if message.text else "further messages"
        return Said(text, message.is_error, message.times, " to ".join(when), who, onset)


def _step_of(run: JudgedRun, line: Line) -> int | None:
    """The step of a line, by what was printed before it or by its time."""
    printed, raw = line
    if printed is not None and printed <= (run.data.last_step or 0):
        return printed
    moment = StampReader().moment(raw)
    if moment is None or moment[0] or (series := _clock(run)) is None:
        return None
    at = int(np.searchsorted(series.wall_times, moment[1]))
    return int(series.steps[min(at, series.count - 1)])


def line_at(run: JudgedRun, step: int) -> int | None:
    """Which of the last lines of the log is the first one of a step, or of a later one; None where
    they tell no step, or begin later."""
    printed = None
    before = False
    for at, text in enumerate(last_lines(run)):
        raw = text.encode()
        printed = step_in(raw, 0, len(raw), printed)
        found = _step_of(run, (printed, raw))
        if found is not None and found >= step:
            return at if before or found == step else None
        before = before or found is not None
    return None


@per_version
def _clock(run: JudgedRun) -> Series | None:
    return clock_series(run.data)


def _note(files: Sequence[_File], complete: bool) -> str:
    done = sum(f.at - f.begin for f in files)
    total = sum(f.size - f.begin for f in files)
    count = f"{counted(len(files), 'log')}, {numbers.exact(total)} bytes"
    cut = ", of files elsewhere the end" if any(f.begin for f in files) else ""
    reading = "" if complete else f"reading {numbers.percent(done / max(total, 1), whole=True)} of "
    return f"{reading}{count}{cut}"


def _onset(run: JudgedRun, step: int) -> str:
    """Where ``step`` stands from the nearest onset of a finding, if one is near."""
    near = max(_NEAR_STEPS, _NEAR * (run.data.last_step or 0))
    found = [r.finding for r in findings.finding_rows(run)]
    onsets = [(f.since_step - step, f.title) for f in found if f.since_step is not None]
    ahead, title = min(onsets, key=lambda x: abs(x[0]), default=(math.inf, ""))
    if abs(ahead) > near:
        return ""
    count = f"{numbers.step(abs(ahead))} {run.step_word}{'s' if abs(ahead) != 1 else ''}"
    return (
        f"{count} {'before' if ahead > 0 else 'after'} {title}" if ahead else f"when {title} began"
    )
