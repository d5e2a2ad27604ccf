"""``rltui export``: every stored point as CSV, JSON lines or Parquet."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Iterable
from fnmatch import filter as fitting_names
from pathlib import Path
from typing import BinaryIO

from rltui.commands.command import nothing_readable, open_session, report_notes, with_faults
from rltui.commands.standard_output import emitted, tell
from rltui.commands.terminal import reading_pipe
from rltui.commands.verbs import Exit
from rltui.core.errors import UsageError
from rltui.core.level import Level
from rltui.core.yaml_document import nearest
from rltui.files.disk import check_target, target_file
from rltui.health.job_log import JobLogs
from rltui.output import points
from rltui.output.plot import find_tags
from rltui.remote.stream import Stream
from rltui.remote.wire.codec import WireError
from rltui.session import JudgedRun

_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
#: Most notes printed about files that could not be read in full.
_MOST_NOTES = 10
#: Bytes that are read at once.
_PIECE = 1 << 18


def export(options: argparse.Namespace) -> int:
    """Write the points of the runs to a file or to standard output."""
    target: Path | None = options.output
    form = _form(options, target)
    if target is not None:
        target = check_target(target, options.logdirs)
    with reading_pipe(options):
        session = open_session(options)
        session.read_all(judge=False)

    runs = [r for r in session.runs() if r.data.tags]
    if not runs:
        session.finish()  # the verdict says why a job died
        return nothing_readable(options, session)
    tags = _chosen(runs, options.tags) if options.tags else None
    report_notes((n for n in session.troubles() if n.level >= Level.WATCH), _MOST_NOTES)

    rows = points.export_rows(zip(points.export_names(session, runs), runs, strict=True), tags)
    if target is None:
        emitted(lambda out: _write(rows, form, out.buffer, spreadsheet=options.spreadsheet))
    else:
        with target_file(target) as file:
            _write(rows, form, file, spreadsheet=options.spreadsheet)

    return with_faults(Exit.OK, session.faults)


def _form(options: argparse.Namespace, target: Path | None) -> str:
    """The format to write. Raises UsageError where it cannot be written there."""
    form = options.format or _ENDINGS.get(target.suffix.lower() if target else "", "csv")
    if options.spreadsheet and form != "csv":
        raise UsageError(f"--spreadsheet is for CSV, not for {form}")
    if form == "parquet":
        points.need_parquet()
        if target is None and sys.stdout.isatty():
            raise UsageError("Parquet is binary: name a file with -o FILE, or send it into a pipe")
    return str(form)


def _chosen(runs: list[JudgedRun], names: list[str]) -> dict[str, None]:
    """The logged tags that ``names`` refer to; UsageError for a name without any."""
    logged = dict.fromkeys(t for r in runs for t in r.data.tags)
    chosen: dict[str, None] = {}
    for name in names:
        # the names of tags that are not shown are known, too
        named = dict.fromkeys((*find_tags(runs, name), *fitting_names(logged, name)))
        found = [t for t in (*named, name) if t in logged]
        if not found:
            hint = nearest(name, logged)
            raise UsageError(f"no logged tag or metric {name!r}", hint=hint)
        chosen.update(dict.fromkeys(found))

    return chosen


def _write(
    rows: Iterable[points.ExportRows], form: str, out: BinaryIO, *, spreadsheet: bool
) -> None:
    if form == "parquet":
        file = points.ParquetFile(out)
        for part in rows:
            file.write(part)
        file.close()
        return
    if form == "csv":
        out.write(points.CSV_HEAD)
        out.writelines(points.csv_lines(rows, spreadsheet=spreadsheet))
    else:
        out.writelines(points.json_lines(rows))


def stream(options: argparse.Namespace) -> int:
    """Write what the reader of the logs hands over, until the other side leaves."""
    if sys.stdout.isatty():
        raise UsageError("stream is for another rltui: use `rltui watch HOST:PATH` there")
    out = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed must not get into the stream

    sender = Stream(options.logdirs, lambda data: _send(out, data), JobLogs())

    def beat() -> None:
        sender.beat()
        os._exit(Exit.OK)

    threading.Thread(target=_listen, args=(sender,), daemon=True).start()
    threading.Thread(target=beat, daemon=True).start()
    try:
        sender.run()
    except BrokenPipeError:
        return Exit.OK
    except WireError as error:
        raise UsageError(f"standard input: {error}") from None
    return Exit.OK


def _send(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _listen(stream: Stream) -> None:
    """Take what the other side sends; the process ends when it does, whatever it is doing."""
    try:
        while data := os.read(0, _PIECE):
            stream.feed(data)
    except (OSError, WireError) as error:
        tell(f"rltui: standard input: {error}\n")
    os._exit(Exit.OK)
