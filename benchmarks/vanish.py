"""Terminals that vanish at random moments: ``python -m benchmarks.vanish --trials 200``.

Every trial runs one verb on a pseudo terminal, takes the terminal away (or sends a signal) and
waits for the process. Reported are the processes that survived, how long the others took, and
their exit codes. The same number of a trial gives the same trial.
"""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.terminal import GONE_S, Bond, Terminal, environment

_CTRL_Z = b"\x1a"
_ALT_SCREEN = b"\x1b[?1049h"
#: Of a process whose terminal is gone, seconds.
LIMIT_S = 2.0
#: Longest time after the start at which the terminal of a process that starts vanishes.
_START_S = 1.5

VERBS = {
    "watch": ("watch", "{logdir}"),
    "picker": (),
    "replay": ("replay", "{logdir}/run0"),
    "demo": ("demo", "--speed", "20"),
    "follow": ("check", "--follow", "{logdir}"),
    "pipe": ("watch", "-"),
}
MOMENTS = ("starting", "loading", "painting", "overlay", "suspended")
MEANS = ("close", "close", "close", "term", "hup")


@dataclass(frozen=True)
class Trial:
    """What is done."""

    number: int
    verb: str
    moment: str
    means: str
    """``close`` the terminal, or the name of a signal."""
    bond: Bond

    @property
    def signal(self) -> int:
        return signal.SIGTERM if self.means == "term" else signal.SIGHUP


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    trial: Trial
    code: int | None
    """Exit code; None of a process that survived."""
    seconds: float
    left: tuple[str, ...]
    """Temporary files that were left behind."""
    seen: bytes = b""
    """The last that was read from the terminal."""


def trials(count: int, verbs: Sequence[str] = tuple(VERBS)) -> Iterator[Trial]:
    """``count`` trials that cover verbs, moments and bonds evenly."""
    every = [
        (verb, moment, bond)
        for moment, verb, bond in itertools.product(MOMENTS, verbs, Bond)
        if not (moment == "suspended" and bond is Bond.LOOSE)  # nothing wakes such a process
        and not (verb == "pipe" and bond is Bond.LOOSE)  # it has no terminal for keys
    ]
    random.Random(0).shuffle(every)
    for number, (verb, moment, bond) in zip(range(count), itertools.cycle(every), strict=False):
        means = random.Random(number).choice(MEANS)
        if bond is Bond.DEAF and means == "hup":  # such a process goes on, as it should
            means = "close"
        yield Trial(number, verb, moment, means, bond)


def prepare(home: Path) -> Path:
    """Some runs to watch, one of which has a finding."""
    logdir = home / "logs"
    for run in range(4):
        log = logdir / f"run{run}" / "log.jsonl"
        log.parent.mkdir(parents=True)
        tags = ", ".join(f'"train/metric_{i}": {i}.5' for i in range(40))
        rows = [f'{{"step": {s}, "loss": {1 / (s + 1)}, {tags}}}\n' for s in range(200)]
        log.write_text("".join(rows) + '{"step": 200, "loss": NaN}\n' * (run == 1))
    return logdir


def run(trial: Trial, home: Path, pycache: Path) -> Outcome:
    """Do one trial in an empty directory."""
    chance = random.Random(trial.number)
    logdir = prepare(home)
    words = [w.format(logdir=logdir) for w in VERBS[trial.verb]]
    environ = environment(home, PYTHONPYCACHEPREFIX=str(pycache))
    with (home / "stdin").open("w+b") as stdin:
        command = ["-m", "rltui", *words]
        descriptor = stdin.fileno() if trial.verb == "pipe" else None
        with Terminal(
            command, environ, bond=trial.bond, directory=logdir, stdin=descriptor
        ) as terminal:
            _approach(terminal, trial, chance)
            began = time.monotonic()
            _take_away(terminal, trial, chance)
            try:
                code: int | None = terminal.wait(GONE_S)
            except subprocess.TimeoutExpired:
                code = None
            seconds = time.monotonic() - began
            left = tuple(sorted(p.name for p in home.glob("rltui-*")))
            return Outcome(trial, code, seconds, left, bytes(terminal.seen[-2000:]))


def _approach(terminal: Terminal, trial: Trial, chance: random.Random) -> None:
    """Wait for the moment."""
    if trial.moment == "starting":
        end = time.monotonic() + chance.uniform(0.0, _START_S)
        while (left := end - time.monotonic()) > 0:
            terminal.read(quiet_s=min(left, 0.05))
        return
    terminal.read_until(b"run1" if trial.verb == "follow" else _ALT_SCREEN)
    if trial.moment == "loading":
        terminal.read(chance.randint(1, 3000))
        return
    terminal.settle(0.2, 1.5)
    if trial.moment == "suspended":
        if trial.verb == "follow":  # ctrl+z is ignored where no shell could wake the process
            terminal.process.send_signal(signal.SIGSTOP)
        else:
            terminal.press(_CTRL_Z)
        terminal.wait_stopped()
    elif trial.moment == "painting":  # more than a terminal that is not read takes
        terminal.press(b"".join(chance.choices((b"1", b"2", b"3", b"j", b"\t", b"t"), k=200)))
        terminal.read(chance.randint(1, 40_000))
    elif trial.moment == "overlay":
        terminal.press(chance.choice((b"?", b"/loss", b":", b"\x10", b"e")))
        terminal.read(chance.randint(1, 4000))
        terminal.press(b"jjjj")


def _take_away(terminal: Terminal, trial: Trial, chance: random.Random) -> None:
    """Close the terminal, or send a signal to a process whose terminal may not be read."""
    if trial.means == "close":
        terminal.close()
        return
    terminal.process.send_signal(trial.signal)
    if trial.moment == "suspended":
        terminal.process.send_signal(signal.SIGCONT)
    if chance.random() < 0.5:
        terminal.drain()


def is_bad(outcome: Outcome) -> bool:
    """Whether a process survived, left something behind, or ended with a wrong code."""
    expected = {128 + outcome.trial.signal}
    if outcome.trial.moment == "starting":  # before anything of rltui runs
        expected |= {-outcome.trial.signal, 2}
    return outcome.code not in expected or bool(outcome.left)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all trials; 1 when a process survived or ended wrongly."""
    parser = argparse.ArgumentParser(prog="benchmarks.vanish", description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--only", type=int, help="only the trial of this number")
    parser.add_argument("--verbs", default=",".join(VERBS), help="separated by commas")
    parser.add_argument("--parallel", type=int, default=2)
    options = parser.parse_args(arguments)
    every = list(trials(options.trials, options.verbs.split(",")))
    if options.only is not None:
        every = [t for t in every if t.number == options.only]
    with tempfile.TemporaryDirectory(prefix="vanish-") as name:
        root = Path(name)

        def one(trial: Trial) -> Outcome:
            home = root / str(trial.number)
            home.mkdir()
            return run(trial, home, root / "pycache")

        with ThreadPoolExecutor(options.parallel) as pool:
            outcomes = []
            for outcome in pool.map(one, every):
                outcomes.append(outcome)
                if is_bad(outcome) or outcome.seconds > LIMIT_S:
                    sys.stdout.write(f"{line(outcome)}\n")
                    sys.stdout.flush()
    sys.stdout.write(summary(outcomes))
    return 1 if any(map(is_bad, outcomes)) else 0


def line(outcome: Outcome) -> str:
    """What came of a trial, for people."""
    trial = outcome.trial
    what = f"{trial.number:4} {trial.verb:7} {trial.moment:9} {trial.means:5} {trial.bond.value:10}"
    end = "survived" if outcome.code is None else f"exit {outcome.code}"
    return f"{what} {end} after {outcome.seconds:.2f} s {' '.join(outcome.left)}"


def summary(outcomes: Sequence[Outcome]) -> str:
    """The figures of all trials."""
    survivors = sum(o.code is None for o in outcomes)
    seconds = sorted(o.seconds for o in outcomes if o.code is not None) or [0.0]
    codes = Counter(o.code for o in outcomes).most_common()
    late = sum(s > LIMIT_S for s in seconds)
    return (
        f"{len(outcomes)} trials, {survivors} survivors, {late} took more than {LIMIT_S:g} s; "
        f"median {seconds[len(seconds) // 2]:.2f} s, longest {seconds[-1]:.2f} s; exit codes "
        + ", ".join(f"{code}: {count}" for code, count in codes)
        + "\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
