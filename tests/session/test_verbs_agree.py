"""Every way to read a log gives the same rows: at once, watched, while it grows, over the wire."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.core.batch import Batch
from rltui.core.errors import SourceError
from rltui.remote.wire.batches import BatchDecoder, BatchEncoder
from rltui.remote.wire.framing import FrameReader, FrameWriter
from rltui.session import Session
from rltui.session.session import Choice
from rltui.sources.follow.reader import Reader
from rltui.store import RunData, Store
from tests.builders import running
from tests.commands.conftest import Cli, cli
from tests.places import CORPORA, FIXTURES

__all__ = ["cli"]

#: Files beside the fixtures of logs that are none.
_NO_LOGS = ("fuzz", "names", "labelled")
LOGS = sorted(p for p in FIXTURES.glob("*/*") if p.parent.name not in _NO_LOGS)
_LONG_AGO = 1_700_000_000
#: Logs of the corpora: small ones, every so many of them.
_MOST_BYTES, _OF_THEM = 150_000, 40

Shape = tuple[int, int, int, float]
"""Points, first and last step, and the sum of the finite values."""
Rows = dict[str, tuple[int | None, bool, dict[str, Shape]]]
"""Run -> last step, whether the rows were counted, and the shape of each tag."""


def shape_of(run: RunData, tag: str) -> Shape:
    series = run.series(tag)
    ends = (int(series.steps[0]), int(series.steps[-1])) if series.count else (0, 0)
    total = float(np.sum(series.values[np.isfinite(series.values)], dtype=np.float64))
    return series.count, *ends, round(total, 6)


def aged_copy(log: Path, into: Path) -> Path:
    """A directory with a log that nobody has written for long."""
    logdir = into / "exp"
    if log.is_dir():
        shutil.copytree(log, logdir)
    else:
        logdir.mkdir()
        shutil.copy(log, logdir)
    for file in (logdir, *logdir.rglob("*")):
        os.utime(file, (_LONG_AGO, _LONG_AGO))
    return logdir


def rows_of(runs: Iterable[RunData]) -> Rows:
    return {
        run.key.name: (
            run.last_step,
            run.table.counts_rows,
            {tag: shape_of(run, tag) for tag in sorted(run.tags)},
        )
        for run in runs
        if run.tags
    }


def session_of(path: Path) -> Session:
    session = Session([path], choice=Choice(partial=True))
    session.scan()
    return session


def read_at_once(path: Path) -> Rows:
    session = session_of(path)
    session.read_all(judge=False)
    return rows_of(run.data for run in session.runs())


def drain(session: Session) -> None:
    """Take in all that the reader has produced until it waits for more."""
    while True:
        found = session.drain(verdicts=False)
        if not found and session.reading() is None and not session.reader.wait(0.05):
            return


def watched(path: Path) -> Rows:
    session = session_of(path)
    with running(session):
        drain(session)
        return rows_of(run.data for run in session.runs())


def sent(path: Path) -> Rows:
    """As another host sends them."""
    frames: list[bytes] = []
    writer, encoder = FrameWriter(frames.append), BatchEncoder()
    for batch in batches_of(path):
        for frame in encoder.frames(batch):
            writer.put(frame)
    writer.flush()
    decoder, store = BatchDecoder(1), Store()
    for frame in FrameReader().feed(b"".join(frames)):
        if (received := decoder.batch_of(frame)) is not None:
            store.apply(received)
    return rows_of(store.runs.values())


def batches_of(path: Path) -> Iterable[Batch]:
    reader = Reader([path])
    reader.scan()
    return reader.read_all()


def while_it_grows(path: Path, into: Path, expected: Rows) -> Rows:
    """A text that is found with its first third, and read on whenever a ninth is written."""
    data, log = path.read_bytes() + b"\n" * (path.suffix == ".log"), into / path.name
    size = len(data)
    log.write_bytes(data[: size // 3])
    session = session_of(log)
    with running(session):
        for part in range(3, 9):
            with log.open("ab") as file:
                file.write(data[part * size // 9 : (part + 1) * size // 9])
            for _ in range(100 if part == 8 else 5):
                drain(session)
                found = rows_of(run.data for run in session.runs())
                if found == expected or session.reader.progress()[0] >= log.stat().st_size:
                    break
        return found


@pytest.mark.parametrize("log", LOGS, ids=lambda p: f"{p.parent.name}-{p.name}"[:40])
def test_at_once_watched_and_sent(log: Path, tmp_path: Path) -> None:
    logdir = aged_copy(log, tmp_path)
    expected = read_at_once(logdir)
    assert watched(logdir) == expected
    assert sent(logdir) == expected


@pytest.mark.parametrize(
    "log",
    [p for p in LOGS if p.parent.name in ("console", "csv", "jsonl", "tfevents")],
    ids=lambda p: f"{p.parent.name}-{p.name}"[:40],
)
def test_while_it_grows(log: Path, tmp_path: Path) -> None:
    expected = read_at_once(log)
    with suppress(SourceError):  # its first third says nothing yet
        assert while_it_grows(log, tmp_path, expected) == expected


@pytest.mark.parametrize("log", LOGS, ids=lambda p: f"{p.parent.name}-{p.name}"[:40])
def test_verbs(log: Path, cli: Cli, tmp_path: Path) -> None:
    check_verbs(aged_copy(log, tmp_path), cli)


def standing_of(run: dict[str, Any]) -> tuple[str, str, str]:
    """Last step, state and level of a run in any document."""
    ending = run.get("ending")
    state = ending["kind"] if ending else run["state"]
    return str(run.get("last_step", run.get("step"))), state, run["level"]


def check_verbs(logdir: Path, cli: Cli) -> None:
    """Steps, states and points are the same in what check, snapshot, brief and export say."""
    expected = read_at_once(logdir).values()
    answers = {verb: cli(verb, "--json", logdir).out for verb in ("check", "snapshot", "brief")}
    told = {
        verb: sorted(map(standing_of, json.loads(out or '{"runs": []}')["runs"]))
        for verb, out in answers.items()
    }
    assert told["check"] == told["snapshot"]
    if expected:  # a brief has nothing to say of a log without a row
        assert told["check"] == told["brief"]
        assert [step for step, _, _ in told["check"]] == sorted(str(s) for s, _, _ in expected)
    rows = map(json.loads, cli("export", "--format", "jsonl", logdir).out.splitlines())
    counts = Counter(row["tag"] for row in rows if not row["superseded"])
    assert counts == sum((Counter({t: s[0] for t, s in e[2].items()}) for e in expected), Counter())


def bytes_of(path: Path) -> int:
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())


def small_logs() -> list[Path]:
    """Some logs of the corpora: files, or directories of runs."""
    tops = ("dev/*", "made2/*", "public", "public2", "public3", "traps", "field")
    found = [path for top in tops for path in sorted(CORPORA.glob(f"{top}/*"))]
    logs = [path for path in found if path.suffix not in (".yaml", ".md", ".py")]
    small = [path for path in logs if bytes_of(path) < _MOST_BYTES]
    return small[:: max(1, len(small) // _OF_THEM)]


@pytest.mark.skipif(not CORPORA.is_dir(), reason=f"no corpora at {CORPORA}")
@pytest.mark.parametrize("log", small_logs(), ids=lambda p: f"{p.parent.name}-{p.name}"[:40])
def test_logs_of_the_corpora(log: Path, cli: Cli, tmp_path: Path) -> None:
    logdir = aged_copy(log, tmp_path)
    expected = read_at_once(logdir)
    assert watched(logdir) == expected
    assert sent(logdir) == expected
    check_verbs(logdir, cli)
