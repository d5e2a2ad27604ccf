"""Hyperparameters of a run, wherever its framework logs them.

The hparams plugin, a text that is a JSON object (transformers logs its arguments that way), or a
Markdown table of names and values (CleanRL). Only texts whose tag names hyperparameters count,
so that a sample that happens to be JSON is ignored.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from rltui.core.batch import Batch, SourceInfo, TextPoint
from rltui.formats.json_value import MOST_SETTINGS, flat_settings
from rltui.formats.words import words

if TYPE_CHECKING:
    from rltui.sources.side_files.trajectory import Sample, SampleRow, SampleTable

#: Names of texts that hold hyperparameters: transformers logs ``args``, CleanRL
#: ``hyperparameters``, others ``config``, ``hparams``; TensorBoard adds ``/text_summary``.
NAMES = re.compile(
    r"(^|/)(args|arguments|hyperparameters|hyper_parameters|hparams|config|training_args)"
    r"(/text_summary)?$"
)
#: What TRL's trainers log of the model: neither a hyperparameter nor a sample.
_MODEL = re.compile(r"(^|/)model_config(/text_summary)?$")
#: What text cleaning writes for a backslash, as in the JSON escape \\u00e9.
_BACKSLASH = "\\x5c"
#: Changes within one file that are kept.
_MOST_CHANGES = 500
_PARTS = re.compile(r"[./]")
_EXPONENT = re.compile(r"e([+-])0+(?=\d)")
#: Truth values as the hparams plugin may log them.
_TRUTH = {"true": "1", "false": "0"}
#: Texts of one run that are kept, bytes of all of them, bytes of those of all runs, characters of
#: a preview.
_MOST = 2000
_MAX_BYTES = 4 << 20
_MAX_BYTES_OF_ALL = 64 << 20
_PREVIEW = 240
#: TensorBoard adds it to the tag of a text.
_SUFFIX = "/text_summary"
_numbers = count()


class SettingChange(NamedTuple):
    """A hyperparameter that has another value since a restart."""

    name: str
    before: object
    after: object
    path: Path
    """The file that logged the new value."""


@dataclass(slots=True)
class _FileSettings:
    source: SourceInfo
    """Source of the newest batch that logged any."""
    values: dict[str, object] = field(default_factory=dict)
    replaced: list[SettingChange] = field(default_factory=list)
    """Settings that a later part of the file logged anew, with another value."""


class Hyperparameters:
    """The hyperparameters of one run, file by file."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        """Name -> value; later files win. Another object once any is new or has another value."""
        self.version = 0
        """Increases when ``values`` change."""
        self._by_file: dict[Path, _FileSettings] = {}

    def copy(self) -> Hyperparameters:
        """Copy the current settings; later ones do not reach the copy."""
        other = Hyperparameters()
        other.values = self.values
        other.version = self.version
        other._by_file = {
            path: _FileSettings(f.source, dict(f.values), list(f.replaced))
            for path, f in self._by_file.items()
        }

        return other

    @property
    def formats(self) -> list[str]:
        """Formats of the files that logged any, in the order in which they were read."""
        return list(dict.fromkeys(f.source.format for f in self._by_file.values()))

    def add(self, batch: Batch) -> bool:
        """Add those of a batch; returns whether any is new or has another value."""
        logged = {**hyperparameters(batch.texts), **batch.hparams}
        if not logged:
            return False
        path = batch.source.path
        file = self._by_file.setdefault(path, _FileSettings(batch.source))
        file.source = batch.source
        for name, value in logged.items():
            if name not in file.values and len(file.values) >= MOST_SETTINGS:
                continue
            before = file.values.get(name, value)
            if not same(before, value) and len(file.replaced) < _MOST_CHANGES:
                file.replaced.append(SettingChange(name, before, value, path))
            file.values[name] = value

        return self._sum_up()

    def move(self, path: Path, into: Hyperparameters) -> bool:
        """Give those of a file to another run; returns whether there are any."""
        settings = self._by_file.pop(path, None)
        if settings is None:
            return False
        into._by_file[path] = settings
        self._sum_up()
        into._sum_up()
        return True

    def changes(self) -> list[SettingChange]:
        """List the settings with another value in a later file of the same format, or later in a
        file."""
        files = sorted(self._by_file.values(), key=lambda f: (f.source.format, f.source.order))
        found = [change for file in files for change in file.replaced]
        for before, after in pairwise(files):
            if before.source.format != after.source.format:
                continue
            for name, value in after.values.items():
                old = before.values.get(name, value)
                if not same(old, value):
                    found.append(SettingChange(name, old, value, after.source.path))

        return list(dict.fromkeys(found))

    def _sum_up(self) -> bool:
        values = {k: v for f in self._by_file.values() for k, v in f.values.items()}
        if values == self.values:
            return False
        self.values = values
        self.version += 1
        return True


def same(one: object, other: object) -> bool:
    """Whether two values of a hyperparameter are the same, whatever form a log gives them: the
    hparams plugin knows only floats, CleanRL's table only texts."""
    return one == other or canonical(one) == canonical(other)


def canonical(value: object) -> str:
    """Normal form of a value: equal for values that are the same, see :func:`same`."""
    text = str(value)
    text = _TRUTH.get(text.lower(), text)
    try:
        number = float(text)
    except ValueError:
        return text

    return str(int(number)) if number.is_integer() else value_text(number)


def differing_settings(tables: Sequence[Mapping[str, object]]) -> list[str]:
    """Names whose values are not the same in all ``tables`` that hold any: the main ones first,
    those that a table lacks last."""
    filled = [t for t in tables if t]
    if len(filled) < 2:
        return []
    names = dict.fromkeys(n for t in filled for n in t)
    found = [n for n in names if not all(n in t and same(t[n], filled[0].get(n)) for t in filled)]
    last = len(_ranks())
    return sorted(found, key=lambda n: (not all(n in t for t in filled), main_rank(n) % (last + 1)))


def main_rank(name: str) -> int:
    """Place among the hyperparameters that are looked at first; -1 for others."""
    return _ranks().get(last_part(name).replace(" ", "_"), -1)


def last_part(name: str) -> str:
    """``lr`` of ``actor.optim.lr``."""
    return _PARTS.split(name)[-1]


@lru_cache(maxsize=1)
def _ranks() -> dict[str, int]:
    return {name: rank for rank, name in enumerate(words().main_settings)}


def value_text(value: object) -> str:
    """A value as people write it: 1e-6 for a logged 1e-06, 8 for 8.0."""
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        short = f"{value:.6g}"  # what float32 adds beyond that is noise
        exact = abs(float(short) - value) <= 1e-7 * abs(value)
        return _EXPONENT.sub(r"e\1", short if exact else str(value))

    return str(value)


def hyperparameters(texts: Iterable[TextPoint]) -> dict[str, object]:
    """Name -> value of the hyperparameter texts among ``texts``; later ones win."""
    found: dict[str, object] = {}
    for point in texts:
        if not NAMES.search(point.tag):
            continue
        document: object = None
        if point.text.lstrip().startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                document = json.loads(point.text.replace(_BACKSLASH, "\\"))
        settings = flat_settings(document) if isinstance(document, dict) else {}
        lines = [line.strip() for line in point.text.splitlines()]
        if not settings and len(lines) > 2 and lines[1].startswith("|-"):
            # lines of |name|value| below a head and a line of dashes
            rows = ([c.strip() for c in line.strip("|").split("|")] for line in lines[2:])
            settings = {cells[0]: cells[1] for cells in rows if len(cells) == 2 and cells[0]}
        found.update(settings)

    return found


def positive(value: object) -> int | None:
    """``value`` as a positive whole number (also from text), or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None

    return int(number) if 0 < number < float("inf") else None


class _Text(NamedTuple):
    path: Path
    number: int
    """Identity of the text, in all runs."""
    point: TextPoint
    nbytes: int


class TextLimit:
    """Limit of the memory that the texts of all runs take together. Owned by the session."""

    def __init__(self) -> None:
        self.nbytes = 0
        self.all: WeakSet[Texts] = WeakSet()


class Texts:
    """The texts of one run; beyond a limit the oldest are dropped."""

    def __init__(self, limit: TextLimit | None = None) -> None:
        """``limit``: of the texts of all runs; None for a run alone."""
        self.nbytes = 0
        """Bytes of all texts."""
        self._limit = limit or TextLimit()
        self._limit.all.add(self)
        self._kept: list[_Text] = []  # a deque takes 0.6 kB while it is empty

    def copy(self) -> Texts:
        """Copy the current texts; later ones do not reach the copy."""
        other = Texts()
        other._kept = self._kept.copy()
        other.nbytes = self.nbytes
        return other

    def add(self, batch: Batch) -> None:
        """Add those of a batch that are no hyperparameters; the oldest make room, of this run and
        then of those with most text."""
        path = batch.source.path
        if batch.replaced:
            self._keep([k for k in self._kept if k.path != path])
        tags = (NAMES, _MODEL)
        own = [p for p in batch.texts if not any(names.search(p.tag) for names in tags)]
        if not own:
            return
        new = [_Text(path, next(_numbers), point, sys.getsizeof(point.text)) for point in own]
        self._keep([*self._kept, *new])
        while len(self._kept) > _MOST or self.nbytes > _MAX_BYTES:
            self._drop()
        while self._limit.nbytes > _MAX_BYTES_OF_ALL:
            max(self._limit.all, key=lambda t: t.nbytes)._drop()

    def _drop(self) -> None:
        """Drop the oldest text."""
        self._count(-self._kept.pop(0).nbytes)

    def move(self, path: Path, into: Texts) -> None:
        """Give those of a file to another run."""
        into._keep([*into._kept, *(k for k in self._kept if k.path == path)])
        self._keep([k for k in self._kept if k.path != path])

    def _keep(self, kept: list[_Text]) -> None:
        self._kept = kept
        self._count(sum(k.nbytes for k in kept) - self.nbytes)

    def _count(self, nbytes: int) -> None:
        self.nbytes += nbytes
        self._limit.nbytes += nbytes

    def sets(self) -> list[TextSet]:
        """The texts by tag."""
        tags: dict[str, dict[int, TextPoint]] = {}
        for text in self._kept:
            tags.setdefault(text.point.tag, {})[text.number] = text.point
        bare = {tag: tag.removesuffix(_SUFFIX) for tag in tags}
        return [
            TextSet(tag, tag if bare[tag] in tags else bare[tag], points)
            for tag, points in tags.items()
        ]


class TextSet:
    """The texts of one tag, as samples; the place of a row is the number of its text."""

    def __init__(self, tag: str, name: str, points: dict[int, TextPoint]) -> None:
        self.key: Hashable = ("text", tag)
        self.origin = "logged"
        self.name = name
        self._points = points

    @property
    def steps(self) -> list[int]:
        """The steps with a text, ascending."""
        return sorted({p.step for p in self._points.values()})

    def stamp(self, step: int | None) -> object:
        """Changes when there are other texts at a step."""
        return tuple(number for number, p in self._points.items() if p.step == step)

    def load(self, step: int | None, seconds: float = math.inf) -> SampleTable:
        """The texts at a step."""
        del seconds  # they are there at once
        # heavy: whatever reads files of samples
        from rltui.sources.side_files.trajectory import SampleRow, SampleTable

        return SampleTable(
            tuple(
                SampleRow(
                    n, 0, p.step, math.nan, len(p.text), " ".join(p.text[:480].split())[:_PREVIEW]
                )
                for n, p in self._points.items()
                if p.step == step
            )
        )

    def read(self, step: int | None, row: SampleRow) -> Sample:
        """The whole text. Raises ValueError for one that is no longer kept."""
        del step  # the row says which text it is
        point = self._points.get(row.position)
        if point is None:
            raise ValueError("newer texts took its place")
        from rltui.sources.side_files.trajectory import Sample  # heavy

        return Sample(((self.name, point.text),), ())
