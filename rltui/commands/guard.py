"""``rltui guard``: watches one run and does one thing, once, when it has been bad for a while.

What it saw and did stands in an audit log of JSON lines, ``rltui.guard/1``, in the user's state
directory. A line is there before anything is done, so that no later guard does it again.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

from rltui.commands import command
from rltui.commands.departure import departing
from rltui.commands.guard_action import Action, Done, parse_action
from rltui.commands.standard_output import emit, tell
from rltui.commands.terminal import reading_pipe
from rltui.commands.verbs import Exit
from rltui.core.address import is_remote
from rltui.core.errors import UsageError
from rltui.core.installation import state_directory
from rltui.core.text import Json, clean, first_of
from rltui.facts import numbers, sentences
from rltui.health.model import Report
from rltui.session import JudgedRun, Session
from rltui.session.event import updates
from rltui.session.guarding import Held, Hold, Reason, reason_to_stop, rehearsed
from rltui.session.progress import Progress

#: Runs in one place whose first rows are less seconds apart are the same.
_SAME_S = 1.0


def guard(options: argparse.Namespace) -> int:
    """Watch a run and act once, or say what would have been done."""
    action = None if options.on_bad is None else parse_action(options.on_bad)
    hold = Hold(*options.hold)
    if options.dry_run:
        with reading_pipe(options):
            session = command.open_session(options, command.open_config(options), partial=True)
            session.read_all()
            command.report_trouble(session)
            runs = [run for run in session.runs() if run.data.last_step is not None]
            if not runs:
                return command.nothing_readable(options, session)
            if refused := _refusal(action):
                tell(f"rltui: a guard that begins now would be refused: {refused}\n")
            acts = [_rehearse_run(options, session, run, action, hold) for run in runs]
            return command.with_faults(Exit.BAD if any(acts) else Exit.OK, session.faults)
    if action is None:
        raise UsageError("say what to do with --on-bad, or look first with --dry-run")
    if options.json:
        raise UsageError("--json needs --dry-run")
    action.prepare()
    return departing(lambda _: _guard(options, action, hold), sys.stdout, debugged=options.debug)


def _guard(options: argparse.Namespace, action: Action, hold: Hold) -> int:
    with reading_pipe(options):
        session = command.open_session(
            options, command.open_config(options), waits=True, partial=True
        )
        command.report_trouble(session)
        audit = AuditLog(state_directory(os.environ) / "guard" / "audit.jsonl")
        try:
            audit.write(None)
        except OSError as error:
            raise UsageError(f"{clean(str(audit.path))}: {error.strerror}: no audit log") from None
        tell(
            f"rltui: waits for a live run; will {action.words} after {hold.words} of bad, once; "
            f"log: {clean(str(audit.path))}\n"
        )
        watch = Guard(session, action, hold, audit, again=options.again, waits=options.wait)
        code: int | None = None
        with closing(updates(session)) as each:
            for _ in each:
                code = watch.look()
                if code is not None:
                    break
        return command.with_faults(Exit.OK if code is None else code, session.faults)


class Guard:
    """Guards the first run of a session that is live. Owned by the command."""

    def __init__(
        self, session: Session, action: Action, hold: Hold, audit: AuditLog,
        *, again: bool = False, waits: bool = False,
    ) -> None:  # fmt: skip
        """``again``: whether to act on a run on which an earlier guard has acted; ``waits``: for a
        live run, although all that are there have ended."""
        self._session = session
        self._action = action
        self._hold, self._held = hold, Held(hold)
        self._audit = audit
        self._again = again
        self._waits = waits
        self._run: JudgedRun | None = None
        self._report: Report | None = None
        self._reason: Reason | None = None

    def look(self) -> int | None:
        """Look at the run once, and act if that is due; returns the exit code of a guard that has
        nothing more to do, else None. Raises UsageError where several runs are live."""
        run = self._run or self._live()
        if run is None:
            return None if self._waits else self._over()
        if run.progress is None:
            return None
        if self._run is None:
            self._run = run
            began = run.data.extent.first_wall_time
            earlier = None if self._again else self._audit.acted(_place(run), began)
            if earlier is not None:
                self._say(f"a guard has acted already, at {earlier['time']}; --again allows it")
                return Exit.BAD
            self._say(f"guarded from {run.step_word} {numbers.step(run.data.last_step or 0)} on")
        return self._judged(run, run.progress)

    def _judged(self, run: JudgedRun, progress: Progress) -> int | None:
        if run.verdict.has_ended:
            self._say(f"{run.verdict.state_word}; nothing was done")
            return Exit.OK
        # each verdict counts once, with the rows that it is about; what is out of reach may be well
        if progress.lost_at is not None or run.report is self._report or run.data.unloaded:
            return None
        self._report, before, self._reason = run.report, self._reason, reason_to_stop(run.report)
        data = run.data
        rows = max((data.count(t) for t in data.tags if t not in data.off_axis), default=0)
        due = self._held.look(self._reason, rows, self._session.clock.monotonic())
        if self._reason is not None and before is None:
            self._say(f"{_words(run, self._reason)}; must hold for {self._hold.words}")
        if self._reason is None and before is not None:
            self._say(f"{before.diagnosis.symptom.title} is over; nothing was done")
        return self._act(run, self._reason) if due and self._reason is not None else None

    def _live(self) -> JudgedRun | None:
        """The run that is live, once all has been read that there is."""
        if self._is_reading:
            return None
        runs = self._session.runs()
        live = [r for r in runs if r.report and r.is_live]
        if len(live) > 1:
            names = first_of([run.name for run in live])
            raise UsageError(
                f"guard is for one run, and {len(live)} are live: choose with --run ({names})"
            )
        return live[0] if live else None

    @property
    def _is_reading(self) -> bool:
        return self._session.busy or any(r.data.files.reading for r in self._session.runs())

    def _over(self) -> int | None:
        """The exit code where all runs have ended once all has been read; None later, too: what
        ends while this waits is no reason to leave."""
        runs = self._session.runs()
        state = self._session.reader.state
        elsewhere = state.searching or state.out_of_reach or state.unread
        unread = self._is_reading or self._session.run_count > len(runs)
        if elsewhere or unread or any(run.progress is None for run in runs):
            return None
        self._waits = True
        if not runs or not all(run.verdict.has_ended for run in runs):
            return None
        self._say("all runs have ended, so none is guarded; --wait waits for the next one")
        return Exit.NOTHING

    def _act(self, run: JudgedRun, reason: Reason) -> int:
        facts = _facts(run, reason)
        record = {
            "path": _place(run),
            "began": run.data.extent.first_wall_time,
            **facts,
            "hold": self._hold.words,
            "action": self._action.words,
        }
        now = self._session.clock.now
        begin = {"time": _time(now()), "event": "acting"}
        try:
            earlier = self._audit.write(begin | record, first=not self._again)
        except OSError as error:  # a later guard could not know of it
            self._say(f"{facts['words']}; no audit log, so nothing was done: {error.strerror}")
            return Exit.INTERNAL
        if earlier is not None:
            self._say(f"another guard has acted, at {earlier['time']}")
            return Exit.BAD
        self._say(f"{facts['words']}; held for {self._hold.words}: {self._action.words}")
        given = {name: str(facts[name]) for name in ("run", "step", "symptom")}
        try:
            done = self._action.do(given)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is said and not tried again
            done = Done(f"{type(error).__name__}: {error}")
        end = {"event": "failed" if done.error else "done", **done._asdict()}
        self._say(f"failed, and is not tried again: {clean(done.error)}" if done.error else "done")
        try:
            self._audit.write({"time": _time(now())} | end | record)
        except OSError as error:
            self._say(f"its end is not in the audit log: {error.strerror}")
        return Exit.INTERNAL if done.error else Exit.BAD

    def _say(self, text: str) -> None:
        name = "" if self._run is None else f" {self._run.name}:"
        emit(f"{_time(self._session.clock.now())}{name} {text}\n")


def _place(run: JudgedRun) -> str:
    """Where the run is, the same for each guard of it."""
    path = run.data.path
    return str(path) if is_remote(path) else str(path.resolve())


def _words(run: JudgedRun, reason: Reason) -> str:
    """ "the reward crashes, bad since step 97: reward 0.41 → 0.02; beside it: entropy collapse"."""
    title = reason.diagnosis.symptom.title
    since = numbers.step(reason.finding.since_step)
    text = f"{title}, bad since {run.step_word} {since}: {sentences.summary(reason.finding)}"
    return text if reason.sign is None else f"{text}; beside it: {reason.sign.symptom.title}"


def _facts(run: JudgedRun, reason: Reason) -> Json:
    finding = reason.finding
    return {
        "run": run.name,
        "step": run.data.last_step,
        "symptom": reason.diagnosis.symptom.id,
        "rule": finding.rule,
        "since": finding.since_step,
        "certain": finding.certain_step,
        "words": _words(run, reason),
    }


def _time(now: float) -> str:
    return f"{datetime.fromtimestamp(now, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


class AuditLog:
    """Record of what guards have done: one line of JSON before each action, and one after it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def acted(self, path: str, began: float | None) -> Json | None:
        """The first action on the run that lies there and began then; None for none. Another run
        may lie there by now: where both began at a known time, that tells."""
        lines = self.path.read_text("utf-8", "replace").splitlines() if self.path.exists() else []
        for line in lines:
            try:
                found = json.loads(line)
            except ValueError:  # cut off
                continue
            if isinstance(found, dict) and found.get("path") == path:
                found["time"] = clean(str(found.get("time", "?")))
                then = found.get("began")
                if not isinstance(then, int | float) or began is None:
                    return found  # in doubt it is the same
                if abs(then - began) < _SAME_S:
                    return found
        return None

    def write(self, record: Json | None, *, first: bool = False) -> Json | None:
        """Add a line, unless it must be the ``first`` about its run and is not: returns the earlier
        one then. None writes nothing, as a trial. Raises OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # two guards may come at the same time
            if record is None:
                return None
            earlier = self.acted(record["path"], record["began"]) if first else None
            if earlier is None:
                line = json.dumps({"schema": "rltui.guard/1", **record}, allow_nan=False)
                file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
                cut_off = file.read(1) not in (b"", b"\n")
                file.write(b"\n" * cut_off + line.encode() + b"\n")
                file.flush()
                os.fsync(handle)
            return earlier


# -- recorded runs ---------------------------------------------------------------------------


def _refusal(action: Action | None) -> str | None:
    """Why a guard with this action would not begin now; None if it would."""
    try:
        if action is not None:
            action.prepare()
    except UsageError as error:
        return str(error)
    return None


def _rehearse_run(
    options: argparse.Namespace, session: Session, run: JudgedRun, action: Action | None, hold: Hold
) -> bool:
    what = "act" if action is None else action.words
    facts: Json = {"schema": "rltui.guard/1", "event": "dry run", "run": run.name, "acts": False}
    facts["refused"] = _refusal(action)
    try:
        found = rehearsed(session, run, hold)
        if isinstance(found, str):
            facts["why_not"] = found
            text = f"would not {what}: {found}"
        else:
            facts |= _facts(run, found.reason)
            facts |= {"acts": True, "held_since": found.begun, "rows_left": found.rows_left}
            at, last, begun = map(numbers.step, (found.step, found.last_step, found.begun))
            text = f"would {what} at {run.step_word} {at} of {last}, {found.rows_left} rows before "
            text += f"its end: {facts['words']}; held since {begun}"
    except ValueError as error:
        text = f"cannot be told: {error}"
        facts |= {"acts": None, "error": str(error)}
    finally:
        session.replay.end()
    emit(f"{json.dumps(facts) if options.json else f'{run.name}: {text}'}\n")
    return bool(facts["acts"])
