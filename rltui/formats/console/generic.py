"""Hand-written training loops: ``step 10/438 loss=0.5 lr: 1e-4``, ``Epoch:[1/1](20/4292),
loss: 0.66``, ``[step 1] loss=0.14``, ``iter 10: loss 1.2, time 32ms``.

A guess, hence cautious: a line must begin with its step and contain the name of a usual metric,
and two lines must have the same names before either counts as a row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rltui.formats.console.console_dialect import ConsoleRows, Dialect
from rltui.formats.console.console_line import NUMBER, plain, rank_of, wall_time

#: Longer lines are text.
_MAX_LINE = 2000
#: Bytes of a line in which its step is searched, logger prefix included.
_HEAD_BYTES = 160
_MAX_FORMS = 256
_MAX_PATTERNS = 8

_INDEX = re.compile(
    rb"(?i)(?:^|[\s\[(|>:*#-])(?:train(?:ing)?[ _]|global[ _])?"
    rb"(steps?|iter(?:ation)?s?|updates?|batch(?:es)?|episodes?|epochs?)\s?[:=#]?\s?[\[(]?\s{0,8}"
    rb"(\d{1,15})(?:\s?/\s?(\d{1,15}))?(?![\d.\w%])[\])]?"
)
#: A cheap test that rules out nearly all other lines.
_QUICK = re.compile(
    rb"(?:te[pr]|TE[PR]|och|OCH|sode|tion|atch|date)\w{0,6}\s?[:=#]?\s?[\[(]?\s{0,8}\d"
)
#: An epoch with the position inside it: ``Epoch:[1/3](20/4292)``, ``Train Epoch: 1 [640/60000``.
_WITHIN = re.compile(
    rb"(?i)epoch\s?[:=]?\s?\[?(\d{1,9})(?:\s?/\s?(\d{1,9}))?\]?\s?[\[(](\d{1,15})/(\d{1,15})[^\])]{0,12}[\])]"
)
_UNIT = rb"(?:[a-zA-Z%][a-zA-Z%/]{0,11})?"
_PAIR = re.compile(
    rb"(?<![\w])([A-Za-z_][\w/.@%()-]{0,60}(?: [A-Za-z_(][\w/.@%()-]{0,60}){0,3}?)\s?[:=]\s{0,12}"
    rb"(" + NUMBER + rb")(/" + NUMBER + rb")?" + _UNIT + rb"(?=$|[\s,;|)\]}])"
)
_SPACED = re.compile(
    rb"(?<![\w])([A-Za-z_][\w/.@%()-]{0,60}(?: [A-Za-z_][\w/.@%()-]{0,60}){0,2}) {1,12}"
    rb"(" + NUMBER + rb")" + _UNIT + rb"(?=$|[\s,;|)\]}])"
)
_TWO = re.compile(rb"^(.+)\(([^()/]+)/([^()/]+)\)$")
#: A training row has at least one of these.
_METRIC = re.compile(
    rb"(?i)loss|reward|return|(?<![a-z])acc|(?<![a-z])lr|learning.?rate|(?<![a-z])kl|entropy|grad"
    rb"|score|ppl|perplex|advantage|(?<![a-z])adv|error|(?<![a-z])mse|(?<![a-z])mae|epsilon|value"
    rb"|policy|success|win.?rate|tok|(?<![a-z])sps|(?<![a-z])fps|norm|length|(?<![a-z])len"
    rb"|clip|margin|alpha|objective|f1|auc|bleu|rouge|critic|actor"
)
_ORDER = {b"step": 0, b"iter": 0, b"upda": 0, b"batc": 1, b"epis": 2, b"epoc": 3}


@dataclass(slots=True)
class _Place:
    """The position of a line in the training."""

    rank: int
    step: int
    total: int | None
    epoch: int | None
    epochs: int | None
    end: int
    """Where the pairs of the line begin, in bytes."""


class Generic(Dialect):
    """The dialect of all other trainers."""

    markers = (b"tep", b"poch", b"ter", b"TEP", b"POCH", b"ITER", b"pdate", b"pisode", b"atch")
    weak = True

    def __init__(self) -> None:
        super().__init__()
        self._forms: dict[tuple[bytes, ...], tuple[int, list[float], float] | None] = {}
        """Names of a row -> the first row with them, None after the second one."""
        self._step: int | None = None
        """The newest step of a row that has more than an epoch."""
        self._epoch = (-1, -1)
        self._heading: tuple[int, int | None] | None = None
        """The newest epoch on a line of its own, and the number of epochs."""
        self._first_epoch = 1
        self._base = 0
        self._within: bool | None = None
        """Whether steps start again in each epoch; None until the second epoch."""
        self._rank: bytes | None = None
        self._patterns: list[tuple[re.Pattern[bytes], tuple[bytes, ...]]] = []

    def take(self, line: bytes, rows: ConsoleRows) -> bool:
        if len(line) > _MAX_LINE or not (b"\x1b" in line or _QUICK.search(line, 0, _HEAD_BYTES)):
            return False
        text = plain(line)
        rank, at = rank_of(text)
        text = text[at:]
        place = _place(text)
        if place is None:
            return False
        names, values = self._read(text[place.end :])
        if not names:
            if place.rank == _ORDER[b"epoc"]:
                self._heading = (place.step, place.total)
            return False
        if self._rank is None:
            self._rank = rank
        if rank != self._rank:
            return False
        return self._row(names, values, self._step_of(place, rows), wall_time(text), rows)

    def _read(self, text: bytes) -> tuple[tuple[bytes, ...], list[float]]:
        """The pairs of a line, by the pattern of an earlier line where one matches."""
        for number, (pattern, names) in enumerate(self._patterns):
            found = pattern.fullmatch(text)
            if found:
                if number:
                    self._patterns.insert(0, self._patterns.pop(number))
                return names, [float(g) for g in found.groups()]
        names, values, spans = _pairs(text)
        if not any(_METRIC.search(n) for n in names):
            return (), []
        if names in self._forms and len(set(names)) == len(names):
            self._patterns = [(_pattern(text, spans), names), *self._patterns[: _MAX_PATTERNS - 1]]
        return names, values

    def _row(
        self,
        names: tuple[bytes, ...],
        values: list[float],
        step: int,
        wall: float,
        rows: ConsoleRows,
    ) -> bool:
        if names not in self._forms:
            if len(self._forms) >= _MAX_FORMS:
                self._forms.clear()
            self._forms[names] = (step, values, wall)
            return False
        first = self._forms[names]
        if first is not None:
            self._forms[names] = None
            self._add(rows, names, *first)
        self._add(rows, names, step, values, wall)
        return True

    def _step_of(self, place: _Place, rows: ConsoleRows) -> int:
        """The step over all epochs."""
        step = place.step
        if place.rank == _ORDER[b"epoc"]:
            if self._step is not None:
                return self._step
            if place.total:
                rows.total = place.total
            return step
        if place.epoch is None and self._heading is not None:
            place.epoch, place.epochs = self._heading
        total = place.total
        if place.epoch is not None:
            step, total = self._over_epochs(place, place.epoch)
        if total:
            rows.total = total
        self._step = step
        return step

    def _over_epochs(self, place: _Place, epoch: int) -> tuple[int, int | None]:
        """The step over all epochs, and the planned total where it is certain.

        Some loops keep counting, others start each epoch at 1: the second epoch shows which.
        """
        step, total, (last_epoch, last_step) = place.step, place.total, self._epoch
        if last_epoch < 0 or epoch < last_epoch:
            self._first_epoch, self._base, self._within = min(epoch, 1), 0, None
            if epoch > 1 and place.epochs and total and step > (epoch - 1) * total / place.epochs:
                self._within = False
        elif epoch > last_epoch:
            self._within = step <= last_step
            self._base += last_step if self._within else 0
        self._epoch = (epoch, step)
        if self._within is False:
            return step, total
        base = (epoch - self._first_epoch) * total if total else self._base
        sure = total and place.epochs and (self._within or place.epochs == 1)
        return base + step, total * place.epochs if sure and total and place.epochs else None


def _place(text: bytes) -> _Place | None:
    head = text[:_HEAD_BYTES]
    within = _WITHIN.search(head)
    if within:
        epoch, epochs, step, total = (int(g) if g else None for g in within.groups())
        return _Place(0, step or 0, total, epoch, epochs, within.end())
    best: _Place | None = None
    epoch = epochs = None
    for found in _INDEX.finditer(head):
        rank = _ORDER[found[1][:4].lower()]
        step, total = int(found[2]), int(found[3]) if found[3] else None
        if rank == _ORDER[b"epoc"]:
            epoch, epochs = step, total
        if best is None or rank < best.rank:
            best = _Place(rank, step, total, None, None, found.end())
        elif best is not None:
            best.end = max(best.end, found.end())
    if best is not None and best.rank < _ORDER[b"epoc"]:
        best.epoch, best.epochs = epoch, epochs
    return best


def _pairs(text: bytes) -> tuple[tuple[bytes, ...], list[float], list[tuple[int, int]]]:
    """Names, values and the spans of the values."""
    names: list[bytes] = []
    values: list[float] = []
    spans: list[tuple[int, int]] = []
    for found in _PAIR.finditer(text):
        two = _TWO.match(found[1])
        if found[3] is None:
            names.append(found[1])
            values.append(float(found[2]))
            spans.append(found.span(2))
        elif two:
            names += [two[1] + b"(" + two[2] + b")", two[1] + b"(" + two[3] + b")"]
            values += [float(found[2]), float(found[3][1:])]
            spans += [found.span(2), (found.start(3) + 1, found.end(3))]
    if not names:
        for found in _SPACED.finditer(text):
            names.append(found[1])
            values.append(float(found[2]))
            spans.append(found.span(2))
    return tuple(names), values, spans


def _pattern(text: bytes, spans: list[tuple[int, int]]) -> re.Pattern[bytes]:
    """Matches lines of the same form: equal except for the values and runs of blanks."""
    parts, at = [], 0
    for begin, end in spans:
        parts += [_literal(text[at:begin]), rb"(" + NUMBER + rb")"]
        at = end
    parts.append(_literal(text[at:]))
    return re.compile(b"".join(parts))


def _literal(text: bytes) -> bytes:
    return rb"\s+".join(re.escape(word) for word in re.split(rb"\s+", text))
