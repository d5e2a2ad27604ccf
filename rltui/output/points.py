"""Every stored point as rows of CSV or JSON lines. Opens no file; derives nothing.

Columns: ``run``, ``tag``, ``step``, ``wall_time`` (seconds since the epoch, empty or null where
the log has none), ``value`` (as logged: not smoothed, scaled or negated; float32 is written as the
equal double) and ``superseded`` (whether a resumed run has overwritten
the point). Runs come in the order of their names, tags as they were first seen, points by step;
at one step the superseded ones come first.

A value that is not finite is ``nan``, ``inf`` or ``-inf`` in CSV. JSON has no such numbers:
there the value is null, and a further field ``nonfinite`` names which of the three it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import RawIOBase
from typing import Any, BinaryIO

import numpy as np
import orjson

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.installation import need
from rltui.core.record import entity
from rltui.core.text import clean
from rltui.session import JudgedRun, Session
from rltui.store import Series
from rltui.store.points import choose, concatenate

#: Points converted to text at a time: memory stays bounded and the data stay in the cache.
CHUNK = 1 << 12
#: Chunks of steps and times of which the text is kept for the next tag.
_MOST_AXES = 64
#: Begins of a cell that spreadsheets run, the full-width ones too.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")

#: How Python writes what is not finite.
_ODD = ("nan", "inf", "-inf")

CSV_HEAD = b"run,tag,step,wall_time,value,superseded\n"
#: Points per row group: enough to compress well, few enough to keep in memory.
_GROUP = 1 << 18


@entity
class ExportRows:
    """n points of one tag of one run, by step."""

    run: str
    tag: str
    steps: IntArray
    """(n,)"""
    wall_times: FloatArray
    """(n,) seconds since the epoch; not finite where the log has none."""
    values: FloatArray
    """(n,) float64."""
    superseded: BoolArray | None
    """(n,), or None when no point is."""


def export_names(session: Session, runs: Sequence[JudgedRun]) -> list[str]:
    """The name of each run as in the JSON of ``check``, preceded by the path of its logdir if there
    are several."""
    if len(session.logdirs) == 1:
        return [r.key.name for r in runs]
    return [clean(str(session.logdirs[r.key.logdir])) + f"/{r.key.name}" for r in runs]


def export_rows(
    runs: Iterable[tuple[str, JudgedRun]], tags: Mapping[str, object] | None = None
) -> Iterator[ExportRows]:
    """The points of all ``(name, run)``, of ``tags`` only unless None; at most CHUNK at a time."""
    for name, run in runs:
        for tag in run.data.tags:
            if tags is None or tag in tags:
                rows: Iterable[ExportRows] = ()
                with run.isolate_faults(f"{tag} could not be exported"):
                    rows = _series_rows(name, run.series(tag))
                yield from rows


def _series_rows(run: str, series: Series) -> Iterator[ExportRows]:
    steps = series.steps
    walls = series.wall_times
    values = series.values
    superseded: BoolArray | None = None
    if series.superseded:
        both = concatenate([*series.superseded, series.points])
        order = np.argsort(both[0], kind="stable")
        steps, walls, values = choose(both, order)
        superseded = order < series.old_count

    for start in range(0, len(steps), CHUNK):
        part = slice(start, start + CHUNK)
        yield ExportRows(
            run,
            series.tag,
            np.ascontiguousarray(steps[part]),
            np.ascontiguousarray(walls[part]),
            np.ascontiguousarray(values[part], dtype=np.float64),
            None if superseded is None else superseded[part],
        )


def csv_lines(parts: Iterable[ExportRows], *, spreadsheet: bool = False) -> Iterator[bytes]:
    """The rows as CSV (RFC 4180 quoting, lines end in a line feed). ``spreadsheet``: a name that a
    spreadsheet would run as a formula begins with an apostrophe, which makes it a text."""
    axes = _AxisTexts(b",", b",", b"")
    for rows in parts:
        names = [rows.run, rows.tag]
        if spreadsheet:
            names = [f"'{name}" if name.lstrip().startswith(_FORMULA) else name for name in names]
        head = "".join(f"{_quoted(name)}," for name in names).encode("utf-8", "backslashreplace")
        values = _numbers(rows.values, {x: x.encode() for x in _ODD})
        yield _joined(rows, head, axes.of(rows), values, (b",false\n", b",true\n"))


def json_lines(parts: Iterable[ExportRows]) -> Iterator[bytes]:
    """The rows as JSON lines, strict JSON in UTF-8."""
    axes = _AxisTexts(b',"wall_time":', b',"value":', b"null")
    ends = (b',"superseded":false}\n', b',"superseded":true}\n')
    odd = {x: f'null,"nonfinite":"{x}"'.encode() for x in _ODD}
    for rows in parts:
        run = orjson.dumps(rows.run)
        tag = orjson.dumps(rows.tag)
        head = b'{"run":' + run + b',"tag":' + tag + b',"step":'
        values = _numbers(rows.values, odd)
        yield _joined(rows, head, axes.of(rows), values, ends)


class _AxisTexts:
    """Steps and wall times as text. The tags of a log mostly share them: they are written once."""

    def __init__(self, after_step: bytes, after_wall: bytes, missing: bytes) -> None:
        self._after_step = after_step
        self._after_wall = after_wall
        self._missing = missing
        self._known: dict[tuple[int, int], tuple[IntArray, IntArray, list[bytes]]] = {}
        """First step and number of rows -> the steps, the bits of the wall times, their texts."""

    def of(self, rows: ExportRows) -> list[bytes]:
        """``step after_step wall after_wall`` of each row."""
        if not len(rows.steps):
            return []
        key = (int(rows.steps[0]), len(rows.steps))
        bits = rows.wall_times.view(np.int64)
        known = self._known.pop(key, None)
        same = known is not None and np.array_equal(known[0], rows.steps)
        if known is None or not (same and np.array_equal(known[1], bits)):
            walls = _numbers(rows.wall_times, dict.fromkeys(_ODD, self._missing))
            between = self._after_step
            behind = self._after_wall
            pairs = zip(_dumped(rows.steps), walls, strict=True)
            known = rows.steps, bits, [step + between + wall + behind for step, wall in pairs]

        self._known[key] = known
        if len(self._known) > _MOST_AXES:
            del self._known[next(iter(self._known))]
        return known[2]


def _numbers(numbers: FloatArray, odd: Mapping[str, bytes]) -> list[bytes]:
    """Each number in the fewest digits that read back exactly; ``odd`` has the texts of what is not
    finite."""
    texts = _dumped(numbers)
    strange = np.flatnonzero(~np.isfinite(numbers))
    for i, x in zip(strange.tolist(), numbers[strange].tolist(), strict=True):
        texts[i] = odd[str(x)]
    return texts


def _dumped(numbers: FloatArray | IntArray) -> list[bytes]:
    return orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")


def _joined(
    rows: ExportRows, head: bytes, axis: list[bytes], values: list[bytes], ends: tuple[bytes, bytes]
) -> bytes:
    """``head axis value end`` for each row, in one piece."""
    n = len(rows.steps)
    if not n:
        return b""
    # Three slices instead of one format call a row: no Python code runs per point.
    parts = [ends[0] + head] * (3 * n)
    if rows.superseded is not None:
        seams = [ends[0] + head, ends[1] + head]
        parts[3::3] = [seams[old] for old in rows.superseded[:-1].tolist()]

    parts[0] = head
    parts[1::3] = axis
    parts[2::3] = values
    parts.append(ends[rows.superseded is not None and bool(rows.superseded[-1])])

    return b"".join(parts)


def _quoted(text: str) -> str:
    if '"' in text or "," in text or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def need_parquet() -> None:
    """Raise UsageError when pyarrow is not installed."""
    need("Parquet", "pyarrow")


class ParquetFile:
    """Writes rows to ``out`` front to back; :meth:`close` writes the footer and leaves it open."""

    def __init__(self, out: BinaryIO) -> None:
        import pyarrow.parquet  # only for this output

        self._arrow: Any = pyarrow
        names = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        fields = [
            ("run", names, False),
            ("tag", names, False),
            ("step", pyarrow.int64(), False),
            ("wall_time", pyarrow.float64(), True),
            ("value", pyarrow.float64(), False),
            ("superseded", pyarrow.bool_(), False),
        ]
        self._schema = pyarrow.schema([pyarrow.field(n, t, nullable=null) for n, t, null in fields])
        self._writer: Any = pyarrow.parquet.ParquetWriter(
            _Forward(out), self._schema, use_dictionary=["run", "tag"], compression="zstd"
        )
        self._held: list[ExportRows] = []
        self._count = 0

    def write(self, rows: ExportRows) -> None:
        """Add rows; a row group is written once there are enough of them."""
        self._held.append(rows)
        self._count += len(rows.steps)
        if self._count >= _GROUP:
            self._flush()

    def close(self) -> None:
        """Write the remaining rows and the end of the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        held = self._held
        self._held = []
        self._count = 0
        if not held:
            return
        arrow = self._arrow
        walls = np.concatenate([r.wall_times for r in held])
        old = [np.zeros(len(r.steps), bool) if r.superseded is None else r.superseded for r in held]
        columns = [
            self._names([r.run for r in held], held),
            self._names([r.tag for r in held], held),
            arrow.array(np.concatenate([r.steps for r in held])),
            arrow.array(walls, mask=~np.isfinite(walls)),
            arrow.array(np.concatenate([r.values for r in held]), from_pandas=False),
            arrow.array(np.concatenate(old)),
        ]
        table = arrow.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=len(walls))

    def _names(self, names: list[str], held: list[ExportRows]) -> Any:
        """One name per series, repeated for each of its points."""
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        index = np.array([numbers[n] for n in names], dtype=np.int32)
        repeated = np.repeat(index, [len(r.steps) for r in held])
        return self._arrow.DictionaryArray.from_arrays(repeated, list(numbers))


class _Forward(RawIOBase):
    """A stream that knows its position even if it is a pipe; closing it leaves the pipe open."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        count = self._out.write(data)
        self._at += count
        return count

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        if not self.closed:
            self._out.flush()
