"""Names of runs for people, the same wherever a run is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.core.batch import RunKey
from rltui.core.text import clean
from rltui.sources.discovery.grouping import NAMELESS

if TYPE_CHECKING:
    from rltui.session.run import RunView

#: Directories that many frameworks give the same name.
_NAMELESS = NAMELESS | {"run", "runs"}


class Naming:
    """Names the runs of some logdirs, each by the part of its path that distinguishes it."""

    def __init__(self, labels: Sequence[str] = ()) -> None:
        """``labels``: the names of the logdirs."""
        self._labels = tuple(labels)
        self._heads: Counter[str] = Counter()
        """First folder -> runs below it, in all logdirs."""
        self._paths: Counter[str] = Counter()

    def add(self, key: RunKey) -> None:
        """Take a run into account, once."""
        self._heads[_head(self._path(key))] += 1
        self._paths[key.name] += 1

    def name_of(self, key: RunKey) -> str:
        """The first folder below the logdir where no other run lies in it, else the whole path.

        The name of the logdir stands for the logdir itself, and in front of a generic name and
        of one that a run of another logdir has.
        """
        path = self._path(key)
        head = _head(path)
        if path != key.name or head == path or head.lower() in _NAMELESS:
            return path
        alone = self._heads[head] == 1 < len(self._heads)
        return head if alone else path

    def _path(self, key: RunKey) -> str:
        label = self._labels[key.logdir] if key.logdir < len(self._labels) else ""
        if key.name == "." or key.name.startswith(".#"):
            return label + key.name[1:]
        if label and (key.name.lower() in _NAMELESS or self._paths[key.name] > 1):
            return f"{label}/{key.name}"
        return key.name


def _head(path: str) -> str:
    """The first folder of a path."""
    return path.partition("/")[0]


def logdir_labels(paths: Sequence[Path]) -> tuple[str, ...]:
    """Names of logdirs: that of the directory, also where the path is ``.`` or a link, after
    those of the directories above it where another logdir has the same."""
    parts = [_parts(p) for p in paths]
    depths = [1] * len(parts)
    while True:
        labels = ["/".join(p[-n:]) for p, n in zip(parts, depths, strict=True)]
        given = Counter(labels)
        longer = [
            n + (given[x] > 1 and n < len(p)) for x, p, n in zip(labels, parts, depths, strict=True)
        ]
        if longer == depths:
            return tuple(labels)
        depths = longer


def _parts(path: Path) -> list[str]:
    try:
        found = path.resolve()
    except (OSError, ValueError, RuntimeError):  # no such path can exist: the scan reports it
        found = path
    names = [clean(x) for x in found.parts if x != found.anchor]
    return names or [clean(str(path))]


def is_called(run: RunView, text: str) -> bool:
    """Whether ``text`` is the name of a run, its path below the logdir, or a glob of either."""
    return any(text == n or fnmatchcase(n, text) for n in (run.name, run.key.name))
