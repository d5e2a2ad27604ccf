"""The rows of an export as a Parquet file: the only importer of pyarrow.

The columns are those of :mod:`rltui.output.points`: ``run`` and ``tag`` as dictionaries,
``wall_time`` null where the log has none, ``value`` float64 with NaN and infinite values as they
are. Short series share a row group.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, BinaryIO

import numpy as np

from rltui.core.errors import UsageError
from rltui.core.installation import to_add
from rltui.output.points import ExportRows

#: Points per row group: enough to compress well, few enough to keep in memory.
_GROUP = 1 << 18


def need_parquet() -> None:
    """Raise UsageError when pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise UsageError(f"Parquet needs pyarrow: {to_add('pyarrow')}")


class ParquetFile:
    """Writes rows to ``out`` front to back; :meth:`close` writes the footer and leaves it open."""

    def __init__(self, out: BinaryIO) -> None:
        import pyarrow
        import pyarrow.parquet

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
        held, self._held, self._count = self._held, [], 0
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


class _Forward:
    """A stream that knows its position even if it is a pipe."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._at = 0
        self.closed = False

    def write(self, data: Any) -> int:
        count = self._out.write(data)
        self._at += count
        return count

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        self._out.flush()

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False
