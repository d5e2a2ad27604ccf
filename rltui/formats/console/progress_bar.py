"""Metrics behind tqdm's bars: ``Epoch 3: 100%|###| 8/8 [00:10<00:00, 1.2s/it, loss=0.5]``.

Lightning, Tianshou and many own loops print nothing else. The step is a counter among the values
(``env_step=2048``), else the position of the bar, counted on over the epochs; a bar without a
position (Lightning on data without a length) has the ``global step`` that is printed behind it.
A row is a redraw with new values: a bar is also redrawn with the old ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from rltui.core.later import regex
from rltui.formats.console.console_dialect import ConsoleRows, Dialect, Rank, Row, RowForms
from rltui.formats.console.console_line import NUMBER, plain, printed_pairs, quantity, simplified
from rltui.formats.console.pair_line import is_metric, rank_of_counter
from rltui.formats.words import STEP

_BAR = regex(
    rb"([^\r\n]{0,300}?)(?:\d{1,3}%\|[^|]{0,400}\||(?<![\d.,%/])(?=\d+it \[))\s*"
    rb"(\d{1,15}|\d{1,4}\.\d{1,3}[kMG])(?:/(\d{1,15}|\d{1,4}(?:\.\d{1,3})?[kMG]))?"
    rb"\s?[A-Za-z]{0,12} "
    rb"\[(?:\d+:)?\d+:\d\d(?:<[^,\]]{0,20})?,\s*[^,\]]{0,40}(?:, ([^\r\n]*?))?\](?!,)"
)
_EPOCH = regex(rb"(?i)\bep(?:och)?s?\s?[:#=\[(]?\s?#?(\d{1,9})(?:\s?/\s?(\d{1,9}))?\]?")
_STEPS = regex(rb"Epoch (\d{1,9}), global step (\d{1,15})\b")
_TEST = regex(
    rb"Epoch #(\d{1,9}): test_reward: (" + NUMBER + rb")(?: ?\xc2\xb1 ?(" + NUMBER + rb"))?"
    rb"(?:, best_reward: (" + NUMBER + rb"))?"
)
_TEST_NAMES = (b"test_reward", b"test_reward_std", b"best_reward")
#: Begin of the names of an evaluation.
_EVAL = b"eval/"
_EVALUATION = regex(rb"(?i)\s*(?:val|eval|test|sanity)")
_WORDS = regex(rb"[^A-Za-z\x80-\xff]+")
_MAX_BARS = 32


@dataclass(slots=True)
class _Bar:
    """The bars with one description."""

    prefix: bytes
    """Stands before the names, where another bar has them."""
    texts: list[bytes] = field(default_factory=list)
    """The values of the newest row as they were printed."""
    epoch: int = -1
    done: int = 0
    first_epoch: int | None = None
    base: int = 0
    """Steps of the passes before."""

    def step(self, epoch: int | None, done: int, total: int | None) -> int:
        """The step over all passes."""
        if done < self.done or (epoch is not None and epoch > self.epoch >= 0):
            self.base += total or self.done
        self.epoch = -1 if epoch is None else epoch
        self.done = done
        if epoch is None or not total:
            return self.base + done
        if self.first_epoch is None or epoch < self.first_epoch:
            self.first_epoch = min(epoch, 1)
        return (epoch - self.first_epoch) * total + done


class ProgressBar(Dialect):
    """The dialect of bars with values."""

    markers = (b"%|", b"it [", b", global step ", b": test_reward: ")
    rank = Rank.SHAPE
    longest = 4000

    def __init__(self, rows: ConsoleRows) -> None:
        super().__init__(rows)
        self._bars: dict[bytes, _Bar] = {}
        self._owners: dict[bytes, bytes] = {}
        """Name -> description of the bar that had it first."""
        self._forms = RowForms()
        self._newest = 0
        self._per_epoch = 0
        """Steps of an epoch, by the messages of Lightning; 0 when unknown."""
        self._messages = False
        """Whether there were any."""
        self._waiting: tuple[int, Row] | None = None
        """The epoch of a bar without a position, and its row."""

    def read(self, line: bytes) -> bool:
        taken = False
        for part in line.split(b"\x1b[A"):
            text = plain(part)
            found = _BAR.match(text)
            if found is not None:
                taken = self._bar(found) or taken
                text = text[found.end() :]
            if b"global step" in text or b"test_reward" in text:
                taken = self._message(text) or taken
        return taken

    def _bar(self, found: re.Match[bytes]) -> bool:
        about = found[1]
        done = int(quantity(found[2]))
        total = int(quantity(found[3])) if found[3] else None
        epochs = _EPOCH.search(about)
        epoch = int(epochs[1]) if epochs else None
        if epochs:
            about = about[: epochs.start()] + about[epochs.end() :]
        words, names, texts = _described(about.rstrip(b": "), found[4] or b"")
        bar = self._bar_of(words, names) if names else None
        if bar is None:
            return False
        step = bar.step(epoch, done, total)
        if texts == bar.texts:
            return False
        bar.texts = texts

        values = list(map(quantity, texts))
        counter = _counter(names, values) if bar.prefix != _EVAL else None
        if counter is not None:
            step = int(values.pop(counter))
            total = None
            names = names[:counter] + names[counter + 1 :]
        if not any(map(is_metric, names)):
            return False
        if bar.prefix:
            names = tuple(bar.prefix + name for name in names)
        row = Row(step, names, values, self.rows.clock.stamp())
        if bar.prefix == _EVAL:
            return self._give(row.at(self._newest))
        if counter is None and not step and not total and epoch is not None:
            taken = self._settle(epoch)
            self._waiting = epoch, row
            return taken
        self._newest = step

        return self._give(row._replace(total=self._planned(bar, epochs, total)))

    def _planned(self, bar: _Bar, epochs: re.Match[bytes] | None, total: int | None) -> int | None:
        """The planned steps of the training, by the end of a bar."""
        if epochs and total:
            return total * int(epochs[2]) if epochs[2] else None
        if not bar.base:
            return total
        # it has begun again: its end is not that of the training
        if total is not None and self.rows.total == total:
            self.rows.total = 0
        return None

    def _bar_of(self, words: bytes, names: tuple[bytes, ...]) -> _Bar | None:
        """The state of the bars with this description."""
        bar = self._bars.get(words)
        if bar is None:
            if len(self._bars) >= _MAX_BARS:
                return None
            shared = any(self._owners.get(name, words) != words for name in names)
            prefix = _EVAL if _EVALUATION.match(words) else words + b"/" if shared else b""
            bar = self._bars[words] = _Bar(prefix)
        if not bar.prefix:
            for name in names:
                self._owners.setdefault(name, words)

        return bar

    def _give(self, row: Row) -> bool:
        believed = self._forms.add(RowForms.leading(row.names), row)
        planned = max((one.total or 0 for one in believed), default=0)
        if planned > (self.rows.total or 0):
            self.rows.total = planned
        return self.add_believed(believed)

    # -- bars without a position --------------------------------------------------------------

    def _settle(self, epoch: int | None, step: int | None = None) -> bool:
        """Give the row that waits for its step, unless it is of the epoch that goes on; without a
        message its epoch says what it is."""
        if self._waiting is None or self._waiting[0] == epoch:
            return False
        waited, row = self._waiting
        self._waiting = None
        self._newest = (waited + 1) * (self._per_epoch or 1) if step is None else step
        return self._give(row._replace(step=self._newest))

    def close(self) -> None:
        """Add a row whose step was not printed, where the steps of an epoch are known."""
        if self._per_epoch or not self._messages:
            self._settle(None)

    def _message(self, text: bytes) -> bool:
        """Read what Lightning and Tianshou print between bars."""
        found = _STEPS.search(text)
        if found:
            epoch = int(found[1])
            step = int(found[2])
            self._messages = True
            self._per_epoch = step // (epoch + 1) if step % (epoch + 1) == 0 else 0
            return self._settle(None, step)
        found = _TEST.search(text)
        if not found:
            return False
        cells = zip(_TEST_NAMES, found.groups()[1:], strict=True)
        known = {name: float(value) for name, value in cells if value is not None}
        step = self._newest or int(found[1])

        return self._give(Row.of(step, known))


def _described(about: bytes, postfix: bytes) -> tuple[bytes, tuple[bytes, ...], list[bytes]]:
    """Words of a description, and names and values in it and in a postfix."""
    words = simplified(about) if about else about
    pairs = printed_pairs(words) if words else []
    for pair in reversed(pairs):
        words = words[: pair.start()] + words[pair.end() :]
    words = _WORDS.sub(b" ", words).strip() if words else words
    pairs += printed_pairs(simplified(postfix))
    # the number that Lightning gives to a run
    pairs = [pair for pair in pairs if pair[1] != b"v_num"]

    return words, tuple([pair[1] for pair in pairs]), [pair[2] for pair in pairs]


def _counter(names: tuple[bytes, ...], values: Sequence[float]) -> int | None:
    """Position of the finest counter of steps."""
    for at in _counters(names):
        if values[at].is_integer() and 0 <= values[at] < 1e15:
            return at
    return None


@lru_cache(maxsize=1024)
def _counters(names: tuple[bytes, ...]) -> list[int]:
    """Positions of the names that counters of steps have, the finest first."""
    ranks = [(rank_of_counter(name), at) for at, name in enumerate(names)]
    known = sorted((rank, at) for rank, at in ranks if rank is not None and rank <= STEP)
    return [at for _, at in known]
