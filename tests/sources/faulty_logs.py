"""Logs of every format as their writers know them: what is on the disk, and what must be shown.

:class:`Log` writes, tears, cuts, rewrites and replaces one file. It keeps a list of its own of the
points that lie whole in the file, and derives from it, and from nothing that the program does,
what a monitor has to show (:meth:`Log.expected`):

- every point that lies whole in the file is shown, once;
- a file whose content began anew is a training that started again: it takes over from its first
  step on, and what was seen of lower steps stays; a table replaces what was read;
- of a file that is gone or empty, what was seen stays;
- no point is shown that was never written.
"""

import math
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rltui.formats.tracker_log.leveldb import FILE_HEADER, Framing
from rltui.formats.tracker_log.tracker_decoder import SWANLAB_FRAMING, WANDB_FRAMING
from tests.clock import ManualClock
from tests.formats import encode, encode_tracker

TAGS = ("actor/loss", "critic/score")
#: (tag, step, value)
Point = tuple[str, int, float]
#: A piece of a file that is read whole or not at all, and its points.
Piece = tuple[bytes, list[Point]]


@dataclass
class Content:
    """What a file has held since it began anew."""

    must: list[Point] = field(default_factory=list)
    may: list[Point] = field(default_factory=list)
    """Points of pieces that something torn stands before: the writer spoiled them."""
    ends: list[tuple[int, list[Point]]] = field(default_factory=list)
    """End of each piece that counts, in bytes, and its points."""
    first: dict[str, int] = field(default_factory=dict)
    """First step of each tag."""
    headless: bool = False
    """Whether something broken stands before the first row: then nothing says what it is."""


@dataclass(frozen=True)
class Bounds:
    """What a monitor may show of a log."""

    must: Counter[Point]
    may: Counter[Point]
    """Includes ``must``."""


class Form:
    """How the rows of a format are written."""

    name = ""
    file = ""
    restarts = True
    """Whether a file that began anew is a later branch; if not it replaces what was read."""
    spoils = 1
    """How many of the pieces behind a torn one may be lost with it."""
    garbage = b"\x00garb{age\xff\n"

    def __init__(self, tags: Sequence[str] = TAGS) -> None:
        self.tags = tuple(tags)

    def head(self) -> bytes:
        """How a file begins."""
        return b""

    def row(self, step: int, values: dict[str, float], size: int) -> list[Piece]:
        """One row of a file that has ``size`` bytes so far."""
        points = [(t, step, v) for t, v in values.items()]
        return [(self.line(step, values).encode() + b"\n", points)]

    def line(self, step: int, values: dict[str, float]) -> str:
        raise NotImplementedError


class EventFile(Form):
    name, file, spoils = "tfevents", "events.out.tfevents.1780000000.host", 0
    garbage = b"\x00garbage\xff\x09\x0a" * 3

    def head(self) -> bytes:
        return encode.header()

    def row(self, step: int, values: dict[str, float], size: int) -> list[Piece]:
        return [
            (encode.event(step, 1.78e9 + step, encode.simple(t.encode(), v)), [(t, step, v)])
            for t, v in values.items()
        ]


class JsonLines(Form):
    name, file = "jsonl", "metrics.jsonl"

    def line(self, step: int, values: dict[str, float]) -> str:
        cells = ", ".join(f'"{t}": {v}' for t, v in values.items())
        return f'{{"step": {step}, {cells}}}'


class Table(Form):
    name, file, restarts = "csv", "progress.csv", False

    def head(self) -> bytes:
        return ",".join(("step", *self.tags)).encode() + b"\n"

    def line(self, step: int, values: dict[str, float]) -> str:
        return ",".join(map(str, (step, *values.values())))


class Console(Form):
    name, file = "console", "train.log"
    garbage = b"\x00garb{age\xff | step:x - {'a': \x1b[31m\n"

    def line(self, step: int, values: dict[str, float]) -> str:
        return f"step:{step} - " + " - ".join(f"{t}:{v}" for t, v in values.items())


class Blocks(Form):
    """Records of LevelDB's log format, whose place depends on the size of the file.

    Behind something broken a reader may wait for the end of the block, which is never reached.
    """

    spoils = 1 << 30
    framing: Framing

    def head(self) -> bytes:
        return FILE_HEADER.pack(*self.framing)

    def row(self, step: int, values: dict[str, float], size: int) -> list[Piece]:
        writer = encode_tracker.LogWriter(self.framing)
        writer.size = size
        return [(writer.record(r), points) for r, points in self.records(step, values)]

    def records(self, step: int, values: dict[str, float]) -> Iterable[Piece]:
        raise NotImplementedError


class Wandb(Blocks):
    name, file, framing = "wandb", "run-abc123.wandb", WANDB_FRAMING

    def records(self, step: int, values: dict[str, float]) -> Iterable[Piece]:
        record = encode_tracker.full_row(step, 1.75e9 + step, dict(values))
        return [(record, [(t, step, v) for t, v in values.items()])]


class Swanlab(Blocks):
    name, file, framing = "swanlab", "run-abc123.swanlab", SWANLAB_FRAMING

    def records(self, step: int, values: dict[str, float]) -> Iterable[Piece]:
        return [
            (encode_tracker.scalar(t, step, v, 1.75e9 + step), [(t, step, v)])
            for t, v in values.items()
        ]


FORMS: tuple[type[Form], ...] = (EventFile, JsonLines, Table, Console, Wandb, Swanlab)


class DiskTime:
    """Times of change as a file system gives them: ticks of its own, however fast we are."""

    def __init__(self, clock: ManualClock, tick_s: float) -> None:
        self._clock = clock
        self._tick_s = tick_s
        self._writes = 0

    def stamp(self, path: Path) -> None:
        """Set the time of change of a file that was just written."""
        self._writes += 1
        now = self._clock.now()
        now = now // self._tick_s * self._tick_s if self._tick_s else now + 1e-4 * self._writes
        os.utime(path, (now, now))


class Log:
    """One file in a run of its own, as its writer knows it."""

    def __init__(self, form: Form, directory: Path, time: DiskTime) -> None:
        self.form = form
        self.path = directory / form.name / form.file
        self.existing = False
        self.step = 0
        self.content = Content()
        self._time = time
        self._uid = 0
        self._rest: list[Piece] = []
        """What is missing of a torn row; the first piece is the rest of a torn one."""
        self._spoiled = 0
        """How many of the next pieces may be lost because of a torn one before them."""
        self._written: set[Point] = set()
        self._seen: dict[Point, None] = {}
        """What a monitor has certainly seen and must not lose."""
        self._lowest: dict[str, int] = {}
        """Lowest first step of each tag in the contents that the file had since then."""
        self.torn: set[tuple[str, int]] = set()
        """Tag and step of points that were torn at any time. Who takes the end of a file for its
        last word may have read half of a number there."""
        self.joined: set[tuple[str, int]] = set()
        """Those of torn lines that got another end, and may look like whole ones."""
        self.smeared: set[float] = set()
        """Values of rows that continue a torn line: they may be taken for those of another step."""
        self.began_anew = False
        """Whether any content ever gave way to another one."""
        self.path.parent.mkdir(parents=True)

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.existing else 0

    # -- writing ----------------------------------------------------------------------------

    def begin(self, step: int, rows: int) -> None:
        """Write the file from its beginning, whatever was there."""
        self._anew(step)
        self.path.write_bytes(self.form.head())
        self._time.stamp(self.path)
        self.append(rows)

    def _anew(self, step: int) -> None:
        self._give_way()
        self.content, self.step = Content(), step
        self._rest, self._spoiled, self.existing = [], 0, True

    def _give_way(self) -> None:
        """Another content follows; a monitor may have seen this one."""
        self.began_anew |= bool(self._written)
        for tag, step in self.content.first.items():
            self._lowest[tag] = min(step, self._lowest.get(tag, step))

    def append(self, rows: int) -> None:
        self.finish()
        for _ in range(rows):
            for piece in self._next_row():
                self._put(piece)

    def _next_points(self) -> list[Point]:
        """One of each tag, of a value that no other point has."""
        self._uid += 1
        self.step += 1
        value = self._uid + 0.5
        return [(TAGS[0], self.step - 1, value), (TAGS[1], self.step - 1, -value)]

    def _next_row(self) -> list[Piece]:
        points = self._next_points()
        return self.form.row(points[0][1], {t: v for t, _, v in points}, self.size)

    def _put(self, piece: Piece) -> None:
        """Write a piece, or the rest of one."""
        data, points = piece
        self._write(data)
        content = self.content
        for tag, step, _ in points:
            content.first.setdefault(tag, step)
        self._written.update(points)
        if self._spoiled:
            content.may += points
            self._spoiled -= 1
            if self.form.spoils == 1:
                self.smeared.update(value for _, _, value in points)
        else:
            content.must += points
            content.ends.append((self.size, points))

    def _write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)
        self._time.stamp(self.path)

    def tear(self, share: float) -> None:
        """Write the first part of a row; :meth:`finish` writes the rest."""
        self.finish()
        pieces = self._next_row()
        left = max(1, int(share * sum(len(data) for data, _ in pieces)))
        while left >= len(pieces[0][0]):
            left -= len(pieces[0][0])
            self._put(pieces.pop(0))
        data, points = pieces[0]
        if left:
            self._write(data[:left])
            pieces[0] = data[left:], points
        self.torn.update(point[:2] for _, points in pieces for point in points)
        self._torn = left > 0
        self._rest = pieces

    def finish(self) -> None:
        """Write what is missing of a torn row."""
        rest, self._rest = self._rest, []
        for piece in rest:
            self._put(piece)

    def crash(self) -> None:
        """Nobody will write the rest of a torn row."""
        if self._rest and self._torn:
            self._spoiled = self.form.spoils
            self.content.headless |= not self.content.ends
            if self.form.spoils == 1:
                self.joined.update(point[:2] for point in self._rest[0][1])
        self._rest = []

    def recover(self) -> None:
        """Cut the torn row off, as a writer does that met a full disk."""
        if self._rest and self._torn:
            self.cut(self.content.ends[-1][0] if self.content.ends else len(self.form.head()))
        self._rest = []

    def spoil(self, data: bytes) -> None:
        """Write bytes that are no row."""
        self.crash()
        self.content.headless |= not self.content.ends
        ended = data.endswith(b"\n") and self.form.spoils == 1
        self._spoiled = 0 if ended else self.form.spoils
        self._write(data)

    # -- what happens to files ---------------------------------------------------------------

    def cut(self, size: int) -> None:
        """Cut the end of the file off."""
        if size >= self.size:
            return
        os.truncate(self.path, size)
        self._time.stamp(self.path)
        self._give_way()
        before, content = self.content, Content()
        content.headless = before.headless or size < len(self.form.head())
        content.ends = [(end, points) for end, points in before.ends if end <= size]
        content.must = [p for _, points in content.ends for p in points]
        content.may = before.may
        left = {tag for tag, _, _ in content.must}
        content.first = {t: s for t, s in before.first.items() if t in left}
        whole = content.ends[-1][0] if content.ends else len(self.form.head())
        if size != whole:  # the end of a piece, or of what stands behind the last one
            torn = {p[:2] for _, points in before.ends[len(content.ends) :][:1] for p in points}
            self.torn |= torn
            self.joined |= torn if self.form.spoils == 1 else set()
        self._rest, self._spoiled = [], self.form.spoils if size != whole else 0
        content.headless |= size != whole and not content.ends
        self.content = content if size else Content(headless=bool(self.form.head()))

    def replace_by_copy(self, directory: Path) -> None:
        """As rsync does: a longer copy takes the name."""
        self.finish()
        copy = shutil.copy2(self.path, directory / "copy")
        Path(copy).replace(self.path)
        self.append(2)

    def replace_by_other(self, directory: Path, step: int) -> None:
        """Another file takes the name."""
        other = directory / "other"
        other.write_bytes(self.form.head())
        self._time.stamp(other)
        other.replace(self.path)
        self._anew(step)
        self.append(2)

    def move(self, target: Path) -> None:
        """The file goes to where nobody looks."""
        self.path.replace(target)
        self._gone()

    def delete(self) -> None:
        self.path.unlink()
        self._gone()

    def _gone(self) -> None:
        self._rest, self._spoiled, self.existing = [], 0, False

    # -- what is to be shown -----------------------------------------------------------------

    def expected(self) -> Bounds:
        """What a monitor may show that has had every chance to read the file as it is."""
        content = self.content
        begun = content.first if self.existing and self.size and not content.headless else {}
        if begun and not self.form.restarts:
            return self._bounds(content.must, content.may)
        older = [p for p in self._written if p[1] < begun.get(p[0], math.inf)]
        kept = [p for p in self._kept() if p[1] < begun.get(p[0], math.inf)]
        if not begun:
            return self._bounds(kept, older)
        return self._bounds([*kept, *content.must], [*content.may, *older])

    def _kept(self) -> list[Point]:
        """What was seen and is not behind the beginning of any content that came since."""
        if not self.form.restarts and (self._lowest or self.content.headless):
            return []
        return [p for p in self._seen if p[1] < self._lowest.get(p[0], math.inf)]

    def _bounds(self, must: Iterable[Point], may: Iterable[Point]) -> Bounds:
        least = set(must)
        return Bounds(Counter(least), Counter(least.union(may)))

    def was_seen(self) -> None:
        """A monitor has read the file as it is: it must not lose what it saw."""
        self._seen = dict.fromkeys(self.expected().must)
        self._lowest = {}

    def knows(self, point: Point) -> bool:
        """Whether the point was ever written."""
        return point in self._written
