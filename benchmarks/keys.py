"""Random input at random speed on a busy machine: ``python -m benchmarks.keys --keys 10000``.

Each session runs ``rltui watch`` on a pseudo terminal, over copies of the logs of the tests, beside
busy loops. It gets keys, escape sequences, keys of Kitty's protocol, commands, filters, mouse
reports, pastes, answers of a terminal and changes of size, in bursts of any length. What quits is
left out, and so are commands that write files. Reported are the sessions that ended by themselves,
the faults that the program told, and what of the output no terminal expects.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.places import FIXTURES
from tests.terminal import START_S, Terminal, environment
from tests.terminal_grammar import faults

_ESCAPE = "\x1b"
#: Every key of the table but those that quit or suspend, write or copy.
_PLAIN = "?jkgGhl1234567890[]!/rvmPoOan CBfa=(),.+-xsSLcetHTp<>{}Mu:\t\r\x7f\x10\x15\x04"
_SEQUENCES = (
    *(f"{_ESCAPE}[{x}" for x in ("A", "B", "C", "D", "H", "F", "Z", "5~", "6~", "11~", "200;1u")),
    *(f"{_ESCAPE}{x}" for x in ("OP", "OA", "j", "[", "[<", "]", "_G")),
    # Kitty's keys: Esc, Enter, Tab, `j` pressed and released, with modifiers, and none that is
    *(f"{_ESCAPE}[{x}u" for x in ("27", "13", "9", "106;1:1", "106;1:3", "72;2", "63;2", "99999")),
    # answers to questions that nobody asked, focus, a size
    *(f"{_ESCAPE}[{x}" for x in ("?62;4c", "6;20;10t", "I", "O", "48;45;160;900;1600t", "?1;2$y")),
)
_WORDS = ("loss", "goto 5", "goto 99999999999", "tab actor", "theme light", "x time", "at 3", "zz",
          "now", "runs", "note x", "columns loss", "help")  # fmt: skip
_SIZES = ((1, 1), (20, 5), (40, 10), (79, 23), (80, 24), (120, 36), (160, 45), (300, 80))
_ALT_SCREEN = b"\x1b[?1049h"
#: Sessions are this long, in keys.
_SESSION = 500


def one(chance: random.Random) -> str:
    """Something that a terminal may send."""
    kind = chance.random()
    if kind < 0.6:
        return chance.choice(_PLAIN)
    if kind < 0.7:
        return _ESCAPE
    if kind < 0.82:
        return chance.choice(_SEQUENCES)
    if kind < 0.88:
        return f"{chance.choice(':/' + chr(16))}{chance.choice(_WORDS)}\r"
    if kind < 0.96:
        x, y, button = chance.randint(1, 170), chance.randint(1, 50), chance.choice((0, 2, 64, 65))
        return "".join(f"{_ESCAPE}[<{button};{x};{y}{end}" for end in "Mm")
    return f"{_ESCAPE}[200~{chance.choice(_WORDS)}\n{chance.choice(_WORDS)}{_ESCAPE}[201~"


def session(seed: int, keys: int, home: Path) -> str:
    """Press ``keys`` keys; returns what went wrong, "" for nothing."""
    chance = random.Random(seed)
    logs = home / "logs"
    for kind in ("tfevents", "jsonl", "console", "csv"):
        shutil.copytree(FIXTURES / kind, logs / kind)
    environ = environment(home, XDG_STATE_HOME=str(home / "state"))
    with Terminal(["-m", "rltui", "watch", str(logs)], environ, directory=home) as terminal:
        terminal.read_until(_ALT_SCREEN)
        pressed = 0
        while pressed < keys and terminal.process.poll() is None:
            burst = min(chance.choice((1, 1, 2, 5, 20)), keys - pressed)
            pressed += burst
            sent = "".join(one(chance) for _ in range(burst)).encode()
            terminal.press(sent + b"\xe4" * (chance.random() < 0.02))  # of a keyboard in Latin-1
            if chance.random() < 0.03:
                terminal.resize(*chance.choice(_SIZES))
            terminal.read(quiet_s=chance.choice((0.0, 0.0, 0.005, 0.02, 0.1)))
        wrong = _leave(terminal)
    reports = [p.read_text() for p in home.glob("state/rltui/faults/*.txt")]
    return "\n".join([*wrong, *reports])


def _leave(terminal: Terminal) -> list[str]:
    terminal.settle(0.3, START_S)
    ended = terminal.process.poll()
    if ended is None:
        for _ in range(3):  # the first may end an escape sequence
            if terminal.process.poll() is None:
                terminal.press(b"\x03")
                terminal.drain(START_S / 3)
        code = terminal.process.poll()
        wrong = [f"ctrl+c ended it with {code}"] if code != 0 else []
    else:
        wrong = [f"it ended by itself with {ended}: {bytes(terminal.seen[-1500:])!r}"]
    if b"Traceback" in terminal.seen.rpartition(b"\x1b[?1049l")[2]:
        wrong.append("a traceback on the terminal")

    return wrong + [str(x) for x in faults(bytes(terminal.seen), size=max(_SIZES))[:3]]


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Beside so many loops that never rest."""
    command = [sys.executable, "-S", "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sessions until all keys were pressed; 1 when anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--loops", type=int, default=2, help="busy loops beside it")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    sick, began = 0, time.monotonic()
    count = -(-options.keys // _SESSION)
    with busy(options.loops):
        for seed in range(options.seed, options.seed + count):
            with tempfile.TemporaryDirectory(prefix="rltui-keys-") as home:
                wrong = session(seed, min(_SESSION, options.keys), Path(home))
            sick += bool(wrong)
            sys.stdout.write(f"session {seed}: {wrong or 'well'}\n")
            sys.stdout.flush()
    seconds = time.monotonic() - began
    told = f"{options.keys} keys, {count} sessions, {sick} with something wrong, {seconds:.0f} s\n"
    sys.stdout.write(told)
    return int(sick > 0)


if __name__ == "__main__":
    sys.exit(main())
