"""``rltui export``: every stored point as CSV, JSON lines or Parquet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from fnmatch import filter as fitting_names
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rltui.commands.command import (
    Command,
    Exit,
    add_logdirs,
    add_reading,
    nothing_readable,
    open_session,
    report_notes,
    with_faults,
)
from rltui.commands.standard_input import is_piped, kept_open, need_pipe
from rltui.commands.standard_output import emitted
from rltui.core.errors import UsageError
from rltui.core.level import Level

if TYPE_CHECKING:
    from rltui.output.points import ExportRows
    from rltui.session import RunView

_FORMATS = ("csv", "jsonl", "parquet")
_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
#: Most notes printed about files that could not be read in full.
_MOST_NOTES = 10


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_logdirs(parser)
    parser.add_argument(
        "--format", choices=_FORMATS, help="default: as FILE ends, else csv; parquet needs pyarrow"
    )
    parser.add_argument(
        "--tag",
        dest="tags",
        action="append",
        metavar="GLOB",
        help="only this tag, metric or glob; may be given several times",
    )
    parser.add_argument(
        "--spreadsheet",
        action="store_true",
        help="CSV for a spreadsheet: names that it would run as formulas begin with an apostrophe",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write to FILE, whole or not at all, instead of standard output",
    )
    add_reading(parser)


def _run(options: argparse.Namespace) -> int:
    from rltui.files.output_target import check_target, target_file
    from rltui.output.points import export_names, export_rows

    if is_piped(options):
        need_pipe()
    target: Path | None = options.output
    form = options.format or _ENDINGS.get(target.suffix.lower() if target else "", "csv")
    if options.spreadsheet and form != "csv":
        raise UsageError(f"--spreadsheet is for CSV, not for {form}")
    if form == "parquet":
        _need_parquet(target)
    if target is not None:
        target = check_target(target, options.logdirs)
    with kept_open(0):
        session = open_session(options)
        session.read_all(judge=False)
    runs = [r for r in session.runs() if r.data.tags]
    if not runs:
        session.finish()  # the verdict says why a job died
        return nothing_readable(options, session)
    tags = _chosen(runs, options.tags) if options.tags else None
    report_notes((n for n in session.troubles() if n.level >= Level.WATCH), _MOST_NOTES)
    rows = export_rows(zip(export_names(session, runs), runs, strict=True), tags)
    if target is None:
        emitted(lambda out: _write(rows, form, out.buffer, spreadsheet=options.spreadsheet))
    else:
        with target_file(target) as file:
            _write(rows, form, file, spreadsheet=options.spreadsheet)
    return with_faults(Exit.OK, session.faults)


def _need_parquet(target: Path | None) -> None:
    from rltui.output.parquet import need_parquet

    need_parquet()
    if target is None and sys.stdout.isatty():
        raise UsageError("Parquet is binary: name a file with -o FILE, or send it into a pipe")


def _chosen(runs: list[RunView], names: list[str]) -> dict[str, None]:
    """The logged tags that ``names`` refer to; UsageError for a name without any."""
    from rltui.core.yaml_document import nearest
    from rltui.output.plot import find_tags

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


def _write(rows: Iterable[ExportRows], form: str, out: BinaryIO, *, spreadsheet: bool) -> None:
    from rltui.output.points import CSV_HEAD, csv_lines, json_lines

    if form == "parquet":
        from rltui.output.parquet import ParquetFile

        file = ParquetFile(out)
        for part in rows:
            file.write(part)
        file.close()
        return
    if form == "csv":
        out.write(CSV_HEAD)
        out.writelines(csv_lines(rows, spreadsheet=spreadsheet))
    else:
        out.writelines(json_lines(rows))


COMMAND = Command(
    "export",
    "write every stored point as CSV, JSON lines or Parquet",
    "rltui export runs/ --tag 'critic/score/*' -o scores.csv",
    _arguments,
    _run,
)
