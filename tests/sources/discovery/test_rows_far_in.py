"""Logs whose rows lie further than their first and last bytes, and what that costs.

What is remembered of files that are still there.
"""

import gzip
import os
from pathlib import Path

import pytest

from rltui.core.address import RemotePath
from rltui.core.errors import SourceError
from rltui.files import disk
from rltui.files.remote.server import RemoteServer
from rltui.files.remote.store import RemoteStore
from rltui.formats.base import Options
from rltui.formats.console import Console
from rltui.health.job_log import JobLogs
from rltui.sources import Reader
from rltui.sources.discovery import log_head
from rltui.sources.discovery.log_head import HeadReader
from rltui.sources.discovery.logdir import RunFinder
from tests.clock import ManualClock
from tests.sources.discovery.test_logdir import events
from tests.tables import cases

CHATTER = b"the model says something that is long enough about sample A -> true\n"
ROW = "step:{} - actor/entropy_loss:0.5 - critic/score/mean:0.25 - response_length/mean:700.0\n"
PLAIN = "step {}, loss 0.5000, reward 0.2500\n"


def noise(size: int) -> bytes:
    return CHATTER * (size // len(CHATTER) + 1)


def chatty(path: Path, rows: int = 4, between: int = 300_000, row: str = ROW) -> Path:
    """Rows with ``between`` bytes of other output before each of them and after the last one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"".join(noise(between) + row.format(n).encode() for n in range(1, rows + 1))
        + noise(between)
    )
    return path


def steps(path: Path) -> list[int]:
    return [int(s) for b in Reader([path]).read_all() for x in b.blocks for s in x.steps]


def searched(finder: RunFinder) -> int:
    """Bytes between beginning and end of files."""
    return finder._walker.heads.searched_bytes


@pytest.mark.parametrize("row", [ROW, PLAIN], ids=["verl", "own"])
@pytest.mark.parametrize("named", [False, True], ids=["directory", "named"])
def test_rows_between_hundreds_of_kilobytes(tmp_path: Path, row: str, named: bool) -> None:
    path = chatty(tmp_path / "output.log", row=row)
    assert steps(path if named else tmp_path) == [1, 2, 3, 4]


def test_a_file_that_is_named_may_be_called_anything(tmp_path: Path) -> None:
    path = chatty(tmp_path / "notes")
    assert steps(path) == [1, 2, 3, 4]
    with pytest.raises(SourceError):
        Reader([chatty(tmp_path / "other", rows=0)]).scan()
    assert not RunFinder([tmp_path]).find().runs, "names of no log are not opened"


def test_what_was_searched_is_not_searched_again(tmp_path: Path) -> None:
    path = chatty(tmp_path / "train.log", rows=0, between=500_000)
    finder = RunFinder([tmp_path])
    assert not finder.find().runs
    size = path.stat().st_size
    assert searched(finder) == size
    assert not finder.find().runs
    assert searched(finder) == size
    for number in (1, 2, 3):
        with path.open("ab") as file:
            file.write(noise(100_000))
        assert not finder.find().runs
        grown = path.stat().st_size
        assert searched(finder) == grown, number


def test_the_bound_of_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_head, "FILE_BYTES", 1 << 20)
    late = tmp_path / "late.log"
    late.write_bytes(noise(2 << 20) + ROW.format(1).encode() + noise(1 << 20))
    finder = RunFinder([tmp_path])
    assert not finder.find().runs
    assert searched(finder) == 1 << 20
    assert steps(late) == [1], "who names it wants more of it to be searched"
    with late.open("ab") as file:  # what it grows by is searched
        file.write(ROW.format(2).encode() + noise(200_000))
    assert len(finder.find().runs) == 1


def test_the_bound_of_one_search_and_the_newest_log_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_head, "SEARCH_BYTES", 3 << 20)
    for number in range(5):
        chatty(tmp_path / f"a{number}.log", rows=0, between=1 << 20)
        os.utime(tmp_path / f"a{number}.log", (1000 + number, 1000 + number))
    wanted = chatty(tmp_path / "wanted.log", rows=2)
    finder = RunFinder([tmp_path])
    (run,) = finder.find().runs
    assert run.path == wanted
    assert finder.unfinished
    searches = 1
    while finder.unfinished:
        before = searched(finder)
        assert len(finder.find().runs) == 1
        assert searched(finder) - before <= 3 << 20
        searches += 1
    assert 2 <= searches <= 4
    assert searched(finder) <= sum(p.stat().st_size for p in tmp_path.iterdir())


# -- jobs that died before their first row -------------------------------------------------

OOM = b"loading\nTraceback (most recent call last):\n  File 'x'\nValueError: no data\n"


def runs(path: Path) -> dict[str, int]:
    found = RunFinder([path], ends=JobLogs()).find().runs
    return {r.key.name: len(r.files) for r in found}


def test_a_job_that_died_is_a_run(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_bytes(noise(500_000) + OOM)
    (tmp_path / "calm.log").write_bytes(noise(500_000))
    (tmp_path / "notes.txt").write_bytes(OOM)
    assert runs(tmp_path) == {".": 1}
    assert runs(tmp_path / "notes.txt") == {"notes.txt": 1}


@pytest.mark.parametrize(
    ("later", "found"), [(0, {".": 2}), (300, {".": 2}), (4000, {".": 1, "slurm-7": 1})]
)
def test_the_log_of_a_job_beside_its_event_files(
    tmp_path: Path, later: int, found: dict[str, int]
) -> None:
    """Without a row only the times can show that both are of one training."""
    file = events(tmp_path, "loss")
    os.utime(file, (1e9, 1e9))
    (tmp_path / "slurm-7.out").write_bytes(OOM)
    os.utime(tmp_path / "slurm-7.out", (1e9 + later, 1e9 + later))
    assert runs(tmp_path) == found


def test_the_errors_of_a_job_are_of_its_output(tmp_path: Path) -> None:
    """Without rows ``slurm-7.err`` is no run beside ``slurm-7.out``; without that it is one."""
    for job in (7, 8):
        chatty(tmp_path / f"slurm-{job}.out", between=100)
    for job in (7, 9):
        (tmp_path / f"slurm-{job}.err").write_bytes(OOM)
        os.utime(tmp_path / f"slurm-{job}.err", (1e9, 1e9))
    assert runs(tmp_path) == {"slurm-7": 2, "slurm-8": 1, "slurm-9": 1}


@cases(__file__, "errors_belong_to_the_output_of_their_job")
def test_errors_belong_to_the_output_of_their_job(
    tmp_path: Path, output: str, errors: str, run: str
) -> None:
    chatty(tmp_path / output, between=100)
    (tmp_path / errors).write_bytes(OOM)
    for name in (output, errors):
        os.utime(tmp_path / name, (1e9, 1e9))
    assert runs(tmp_path) == {run: 2}


@pytest.mark.parametrize("name", ["slurm-12.out.gz", "job.log.gz"])
def test_a_packed_log_of_a_job_that_died(tmp_path: Path, name: str) -> None:
    text = (
        b"loading\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'x'\n"
    )
    path = tmp_path / "jobs" / name
    path.parent.mkdir()
    for named in (path, path.parent):
        path.write_bytes(gzip.compress(text))
        (run,) = RunFinder([named], ends=JobLogs()).find().runs
        assert [f.path for f in run.files] == [path]
        path.write_bytes(gzip.compress(b"all is well\n" * 9))
        if named is path:
            with pytest.raises(SourceError):
                RunFinder([named], ends=JobLogs()).find()
        else:
            assert not RunFinder([named], ends=JobLogs()).find().runs


ROOT = RemotePath("s3:", "heads", "runs")
KIB = 1 << 10


class Settings:
    """A log in a bucket that has no row yet."""

    def __init__(self) -> None:
        from tests.files.bucket import Bucket

        self.clock = ManualClock()
        self.bucket = Bucket(self.clock)
        store = RemoteStore(RemoteServer(ROOT, lambda _: self.bucket, lambda: 0.5))
        store.use(self.clock, 5.0)
        disk.offer(ROOT, store)
        self.path: Path = ROOT / "train.log"
        self.heads = HeadReader(Options())

    def reads_at(self, kib: int) -> list[tuple[int, int]]:
        """What is asked for, in KiB, to look for a step when it has this size."""
        self.bucket.put("heads/runs/train.log", b"lr=1e-6\n" * (kib * KIB // 8))
        self.clock.advance(60.0)
        self.bucket.reads()
        assert self.heads.span(self.path, Console()) is None
        return [(begin // KIB, end // KIB) for begin, end in self.bucket.reads()]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    pytest.importorskip("fsspec", reason="the extra remote is not installed")
    monkeypatch.setattr("rltui.files.disk._OFFERED", {})
    return Settings()


def test_of_a_log_elsewhere_more_is_read_until_it_shows_a_step(settings: Settings) -> None:
    assert settings.reads_at(10) == [(0, 16)]
    assert settings.reads_at(40) == [(0, 16), (0, 1024)]


def test_a_log_elsewhere_without_a_step_is_read_again_when_it_has_doubled(
    settings: Settings,
) -> None:
    sizes = (40, 60, 79, 80, 159, 1200, 2400, 9600)
    reads = {kib: settings.reads_at(kib) for kib in sizes}
    assert {kib: len(found) for kib, found in reads.items() if found} == {40: 2, 80: 2, 1200: 2}
    assert reads[1200] == [(0, 16), (0, 1024)]
