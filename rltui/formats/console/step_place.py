"""Where in the training a line is: ``Epoch 2/3, Step [20/30]``, over all epochs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rltui.formats.console.console_line import quantity
from rltui.formats.words import BATCH, EPISODE, EPOCH, FINE, STEP

#: Bytes of a line in which its step is searched, logger prefix included.
HEAD_BYTES = 160
#: Patterns of small letters: matching any case takes several times as long.
_INDEX = re.compile(
    rb"(steps?|iter(?:ation)?s?|updates?|batch(?:es)?|episodes?|epochs?|ep)\s?[:=#]?\s?[\[(]?\s{0,8}"
    rb"(\d{1,15})(?:\s?/\s{0,8}(\d{1,15}))?(?![\d.\w%])[\])]?"
)
#: A counter before its name: ``[1.2K steps]``.
_LEADING = re.compile(
    rb"\s{0,8}\[(\d{1,15}(?:\.\d{1,6})?[kmg]?) (?:env |environment |time|global |training )?"
    rb"(step|iter|update|episode|frame)[a-z]{0,6}\]"
)
#: What may stand before a counter.
_BEFORE = re.compile(rb"(?:^|[\s\[(|>:*#-])(train(?:ing)?[ _]|global[ _]|total[ _])?$")
#: The last byte of that.
_BREAKS = b" \t\n\r\f\v[(|>:*#-_"
_BEFORE_ENDS = b"ngl"
_UNDERSCORE, _BLANK = b"_ "
_LONGEST_BEFORE = len("(training ")
#: An epoch with the position inside it: ``Epoch:[1/3](20/4292)``, ``Train Epoch: 1 [640/60000``.
_WITHIN = re.compile(
    rb"epoch\s?[:=]?\s?\[?(\d{1,9})(?:\s?/\s?(\d{1,9}))?\]?\s?[\[(](\d{1,15})/(\d{1,15})[^\])]{0,12}[\])]"
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


@dataclass(slots=True)
class Place:
    """The position of a line in the training."""

    rank: int
    step: int
    total: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    end: int = 0
    """Where the pairs of the line begin, in bytes."""


def place_of(text: bytes) -> Place | None:
    """The finest counter at the beginning of a line; ``steps`` beside an episode are its
    length."""
    head = text[:HEAD_BYTES].lower()
    within = _WITHIN.search(head) if b"epoch" in head else None
    if within:
        epoch, epochs, step, total = (int(g) if g else None for g in within.groups())
        return Place(STEP, step or 0, total, epoch, epochs, within.end())
    leading = _LEADING.match(head) if b"]" in head else None
    if leading:
        step = int(quantity(leading[1].upper()))
        return Place(_ORDER[leading[2][:4]], step, end=leading.end())
    best: Place | None = None
    epoch = epochs = None
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
        word, digits, of = found.groups()
        rank = _ORDER[word[:4]]
        step, total = int(digits), int(of) if of else None
        if rank == EPOCH:
            epoch, epochs = step, total
        if before and before[1] and rank == STEP:
            rank = FINE
        if best is not None and best.rank == EPISODE and word == b"steps" and rank == STEP:
            continue
        if best is None or rank < best.rank:
            best = Place(rank, step, total, end=found.end())
        else:
            best.end = max(best.end, found.end())
    if best is not None and best.rank < EPOCH:
        best.epoch, best.epochs = epoch, epochs
    return best


class StepCounter:
    """Turns places into steps over all epochs.

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
        self._first_epoch = 1
        self._base = 0
        self._within: bool | None = None
        """Whether steps start again in each epoch; None until the second epoch."""

    def is_finer_than(self, rank: int) -> bool:
        """Whether lines with a finer counter than this were seen."""
        return self.newest is not None and self._finest < rank

    def step_of(self, place: Place) -> tuple[int, int | None]:
        """The step and the planned total, where it is certain."""
        if place.rank == EPOCH:
            return place.step, place.total
        if place.epoch is None and self.epoch_heading is not None:
            place.epoch, place.epochs = self.epoch_heading
        step, total = place.step, place.total
        if place.epoch is not None:
            step, total = self._over_epochs(place, place.epoch)
        self.newest, self._finest = step, min(self._finest, place.rank)
        return step, total

    def _over_epochs(self, place: Place, epoch: int) -> tuple[int, int | None]:
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
