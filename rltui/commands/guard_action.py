"""Actions of ``rltui guard`` on a sick run. Process, job, file and command come from its user
alone; names from logs are in variables of its environment, where no shell reads them as anything
else."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from rltui.core.errors import UsageError
from rltui.core.level import choose
from rltui.core.secrets import without_secrets
from rltui.core.text import clean, fit, kept_clean
from rltui.session.child_process import ChildProcess

#: Seconds after which a command is ended, with its children.
_PATIENCE_S = 600.0
#: Characters of what a failed command said that are kept.
_SAID = 200
#: Characters of a name that a command is given.
_NAME = 200
_JOB = re.compile(r"[0-9]+([_+][0-9]+)?")
_SIGNALS = {s.name.removeprefix("SIG").lower(): s for s in signal.Signals}
_HOW = (
    "--on-bad 'signal TERM PID', 'scancel JOB [SIGNAL]', 'touch FILE' or 'run PROGRAM ARGUMENT...'"
)


class Done(NamedTuple):
    """How an action ended."""

    error: str = ""
    """Why it failed; "" if it did not."""
    exit_code: int | None = None
    """Exit code of the program that was run."""


class Action(Protocol):
    """One thing that a guard may do, once."""

    @property
    def words(self) -> str:
        """Description for people: "send TERM to process 4242 (python)"."""

    def prepare(self) -> None:
        """Raise UsageError where it cannot be done; note what must be the same when it is."""

    def do(self, facts: Mapping[str, str]) -> Done:
        """Do it; ``facts`` of the run: run, step, symptom."""


def parse_action(text: str) -> Action:
    """The action of ``--on-bad``. Raises UsageError."""
    try:
        given = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--on-bad: {error}; {_HOW}") from None
    match given:
        case ["signal", name, pid] if pid.isascii() and pid.isdigit():
            return Signal(_signal_named(name), int(pid))
        case ["scancel", job, *names] if _JOB.fullmatch(job) and len(names) < 2:
            signals = map(_signal_named, names)
            options = (f"--signal={found.name.removeprefix('SIG')}" for found in signals)
            return Command(["scancel", *options, job])
        case ["touch", path] if path:
            return Touch(Path(path))
        case ["run", program, *arguments] if program:
            return Command([program, *arguments])
    raise UsageError(f"--on-bad {shlex.quote(clean(text))}: {_HOW}")


def _signal_named(name: str) -> signal.Signals:
    found, hint = choose(name.upper().removeprefix("SIG"), _SIGNALS)
    if found is None:
        raise UsageError(f"--on-bad: no signal {clean(name)!r}{hint}")
    return found


# -- a process -------------------------------------------------------------------------------


def _process(pid: int) -> tuple[str, int, int] | None:
    """Name, owner and start (clock ticks since the machine started) of the process of this number,
    which tell it from a later one; None for none, or one that has ended and is only waited for."""
    place = Path("/proc", str(pid))
    try:
        raw = (place / "stat").read_bytes()
        owner = place.stat().st_uid
    except OSError:
        return None
    head, _, rest = raw.rpartition(b")")  # around the name, which may hold any byte
    state, *fields = rest.split()
    if state in (b"Z", b"X"):
        return None
    return head.partition(b"(")[2].decode("utf-8", "replace"), owner, int(fields[18])


class Signal:
    """Sends a signal to a process: to that one which had the number when the guard began."""

    def __init__(self, number: signal.Signals, pid: int) -> None:
        self._signal = number
        self._pid = pid
        self._known: tuple[str, int, int] | None = None

    @property
    def words(self) -> str:
        name = "" if self._known is None else f" ({clean(self._known[0])})"
        return f"send {self._signal.name.removeprefix('SIG')} to process {self._pid}{name}"

    def prepare(self) -> None:
        if not Path("/proc/self/stat").exists():
            raise UsageError("--on-bad signal needs /proc, which only Linux has")
        if self._pid in (0, 1, os.getpid()):
            raise UsageError(f"--on-bad signal: {self._pid} is no process of a training")
        self._known = _process(self._pid)
        if self._known is None:
            raise UsageError(f"--on-bad signal: no process {self._pid} runs on this machine")
        if os.geteuid() not in (0, self._known[1]):
            raise UsageError(f"--on-bad signal: process {self._pid} belongs to another user")

    def do(self, facts: Mapping[str, str]) -> Done:
        del facts
        try:
            handle = os.pidfd_open(self._pid)  # stays with this process, whatever gets its number
        except (OSError, AttributeError):  # it has ended, or kernel or libc are older
            handle = None
        try:
            now = _process(self._pid)
            if now is None:
                return Done(f"process {self._pid} has ended")
            if self._known is None or now[1:] != self._known[1:]:  # it may have a new name
                return Done(f"process {self._pid} is another one by now: no signal was sent")
            if handle is None:
                os.kill(self._pid, self._signal)
            else:
                signal.pidfd_send_signal(handle, self._signal)
        except OSError as error:
            return Done(error.strerror or str(error))
        finally:
            if handle is not None:
                os.close(handle)
        return Done()


# -- a file ----------------------------------------------------------------------------------


class Touch:
    """Makes an empty file; never one that is there already, nor where a link leads."""

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser().absolute()

    @property
    def words(self) -> str:
        return f"make the file {clean(str(self._path))}"

    def prepare(self) -> None:
        if not self._path.parent.is_dir():
            raise UsageError(f"--on-bad touch: {clean(str(self._path.parent))}: no such directory")
        if os.path.lexists(self._path):
            raise UsageError(f"--on-bad touch: {clean(str(self._path))} is there already")

    def do(self, facts: Mapping[str, str]) -> Done:
        del facts
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except OSError as error:
            return Done(error.strerror or str(error))
        return Done()


# -- a command -------------------------------------------------------------------------------


class Command:
    """Runs a program, without a shell. It has nothing to read, and the facts of the run in the
    variables GUARD_RUN, GUARD_STEP and GUARD_SYMPTOM."""

    def __init__(self, words: Sequence[str], patience_s: float = _PATIENCE_S) -> None:
        self._words = list(words)
        self._patience_s = patience_s
        self._program: str | None = None

    @property
    def words(self) -> str:
        return f"run {clean(without_secrets(shlex.join(self._words)))}"

    def prepare(self) -> None:
        name = self._words[0]
        found = shutil.which(name)
        if found is None:
            raise UsageError(f"--on-bad: no program {clean(name)}")
        if os.sep not in name and not Path(found).is_absolute():
            where = f"{clean(found)}, in a relative directory of PATH"
            raise UsageError(f"--on-bad: {clean(name)} would be {where}: write which you mean")
        self._program = str(Path(found).absolute())

    def do(self, facts: Mapping[str, str]) -> Done:
        variables = {
            f"GUARD_{name.upper()}": fit(kept_clean(value), _NAME) for name, value in facts.items()
        }
        ended = ChildProcess().run(
            self._words,
            self._patience_s,
            executable=self._program,
            env={**os.environ, **variables},
        )
        if ended.code is None:
            return Done(ended.said)
        if ended.code == 0:
            return Done("", 0)
        said = fit(clean(without_secrets(ended.said)), _SAID)
        return Done(f"exit code {ended.code}" + (f": {said}" if said else ""), ended.code)
