"""Names and numbers of one line: ``loss: 0.5, lr=1e-4 | kl: 0.02 nats``, with the counters that
say where the training is.

Dumps of settings have the same shape and are recognised by their form and their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rltui.core.later import regex
from rltui.core.record import state
from rltui.formats.console.console_line import NUMBER, QUANTITY, SIGNED, quantity
from rltui.formats.words import BATCH, EPISODE, EPOCH, FINE, STEP, words

#: What loggers print before the text: times, levels, file names, brackets, bullets.
_PREFIX = regex(
    rb"(?:\[[^\]\n]{0,80}\]:?\s*"
    rb"|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[\d.,Z+]*\s*(?:[-|:]\s+)?"
    rb"|\d\d:\d\d:\d\d(?:[.,]\d+)?\s+(?:[-|]\s+)?"
    rb"|(?:[A-Za-z_][\w.]{0,60} [-|] )?(?:DEBUG|INFO|WARNING|SUCCESS)"
    rb"(?:\s*[-|]\s*|:[\w.]*:?\s*|\s+)"
    rb"|[IW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w.]+:\d+\] "
    rb"|[\w.]+:\d+ [-|] |[-*>#=~+]{1,40}\s+|\xe2\x80\xa2\s*|(?:\xe2[\x94\x95][\x80-\xbf])+\s*)"
)
_PREFIXES = 6
#: Between two pairs: bars, semicolons, tabs, a comma or dash before a blank, several blanks
#: that do not stand beside a colon.
#: It begins with a set of bytes, which is found fast.
_SEPARATOR = regex(
    rb"[\s|;,](?:(?<=\s)\s*[|;\t]+\s*|(?<=[|;\t])[|;\t]*\s*|(?<=,)(?:\s+|(?=[A-Za-z_]))"
    rb"|(?<=\s)(?:\s*-\s+|(?<![:=\s]\s)\s+(?![:=\s])))"
)
_NAME = rb"[A-Za-z_\x80-\xff][\w \./@%()#+'\x80-\xff-]{0,80}?"
_UNIT = rb"(?:\s?[a-zA-Z%][\w%/]{0,11})?"
_AFTER = rb"(?:\s?[\[(][^\])]{0,60}[\])])?[.!]?"
_FIELD = regex(
    rb"(?:([A-Za-z][\w ]{0,30}):\s+)?(" + _NAME + rb")\s{0,30}[:=]\s{0,60}"
    rb"(" + QUANTITY + rb")(?:\s?/\s{0,8}(\d{1,15}))?" + _UNIT + _AFTER
)
#: ``Evaluation over 10 episodes: mean 3.2, std 0.5``.
_EVALUATION = regex(
    rb"(?i)eval(?:uation|uated|uating)?(?: \w{1,20})? (?:over|on|of|for|after) \d{1,9}"
    rb" (?:\w{1,20} )?(?:episodes?|games?|rollouts?)\W{1,4}(?=[A-Za-z])"
)
_SPACED = regex(
    rb"([A-Za-z_]\w{0,30}(?: [A-Za-z_]\w{0,30}){0,2})\s?[:=]?\s?(" + QUANTITY + rb")"
    rb"\W*"
)
#: ``The dist entropy 3.6, the value loss 0.9`` (forks of pytorch-a2c-ppo-acktr), ``loss 0.5``.
_WORDS = regex(
    rb"(?:(?:[Tt]he|and) )?([A-Za-z_][\w ./@%()-]{1,40}?)(?: is)?\s{0,30}(?<=[\w )])("
    + NUMBER
    + rb")"
    rb"(?:,\s|\s*[|;]\s*|\s{2,}|$)"
)
_MANY_WORDS = regex(rb"\w ?[-+]?\d*\.\d+(?:, \w|\s*[|;]|\s\s|$)")
#: A cheap test that rules out most lines of text.
_QUICK = regex(rb"[:=]\s{0,60}[-+.\dnNiI]|\d/[-\d]|\.{4,} ?[-+\d]")
_TEXT = regex(rb"[A-Za-z_\x80-\xff][^:=]{0,60}[:=]\s*\S.{0,100}")
#: A call as Python prints it, ``Namespace(lr=0.1, seed=1)``, flags, and objects of JavaScript.
_DUMP = regex(
    rb"(?:^|[^\w])([A-Z]\w*)\((?:[^()]*, ?)?[A-Za-z_]\w* ?=[^=]|^\s*[{<]|(?:^|\s)--[a-z]|\w=None\b"
)
_OPENING = (b"{", b"<")
_LETTERS = regex(rb"[^a-z0-9]")
#: Letters at the end of a counter by which it may be one.
_END = 4
_WHOLE = regex(rb"[:=]\s{0,60}\d(?!x)")
_VALUES = regex(rb"[:=]\s{0,60}(?:[-+]?\.?\d(?!x)|[nN]a[nN]|[-+]?[iI]nf)|\d/[-\d]")
#: Bytes before a value in which the end of its name is, and what may stand between.
_NEAR = 40
_NO_LETTERS = b" \t_./@%()#+'-"


class Pair(NamedTuple):
    """A name and its number."""

    name: bytes
    value: float
    whole: int | None
    """The value as a whole number, where it is printed as one."""
    total: int | None = None
    """Number behind a slash after the value."""


class PairLine(list[Pair]):
    """The pairs of a line, in order."""

    clean = True
    """Whether the line consists of pairs alone."""

    def add(self, name: bytes, value: bytes, total: bytes | None = None) -> None:
        """Add a pair as it is printed."""
        amount = quantity(value)
        scaled = amount.is_integer() and value[-1:].isalpha() and 0 <= amount < 1e15
        digits = value.isdigit() and len(value) < 16
        whole = int(value) if digits else int(amount) if scaled else None
        self.append(Pair(name, amount, whole, int(total) if total else None))

    def counter(self) -> tuple[int, int] | None:
        """Position and rank of the finest counter; ``steps`` beside an episode are its length."""
        ranks = [None if pair.whole is None else rank_of_counter(pair.name) for pair in self]
        known = [
            (rank, at)
            for at, rank in enumerate(ranks)
            if rank is not None and not (EPISODE in ranks and self[at].name.lower() == b"steps")
        ]
        rank, at = min(known, default=(0, -1))

        return None if at < 0 else (at, rank)


@lru_cache(maxsize=1024)
def rank_of_counter(name: bytes) -> int | None:
    """The rank of a counter, finest first; None for other names."""
    return words().counters.get(_LETTERS.sub(b"", name.lower()))


@lru_cache(maxsize=1024)
def is_outcome(name: bytes) -> bool:
    """Whether a name has a word of a usual metric that is never a setting."""
    return words().outcomes.search(name) is not None and not is_setting(name)


@lru_cache(maxsize=1024)
def is_metric(name: bytes) -> bool:
    """Whether a name has a word of a usual metric."""
    return words().metrics.search(name) is not None


@lru_cache(maxsize=1024)
def is_setting(name: bytes) -> bool:
    """Whether a name is one that settings have and rows of metrics have not."""
    return words().settings.search(name.strip().replace(b" ", b"_")) is not None


def are_settings(names: tuple[bytes, ...] | list[bytes]) -> bool:
    """Whether these are the names of a dump of settings."""
    return sum(map(is_setting, names)) > max(1, len(names) // 3)


def is_dump(text: bytes) -> bool:
    """Whether a line has the form of printed settings."""
    if not (text[:1] in _OPENING or b"--" in text or (b"=" in text and b"(" in text)):
        return b"=None" in text and _DUMP.search(text) is not None
    found = _DUMP.search(text)
    return found is not None and not (found[1] and words().records.search(found[1]))


def unprefixed(text: bytes) -> bytes:
    """The text without what a logger or a list puts before it."""
    for _ in range(_PREFIXES):
        found = _PREFIX.match(text)
        if not found:
            break
        text = text[found.end() :]
    return text


def may_have_pairs(text: bytes) -> bool:
    """Whether a line may have a pair."""
    return _QUICK.search(text) is not None or _MANY_WORDS.search(text) is not None


def may_have_counter(text: bytes, known: int = 0) -> bool:
    """Whether a line may have a pair with the name of a counter, and if its first ``known``
    bytes have been read as one, more than that."""
    ends = [found.start() for found in _WHOLE.finditer(text)]
    if not ends or (ends[-1] < known and len(_VALUES.findall(text)) < 2):
        return False
    last, short = _ends()
    for at in ends:
        name = text[at - _NEAR if at > _NEAR else 0 : at].rstrip(_NO_LETTERS).lower()
        if not name[-1:].isalpha():
            continue
        if name.translate(None, _NO_LETTERS)[-_END:] in last:
            return True
        if short.search(name):
            return True

    return False


@lru_cache(maxsize=1)
def _ends() -> tuple[frozenset[bytes], re.Pattern[bytes]]:
    """How counters end, and the counters that are shorter."""
    names = words().counters
    shorter = b"|".join(name for name in names if len(name) < _END)
    last = frozenset(name[-_END:] for name in names if len(name) >= _END)
    return last, re.compile(rb"(?<![a-z])(?:" + shorter + rb")\Z")


def pairs_of(text: bytes, *, alone: bool = False) -> PairLine | None:
    """The pairs of a line without its prefixes; None when there are none. ``alone``: or when it
    has anything besides."""
    line = PairLine()
    label = b""
    for field in _SEPARATOR.split(text.strip(b" \t|,;{")):
        quick = _QUICK.search(field)
        found = _FIELD.fullmatch(field) if quick else None
        if found is None:
            end = 0
            rest = b""
            for several in SIGNED.finditer(field) if quick else ():
                line.add(several[1], several[2], several[3])
                rest += field[end : several.start()]
                end = several.end()
            rest = (rest + field[end:]).strip()
            only_pairs = not rest if end else not field or _TEXT.fullmatch(field) is not None
            line.clean = only_pairs and line.clean
            if alone and not line.clean:
                return None
            continue
        if found[1] and not line:
            label = found[1] + b"/"
        line.add(label + found[2].strip(), found[3], found[4])

    return line or None


def worded(text: bytes) -> PairLine | None:
    """The figures of a line of words and numbers between commas; None when it is none."""
    line = _row_of(_WORDS, text) if _MANY_WORDS.search(text) else None
    return line if line is not None and any(is_metric(pair.name) for pair in line) else None


def evaluation_of(text: bytes) -> PairLine | None:
    """The figures of an evaluation in a line of words; None when it is none."""
    found = _EVALUATION.match(text)
    return _row_of(_SPACED, text[found.end() :], b"eval/") if found else None


def _row_of(pattern: re.Pattern[bytes], text: bytes, prefix: bytes = b"") -> PairLine | None:
    """The pairs of a text, one behind the other; None when there is anything else."""
    line = PairLine()
    at = 0
    while at < len(text):
        pair = pattern.match(text, at)
        if pair is None:
            return None
        line.add(prefix + pair[1], pair[2])
        at = pair.end()

    return line


#: Bytes of a line in which its step is searched, logger prefix included.
HEAD_BYTES = 160
#: Patterns of small letters: matching any case takes several times as long.
_INDEX = regex(
    rb"(steps?|iter(?:ation)?s?|updates?|batch(?:es)?|episodes?|epochs?|ep)(?:\([a-z]{1,10}\))?\s?"
    rb"[:=#_]?\s?[\[(]?\s{0,8}(\d{1,15}|\d{1,12}(?:\.\d{1,6})?[km])(?:\s?(?:/|of)\s{0,8}(\d{1,15}))?"
    rb"(?![\d.\w%])[\])]?"
)
#: A counter before its name: ``[1.2K steps]``, ``eval @ 10000 steps:``, and how that is found fast.
_NAMED = (
    rb" (?:env |environment |time|global |training )?(step|iter|update|episode|frame)[a-z]{0,6}"
)
_BEHIND = regex(
    rb"(?:^|\bafter |\bat |@ ?|\[)(\d{1,15}(?:\.\d{1,6})?[kmg]?)" + _NAMED + rb"(?:[\])]|[:,]| ?\|)"
)
_MAY_BE_BEHIND = regex(rb"[\dkmg]" + _NAMED)
#: A counter without a name: ``[3/120]``, ``3/120:``; and in front ``[5000]``, ``12 loss=``,
#: ``t=12``.
_OF_ALL = regex(rb"(\d(?<![\w.:/-]\d)\d{0,8})(?:/| of )(\d{1,15})[\])]?(?![\w/.-]|:\d)")
_IN_FRONT = regex(
    rb"[\[(#]{0,2}(?:(?:it|[tisnEe])\s?[:=]?\s{0,8})?"
    rb"(\d{1,15}|\d{1,12}(?:\.\d{1,6})?[kKM])[\])]?(?:[:|,]\s|(?=\s))"
)
#: A number of this size in front of a line is a time.
_TIME = 1e9
#: What may stand before a counter.
_BEFORE = regex(rb"(?:^|[\s\[(|>:*#-])(train(?:ing)?[ _]|global[ _]|total[ _])?$")
#: The last byte of that.
_BREAKS = b" \t\n\r\f\v[(|>:*#-_"
_BEFORE_ENDS = b"ngl"
_UNDERSCORE, _BLANK = b"_ "
_LONGEST_BEFORE = len("(training ")
#: An epoch with the position inside it: ``Epoch:[1/3](20/4292)``, ``Train Epoch: 1 [640/60000``.
_WITHIN = regex(
    rb"epoch\s?[:=]?\s?\[?(\d{1,9})(?:\s?/\s?(\d{1,9}))?"
    rb"(?:\]?\s?[\[(](\d{1,15})/(\d{1,15})[^\])]{0,12}[\])]|:\s+(\d{1,15})\s?/\s?(\d{1,15})(?=\s))"
)
_ORDER = {
    b"step": STEP,
    b"iter": STEP,
    b"upda": STEP,
    b"fram": FINE,
    b"batc": BATCH,
    b"epis": EPISODE,
    b"ep": EPISODE,
    b"epoc": EPOCH,
}


@state
class Position:
    """The position of a line in the training."""

    rank: int
    step: int
    total: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    begin: int = 0
    """Where the counter begins, and"""
    end: int = 0
    """where the pairs of the line begin, in bytes."""
    word: bytes = b""
    counters: Mapping[bytes, int] | None = None
    """All counters within an epoch by their words, but rounded ones."""


def position_of(text: bytes, none: Collection[bytes] = ()) -> Position | None:
    """The finest counter at the beginning of a line; ``steps`` beside an episode are its
    length. ``none``: words that count nothing here."""
    head = text[:HEAD_BYTES].lower()
    within = _WITHIN.search(head) if b"epoch" in head else None
    if within:
        epoch, epochs, *place = (int(g) if g else None for g in within.groups())
        step, total = place[:2] if within[3] else place[2:]
        return Position(STEP, step or 0, total, epoch, epochs, end=within.end())
    several = list(_counters(head))
    if several:
        return _finest(several, none)
    behind = _BEHIND.search(head) if _MAY_BE_BEHIND.search(head) else None
    if behind is None:
        return None
    step = int(quantity(behind[1].upper()))

    return Position(_ORDER[behind[2][:4]], step, begin=behind.start(), end=behind.end())


def _within_epoch(several: Sequence[tuple[int, re.Match[bytes]]]) -> dict[bytes, int]:
    whole = ((found[1], found[2]) for rank, found in several if rank < EPOCH)
    return {word: int(text) for word, text in whole if text.isdigit()}


def _finest(
    several: Sequence[tuple[int, re.Match[bytes]]], none: Collection[bytes]
) -> Position | None:
    """The finest of several counters."""
    best: Position | None = None
    epoch = epochs = None
    counters = _within_epoch(several) if len(several) > 1 else None
    for rank, found in several:
        step = int(found[2] if found[2].isdigit() else quantity(found[2].upper()))
        total = int(found[3]) if found[3] else None
        if rank == EPOCH:
            epoch = step
            epochs = total
        if best is not None and found[1] in none:
            continue
        if best is None or rank < best.rank or best.word in none:
            length = best is not None and best.rank == EPISODE and found[1] == b"steps"
            if not (length and rank == STEP):
                begin, end = found.span()
                best = Position(rank, step, total, None, None, begin, end, found[1], counters)
        else:
            best.end = max(best.end, found.end())
    if best is not None and best.rank < EPOCH:
        best.epoch = epoch
        best.epochs = epochs

    return best


def bare_position(text: bytes) -> Position | None:
    """A counter without a name at the beginning of a line, or of all in a bar."""
    found = _OF_ALL.match(text, 0, HEAD_BYTES) or _IN_FRONT.match(text, 0, HEAD_BYTES)
    found = found or _OF_ALL.search(text, 0, HEAD_BYTES)
    if found is None:
        return None
    total = found[2] if found.re is _OF_ALL else None
    step = quantity(found[1])
    if step >= _TIME or not step.is_integer() or (total and step > int(total)):
        return None
    place = found.start(), found.end()

    return Position(STEP, int(step), int(total) if total else None, None, None, *place)


def _counters(head: bytes) -> Iterator[tuple[int, re.Match[bytes]]]:
    """The counters of a line and their ranks."""
    for found in _INDEX.finditer(head):
        start = found.start()
        last = head[start - 1] if start else _BLANK
        if last not in _BREAKS:
            continue
        before = None
        if last in b" _" and start > 1 and head[start - 2] in _BEFORE_ENDS:
            before = _BEFORE.search(head, max(0, start - _LONGEST_BEFORE), start)
        if before is None and last == _UNDERSCORE:
            continue
        rank = _ORDER[found[1][:4]]
        yield (FINE if rank == STEP and before and before[1] else rank), found


def has_counters(text: bytes) -> bool:
    """Whether a counter may be anywhere in a text."""
    lower = text.lower()
    return b"epoch" in lower or any(_counters(lower))


class Rises:
    """Which of several counters count: one that stands still or falls in most rows is the size
    of a batch, or a plan."""

    def __init__(self) -> None:
        self._last: dict[bytes, float] = {}
        self._net: Counter[bytes] = Counter()
        """How much more often each has risen."""

    def see(self, counters: Mapping[bytes, float]) -> frozenset[bytes]:
        """Note the counters of the next row; return those that count nothing, as far as is
        known."""
        for name, value in counters.items():
            last = self._last.get(name)
            if last is not None:
                self._net[name] += 1 if value > last else -1
            self._last[name] = value
        most = max(self._net[name] for name in counters)

        return frozenset(name for name in counters if 2 * self._net[name] < most)


class StepCounter:
    """Turns positions into steps over all epochs.

    Some loops keep counting, others start each epoch at 1: the second epoch shows which. A
    counter of epochs or episodes in a log with finer steps says less than those.
    """

    def __init__(self) -> None:
        self.newest: int | None = None
        """The newest step of a line that has more than an epoch."""
        self._finest = EPOCH
        self.epoch_heading: tuple[int, int | None] | None = None
        """The newest epoch on a line of its own, and the number of epochs."""
        self._epoch = (-1, -1)
        """The newest epoch, and the newest step in it."""
        self._first_epoch = 1
        self._base = 0
        self._within: bool | None = None
        """Whether steps start again in each epoch; None until the second epoch."""

    def finer_than(self, rank: int) -> int | None:
        """The newest step of lines with a finer counter than this."""
        return self.newest if self._finest < rank else None

    def step_of(self, position: Position) -> tuple[int, int | None]:
        """The step and the planned total, where it is certain."""
        step = position.step
        total = position.total
        if position.rank == EPOCH:
            return step, total
        epoch = position.epoch
        epochs = position.epochs
        if epoch is None and self.epoch_heading is not None:
            epoch, epochs = self.epoch_heading
        if epoch is not None:
            step, total = self._over_epochs(step, total, epoch, epochs or 0)
        self.newest, self._finest = step, min(self._finest, position.rank)

        return step, total

    def _over_epochs(
        self, step: int, total: int | None, epoch: int, epochs: int
    ) -> tuple[int, int | None]:
        last_epoch, last_step = self._epoch
        if last_epoch < 0 or epoch < last_epoch:
            # beyond the share of the epochs before it only where steps count on
            far = epochs and total and step > (epoch - 1) * total / epochs
            self._first_epoch = min(epoch, 1)
            self._base = 0
            self._within = False if far and epoch > 1 else None
        elif epoch > last_epoch:
            self._within = step <= last_step
            self._base += last_step if self._within else 0
        self._epoch = (epoch, step)
        if self._within is False:
            return step, total
        if not total:
            return self._base + step, None
        sure = epochs and (self._within or epochs == 1)

        return (epoch - self._first_epoch) * total + step, total * epochs if sure else None
