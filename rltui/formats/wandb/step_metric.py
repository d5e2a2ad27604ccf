"""The x axis of each metric: ``define_metric(name, step_metric=...)``.

Without a definition it is ``_step``, the number of the history row. Hugging Face's trainer
defines ``*`` by ``train/global_step``; the SDK then writes that metric into every row.
"""

from __future__ import annotations

from rltui.formats.protobuf import BYTES, fields, integer

STEP = b"_step"
#: Definitions kept at most.
_MAX_EXACT, _MAX_GLOBS = 1 << 16, 1 << 8
_MAX_AXES = 64
_MAX_KNOWN = 1 << 16


class Axes:
    """The definitions read so far. Owned by one decoder."""

    def __init__(self) -> None:
        self._exact: dict[bytes, bytes] = {}
        self._globs: dict[bytes, bytes] = {}
        self._unfit: set[bytes] = set()
        """Step metrics with fractions (epochs), which cannot be steps."""
        self.metrics: set[bytes] = set()
        """Those that are the x axis of some metric."""
        self._known: dict[bytes, bytes] = {}
        """Answers to :meth:`of`."""

    def define(self, data: bytes, start: int, stop: int) -> None:
        """Read a ``MetricRecord``: name 1, glob_name 2, step_metric 4, control 9 (overwrite 1).

        Raises MalformedError when it is not one.
        """
        texts: dict[int, bytes] = {}
        overwrite = False
        for number, wire, a, b in fields(data, start, stop):
            if wire == BYTES and number in (1, 2, 4):
                texts[number] = data[a:b]
            elif wire == BYTES and number == 9:
                control = fields(data, a, b)
                overwrite = any(n == 1 and integer(data, c, d) for n, _, c, d in control)
        table, name, most = self._exact, texts.get(1, b""), _MAX_EXACT
        if not name:
            table, name, most = self._globs, texts.get(2, b"").removesuffix(b"*"), _MAX_GLOBS
            if 2 not in texts:
                return
        axis = texts.get(4, b"")
        if table.get(name, b"") == axis or not (axis or overwrite) or len(table) >= most:
            return
        if axis and axis != STEP and axis not in self._unfit and axis not in self.metrics:
            if len(self.metrics) + len(self._unfit) >= _MAX_AXES:
                return
            self.metrics.add(axis)
        table[name] = axis
        self._known.clear()

    def unfit(self, axis: bytes) -> None:
        """Stop using ``axis``."""
        self._unfit.add(axis)
        self.metrics.discard(axis)
        self._known.clear()

    def of(self, name: bytes) -> bytes:
        """The x axis of a metric: its own definition, or that of the longest matching glob."""
        axis = self._known.get(name)
        if axis is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            axis = self._known[name] = self._find(name)
        return axis

    def _find(self, name: bytes) -> bytes:
        axis = self._exact.get(name, b"")
        if not axis and self._globs:
            fitting = [g for g in self._globs if name.startswith(g)]
            axis = self._globs[max(fitting, key=len)] if fitting else b""
        return axis if axis and axis not in self._unfit else STEP

    @property
    def general(self) -> bytes:
        """The x axis of metrics without a definition of their own."""
        return self.of(b"")
