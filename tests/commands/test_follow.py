"""``rltui check --follow``: a line for each change, and the verdict as the exit code.

``rltui stream`` as a process: what it sends, and that it ends with its pipes.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from unittest.mock import patch

import pytest

from rltui.commands.check import follow as follow_session
from rltui.config import HooksConfig
from rltui.core.address import parse_logdir
from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.remote.wire.batches import BatchDecoder
from rltui.remote.wire.codec import dump
from rltui.remote.wire.framing import Frame, FrameReader, FrameWriter, Kind
from rltui.remote.wire.messages import Message, Read, Request, kind_of, message_in
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session

HEALTHY = [0.8 + 0.001 * (s % 7) for s in range(200)]


def console(entropy: list[float], *after: str) -> str:
    rows = [
        f"step:{s} - actor/entropy:{e} - actor/pg_loss:0.01 - critic/score/mean:{0.2 + s * e / 400}"
        f" - response_length/mean:{300 + s % 5} - actor/grad_norm:{0.3 + (s % 3) / 100}"
        for s, e in enumerate(entropy, 1)
    ]
    return "\n".join([*rows, *after]) + "\n"


def follow(log: str, *options: str) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "rltui", "check", "--follow", *options, "-"]
    done = subprocess.run(command, input=log, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout.splitlines()


def test_a_run_that_is_well_says_nothing() -> None:
    assert follow(console(HEALTHY)) == (0, [])


def test_a_collapse_is_one_line_and_the_exit_code() -> None:
    collapse = [*HEALTHY[:80], *(0.8 * 0.8**n for n in range(60))]
    code, lines = follow(console(collapse))
    assert code == 1
    assert any("entropy collapse, bad since" in line for line in lines)
    assert len(lines) == len(set(lines))


def test_json_lines_have_the_schema() -> None:
    oom = ("Traceback (most recent call last):", "torch.OutOfMemoryError: CUDA out of memory.")
    code, lines = follow(console(HEALTHY, *oom), "--json")
    (event,) = [json.loads(line) for line in lines]
    assert code == 1
    assert (event["schema"], event["event"]) == ("rltui.event/1", "crashed")
    assert event["rule"] == "crashed"
    assert "out of memory" in event["evidence"]["line"]
    assert event["text"].endswith(f": {event['summary']}")
    assert event["advice"].startswith("Cap the tokens")


@pytest.mark.parametrize("log", ["", "nothing of interest\n" * 100])
def test_a_pipe_without_a_log(log: str) -> None:
    assert follow(log)[0] == 3


def test_never_fail() -> None:
    collapse = [*HEALTHY[:80], *(0.8 * 0.8**n for n in range(60))]
    assert follow(console(collapse), "--fail-on", "never")[0] == 0


def test_a_choice_that_matches_nothing_is_reported_at_the_start(tmp_path: Path) -> None:
    """And the wait for such a run goes on."""
    log = tmp_path / "one.jsonl"
    log.write_text("".join(json.dumps({"step": n, "loss": 0.5}) + "\n" for n in range(30)))
    command = [sys.executable, "-m", "rltui", "check", "--follow", "--run", "zzz", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        said = process.stderr.readline()
        process.terminate()
        process.communicate(timeout=60)
    assert said == b"rltui: no run matches 'zzz' (--run); 1 run found: one; waiting for one\n"
    assert process.returncode == 128 + signal.SIGTERM


def test_a_signal_leaves_time_to_say_what_was_not_delivered(tmp_path: Path) -> None:
    config, begun = tmp_path / "config.yaml", tmp_path / "begun"
    config.write_text(f"hooks: {{targets: [[sh, -c, 'cat; touch {begun}; sleep 60']]}}")
    command = [sys.executable, "-m", "rltui", "check", "--follow", "--config", str(config), "-"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as process:
        process.stdin.write(console([*HEALTHY[:80], *(0.8 * 0.8**n for n in range(60))]))
        process.stdin.flush()
        while not begun.exists():
            assert process.poll() is None
        process.terminate()
        said = process.stderr.read()
    assert " not delivered\n" in said
    assert process.returncode == 128 + signal.SIGTERM


def test_an_outage_is_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error: the format of the JSON lines has events of runs alone."""
    logdir, other = parse_logdir("node7:/runs"), parse_logdir("node7:/more")
    bucket = parse_logdir("s3://bucket/runs")
    reader = FakeReader()
    session = a_session(reader=reader, logdirs=(logdir, other, bucket), clock=ManualClock())
    at = time.strftime("%H:%M:%S", time.localtime(session.clock.now()))

    def updates() -> Iterator[None]:
        yield
        reader.out_of_reach = (logdir, other)
        reader.notes = (Note(logdir, None, Level.WATCH, "not reachable since 10:00:00: no\x1b[1m"),)
        yield
        yield
        reader.out_of_reach, reader.notes = (), ()
        reader.unread = (Note(other, None, Level.WATCH, "no such file"),)
        yield
        reader.out_of_reach = (bucket,)
        yield

    with patch("rltui.commands.check.updates", lambda _: updates()):
        follow_session(session, HooksConfig(), json=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        r"rltui: node7:/runs: not reachable since 10:00:00: no\x1b[1m",
        r"rltui: node7:/more: not reachable since 10:00:00: no\x1b[1m",
        f"rltui: node7:/runs: can be reached again since {at}",
        "rltui: node7:/more: no such file",
        "rltui: s3://bucket/runs: out of reach",
    ]


PATIENCE_S = 60


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    return tmp_path


class Far:
    """A process that streams."""

    def __init__(self, *paths: Path) -> None:
        command = [sys.executable, "-m", "rltui", "stream", "--", *map(str, paths)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._reader = FrameReader()
        self._writer = FrameWriter(self.input.write)

    @property
    def input(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, message: Message) -> None:
        self._writer.put(Frame(kind_of(message), dump(message)))
        self._writer.flush()

    def frames(self) -> Iterator[Frame]:
        while data := self.output.read(1 << 16):
            yield from self._reader.feed(data)

    def until(self, kind: Kind) -> Frame:
        return next(frame for frame in self.frames() if frame.kind == kind)

    def end(self) -> int:
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def far(logdir: Path) -> Iterator[Far]:
    far = Far(logdir)
    yield far
    far.process.kill()
    far.input.close()
    far.output.close()
    far.end()


def test_it_reads_once(far: Far, logdir: Path) -> None:
    hello = message_in(far.until(Kind.HELLO))
    assert hello.logdirs == (logdir,)
    far.send(Request())
    far.until(Kind.SCANNED)
    far.send(Read())
    decoder, points = BatchDecoder(1), 0
    for frame in far.frames():
        if frame.kind == Kind.BATCH:
            batch = decoder.batch_of(frame)
            points += sum(block.points for block in batch.blocks)
        if frame.kind == Kind.END:
            break
    assert points == 1
    assert far.end() == 0


def test_it_follows_until_its_input_is_closed(far: Far) -> None:
    far.send(Request())
    far.send(Read(follow=True))
    far.until(Kind.BATCH)
    assert far.process.poll() is None
    far.input.close()
    assert far.end() == 0


def test_it_ends_when_nobody_reads_its_output(far: Far, logdir: Path) -> None:
    far.send(Request())
    far.send(Read(follow=True))
    far.until(Kind.BATCH)
    far.output.close()
    with (logdir / "a" / "metrics.jsonl").open("a") as log:
        log.write('{"step": 2, "loss": 0.5}\n')
    assert far.end() == 0


def test_it_refuses_a_terminal() -> None:
    import os
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-m", "rltui", "stream", "."]
    done = subprocess.run(command, stdout=child, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(parent)
    os.close(child)
    assert done.returncode == 2
    assert b"for another rltui" in done.stderr
