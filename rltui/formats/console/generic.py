"""Hand-written training loops: ``step 10/438 loss=0.5 lr: 1e-4``, ``Epoch:[1/1](20/4292),
loss: 0.66``, ``[step 1] loss=0.14``, ``loss=0.5 | reward=1.2 | timesteps=2048``, and a heading
``Epoch: 1, global_step=25600`` with the pairs on the lines below it.

A guess, hence cautious: a line must contain a counter and the name of a usual metric, and two
lines must have the same names and different steps before either counts as a row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from rltui.core.later import regex
from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Rank, Row, RowForms
from rltui.formats.console.console_line import (
    QUANTITY,
    RULE_ENDS,
    RULES,
    SIGNED,
    is_rule,
    plain,
    printed_pairs,
    quantity,
    simplified,
)
from rltui.formats.console.heading_block import HeadingBlock
from rltui.formats.console.pair_line import (
    HEAD_BYTES,
    Position,
    Rises,
    StepCounter,
    are_settings,
    bare_position,
    has_counters,
    is_dump,
    is_metric,
    may_have_counter,
    may_have_pairs,
    pairs_of,
    position_of,
    rank_of_counter,
    unprefixed,
)
from rltui.formats.words import BATCH, EPISODE, EPOCH, FINE

#: Patterns of the values of a line, and of whole lines.
_MAX_PATTERNS = 8
_MAX_LINES = 4
_MAX_SEEN = 1000
#: A cheap test that rules out nearly all other lines.
_QUICK = regex(
    rb"(?:tep|ter(?<=[Ii]ter)|TEP|TER(?<=ITER)|och|OCH|sode|tion(?<=[ra][ac]tion)"
    rb"|atch(?<=[Bb]atch)|date(?<=pdate)|rame(?<=[Ff]rame)|_env|acts"
    rb"|p(?<=[Ee]p)(?<!\w.p)|P(?<=EP)(?<!\w.P))(?:e?s)?(?:[_A-Z(]\w{0,5}\)?)?"
    rb"(?: [Nn]um(?:ber)?)?['\"]?\s?(?:[:=#,_]|\xef\xbc\x9a)?\s?['\"\[(]?\s{0,8}\d"
)
#: The same without a name, and before it: three patterns are faster than one.
_QUICK_BARE = regex(rb"\W{0,4}(?:(?:it|[tisnEe])\s?[:=]?\s{0,8})?\d[\d.]{0,15}[kKMG]?[\s:/|\])]")
_QUICK_BEHIND = regex(rb"\d(?:/| of | (?:env|step|iter|update)[a-z]{0,6}[:,])")
#: The times of a progress bar, whose counters are those of another dialect.
_BAR = regex(rb"\[(?:\d+:)?\d+:\d\d(?:<|, +[\d.?]+ ?\w*/)")
_NUMBER = regex(rb"\d{1,15}")
_FIGURE = regex(rb"(?<![\w.])" + QUANTITY + rb"(?![\w.])")
_GOES_ON = regex(rb"[.\w]")
#: Numbers that are part of what stands before them.
_STICKS = regex(rb",[-+]?\d|/[-+]?\d")
#: Names of a row without the name of a usual metric.
_MANY = 3

Names = tuple[bytes, ...]


class Generic(Dialect):
    """The dialect of all other trainers."""

    markers = RULES
    words = (
        *(b"ep ", b"ep:", b"tep", b"poch", b"iter", b"nteract"),
        *(b"pdate", b"pisode", b"atch", b"t_env", b"rames", b"loss", b"rewar", b"return"),
    )
    rank = Rank.GUESS

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._forms = RowForms()
        self._seen: set[Names] = set()
        """Names of rows."""
        self._rises = Rises()
        self._none: frozenset[bytes] = frozenset()
        """Words of counters that count nothing."""
        self._first = b""
        """The first line with several counters."""
        self._bare = False
        """Whether rows have counters without a name."""
        self._counter = StepCounter()
        self._headings = StepCounter()
        """Counter of headings: they change nothing for rows."""
        self._block = HeadingBlock()
        self._patterns: list[tuple[re.Pattern[bytes], Names]] = []
        """The newest forms of rows, the last one first."""
        self._lines: list[tuple[re.Pattern[bytes], Names, Position]] = []
        """Forms of whole lines, with the step as the first group; see :meth:`_learn`."""

    def follow(self, line: bytes) -> None:
        """Read a line below a heading."""
        if not line.endswith(RULE_ENDS):
            if may_have_pairs(line) or b"valuat" in line:
                self._give(self._block.line(simplified(plain(line))))
            else:
                self._block.left -= 1
        self.open = self._block.left > 0

    def close(self) -> None:
        """Add the pairs of an open section."""
        self._give(self._block.close())

    def read(self, line: bytes) -> bool:
        for pattern, names, position in self._lines:
            found = pattern.fullmatch(line)
            if found is not None:
                position.step = int(found[1])
                is_row = self._row(names, _quantities(found.groups()[1:]), position)
                self.open = self._block.left > 0
                return is_row

        taken = None
        inside = self._block.left > 0
        if line.endswith(RULE_ENDS) and is_rule(line):
            self._give(self._block.rule())
            taken = False
        elif (
            b"\x1b" in line
            or _QUICK.search(line, 0, HEAD_BYTES)
            or _QUICK_BARE.match(line, 0, HEAD_BYTES)
            or _QUICK_BEHIND.search(line, 0, HEAD_BYTES)
        ):
            taken = self._counted(plain(line), line)
        if taken is None and inside and self._block.left > 0:
            self.follow(line)
        self.open = self._block.left > 0

        return bool(taken)

    def _counted(self, text: bytes, line: bytes = b"", *, again: bool = False) -> bool | None:
        """Whether a line with a counter is a row; None when it is not even a heading. ``line``: as
        it is in the log."""
        text = simplified(text)
        position = position_of(text, self._none)
        if position is not None and position.counters and not again:
            position = self._trusted(text, position, position.counters)
        if position is None and not may_have_counter(text):
            return self._bare_row(text)
        names: Names = ()
        values: list[float] = []
        if position is not None:
            names, values = self._known(text[position.end :])
            self._learn(text, line, names, position)
        if not names and _is_other(text):
            return None
        if not names and position is not None:
            names, values = self._new_form(text[position.end :] or text[: position.begin])

        extras = Row(0, (), [])
        other = _among_pairs(text, position, named=bool(names))
        if other is not None:
            found, pairs, is_row = other
            if position is None or found.rank <= position.rank or is_row:
                position = found
                extras = pairs
            if is_row:
                names = pairs.names
                values = list(pairs.values)
        if position is None:
            return self._bare_row(text)
        if not names:
            self._heading(text, position, extras)
            return False

        return self._row(names, values, position)

    def _learn(self, text: bytes, line: bytes, names: Names, position: Position) -> None:
        """Remember the form of a whole line that is a row by the newest pattern: where its only
        counter has a name and all else that changes are values."""
        if not names or text != line or len(self._lines) >= _MAX_LINES:
            return
        before = text[: position.begin]
        counter = _NUMBER.search(text, position.begin + len(position.word), position.end)
        if counter is None or not position.word or position.rank > BATCH or _fine_names(names):
            return
        # a value that is whole now and then may make a counter of its name
        values = _FIGURE.sub(b"0", text[position.end :])
        if _NUMBER.search(before) or _STICKS.search(text) or has_counters(values):
            return
        middle = text[counter.end() : position.end]
        if _GOES_ON.match(middle) or _NUMBER.search(middle):  # 1.5k, an epoch
            return
        if int(counter[0]) != position.step:
            return
        pattern = re.escape(text[: counter.start()]) + rb"(\d{1,15})" + re.escape(middle)
        whole = re.compile(pattern + self._patterns[0][0].pattern)
        self._lines.append((whole, names, replace(position)))

    def _trusted(self, text: bytes, position: Position, counters: Mapping[bytes, int]) -> Position:
        """The position by a counter that counts; the first line is read again with a new one."""
        if len(counters) < 2:
            return position
        none = self._rises.see(counters) | self._none
        first = self._first
        self._first = self._first or text
        if none == self._none:
            return position
        self._none = none
        if position.word not in none:
            return position
        self._counter = StepCounter()
        if first:
            self._counted(first, again=True)

        return position_of(text, none) or position

    def _bare_row(self, text: bytes) -> bool | None:
        """Whether a line with a counter without a name is a row, where no row has one with."""
        position = bare_position(text) if self._bare or not self._forms.own else None
        if position is None or is_dump(text):
            return None
        below = text[position.end :] or text[: position.begin]
        names, values = self._known(below)
        if not names:
            names, values = self._new_form(below)
        taken = self._row(names, values, position) if names else None
        self._bare = self._bare or bool(taken)

        return taken

    def _known(self, text: bytes) -> tuple[Names, list[float]]:
        """Names and values of a line by the pattern of an earlier line."""
        for number, (pattern, names) in enumerate(self._patterns):
            found = pattern.fullmatch(text)
            if found:
                if number:
                    self._patterns.insert(0, self._patterns.pop(number))
                return names, _quantities(found.groups())

        return (), []

    def _new_form(self, text: bytes) -> tuple[Names, list[float]]:
        """Names and values of a line of a new form."""
        pairs = printed_pairs(text)
        names = tuple(pair[1] for pair in pairs)
        if not any(map(is_metric, names)) or are_settings(names):
            return (), []
        if names in self._seen and len(set(names)) == len(names):
            pattern = _pattern(text, [pair.span(2) for pair in pairs])
            self._patterns = [(pattern, names), *self._patterns[: _MAX_PATTERNS - 1]]
        elif len(self._seen) < _MAX_SEEN:
            self._seen.add(names)

        return names, [quantity(pair[2]) for pair in pairs]

    def _row(self, names: Names, values: list[float], position: Position) -> bool:
        for at in _fine_names(names) if position.rank != FINE and len(names) > 1 else ():
            if values[at].is_integer():
                position = Position(FINE, int(values[at]))
                names = names[:at] + names[at + 1 :]
                values = values[:at] + values[at + 1 :]
                break

        rank = position.rank
        form = _form_of(rank, names)
        step = self._counter.finer_than(rank)
        total = None
        carried = step is not None and form not in self._forms.own
        if step is None or not carried:
            step, total = self._counter.step_of(position)
        row = Row(step, names, values, self.rows.clock.stamp(), total)
        believed = self._forms.add(form, row, own=not carried, once=carried and rank == EPISODE)
        self._block.row(step)
        for one in believed:
            self.rows.total = one.total or self.rows.total

        return self.add_believed(believed, guessed=carried)

    def _heading(self, text: bytes, position: Position, extras: Row) -> None:
        rank = position.rank
        if rank == EPOCH:
            self._counter.epoch_heading = position.step, position.total
        shape = self._block.shape_of(text)
        if shape is None:
            return
        step = self._counter.finer_than(rank)
        step = self._headings.finer_than(rank) if step is None else step
        step = self._headings.step_of(position)[0] if step is None else step
        inner = not extras.names and SIGNED.fullmatch(unprefixed(text)) is not None
        self._give(self._block.heading(shape, step, extras._replace(step=step), inner=inner))

    def _give(self, found: list[Row]) -> None:
        for row in found:
            self.add(row, guessed=self._block.guessed)


@lru_cache(maxsize=1024)
def _fine_names(names: Names) -> tuple[int, ...]:
    """Positions of the names of fine counters."""
    return tuple(at for at, name in enumerate(names) if rank_of_counter(name) == FINE)


@lru_cache(maxsize=1024)
def _form_of(rank: int, names: Names) -> tuple[bytes | int, ...]:
    return rank, *RowForms.leading(names)


def _quantities(texts: Sequence[bytes]) -> list[float]:
    try:
        return list(map(float, texts))
    except ValueError:
        return list(map(quantity, texts))


def _is_other(text: bytes) -> bool:
    """Whether a line is a dump of settings, or a bar."""
    barred = b"%" in text or b"it [" in text
    return is_dump(text) or (barred and _BAR.search(text) is not None)


def _among_pairs(
    text: bytes, position: Position | None, *, named: bool
) -> tuple[Position, Row, bool] | None:
    """Result of :func:`_anywhere`, where a finer counter may stand behind ``position``; ``named``:
    whether values stand behind that."""
    if position is None:
        return _anywhere(text)
    if (named and position.rank <= BATCH) or not may_have_counter(text, position.end):
        return None
    found = _anywhere(text)
    return None if named and found is not None and found[0].rank != FINE else found


def _anywhere(text: bytes) -> tuple[Position, Row, bool] | None:
    """The counter of a line of pairs, the other pairs, and whether they are a row."""
    found = pairs_of(unprefixed(text))
    counter = found.counter() if found is not None else None
    if found is None or counter is None:
        return None
    pair = found.pop(counter[0])
    names = tuple(other.name for other in found)
    sure = any(map(is_metric, names)) or (found.clean and len(names) >= _MANY)
    row = Row(0, names, [other.value for other in found])

    return Position(counter[1], pair.whole or 0, pair.total), row, sure and not are_settings(names)


def _pattern(text: bytes, spans: list[tuple[int, int]]) -> re.Pattern[bytes]:
    """Matches lines of the same form: equal except for the values and runs of blanks."""
    pattern = b""
    at = 0
    for begin, end in (*spans, (len(text), len(text))):
        words = re.split(rb"\s+", text[at:begin])
        pattern += rb"\s+".join(map(re.escape, words))
        pattern += rb"(" + QUANTITY + rb")" if begin < end else b""
        at = end

    return re.compile(pattern)
