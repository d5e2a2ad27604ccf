"""Terminals that vanish and signals, on real pseudo terminals: the process always ends."""

import json
import select
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyte
import pytest

from benchmarks import vanish
from rltui.commands.departure import departing
from tests.terminal import GONE_S, START_S, Terminal, environment

_CTRL_Z = b"\x1a"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    return vanish.prepare(tmp_path)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path)


def shows(terminal: Terminal, text: str) -> None:
    """Read until ``text`` is on the screen, whose cells may come in any order."""
    screen, at = pyte.Screen(160, 45), 0
    stream = pyte.ByteStream(screen)

    def waiting() -> bool:
        nonlocal at
        stream.feed(bytes(terminal.seen[at:]))
        at = len(terminal.seen)
        return not any(text in line for line in screen.display)

    terminal.read_while(waiting)


@pytest.fixture
def terminal(logdir: Path, environ: dict[str, str]) -> Iterator[Terminal]:
    """One on which ``rltui watch`` shows some runs."""
    with Terminal(["-m", "rltui", "watch", str(logdir)], environ) as terminal:
        shows(terminal, "run1")
        yield terminal


@pytest.mark.parametrize("share", range(2))
def test_a_terminal_that_vanishes_ends_every_verb(
    share: int, tmp_path: Path, pycache: Path
) -> None:
    """A share of the trials; ``python -m benchmarks.vanish`` runs as many as one likes."""

    def one(trial: vanish.Trial) -> vanish.Outcome:
        home = tmp_path / str(trial.number)
        home.mkdir()
        return vanish.run(trial, home, pycache)

    mine = [t for t in vanish.trials(12) if t.number % 2 == share]
    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(one, mine))
    assert [vanish.line(o) for o in outcomes if vanish.is_bad(o)] == []


#: What stops or wakes a process, is ignored by default, is ctrl+c, or cannot be handled.
_NO_ENDS = (
    *("KILL", "STOP", "TSTP", "TTIN", "TTOU", "CONT"),
    *("CHLD", "URG", "WINCH", "PIPE", "XFSZ", "INT"),
)
#: Signals whose default ends a process; of those without a name the first.
ENDS = sorted(
    {n for n in signal.Signals if n.name[3:] not in (*_NO_ENDS, "CLD", "RTMAX")}
    if sys.platform == "linux"
    else {signal.SIGTERM, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU, signal.SIGSEGV}
)


@pytest.mark.parametrize("number", ENDS, ids=lambda n: n.name)
def test_a_signal_leaves_the_terminal_and_a_verdict(number: int, terminal: Terminal) -> None:
    terminal.process.send_signal(number)
    terminal.drain()
    assert terminal.wait() == 128 + number
    assert b"rltui: " in terminal.seen.partition(b"\x1b[?1049l")[2]
    assert termios.tcgetattr(terminal.slave) == terminal.modes


def test_a_program_that_fails_ends_at_once(environ: dict[str, str]) -> None:
    """No handler returns to the instruction that failed."""
    script = (
        "import ctypes, sys; from rltui.commands.departure import departing;"
        "departing(lambda _: ctypes.string_at(0), None)"
    )
    found = subprocess.run([sys.executable, "-c", script], env=environ, timeout=GONE_S, check=False)
    assert found.returncode == -signal.SIGSEGV


def test_a_departure_leaves_no_thread_and_no_mask() -> None:
    mask, threads = signal.pthread_sigmask(signal.SIG_BLOCK, ()), threading.active_count()
    handler = signal.getsignal(signal.SIGUSR2)
    assert departing(lambda _: 3, None) == 3
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
    assert threading.active_count() == threads
    assert signal.getsignal(signal.SIGUSR2) == handler


def test_a_terminal_that_takes_nothing_holds_nobody_up(terminal: Terminal) -> None:
    """Its modes are put back although the app is stuck: nobody reads what it writes."""
    terminal.press(b"1234\t" * 100)
    terminal.fill()
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.wait() == 128 + signal.SIGTERM
    assert termios.tcgetattr(terminal.slave) == terminal.modes


def test_a_suspended_process_ends_for_a_signal_and_leaves_the_screen(terminal: Terminal) -> None:
    terminal.press(_CTRL_Z)
    terminal.wait_stopped()
    terminal.seen.clear()
    terminal.process.send_signal(signal.SIGTERM)
    terminal.process.send_signal(signal.SIGCONT)  # what shells do for `kill %1`
    terminal.drain()
    assert terminal.wait() == 128 + signal.SIGTERM
    # Two threads may take the two signals, the one to go on first: then it was there for a moment.
    entered, left = (terminal.seen.count(b"\x1b[?1049" + end) for end in (b"h", b"l"))
    assert entered <= 1
    assert entered <= left


# -- whatever a library does ---------------------------------------------------------------

#: A library that never gives up waits on every thread, and again when the process ends.
_STUCK = """
import atexit, queue, sys, threading, time
from rltui.commands.departure import departing

def wait():
    while True:
        try:
            queue.Queue(1).get()
        except BaseException:
            pass

def save():
    open(sys.argv[1], "w").write("view")
    return "a verdict\\n"

def verb(departure):
    atexit.register(wait)
    threading.Thread(target=wait).start()
    with departure.ending_by(lambda return_code: None, save):
        print("stuck", flush=True)
        wait()

departing(verb, sys.stderr)
"""


#: The interpreter ends and waits for the library's thread: Python 3.12 starts no other then.
_ENDING = (
    _STUCK.replace("def verb", "left = threading.Event()\n\ndef verb")
    .replace("return_code: None", "return_code: left.set()")
    .replace("        wait()\n\ndeparting", "        left.wait()\n\ndeparting")
)


def stuck(path: Path, environ: dict[str, str], script: str = _STUCK) -> Terminal:
    return Terminal(["-c", script, str(path)], environ)


@pytest.mark.parametrize("script", [_STUCK, _ENDING], ids=["stuck", "ending"])
def test_a_library_that_is_stuck_holds_nobody_up(
    tmp_path: Path, environ: dict[str, str], script: str
) -> None:
    with stuck(tmp_path / "state", environ, script) as terminal:
        terminal.read_until(b"stuck")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.drain()
        assert terminal.wait() == 128 + signal.SIGTERM
        assert terminal.seen.endswith(b"\x1b[?25ha verdict\r\n")
        assert (tmp_path / "state").read_text() == "view"


def test_the_view_is_saved_when_a_terminal_is_gone(tmp_path: Path, environ: dict[str, str]) -> None:
    with stuck(tmp_path / "state", environ) as terminal:
        terminal.read_until(b"stuck")
        terminal.close()
        assert terminal.wait() == 128 + signal.SIGHUP
        assert (tmp_path / "state").read_text() == "view"


_FAILS_WHILE_LEAVING = """
import os, signal, sys
from rltui.commands.departure import departing

def verb(departure):
    if sys.argv[1] == "app":
        with departure.ending_by(lambda return_code: None):
            os.kill(os.getpid(), signal.SIGTERM)
            raise OSError("the terminal is gone")
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except SystemExit:
        raise ImportError("in the middle of it") from None

sys.exit(departing(verb, sys.stderr))
"""
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run(environ: dict[str, str]) -> Run:
    """A Python program without a terminal."""
    return partial(
        subprocess.run, stdin=subprocess.DEVNULL, timeout=START_S, check=False, env=environ
    )


@pytest.mark.parametrize("moment", ["app", "loading"])
def test_what_fails_while_leaving_is_no_error(run: Run, moment: str) -> None:
    done = run([sys.executable, "-c", _FAILS_WHILE_LEAVING, moment], capture_output=True)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, b"")


# -- check --follow ------------------------------------------------------------------------


def following(logdir: Path, environ: dict[str, str], **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rltui", "check", "--follow", "--json", str(logdir)]
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environ, **options
    )


def test_following_ends_with_the_reader_of_its_output(
    logdir: Path, environ: dict[str, str]
) -> None:
    """`rltui check --follow runs | head -n 1`: nothing more is written that could fail."""
    with following(logdir, environ, stdout=subprocess.PIPE) as process:
        assert json.loads(process.stdout.readline())["run"] == "run1"
        process.stdout.close()
        assert process.wait(GONE_S) == 128 + signal.SIGHUP
        assert process.stderr.read() == b""


def test_following_below_nohup_outlives_the_terminal(logdir: Path, environ: dict[str, str]) -> None:
    deaf = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    with following(logdir, environ, stdout=subprocess.PIPE, preexec_fn=deaf) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        with (logdir / "run2" / "log.jsonl").open("a") as log:
            log.write('{"step": 200, "loss": NaN}\n')
        assert select.select([process.stdout], [], [], START_S)[0]
        assert json.loads(process.stdout.readline())["run"] == "run2"
        process.send_signal(signal.SIGTERM)
        assert process.wait(GONE_S) == 128 + signal.SIGTERM
