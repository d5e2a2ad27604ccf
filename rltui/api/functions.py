"""``read``, ``judge``, ``follow``."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast, overload

from rltui.api.runs import Run, Runs
from rltui.config import load_config
from rltui.core.address import parse_logdir
from rltui.output.documents import EventDocument, LevelWord, NoteDocument, RunVerdict
from rltui.output.json_document import check_document, dump, event_line, note_document
from rltui.output.points import export_names
from rltui.session import Session
from rltui.session.event import changes
from rltui.session.session import Choice

#: A path, an address (``host:/path``, ``s3://bucket/path``), or several of them.
Logdirs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Verdicts(Sequence[RunVerdict]):
    """The verdicts on some runs, in the order of their names."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        """The whole document, as ``rltui check --json`` prints it."""
        self.level: LevelWord = document["level"]
        """That of the worst run."""
        self.notes: list[NoteDocument] = document["notes"]
        """Trouble that concerns no single run: directories that cannot be read."""

    def __len__(self) -> int:
        return len(self.document["runs"])

    @overload
    def __getitem__(self, index: int) -> RunVerdict: ...
    @overload
    def __getitem__(self, index: slice) -> list[RunVerdict]: ...
    def __getitem__(self, index: int | slice) -> RunVerdict | list[RunVerdict]:
        runs: list[RunVerdict] = self.document["runs"]
        return runs[index]

    def __repr__(self) -> str:
        runs = ", ".join(f"{r['run']}: {r['level']}" for r in self[:6])
        return f"<Verdicts {self.level}: {runs}{', ...' if len(self) > 6 else ''}>"


def read(
    logdir: Logdirs,
    *,
    run: str | None = None,
    framework: str | None = None,
    algorithm: str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> Runs:
    """Every point of all runs below ``logdir``.

    ``run`` chooses runs by name or glob; ``framework`` and ``algorithm`` overrule what is
    recognised; ``config`` is a configuration file (default: that of the user). Raises
    :class:`~rltui.core.errors.RltuiError` for a path that is missing or no log, an unknown
    framework or algorithm, and a bad configuration.
    """
    session = _session(logdir, Choice(run, framework, algorithm), config)
    session.read_all(judge=False)
    views = [view for view in session.runs() if view.data.tags]
    runs = [Run(v, n) for v, n in zip(views, export_names(session, views), strict=True)]
    return Runs(runs, [cast(NoteDocument, note_document(note)) for note in session.troubles()])


def judge(
    logdir: Logdirs,
    *,
    run: str | None = None,
    framework: str | None = None,
    algorithm: str | None = None,
    reference: str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> Verdicts:
    """The verdicts on all runs below ``logdir``: the objects of ``rltui check --json``.

    ``reference`` names a run, or the path of one, that the others are compared with; the rest is as
    in :func:`read`.
    """
    choice = Choice(run, framework, algorithm, reference=reference)
    session = _session(logdir, choice, config)
    try:
        session.read_all()
        return Verdicts(json.loads(dump(check_document(session))))
    finally:
        session.stop()


def follow(
    logdir: Logdirs,
    *,
    run: str | None = None,
    framework: str | None = None,
    algorithm: str | None = None,
    config: str | os.PathLike[str] | None = None,
    stop: threading.Event | None = None,
) -> Generator[EventDocument, None, None]:
    """Changes of the verdicts as they happen, as ``rltui check --follow --json`` prints them.

    Begins with what fires already. Waits for more until ``stop`` is set (noticed within a second)
    or the generator is closed. The logs are opened when the first event is asked for.
    """
    session = _session(logdir, Choice(run, framework, algorithm, waits=True), config)
    with closing(changes(session, stop)) as events:
        for event in events:
            yield json.loads(event_line(event))


def _session(logdir: Logdirs, choice: Choice, config: str | os.PathLike[str] | None) -> Session:
    path = None if config is None else Path(config)
    logdirs = (logdir,) if isinstance(logdir, (str, os.PathLike)) else logdir
    paths = [p if isinstance(p, Path) else parse_logdir(os.fspath(p)) for p in logdirs]
    session = Session(paths, load_config(path, os.environ, {}), choice=choice)
    session.scan()
    return session
