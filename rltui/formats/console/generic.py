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

from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Rank, Row, RowForms
from rltui.formats.console.console_line import (
    QUANTITY,
    RULE_ENDS,
    RULES,
    is_rule,
    plain,
    quantity,
    simplified,
)
from rltui.formats.console.pair_line import (
    HEAD_BYTES,
    Position,
    Rises,
    StepCounter,
    are_settings,
    bare_position,
    evaluation_of,
    has_counters,
    is_dump,
    is_metric,
    is_outcome,
    is_setting,
    may_have_counter,
    may_have_pairs,
    pairs_of,
    position_of,
    rank_of_counter,
    unprefixed,
    worded,
)
from rltui.formats.words import BATCH, EPISODE, EPOCH, FINE

#: Patterns of the values of a line, and of whole lines.
_MAX_PATTERNS, _MAX_LINES = 8, 4
_MAX_SEEN = 1000
#: A cheap test that rules out nearly all other lines.
_QUICK = re.compile(
    rb"(?:tep|ter(?<=[Ii]ter)|TEP|TER(?<=ITER)|och|OCH|sode|tion(?<=[ra][ac]tion)"
    rb"|atch(?<=[Bb]atch)|date(?<=pdate)|rame(?<=[Ff]rame)|_env|acts"
    rb"|p(?<=[Ee]p)(?<!\w.p)|P(?<=EP)(?<!\w.P))(?:e?s)?(?:[_A-Z(]\w{0,5}\)?)?"
    rb"(?: [Nn]um(?:ber)?)?['\"]?\s?(?:[:=#,_]|\xef\xbc\x9a)?\s?['\"\[(]?\s{0,8}\d"
)
#: The same without a name, and before it: three patterns are faster than one.
_QUICK_BARE = re.compile(
    rb"\W{0,4}(?:(?:it|[tisnEe])\s?[:=]?\s{0,8})?\d[\d.]{0,15}[kKMG]?[\s:/|\])]"
)
_QUICK_BEHIND = re.compile(rb"\d(?:/| of | (?:env|step|iter|update)[a-z]{0,6}[:,])")
_UNIT = rb"(?:[a-zA-Z%][a-zA-Z%/]{0,11})?"
_PAIR = re.compile(
    rb"(?<![\w=/])([A-Za-z_][\w/.@%()\x80-\xff-]{0,60}(?: [A-Za-z_(][\w/.@%()-]{0,60}){0,3}?)"
    rb"\s?[:=]\s{0,12}(" + QUANTITY + rb")" + _UNIT + rb"\.?(?=$|[\s,;|)\]}])"
)
_SPACED = re.compile(
    rb"(?<![\w])([A-Za-z_][\w/.@%()-]{0,60}(?: [A-Za-z_][\w/.@%()-]{0,60}){0,2})[ \t]{1,12}"
    rb"(" + QUANTITY + rb")" + _UNIT + rb"\.?(?=$|[\s,;|)\]}])"
)
#: A field between bars, whose name may have any number of words.
_BARRED = re.compile(
    rb"\|\s*([A-Za-z_][^|:=]{0,80}?)(?:\s*[:=]\s*|\s+)("
    + QUANTITY
    + rb")"
    + _UNIT
    + rb"[\s!*\x80-\xff]*(?=\||$)"  # a mark may stand behind it
)
#: The times of a progress bar, whose counters are those of another dialect.
_BAR = re.compile(rb"\[(?:\d+:)?\d+:\d\d(?:<|, +[\d.?]+ ?\w*/)")
_NUMBER = re.compile(rb"\d{1,15}")
#: Numbers that are part of what stands before them.
_STICKS = re.compile(rb",[-+]?\d|/[-+]?\d")
#: Names of a row without the name of a usual metric.
_MANY = 3

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
        """Of headings: they change nothing for rows."""
        self._block = HeadingBlock()
        self._patterns: list[tuple[re.Pattern[bytes], Names]] = []
        """The newest forms of rows, the last one first."""
        self._lines: list[tuple[re.Pattern[bytes], Names, Position]] = []
        """The same of whole lines, with the step as the first group; see :meth:`_learn`."""

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

        taken, inside = None, self._block.left > 0
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
        if not names and (
            is_dump(text) or ((b"%" in text or b"it [" in text) and _BAR.search(text))
        ):
            return None
        if not names and position is not None:
            names, values = self._new_form(text[position.end :] or text[: position.begin])

        extras, other = Row(0, (), []), None
        if position is None or (not names and may_have_counter(text, position.end)):
            other = _anywhere(text)
        elif position.rank > BATCH and may_have_counter(text, position.end):
            other = _anywhere(text)
            other = other if other is not None and other[0].rank == FINE else None
        if other is not None:
            found, pairs, is_row = other
            if position is None or found.rank <= position.rank or is_row:
                position, extras = found, pairs
            if is_row:
                names, values = pairs.names, list(pairs.values)
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
        if _NUMBER.search(before) or _STICKS.search(text) or has_counters(text[position.end :]):
            return
        middle = text[counter.end() : position.end]
        pattern = re.escape(text[: counter.start()]) + rb"(\d{1,15})" + re.escape(middle)
        whole = re.compile(pattern + self._patterns[0][0].pattern)
        self._lines.append((whole, names, replace(position)))

    def _trusted(self, text: bytes, position: Position, counters: Mapping[bytes, int]) -> Position:
        """The position by a counter that counts; the first line is read again with a new one."""
        if len(counters) < 2:
            return position
        none = self._rises.see(counters) | self._none
        first, self._first = self._first, self._first or text
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
        pairs = _pairs(text)
        names = tuple(name for name, _, _ in pairs)
        if not any(map(is_metric, names)) or are_settings(names):
            return (), []
        if names in self._seen and len(set(names)) == len(names):
            pattern = _pattern(text, [span for _, _, span in pairs])
            self._patterns = [(pattern, names), *self._patterns[: _MAX_PATTERNS - 1]]
        elif len(self._seen) < _MAX_SEEN:
            self._seen.add(names)

        return names, [value for _, value, _ in pairs]

    def _row(self, names: Names, values: list[float], position: Position) -> bool:
        for at in _fine_names(names) if position.rank != FINE and len(names) > 1 else ():
            if values[at].is_integer():
                position = Position(FINE, int(values[at]))
                names, values = names[:at] + names[at + 1 :], values[:at] + values[at + 1 :]
                break

        rank = position.rank
        form = _form_of(rank, names)
        step, total = self._counter.finer_than(rank), None
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
        inner = not extras.names and _PAIR.fullmatch(unprefixed(text)) is not None
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


def _between_bars(text: bytes) -> list[re.Match[bytes]]:
    """The fields between two bars or more, and those before the first; none unless all are."""
    head, *parts = text.split(b"|")
    count = sum(map(bool, map(bytes.strip, parts)))
    fields = list(_BARRED.finditer(text)) if count > 1 else []
    if not fields or len(fields) != count:
        return []
    return [*_PAIR.finditer(head), *fields]


def _pairs(text: bytes) -> list[tuple[bytes, float, tuple[int, int]]]:
    """Names, values and the spans of the values."""
    if fields := _between_bars(text):
        return [(found[1], quantity(found[2]), found.span(2)) for found in fields]
    pairs = [(f[1], quantity(f[2]), f.span(2)) for f in _PAIR.finditer(text)]
    return pairs or [(f[1], quantity(f[2]), f.span(2)) for f in _SPACED.finditer(text)]


def _pattern(text: bytes, spans: list[tuple[int, int]]) -> re.Pattern[bytes]:
    """Matches lines of the same form: equal except for the values and runs of blanks."""
    pattern, at = b"", 0
    for begin, end in (*spans, (len(text), len(text))):
        words = re.split(rb"\s+", text[at:begin])
        pattern += rb"\s+".join(map(re.escape, words))
        pattern += rb"(" + QUANTITY + rb")" if begin < end else b""
        at = end

    return re.compile(pattern)


class HeadingBlock:
    """Collects the pairs below headings: ManiSkill's ``Epoch: 1, global_step=25600`` above
    ``SPS: 1211, pg_loss=-0.0057``, PyMARL's ``t_env: 10000 | Episode: 200`` above two columns,
    ``Epoch 1 complete:`` above one pair per line.

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
            self._step, self.guessed, self._below_row = step, True, True
            if not self._section:
                self.left = self._most = _BELOW_ROW

    def shape_of(self, text: bytes) -> bytes | None:
        """The form of a heading; None when it is another new one after many below which no name
        was found: it is remembered and read when it comes again."""
        shape = text.translate(None, _DIGITS)
        if shape in self._shapes or self._known or self._headings < _TRIED:
            return shape
        self._remember(shape, (-1, 0, 1))
        self.left, self._section, self._pending = 0, False, []

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
        self._step, self.guessed, self._below_row = step, False, False
        self._fresh = not inner
        if extras.names and len(self._extras) < _MAX_EXTRAS:
            self._extras.append(extras)
        if self._sure:
            rows, self._extras = rows + self._extras, []

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
        pending, self._pending, self._section = self._pending, [], False
        if step is None or not pending:
            return []
        self._step = step
        return self._pairs(pending)

    def _pairs(self, pairs: list[tuple[bytes, float]]) -> list[Row]:
        """Pairs of the newest step; returns the values of the names that are believed, and of
        those that become so."""
        now, known = self._step, self._known
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
        extras, self._extras = self._extras, []

        return extras + [Row(s, tuple(c), list(c.values())) for s, c in sorted(steps.items())]

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
