"""Pairs below headings: ManiSkill's ``Epoch: 1, global_step=25600`` above ``SPS: 1211,
pg_loss=-0.0057``, PyMARL's ``t_env: 10000 | Episode: 200`` above two columns, ``Epoch 1 complete:``
above one pair per line.
"""

from __future__ import annotations

from rltui.formats.console.console_dialect import Row
from rltui.formats.console.pair_line import (
    evaluation_of,
    is_outcome,
    is_setting,
    pairs_of,
    unprefixed,
    worded,
)

#: Lines of other output between a heading, or a pair below it, and the next pair.
_BETWEEN = 40
#: The same while no name is believed.
_UNKNOWN = 15
#: The same below a rule.
_BELOW_RULE = 5
#: The same below a row, and below a heading of a form that had none so often.
_BELOW_ROW = 2
#: Rows and forms of headings below which pairs are sought while none are found, and headings of
#: one form below which they may come late.
_TRIED = 20
_MAX_NAMES = 1000
_MAX_KNOWN = 10_000
_MAX_SHAPES = 64
_MAX_EXTRAS = 64
_MAX_HELD = 4
_DIGITS = b"0123456789"


class HeadingBlock:
    """Collects the pairs below headings.

    A name is believed when it stands below two headings of different steps, once below each.
    """

    def __init__(self) -> None:
        self.left = 0
        """Lines for which the block stays open."""
        self.guessed = False
        """Whether the step of what was returned is that of a row above and not of a heading."""
        self._below_row = False
        """Whether the newest step is that of a row above."""
        self._step: int | None = None
        self._rows = 0
        self._most = _BETWEEN
        self._sure = False
        """Whether a usual metric was believed."""
        self._known: set[bytes] = set()
        self._held: dict[bytes, list[tuple[int, float]]] = {}
        """Name -> steps and values that wait for a later step; none left: it is not read."""
        self._extras: list[Row] = []
        self._section = False
        """Whether pairs wait for the counter or the end of the section between two rules."""
        self._pending: list[tuple[bytes, float]] = []
        self._counter_last = False
        """Whether the counter of a section stood below its pairs."""
        self._settings = self._others = 0
        """Names of the block that settings have, and the others."""
        self._fresh = False
        """Whether the newest heading has no pairs yet."""
        self._shapes: dict[bytes, tuple[int, int, int]] = {}
        """Heading without its digits -> newest step, how often it fell back, and how often it
        came; the newest last."""
        self._headings = 0
        """Headings of different shapes."""

    def rule(self) -> list[Row]:
        """A line of dashes: what follows is a section, unless it underlines a heading. The
        counter of a section may come last."""
        found = self._end_section(self._step)
        if not self._fresh:
            self._most = _BETWEEN if self._known else _UNKNOWN
            self.left = self._most if self._known else _BELOW_RULE
            self._section, self.guessed = True, self._below_row

        return found

    def close(self) -> list[Row]:
        """The pairs of a section without its last rule, unless its counter would come last."""
        return [] if self._counter_last else self._end_section(self._step)

    def row(self, step: int) -> None:
        """A row with a step of its own: what follows at once belongs to it."""
        self._rows += 1
        if not self._pending:
            self._section = False
        if self._known or self._rows < _TRIED:
            self._step = step
            self.guessed = True
            self._below_row = True
            if not self._section:
                self.left = self._most = _BELOW_ROW

    def shape_of(self, text: bytes) -> bytes | None:
        """The form of a heading; None when it is another new one after many below which no name
        was found: it is remembered and read when it comes again."""
        shape = text.translate(None, _DIGITS)
        if shape in self._shapes or self._known or self._headings < _TRIED:
            return shape
        self._remember(shape, (-1, 0, 1))
        self.left = 0
        self._section = False
        self._pending = []

        return None

    def _remember(self, shape: bytes, state: tuple[int, int, int]) -> None:
        if len(self._shapes) >= _MAX_SHAPES:
            del self._shapes[next(iter(self._shapes))]
        self._shapes[shape] = state

    def heading(self, shape: bytes, step: int, extras: Row, *, inner: bool = False) -> list[Row]:
        """A heading, with the other pairs on it; returns the rows that are now sure. ``inner``:
        it is a pair, too, and counts for those above it in a section."""
        last, falls, tried = self._shapes.pop(shape, (step, 0, 0))
        falls += step < last
        self._remember(shape, (step, falls, tried + 1))
        if falls > 1 and any(other[1] < falls for other in self._shapes.values()):
            return []  # a counter within the steps of another heading

        self._headings += not tried
        self._counter_last |= inner and bool(self._pending)
        rows = self._end_section(step if inner and self._pending else self._step)
        if self._is_dump:  # drop what its block left
            for held in self._held.values():
                if held and held[-1][0] == self._step:
                    held.pop()
            self._held = {name: held for name, held in self._held.items() if held}
        self._settings = self._others = 0

        self._most = _BETWEEN if self._known else _UNKNOWN
        self.left = self._most if self._known or tried < _TRIED else _BELOW_ROW
        self._step = step
        self.guessed = False
        self._below_row = False
        self._fresh = not inner
        if extras.names and len(self._extras) < _MAX_EXTRAS:
            self._extras.append(extras)
        if self._sure:
            rows = rows + self._extras
            self._extras = []

        return rows

    def line(self, text: bytes) -> list[Row]:
        """A line below; returns the rows that are now sure."""
        self.left -= 1
        text = unprefixed(text)
        found = evaluation_of(text) or pairs_of(text, alone=True) or worded(text)
        if found is None or found.counter():
            return []

        self.left = self._most
        pairs = [(pair.name, pair.value) for pair in found if not is_setting(pair.name)]
        self._settings += len(found) - len(pairs)
        self._others += len(pairs)
        self._fresh = False
        if not self._section:
            return self._pairs(pairs)
        if len(self._pending) < _MAX_NAMES:
            self._pending += pairs

        return []

    @property
    def _is_dump(self) -> bool:
        """Whether the block has the names of settings."""
        return self._settings > 1 and self._settings > self._others

    def _end_section(self, step: int | None) -> list[Row]:
        """The pairs of a section, now that its step is known."""
        pending = self._pending
        self._pending = []
        self._section = False
        if step is None or not pending:
            return []
        self._step = step
        return self._pairs(pending)

    def _pairs(self, pairs: list[tuple[bytes, float]]) -> list[Row]:
        """Pairs of the newest step; returns the values of the names that are believed, and of
        those that become so."""
        now = self._step
        known = self._known
        if now is None or self._is_dump:
            return []
        for name, value in pairs:
            if name not in known:
                self._hold(name, value, now)
        if not self._sure:
            self._sure = any(len(self._held.get(n, ())) > 1 and is_outcome(n) for n, _ in pairs)
        if not self._sure:
            return []

        steps: dict[int, dict[bytes, float]] = {}
        for name, value in pairs:
            if name in known:
                steps.setdefault(now, {})[name] = value
            elif len(self._held.get(name, ())) > 1 and len(known) < _MAX_KNOWN:
                known.add(name)
                for step, held in self._held.pop(name):
                    steps.setdefault(step, {})[name] = held
        extras = self._extras
        self._extras = []

        return extras + [Row.of(step, cells) for step, cells in sorted(steps.items())]

    def _hold(self, name: bytes, value: float, step: int) -> None:
        held = self._held.get(name)
        if held is None and len(self._held) < _MAX_NAMES:
            self._held[name] = [(step, value)]
        elif held and held[-1][0] == step:
            held.clear()  # many of a step
        elif held and held[-1][0] > step:
            held[:] = [(step, value)]
        elif held and len(held) < _MAX_HELD:
            held.append((step, value))
