"""Files beside the logs of another host: settings and samples.

A host that is searched by a thread: one that is down at first, one that never answers.
"""

from __future__ import annotations

import errno
import os
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rltui.core.address import RemotePath, parse_logdir
from rltui.files.disk import is_directory, listing, opened, read_all, status, trouble
from rltui.files.remote.errors import StoreError
from rltui.remote import ReaderOptions, host_script
from rltui.remote.joined import JoinedReader
from rltui.remote.ssh import files as files_module
from rltui.remote.ssh.connection import CommandProcess
from rltui.remote.ssh.files import HostServer, SshFiles
from rltui.remote.stream_client import Conversation, StreamError
from rltui.remote.wire.messages import Answer, Question, What
from rltui.sources.options import Intervals
from rltui.sources.side_files.sample_files import find_samples
from rltui.sources.side_files.settings_files import read_settings
from tests.builders import running
from tests.clock import ManualClock
from tests.remote.ssh.far_host import FAST, PATIENCE_S, FarHost, Watched, append, reader_of

SAMPLE = '{"prompt": "p", "response": "r", "reward": 1.0}\n'
HOST = RemotePath("ssh:", "node7")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    append(tmp_path / "logs" / "a" / "metrics.jsonl", 0, 5)
    return tmp_path / "logs"


@pytest.fixture
def there(logs: Path, far_host: FarHost) -> Iterator[RemotePath]:
    """The logdir on another host, whose reader was opened."""
    reader = reader_of(f"node7:{logs}", options=FAST)
    path = parse_logdir(f"node7:{logs}")
    assert isinstance(path, RemotePath)
    yield path
    reader.stop()


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_settings_and_samples_are_those_there(
    logs: Path, there: RemotePath, far_host: FarHost
) -> None:
    put(logs / "a" / "args.json", '{"lr": 1e-6}')
    put(logs / "a" / ".hydra" / "config.yaml", "trainer:\n  seed: 1\n")
    put(logs / "a" / "rollouts" / "3.jsonl", SAMPLE)
    settings = read_settings([there, there / "a"])
    assert (settings.values, settings.trouble) == ({"lr": 1e-6, "trainer.seed": 1}, "")
    (samples,) = find_samples(there / "a")
    (row,) = samples.load(3).rows
    assert dict(samples.read(3, row).texts) == {"prompt": "p", "response": "r"}
    before = samples.stamp(3)
    put(logs / "a" / "rollouts" / "3.jsonl", 2 * SAMPLE)
    assert samples.stamp(3) != before
    assert len(far_host.connections) == 1, "one for all questions"


def test_status_and_bytes(logs: Path, there: RemotePath) -> None:
    data = bytes(range(256)) * 10_000
    (logs / "b").write_bytes(data)
    found, here = status(there / "b"), (logs / "b").stat()
    assert (found.st_size, found.st_mtime_ns) == (here.st_size, here.st_mtime_ns)
    assert read_all(there / "b") == data
    with opened(there / "b") as read:
        assert read(5, 100) == data[100:105]
        assert read(100, len(data) - 3) == data[-3:]
    assert is_directory(there / "a")
    assert not is_directory(there / "b")
    assert not is_directory(there / "none")
    with pytest.raises(FileNotFoundError):
        read_all(there / "none")
    with pytest.raises(NotADirectoryError):
        listing(there / "b")


def test_only_regular_files_are_read(logs: Path, there: RemotePath) -> None:
    os.mkfifo(logs / "pipe.jsonl")
    (logs / "link").symlink_to(logs)
    (logs / "linked.jsonl").symlink_to(logs / "a" / "metrics.jsonl")
    for path in (there / "pipe.jsonl", RemotePath(*there.parts[:2], "dev/zero")):
        with pytest.raises(OSError, match="not a regular file"):
            read_all(path)
    found = {e.name: (e.is_dir(), e.is_file()) for e in listing(there)}
    assert found["pipe.jsonl"] == found["link"] == (False, False)
    assert found["linked.jsonl"] == (False, True)
    assert found["a"] == (True, False)


def test_what_is_too_large_is_not_sent(
    logs: Path, there: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (logs / "large").open("wb") as out:
        out.truncate(files_module.MOST_WHOLE + 1)
    with pytest.raises(OSError, match="too large to be sent: 64 MiB") as raised:
        read_all(there / "large")
    assert raised.value.errno == errno.EFBIG


def test_many_directories_are_listed_on_one_way_there_and_back(
    logs: Path, there: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(250):
        put(logs / "a" / "rollouts" / f"step_{step}" / "train" / "traces.jsonl", SAMPLE)
    ways, send = [], Conversation.send
    monkeypatch.setattr(Conversation, "send", lambda talk, *q: (ways.append(1), send(talk, *q)))
    (samples,) = find_samples(there / "a")
    assert samples.steps == list(range(250))
    assert len(ways) <= 1 + 1 + 3 + 3 + 2  # the run, rollouts, steps, train, ends of rounds
    ways.clear()
    put(logs / "a" / "rollouts" / "step_250" / "train" / "traces.jsonl", SAMPLE)
    (samples,) = find_samples(there / "a")
    assert samples.steps == list(range(251)), "nothing is remembered"


def test_a_host_out_of_reach_costs_one_attempt(
    logs: Path, tmp_path: Path, far_host: FarHost
) -> None:
    clock, works = ManualClock(), (tmp_path / "ssh").read_text()
    fails = works.replace("exec sh", "echo no route >&2; exit 255; sh")
    (tmp_path / "ssh").write_text(fails)
    path = parse_logdir(f"node7:{logs}")
    reader = reader_of(str(path), options=ReaderOptions(clock=clock))
    settings = read_settings([path, path / "a"])
    assert settings.trouble == "cannot be read: no route"
    assert len(far_host.connections) == 1
    (note,) = trouble([path])
    assert note.message == "no route"
    (tmp_path / "ssh").write_text(works)
    clock.advance(10)
    assert not read_settings([path]).trouble
    assert not trouble([path])
    reader.stop()


def test_a_host_that_only_complains_does_not_answer(
    there: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "_PATIENCE_S", 0.1)
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", "while :; do echo well >&2; sleep 0.02; done #")
    reader, troubles = reader_of(str(there)), list[str]()
    asking = threading.Thread(
        target=lambda: troubles.append(read_settings([there]).trouble), daemon=True
    )
    asking.start()
    asking.join(10)
    reader.stop()
    assert troubles == ["cannot be read: it does not answer"]


LATER = ReaderOptions(
    watch=Intervals(fast_s=0.05, slow_s=0.2, rescan_s=0.2), partial=True, later=True
)


def instead(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run this before ssh."""
    path, ssh = tmp_path / "before", os.environ["RLTUI_SSH"]
    path.write_text(f'#!/bin/sh\n{script}\nexec {ssh} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("RLTUI_SSH", shlex.quote(str(path)))


def reader(address: str) -> JoinedReader:
    found = reader_of(address, options=LATER)
    assert isinstance(found, JoinedReader)
    return found


def test_a_host_that_is_down_at_first(
    tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = tmp_path / "up"
    down = f'[ -e {up} ] || {{ echo "No route to host" >&2; exit 255; }}'
    instead(down, tmp_path, monkeypatch)
    append(tmp_path / "logs" / "run" / "metrics.jsonl", 0, 5)
    watched = Watched(reader(f"node7:{tmp_path}/logs"))
    reading = watched.reader
    reading.scan()
    assert (reading.state.searching, reading.state.connecting) == (reading.state.searching[:1],) * 2
    with running(reading):
        while reading.state.searching:
            reading.wait(0.01)
        assert not far_host.connections
        assert reading.state.out_of_reach
        assert all(reading.state.out_of_reach.values())
        assert reading.state.notes[0].message.startswith("not reachable since ")
        up.touch()
        watched.until(1, 5)
        assert not reading.state.out_of_reach
        assert not reading.state.notes
        append(tmp_path / "logs" / "run" / "metrics.jsonl", 5, 5)
        watched.until(1, 10)
    watched.assert_whole({"run": 10})


def test_leaving_ends_a_connection_that_is_being_made(
    tmp_path: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    del far_host
    begun = tmp_path / "begun"
    instead(
        f"echo $$ > {begun}.new; mv {begun}.new {begun}; exec sleep 1000", tmp_path, monkeypatch
    )
    reading = reader(f"node7:{tmp_path}")
    reading.start()
    while not begun.exists():
        reading.wait(0.01)
    assert [str(p) for p in reading.state.connecting] == [f"node7:{tmp_path}"]
    reading.stop()
    for thread in threading.enumerate():
        if thread.name == "rltui-search":
            thread.join(PATIENCE_S)  # which reaps what was killed
    with pytest.raises(ProcessLookupError):
        os.killpg(int(begun.read_text()), 0)


# -- one connection -----------------------------------------------------------------------------


def test_a_small_file_is_asked_for_once(
    logs: Path, there: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, send = list[object](), Conversation.send
    monkeypatch.setattr(Conversation, "send", lambda talk, *q: (asked.extend(q), send(talk, *q)))
    assert read_all(there / "a" / "metrics.jsonl") == (logs / "a" / "metrics.jsonl").read_bytes()
    assert [question.what for question in asked] == [What.STATUS, What.BYTES]  # type: ignore[attr-defined]


def test_closing_ends_a_connection_that_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    files = SshFiles(HOST, ["sleep", "1000"], ManualClock())
    begun: list[CommandProcess] = []

    def connecting(*arguments: Any) -> CommandProcess:
        begun.append(CommandProcess(*arguments))
        files.close()
        return begun[0]

    monkeypatch.setattr(files_module, "CommandProcess", connecting)
    with pytest.raises(OSError, match="the reader was stopped"):
        files.status(HOST / "runs")
    assert begun[0]._process.poll() is not None


class Talkative:
    """A connection that answers with more than was asked for."""

    def send(self, *_: Question) -> None: ...

    def arriving(self) -> Iterator[tuple[Answer, bytes]]:
        yield Answer(), b"12345"


def test_an_answer_has_no_more_than_was_asked_for() -> None:
    files = SshFiles(HOST, [], ManualClock())
    answers = files._exchange(Talkative(), [Question(What.BYTES, Path("/x"), 0, 4)])  # type: ignore[arg-type]
    with pytest.raises(StreamError, match="more than was asked for"):
        list(answers)


def test_a_host_is_tried_again_as_soon_as_its_connection_allows() -> None:
    asked = []

    class Away(SshFiles):
        def ask(self, questions: Any) -> Any:
            asked.append(questions)
            raise OSError(errno.EHOSTUNREACH, "no route")

    server = HostServer(Away(HOST, [], ManualClock()))
    server.clock = ManualClock()
    for _ in range(3):
        with pytest.raises(StoreError, match="no route"):
            server.infos([HOST / "runs"])
    assert len(asked) == 3


def test_a_host_without_a_home_directory_is_read(
    logs: Path, far_host: FarHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setenv("RLTUI_REMOTE_COMMAND", "no-such-rltui")
    monkeypatch.setenv("RLTUI_REMOTE_PYTHON", shlex.quote(sys.executable))
    found = reader_of(f"node7:{logs}")
    found.scan()
    assert found.state.run_count == 1
    found.stop()


# -- what the script answers --------------------------------------------------------------------


def test_a_place_behind_all_files_is_an_answered_error(logs: Path) -> None:
    path = str(logs / "a" / "metrics.jsonl")
    question = {"what": "bytes", "path": path, "begin": 1 << 63, "size": 1}
    assert host_script.answer(question)[0]["error"] == "EINVAL"


def test_a_process_that_ends_while_it_is_looked_at_holds_nothing(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "self" / "ns").mkdir(parents=True)
    (tmp_path / "self" / "ns" / "pid").symlink_to(host_script.WHOLE_MACHINE)
    (tmp_path / "7").mkdir()

    def ends(directory: str, _: object) -> bool:
        Path(directory).rmdir()
        raise PermissionError

    monkeypatch.setattr(host_script, "PROC", str(tmp_path))
    monkeypatch.setattr(host_script, "writes", ends)
    held, _ = host_script.hold(str(logs / "a" / "metrics.jsonl")) or ()
    assert held is None, "it may have been the writer"
