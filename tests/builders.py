"""Runs made of a few numbers, for tests of every floor above the store.

    a_run({"loss": [3, 2, 1]})                      one file, steps 1, 2, 3
    a_run({"loss": [3, 2]}, {"loss": [9]}, ...)     a file after the other: restarts
    a_store(good={"loss": [3, 2]}, bad={...})       several runs
    steps(5, {"loss": [3, 2]})                      rows that begin at step 5

None among the values means that the row has no value for the tag.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rltui.config import Config
from rltui.core.address import RemotePath
from rltui.core.batch import Batch, Restart, RunKey, SourceInfo
from rltui.core.block import Block
from rltui.formats import ALL_FORMATS
from rltui.formats.base import Format, Options
from rltui.remote import Reading
from rltui.session import Session
from rltui.sources.discovery.logdir import RunFinder
from rltui.sources.discovery.run_files import Discovery
from rltui.store import RunData, Store
from tests.blocks import make_block

#: Wall time of step 0 in built runs; one step a second.
START = 1_800_000_000.0
LOGDIR = Path("/logs")

Values = Sequence[float | None]
Tags = Mapping[str, Values]


def a_block(
    tags: Tags,
    *,
    steps: Sequence[int] | None = None,
    first: int = 1,
    walls: Sequence[float] | None = None,
    dtype: type[np.floating] = np.float64,
) -> Block:
    """A block with the rows of ``tags``; shorter columns are absent at the end."""
    rows = max((len(v) for v in tags.values()), default=0)
    steps = list(range(first, first + rows)) if steps is None else list(steps)
    walls = [START + s for s in steps] if walls is None else list(walls)
    columns = [list(v) + [None] * (rows - len(v)) for v in tags.values()]
    values = np.array([[0.0 if v is None else v for v in c] for c in columns], dtype=dtype).T
    absent = np.array([[v is None for v in c] for c in columns], dtype=bool).T
    shape = (rows, len(tags))
    return make_block(
        tuple(tags),
        steps,
        walls,
        values.reshape(shape),
        absent.reshape(shape) if absent.any() else None,
    )


def steps(first: int, tags: Tags) -> Block:
    """Rows that begin at step ``first``."""
    return a_block(tags, first=first)


def a_source(name: str = "events.0", order: int = 0, **changes: object) -> SourceInfo:
    """A log file of a run that was read to its end."""
    given = {
        "path": LOGDIR / name,
        "format": "tfevents",
        "order": order,
        "size": 1000,
        "offset": 1000,
        "records": 10,
        "modified": START,
    }
    return SourceInfo(**{**given, **changes})  # type: ignore[arg-type]


def a_batch(
    *items: Block | Restart | Tags,
    run: str | RunKey = ".",
    source: SourceInfo | str = "events.0",
    order: int = 0,
    **changes: object,
) -> Batch:
    """What one read of one file gave; a mapping stands for a block from step 1."""
    key = run if isinstance(run, RunKey) else RunKey(0, run)
    info = a_source(source, order) if isinstance(source, str) else source
    blocks = tuple(i if isinstance(i, (Block, Restart)) else a_block(i) for i in items)
    return Batch(key, LOGDIR / key.name, info, blocks, **changes)  # type: ignore[arg-type]


def a_run(*files: Block | Tags, name: str = ".") -> RunData:
    """A run of one file per argument, oldest first."""
    run = RunData(RunKey(0, name), LOGDIR / name)
    for order, content in enumerate(files):
        run.apply(a_batch(content, run=name, source=f"events.{order}", order=order))
    return run


def a_store(**runs: Block | Tags) -> Store:
    """A store with one file per run."""
    store = Store()
    for name, content in runs.items():
        store.apply(a_batch(content, run=name, source=f"{name}/events.0"))
    return store


def append_rows(log: Path, rows: int, first: int = 0) -> None:
    """Append rows of JSON with the steps from ``first`` on to a log; step 3 has the loss 3.25."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.writelines(f'{{"step": {s}, "loss": {s}.25}}\n' for s in range(first, first + rows))


def read_session(
    logdirs: Sequence[Path | RemotePath], config: Config | None = None, **given: Any
) -> Session:
    """A session that has searched and read these logs once."""
    session = Session(logdirs, config, **given)
    session.scan()
    session.read_all()
    return session


@contextmanager
def running(reader: "Reading | Session") -> Iterator[None]:
    """A reader or session that has started, while the block runs."""
    reader.start()
    try:
        yield
    finally:
        reader.stop()


def discover(
    logdirs: Sequence[Path], formats: Sequence[Format] = ALL_FORMATS, options: Options | None = None
) -> Discovery:
    """What one search finds."""
    return RunFinder(logdirs, formats, options).find()
