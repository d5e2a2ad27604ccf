"""Joins the logs of one format that are parts of one training, before logs of other formats are.

- The processes of a training log the same rows (``rank_0.log``, ``rank_1.log``), as a copy does.
- One log holds what is trained, another what is held out (``train.log``, ``eval.log``).
- A log or directory continues another one: it begins at a step within it, or behind its end.
- Two directories of a tracker hold parts of the run of one id.

Names and first rows show that. Whether it really is one training, the store decides by the points.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rltui.core.batch import Joined
from rltui.core.text import shared_start
from rltui.formats.base import Belonging
from rltui.sources.discovery.grouping import Unit, stem_of
from rltui.sources.discovery.log_head import Opening
from rltui.sources.discovery.places import is_nameless, without_parts
from rltui.sources.discovery.run_files import LogFile

#: With more logs of one format in a directory, or more directories, their rows are not compared,
#: but for those of some ranks.
_CROWD = 8
_DIRECTORIES = 32
#: Letters that the names of two logs of one training have in common at the beginning.
_ALIKE = 4
#: Different values by which two logs have the same rows: of ranks, and of any other names.
_OF_RANKS = 2
_OF_ANY = 6
#: The end of what two names have in common: a part of a word, and a part of a date.
_WORD = re.compile(r"[^\W_]+$")
_DATE = re.compile(r"(?:^|[._-]+)\d{4}(?:[._-]?\d\d?)?[._-]*$")

Open = Callable[[LogFile], Opening | None]


class _Part(NamedTuple):
    """A log, with the unit that it makes or is in."""

    unit: Unit
    file: LogFile

    @property
    def stem(self) -> str:
        """Base name; empty where that is the one of the directory."""
        return "" if self.file.belonging is Belonging.DIRECTORY else stem_of(self.file)

    def rename(self, stem: str) -> None:
        """Call the unit by the part of its name that is not that of one of its logs."""
        unit = self.unit
        file = self.file
        if unit.names_directory:
            return
        name = stem + file.path.suffix
        names_run = file.format is not None and file.format.belonging(name) is Belonging.NAME
        unit.name = f"{unit.directory}/{stem}".lstrip("/") if stem and names_run else unit.directory


def whole(found: list[Unit], opening: Open) -> list[Unit]:
    """The units, those joined that are parts of one training."""
    # directories of a tracker that hold parts of the run of one id
    same_id: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for unit in found:
        file = unit.files[0]
        if file.format is not None and file.format.named_by_id:
            same_id[unit.directory.rpartition("/")[0], file.path.name].append(unit)
    for units in same_id.values():
        first, *others = sorted(units, key=_begun)
        for number, other in enumerate(others, 1):
            first.go_on(other, number, surely=True)

    found = [unit for unit in found if unit.files]
    crowds = _crowds(found, lambda u: u.directory)
    ranks = _crowds(found, _above_ranks)

    joins = (_with_the_same_rows, _with_other_roles, _continuing)
    for join, groups in ((joins[0], ranks), *((join, crowds) for join in joins)):
        for crowd in groups.values():
            left = [part for part in crowd if part.unit.files]
            apart = {id(part.unit) for part in left}
            if len(apart) > 1 or (len(left) > 1 and join is _with_other_roles):
                join(left, opening)

    found = _resumed([unit for unit in found if unit.files], opening)
    _count(found)

    return found


def _crowds(
    found: Sequence[Unit], place_of: Callable[[Unit], str | None]
) -> dict[tuple[str, str], list[_Part]]:
    """The logs of one format at each place, but for those of trackers' databases."""
    crowds: dict[tuple[str, str], list[_Part]] = defaultdict(list)
    for unit in found:
        place = place_of(unit)
        for file in unit.files if place is not None else ():
            if file.tracker is None:
                crowds[place or "", file.kind].append(_Part(unit, file))

    return crowds


def _count(found: Sequence[Unit]) -> None:
    """Note which units are one of several of their format in a directory."""
    named = [unit for unit in found if not unit.names_directory]
    count = Counter((unit.directory, unit.files[0].kind) for unit in named)
    for unit in named:
        unit.crowded = count[unit.directory, unit.files[0].kind] > 1


def _above_ranks(unit: Unit) -> str | None:
    """The directory above that of a rank; None where a unit lies in no such directory."""
    above, _, last = unit.directory.rpartition("/")
    is_rank = last.isdecimal() or without_parts(last, "ranks") != last
    return above if last and is_rank and unit.names_directory else None


def _with_the_same_rows(crowd: Sequence[_Part], opening: Open) -> None:
    """Join logs that begin with the same rows."""
    heads: list[tuple[_Part, str, Opening]] = []
    for part in sorted(crowd, key=lambda p: (not p.unit.names_directory, len(p.stem), p.file.path)):
        place = part.stem or part.unit.stem
        base = without_parts(place, "ranks")
        mine = opening(part.file) if base != place or len(crowd) <= _CROWD else None
        if mine is None:
            continue

        for head, other, rows in heads:
            ranks = base != place and base == other
            akin = head.unit is not part.unit and (ranks or part.stem.startswith(head.stem))
            if akin and rows.is_of(mine, _OF_RANKS if ranks else _OF_ANY):
                # it may turn out to be of another training after all
                head.unit.join(part.unit, Joined.MAYBE)
                head.rename(base if ranks else head.stem)
                if head.unit.directory != part.unit.directory:
                    head.unit.name = _above_ranks(head.unit) or head.unit.name
                break
        else:
            heads.append((part, base, mine))


def _with_other_roles(crowd: Sequence[_Part], opening: Open) -> None:
    """Join logs whose names differ in what they hold; a tag that both have gets a prefix in the
    one that holds less of the training."""
    groups: dict[tuple[str, str], list[_Part]] = defaultdict(list)
    for part in crowd:
        base = without_parts(part.stem, "roles")
        name = stem_of(part.file)
        if base != part.stem or (not part.stem and without_parts(name, "roles") != name):
            groups[part.unit.directory, base].append(part)

    for (_, base), group in groups.items():
        group.sort(key=lambda p: (_is_held_out(p), not p.unit.names_directory))
        first, *others = group
        if _is_held_out(first) or len(others) >= _CROWD:
            continue
        for other in others:
            fits = other.unit.files and _fits(first, other, opening)
            if fits and other.unit is not first.unit:
                first.unit.join(other.unit, Joined.SURELY)
                first.rename(base)


def _fits(first: _Part, other: _Part, opening: Open) -> bool:
    """Whether a log holds something else than another one. What is held out does, and so does what
    has few tags in common; those get a prefix."""
    mine = opening(first.file)
    theirs = opening(other.file)
    if mine is None or theirs is None:
        return False
    shared = mine.tags & theirs.tags
    held_out = _is_held_out(other)
    few = 2 * len(shared) <= len(theirs.tags)
    if not held_out and (other.unit is first.unit or not few):
        return False
    prefix = "eval" if held_out else stem_of(other.file)
    renamed = tuple(sorted((tag, f"{prefix}/{tag}") for tag in shared))
    other.unit.files[other.unit.files.index(other.file)] = other.file._replace(renamed=renamed)

    return True


def _is_held_out(part: _Part) -> bool:
    stem = stem_of(part.file)
    return without_parts(stem, "held_out") != stem


def _continuing(crowd: Sequence[_Part], opening: Open) -> None:
    """Join each log with one of a similar name that it may continue."""
    named = [part for part in crowd if not part.unit.names_directory]
    if len(named) <= _CROWD:
        _chained(named, opening)


def _resumed(found: list[Unit], opening: Open) -> list[Unit]:
    """The units, directories that are called by a date or number joined with those that they
    continue."""
    crowds: dict[tuple[str, frozenset[str]], list[_Part]] = defaultdict(list)
    for unit in found:
        if unit.names_directory and is_nameless(unit.stem) and unit.files[0].tracker is None:
            above = unit.name
            while is_nameless(above.rpartition("/")[2]):
                above = above.rpartition("/")[0]
            crowds[above, frozenset(unit.kinds)].append(_Part(unit, unit.files[0]))

    for crowd in crowds.values():
        if 1 < len(crowd) <= _DIRECTORIES:
            _chained(crowd, opening)

    return [unit for unit in found if unit.files]


def _chained(crowd: Sequence[_Part], opening: Open) -> None:
    """Join each log with one of another unit that it may continue."""
    begun = [(o, p) for p in crowd if (o := opening(p.file)) is not None and not o.counts_rows]
    begun.sort(key=lambda entry: (entry[0].first, entry[0].last, entry[1].unit.name))
    heads: list[tuple[Opening, _Part]] = []
    for mine, part in begun:
        before = [
            (theirs, head)
            for theirs, head in heads
            if head.unit.files
            and head.unit is not part.unit
            and mine.goes_on_from(theirs)
            and _akin(head, part)
        ]
        if not before:
            heads.append((mine, part))
            continue

        named = [(o, p) for o, p in before if part.unit.stem.startswith(p.unit.stem)]
        # runs are read in this order: the others are there when the last one is compared
        theirs, head = chosen = max(named or before, key=lambda entry: entry[1].unit.name)
        heads.remove(chosen)
        heads.append((theirs.until(mine.last), head))
        surely = len(before) == 1
        head.unit.go_on(part.unit, mine.first, surely=surely)
        if surely:
            # the whole words with which two names begin, without a part of a date
            stems = head.unit.stem, part.unit.stem
            begin = shared_start(stems)
            if any(stem.removeprefix(begin)[:1].isalnum() for stem in stems):
                begin = _WORD.sub("", begin)
            head.rename(_DATE.sub("", begin).rstrip("._- ") or head.unit.stem)


def _akin(part: _Part, other: _Part) -> bool:
    """Whether two names begin alike: ``train_v2``, ``train_v2_resume_from100``; those of
    directories say nothing."""
    mine = part.unit.stem
    theirs = other.unit.stem
    needed = min(_ALIKE, len(mine), len(theirs))
    return part.unit.names_directory or mine[:needed] == theirs[:needed]


def _begun(unit: Unit) -> str:
    """The directory of a tracker's run, from the date on with which it was begun."""
    return unit.directory.rpartition("/")[2].removeprefix("offline-")
