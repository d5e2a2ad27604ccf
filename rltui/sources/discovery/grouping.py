"""Groups the files below a logdir by training.

A training often leaves several logs: event files, a JSONL file, the console, a tracker's
directory. They are joined, by where they lie,

- in one directory: fixed names (``progress.csv``, ``log.txt``, event files), and the only file
  of another format beside them; files of one name (``exp1.jsonl``, ``exp1.log``; the output of a
  job and its errors);
- by name: ``PROJECT/exp1.jsonl`` and the directory ``tensorboard_log/PROJECT/exp1``;
- above the only run: ``stdout.log`` or ``trainer_state.json`` over ``runs/DATE/``.

Two files of one format are joined only where they have fixed names, or where one continues at a
step within the other: a training that was resumed with a new log. Whether it really is one
training, the store decides by the points.

An event file below another run's directory may be a part of that run:

- ``add_scalars(main, {series: value})`` of torch writes the tag ``main`` into the directory
  ``RUN/<main with / replaced by _>_<series>``, tensorboardX's into ``RUN/<main>/<series>``
  (torch/utils/tensorboard/writer.py, tensorboardX/writer.py); its points belong to the run, with
  the tag ``main/series``.
- ``add_hparams`` writes into ``RUN/<unix time>``; its hyperparameters belong to the run, its
  metrics (one last value each) are left out, since the run usually logs them itself.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from rltui.core.batch import Joined, blocks_in
from rltui.core.text import Json, clean
from rltui.files.disk import status as status_of
from rltui.files.trouble import contained
from rltui.formats.base import HEAD_BYTES, Belonging, Format
from rltui.sources.discovery.log_head import Recent, read_head
from rltui.sources.discovery.places import is_by_default, is_nameless, unrotated
from rltui.sources.discovery.run_files import LogFile, parents_of

#: Levels that a log may lie above its run (verl: tensorboard_log/PROJECT/RUN).
_LEVELS = 4
#: Most units of different formats in one tree that may be one training.
_MANY = 4

#: A job that dies ends its log at most this long after the last row, and hardly before it, seconds.
_SAME_END_S = 900.0
_LATE_S = 60.0

#: Suffix of what a job printed as errors, beside its output.
_ERRORS = re.compile(r"\.(?:err|stderr|e\d{3,})")

#: Directory of ``add_hparams``.
_TIME = re.compile(r"\d{9,}(\.\d+)?")


@dataclass(slots=True, eq=False)
class Unit:
    """Files that make one run."""

    directory: str
    """Where it lies, relative to the logdir."""
    name: str
    """Name of the run by itself: the path of the directory or file, no suffix."""
    files: list[LogFile]
    rank: int
    """Rank among units: the lowest gives the run its name."""
    joined: dict[Path, tuple[Joined, str]] = field(default_factory=dict)
    """Key of a file that does not make the run -> why it is here, its name as a run of its own."""
    crowded: bool = False
    """Whether one of its files is one of several of its format in a directory, each of which
    names a run: then only its name can join it."""

    @property
    def kinds(self) -> set[str]:
        """Names of the log formats."""
        return {file.kind for file in self.files}

    @property
    def shown_name(self) -> str:
        """Name of the run for people."""
        return shown_name(self.name, self.files[0])

    @property
    def names_directory(self) -> bool:
        """Whether it is called like a directory, not like a file."""
        return self.name == self.directory or self.files[0].belonging is Belonging.DIRECTORY

    @property
    def stem(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]

    def join(self, other: Unit, why: Joined) -> None:
        """Take over the files of another unit, which has none then."""
        for file in other.files:
            before, name = other.joined.get(file.key, (why, other.shown_name))
            surely = Joined.MAYBE not in (why, before)
            self.joined[file.key] = Joined.SURELY if surely else Joined.MAYBE, name
        self.files += other.files
        other.files = []
        self.crowded = self.crowded or other.crowded

    def go_on(self, other: Unit, first: int, *, surely: bool) -> None:
        """Take over the files of another unit, which continue this one at step ``first``."""
        self.files += [f._replace(begin=f.begin or first) for f in other.files]
        if not surely:  # the store finds the one whose values it continues
            self.joined |= {f.key: (Joined.MAYBE, other.shown_name) for f in other.files}
        other.files = []


def units(files: Iterable[LogFile], rank: Mapping[str, int]) -> list[Unit]:
    """The units before anything is joined; ``rank``: of each format and tracker by its name."""
    directories: dict[str, Unit] = {}
    named: list[Unit] = []
    errors: list[Unit] = []
    outputs: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for file in files:
        where = file.directory
        order = rank[file.kind]
        if file.belonging is Belonging.DIRECTORY:
            # the title that a tracker gives stands for what the tracker calls its directories
            above = where
            while file.title and is_nameless(above.rpartition("/")[2]):
                above = above.rpartition("/")[0]
            name = where if above == where else f"{above}/{file.title}".lstrip("/")
            unit = directories.setdefault(where, Unit(where, name, [], order))
            unit.files.append(file)
            unit.rank = min(unit.rank, order)
            continue

        unit = Unit(where, name_of(file), [file], order)
        is_errors = _ERRORS.fullmatch(file.path.suffix) is not None
        (errors if is_errors and file.rowless else named).append(unit)
        if not (is_errors or file.rowless):
            outputs[where, unit.name].append(unit)

    for unit in errors:  # slurm-7.err is of slurm-7.out, if that has rows
        found = [o for o in outputs[unit.directory, unit.name] if o.kinds == unit.kinds]
        if len(found) == 1:
            found[0].join(unit, Joined.SURELY)
        else:
            named.append(unit)

    return [*directories.values(), *named]


def joined(found: Sequence[Unit]) -> list[Unit]:
    """The units, joined where they are of one training, from the deepest directory upwards."""
    tops: dict[str, list[Unit]] = defaultdict(list)
    for unit in _by_name(found):
        tops[unit.directory].append(unit)

    directories = {""}.union(tops, *(parents_of(directory) for directory in tops))
    below: dict[str, list[Unit]] = defaultdict(list)
    there: list[Unit] = []
    for directory in sorted(directories, key=lambda d: (-_depth(d), d)):
        there = _above(directory, _together(tops[directory]), below.pop(directory, []))
        if len(there) == 1 and there[0].names_directory and _is_of(there[0], directory):
            there[0].name = directory
        below[directory.rpartition("/")[0]] += there

    return there


def _is_of(unit: Unit, directory: str) -> bool:
    """Whether the only run below a directory is called like that: its logs lie in a ``tb`` or
    ``logs``, or some of them beside the ``tb/PPO_1`` with the others."""
    above, _, stem = unit.name.rpartition("/")
    if above == directory and is_nameless(stem):
        return True
    begin = f"{directory}/" if directory else ""
    below = unit.name.removeprefix(begin).split("/")
    beside = any(file.directory == directory for file in unit.files)
    return beside and unit.name.startswith(begin) and all(map(is_by_default, below))


def attached(found: list[Unit], beside: Iterable[LogFile]) -> list[Unit]:
    """The units with the logs that lie beside runs, each given to the nearest one. Where there is
    none, or several are as near, those of a directory make a run."""
    here: dict[str, dict[int, Unit]] = defaultdict(dict)
    tree: dict[str, dict[int, Unit]] = defaultdict(dict)
    for unit in found:
        for directory in {file.directory for file in unit.files}:
            here[directory][id(unit)] = unit
            for above in (directory, *parents_of(directory)):
                tree[above][id(unit)] = unit

    alone: dict[str, Unit] = {}
    for file in beside:
        where = (file.directory, *parents_of(file.directory))
        near = next((n for d in where if (n := here.get(d) or tree.get(d))), {})
        if len(near) == 1:
            (unit,) = near.values()
            unit.joined[file.key] = Joined.SURELY, shown_name(name_of(file), file)
        else:
            name = name_of(file) if near else where[0]  # a run may still begin here
            unit = alone.setdefault(where[0], Unit(where[0], name, [], 0))
        unit.files.append(file)
    return [*found, *alone.values()]


def _by_name(found: Sequence[Unit]) -> list[Unit]:
    """Join ``NAME.log`` with the only run somewhere below the directory ``NAME`` beside it; then
    units whose names end alike, if that can mean only one training."""
    below: dict[str, list[Unit]] = defaultdict(list)
    for unit in found:
        for directory in (unit.directory, *parents_of(unit.directory)):
            below[directory].append(unit)
    for unit in filter(lambda u: u.files and not u.names_directory, found):
        inside = [u for u in below.get(unit.name, ()) if u is not unit and u.files]
        if len(inside) == 1 and _disjoint([unit, *inside]):
            _merged([*inside, unit], Joined.SURELY)

    buckets: dict[str, list[Unit]] = defaultdict(list)
    for unit in filter(lambda u: u.files, found):
        buckets[unit.stem].append(unit)

    out = []
    for stem, bucket in buckets.items():
        named = any(f.belonging is Belonging.NAME for u in bucket for f in u.files)
        if stem and named and len(bucket) > 1 and _disjoint(bucket):
            out.append(_merged(bucket, Joined.SURELY))
        else:
            out += bucket

    return out


def _together(own: Sequence[Unit]) -> list[Unit]:
    """Join what lies in one directory."""
    free = [u for u in own if not u.crowded]
    if len(free) < 2 or not _disjoint(free):
        return list(own)
    home = any(u.name == u.directory for u in free)
    whole = _merged(free, Joined.SURELY if home else Joined.MAYBE)
    return [whole, *(u for u in own if u.crowded)]


def _above(directory: str, own: Sequence[Unit], below: Sequence[Unit]) -> list[Unit]:
    """Join what lies in a directory with what lies below it."""
    everything = [*own, *below]
    if any(u.crowded for u in everything) or not _disjoint(everything):
        return everything
    if len(own) == 1 and len(below) == 1:
        far = _depth(below[0].directory) - _depth(directory) > _LEVELS
        return [_merged([*below, *own], Joined.MAYBE if far else Joined.SURELY)]

    if 1 < len(everything) <= _MANY:
        return [_merged(everything, Joined.MAYBE)]
    return everything


def _merged(found: Sequence[Unit], why: Joined) -> Unit:
    """One unit of several; the one that ranks lowest gives the name."""
    first, *others = sorted(found, key=lambda u: u.rank)
    for other in others:
        first.join(other, why)
    return first


def _disjoint(found: Sequence[Unit]) -> bool:
    kinds = [k for u in found for k in u.kinds]
    return len(kinds) == len(set(kinds))


def name_of(file: LogFile) -> str:
    """Name of a run that one file, or one run of a store, makes."""
    name = file.title or stem_of(file)
    return f"{file.directory}/{name}" if file.directory else name


def stem_of(file: LogFile) -> str:
    """Base name of a file without what its format or a rotation added."""
    name = unrotated(file.path)[0].name
    if file.format is None:
        return name
    return os.path.splitext(name.removesuffix(".gz"))[0]  # noqa: PTH122


def shown_name(name: str, file: LogFile) -> str:
    """Turn ``name``, that of a run which begins with ``file``, into one for people: cleaned, ``.``
    for the logdir itself. The title that a tracker gives is clean already."""
    title = file.title
    return clean(name.removesuffix(title)) + title or "."


def is_free(unit: Unit, directories: Container[str]) -> bool:
    """Whether none of the ``directories`` has the name of a run that is a file, but for its own."""
    here = unit.files[0].belonging is Belonging.DIRECTORY
    inside = any(f.directory == unit.name for f in unit.files)
    return here or inside or unit.name not in directories


def stands_alone(unit: Unit, files: Iterable[LogFile]) -> bool:
    """Whether a unit is the log of a job that died, without a row that could be compared, and
    no other log was written just before its end: it is of no other training then."""
    if not all(f.rowless and f.belonging is Belonging.NAME for f in unit.files):
        return False
    end = max(f.modified for f in unit.files)
    others = (f.modified for f in files if not f.rowless)
    return not any(end - _SAME_END_S <= at <= end + _LATE_S for at in others)


def _depth(directory: str) -> int:
    return directory.count("/") + 1 if directory else 0


# -- event files below the directory of a run ---------------------------------------------------


class _Role(Enum):
    """Role of an event file below another run's directory; a str is the only tag it holds."""

    RUN = "run"
    HPARAMS = "hparams"
    EMPTY = "empty"


class EventFileOwners:
    """Remembers to which run each event file belongs, once that is known."""

    def __init__(self) -> None:
        self.known: dict[Path, Json] = {}
        """Fields of :class:`LogFile` by path: ``directory`` of the run, ``renamed``,
        ``hparams_only``."""
        self.roles: Recent[Path, tuple[_Role | str, int]] = Recent()
        """Role of each file, and its size."""

    def locate(self, files: Sequence[LogFile]) -> list[LogFile]:
        """The files whose run is known, as parts of that."""
        events: dict[str, list[LogFile]] = {}
        for file in files:
            if file.format is not None and file.format.sub_runs:
                events.setdefault(file.directory, []).append(file)

        located = []
        for file in files:
            if file.format is not None and file.format.sub_runs and file.path not in self.known:
                fields = self._owner_fields(file, events)
                if fields is None:
                    continue
                self.known[file.path] = fields
            changes = self.known.get(file.path)
            located.append(file._replace(**changes) if changes else file)
        return located

    def _owner_fields(self, file: LogFile, events: Mapping[str, list[LogFile]]) -> Json | None:
        """Fields that assign an event file to its run; None while that is not known."""
        name = file.directory
        for parent in parents_of(name):
            if parent not in events:
                continue
            relative = name[len(parent) :].lstrip("/")
            role = self._role(file)
            if role is _Role.HPARAMS and _TIME.fullmatch(relative):
                return {"directory": parent, "hparams_only": True}
            if isinstance(role, str):
                for prefix in (role.replace("/", "_") + "_", role + "/"):
                    if relative.startswith(prefix) and len(relative) > len(prefix):
                        main = clean(role)
                        series = clean(relative[len(prefix) :])
                        return {"directory": parent, "renamed": ((main, f"{main}/{series}"),)}
            if role is _Role.EMPTY and all(self._role(f) is not _Role.RUN for f in events[name]):
                return None  # no file of its directory shows that this is a run
        return {}

    def _role(self, file: LogFile) -> _Role | str:
        """Role of an event file; it is read again as long as it holds nothing."""
        known = self.roles.get(file.path)
        if known is not None and known[0] is not _Role.EMPTY:
            return known[0]

        assert file.format is not None
        try:
            size = status_of(file.path).st_size
            if known is not None and known[1] == size:
                return _Role.EMPTY
            with contained():
                role = _role_of(read_head(file.path), file.format)
        except OSError:
            return _Role.RUN

        self.roles[file.path] = (role, size)
        return role


def _role_of(head: bytes, form: Format) -> _Role | str:
    if b"_hparams_/" in head:
        return _Role.HPARAMS

    decoded = form.decoder().feed(head)
    tags = {t for block in blocks_in(decoded.items) for t in block.tags}
    if not tags:
        return _Role.RUN if decoded.texts or len(head) >= HEAD_BYTES else _Role.EMPTY
    return tags.pop() if len(tags) == 1 else _Role.RUN
