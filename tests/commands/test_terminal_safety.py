"""Every byte that every verb writes about hostile logs, parsed by a strict terminal."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.hostile import PAYLOADS, every_payload, file_name, write_corpus
from tests.tables import cases
from tests.terminal import START_S, Terminal, environment
from tests.terminal_grammar import faults, line_faults

#: Runs a list of command lines one after the other.
_ALL = """
import json, sys
from rltui.cli import main
for words in json.loads(sys.argv[1]):
    sys.stdout.flush()
    sys.stderr.write("\\n## " + ascii(words)[:300] + "\\n")
    try:
        code = main(words)
    except SystemExit as leave:
        code = leave.code
    sys.stdout.flush()
    sys.stderr.write(f"\\n## exit {code}\\n")
sys.stderr.write("## all done\\n")
"""


class Place:
    """A hostile corpus, and rltui in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.logdir = home / f"logs{file_name(0)}"
        write_corpus(self.logdir)
        self.environ = environment(
            home,
            TENSORBOARD_DIR=str(self.logdir),
            TERM_PROGRAM="\x1b[5mterm",
            XDG_CONFIG_HOME=str(home / file_name(1)),
        )

    def watch(self, *words: str) -> Terminal:
        return Terminal(["-m", "rltui", *words], self.environ, directory=self.logdir)

    @property
    def printing(self) -> list[list[str]]:
        """Command lines of the verbs that print and end."""
        logs, hostile = str(self.logdir), every_payload()
        config = self.home / f"{file_name(2)}.yaml"
        config.write_text(f"view: {{theme: {json.dumps(hostile)}}}\n", encoding="utf-8")
        wrong = self.home / f"{file_name(3)}.yaml"
        wrong.write_text(f"{json.dumps(hostile)}: 1\n", encoding="utf-8")
        gate = self.home / "expect.yaml"
        tag = json.dumps(f"tag {hostile} last > 5")
        gate.write_text(f"expect: [no bad, {tag}, tag loss last > 5]\n", encoding="utf-8")
        one = next(str(p) for p in sorted(self.logdir.iterdir()) if p.name.startswith("1"))
        return [
            ["check", logs],
            ["check", logs, "--json"],
            ["check", logs, "--framework", hostile],
            ["check", logs, "--run", hostile],
            ["check", logs, "--reference", hostile],
            ["check", logs, "--config", str(config)],
            ["check", logs, "--config", str(wrong)],
            ["check", "/nowhere/" + hostile],
            ["check", logs, "--\x1b[5mwrong"],
            ["check", "--fail-on", hostile, logs],
            ["gate", logs, "--expect", str(gate)],
            ["gate", logs, "--expect", str(gate), "--annotate", "github"],
            ["gate", logs, "--expect", str(wrong)],
            ["gate", logs, "--learn"],
            ["snapshot", logs],
            ["snapshot", logs, "--json"],
            ["snapshot", logs, "--markdown"],
            ["snapshot", logs, "--svg", str(self.home / file_name(1) / "nowhere.svg")],
            ["plot", logs, "*"],
            ["plot", one, PAYLOADS[0], "--size", "60x12"],
            ["plot", logs, hostile],
            ["export", logs],
            ["export", logs, "--format", "jsonl"],
            ["explain", hostile],
            ["explain", "loss", "--config", str(wrong)],
            ["lint", str(wrong), str(config), "/nowhere/" + hostile.replace("\0", "")],
            ["doctor"],
            ["demo", "--scenario", hostile],
            ["replay", logs, "--run", hostile],
            ["\x1b[5mverb"],
        ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@cases(__file__, "printed")
def test_the_parser_is_strict(data: str, wrong: int) -> None:
    assert len(faults(data.encode("latin-1"))) == wrong


def test_lines_are_all_that_a_verb_prints() -> None:
    assert line_faults("✔ ok\r\nbad 🔥\n".encode()) == []
    assert len(line_faults(b"\x1b[1mx\x1b[0m\t")) == 3
    assert len(line_faults(b"\x1b[1mx\x1b[0m\x1b[5m", coloured=True)) == 1


def test_verbs_that_print_on_a_terminal(place: Place) -> None:
    lines = place.printing[::2]
    arguments = ["-c", _ALL, json.dumps(lines)]
    with Terminal(arguments, place.environ, directory=place.logdir) as terminal:
        terminal.read_until(b"## all done")
        assert terminal.wait() == 0
    check(bytes(terminal.seen), len(lines), coloured=True)


def test_verbs_that_print_into_a_pipe(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ALL, json.dumps(place.printing)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=place.environ,
        cwd=place.logdir,
        timeout=START_S * 2,
        check=False,
    )
    check(done.stdout, len(place.printing), coloured=False)


def check(data: bytes, count: int, *, coloured: bool) -> None:
    """All verbs printed harmless lines, and none of them broke."""
    assert data.count(b"## exit ") == count
    assert b"exit 70" not in data
    assert b"Traceback (most" not in data
    assert line_faults(data, coloured=coloured) == []


#: Escape as a terminal with the keyboard protocol of kitty, which the app asks for, sends it. After
#: an escape character alone the app waits for more.
_ESC = "\x1b[27u"
#: Keys that open every screen and most of what lies over one, as a terminal sends them.
_TOUR = (
    *("j", "\r", "2", "3", "4", "5", "6", "7", "8", "9", "0"),
    *("G", "e", _ESC, "!", "e", "j", _ESC, "y", "w", _ESC),
    *("0", "G", "v", ",", "m", "m", "P", "\r", "h", "+", "L", "y", "j", _ESC),
    *("?", "j", _ESC, "/", "mark", "\r", _ESC, ":goto x\r", _ESC, ":tab \t\t", _ESC),
    *("\x10", "zero", _ESC, "M", "R", "x", "s", "r"),
    *(" ", "j", " ", "j", " ", "C", "j", "e", _ESC, "B", "o", "H", _ESC, _ESC, _ESC),
)
#: The next run: its findings, console log, hyperparameters and samples.
_NEXT = ("j", "\r", "9", "e", _ESC, "t", "G", _ESC, "H", _ESC, "T", "j", "\r", _ESC, "r")


def press(terminal: Terminal, keys: Iterable[str]) -> None:
    """Press keys, each when the one before has been answered."""
    for key in keys:
        terminal.press(key.encode())
        terminal.settle(0.02, 3.0)


def test_watching(place: Place) -> None:
    with place.watch("watch", str(place.logdir)) as terminal:
        terminal.read_until(b"\x1b[?1049h")
        terminal.settle(0.4, 10.0)
        press(terminal, (*_TOUR, *_NEXT * 3))
        leave(terminal)


def leave(terminal: Terminal) -> None:
    """Quit; all that was written was harmless."""
    press(terminal, [_ESC])
    terminal.press(b"\x03")
    terminal.drain()
    assert terminal.wait() == 0, bytes(terminal.seen[-3000:])
    assert terminal.seen.count(b"\x1b[?1049l") == 1
    assert faults(bytes(terminal.seen)) == []


def test_replaying(place: Place) -> None:
    run = next(p for p in sorted(place.logdir.iterdir()) if p.name.startswith("1"))
    with place.watch("replay", str(run)) as terminal:
        terminal.read_until(b"\x1b[?1049h")
        terminal.settle(0.4, 3.0)
        press(terminal, ("p", "<", ">", "3", "9", "e", _ESC, "t", _ESC, ":goto 5\r"))
        leave(terminal)


def test_watching_the_demo(place: Place) -> None:
    """While rows come, below a directory for temporary files of a hostile name."""
    temporary = place.home / file_name(4)
    temporary.mkdir()
    place.environ["TMPDIR"] = str(temporary)
    with place.watch("demo", "--speed", "5") as terminal:
        terminal.read_until(b"\x1b[?1049h")
        terminal.settle(0.4, 3.0)
        press(terminal, ("\r", *"23456789", "e", _ESC, "0", "v", ",", "m", _ESC, "!", _ESC))
        leave(terminal)
    assert not list(temporary.iterdir()), "it leaves no logs behind"


def test_picking(place: Place) -> None:
    with place.watch() as terminal:
        terminal.read_until(b"\x1b[?1049h")
        terminal.settle(0.4, 10.0)
        press(terminal, ("j", "j", "/", "x", _ESC, "?", _ESC))
        leave(terminal)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_following(place: Place, options: tuple[str, ...]) -> None:
    with place.watch("check", "--follow", *options, str(place.logdir)) as terminal:
        terminal.read_until(b"bad")
        terminal.settle(0.4, 5.0)
        terminal.press(b"\x03")
        terminal.drain()
        assert terminal.wait() == 1
    seen = bytes(terminal.seen).replace(b"^C", b"")
    assert line_faults(seen, coloured=not options) == []


def test_watching_a_pipe(place: Place) -> None:
    (log,) = (p for p in place.logdir.glob("*/train.log") if b"Traceback" in p.read_bytes())
    with log.open("rb") as pipe:
        arguments = ["-m", "rltui", "watch", "-"]
        with Terminal(arguments, place.environ, stdin=pipe.fileno()) as terminal:
            terminal.read_until(b"\x1b[?1049h")
            terminal.settle(0.4, 5.0)
            press(terminal, ("t", "G", _ESC, "9", "e", _ESC))
            leave(terminal)
