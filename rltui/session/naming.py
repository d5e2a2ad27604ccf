"""Names of runs for people, the same wherever a run is named."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock
from typing import TypeVar

from rltui.core.address import RemotePath
from rltui.core.batch import RunKey
from rltui.core.errors import did_you_mean
from rltui.core.text import clean, counted, first_of
from rltui.core.yaml_document import nearest
from rltui.sources.discovery.places import is_nameless

T = TypeVar("T")

#: Ends the name of the second run of one directory, which has no other name.
_NUMBER = re.compile(r"#\d+$")


class Naming:
    """Names the runs of some logdirs, each by the part of its path that distinguishes it.

    Names depend on every run that was found, whichever of them are read. The reader's thread and
    the main thread may both add runs.
    """

    def __init__(
        self, labels: Sequence[str] = (), chosen: str | None = None, beside: str | None = None
    ) -> None:
        """``labels``: the names of the logdirs; ``chosen``: the name or glob of the runs to
        read, None for all; ``beside``: the name of one to read even so, but not to show."""
        self.labels = tuple(labels)
        """Names of the logdirs for people."""
        self._chosen = chosen
        self._beside = beside
        self._lock = Lock()
        self._names: Mapping[RunKey, str] = {}
        self._wanted: frozenset[RunKey] = frozenset()

    def choose(self, keys: Collection[RunKey]) -> frozenset[RunKey]:
        """Name every run that was found; returns those to read. A run that was chosen once remains
        so, whatever it is called later."""
        with self._lock:
            self._add(keys)
            names = {key: self.names_of(key) for key in keys}
            self._wanted |= {*(names if self._chosen is None else called(self._chosen, names))}
            beside = self.called(self._beside) if self._beside is not None else ()
            return self._wanted.union(beside)

    def wants(self, key: RunKey) -> bool:
        """Whether a log that was joined to a run by its place is of a run to read, by the name
        that it has if its points turn out to be of another training."""
        return self._chosen is not None and bool(called(self._chosen, {key: self.names_of(key)}))

    def is_chosen(self, key: RunKey) -> bool:
        """Whether a run is to be shown: a run that is not may be read for a log that is joined to
        it, or may have been joined to another one."""
        return self._chosen is None or key in self._wanted

    @property
    def is_whole(self) -> bool:
        """Whether all runs are to be read."""
        return self._chosen is None

    @property
    def missed(self) -> str:
        """Says that no run was chosen though some were found, with the names of a few; else
        empty."""
        if self._chosen is None or self._wanted or not self._names:
            return ""
        names = sorted(map(self.name_of, self._names))
        hint = did_you_mean(nearest(self._chosen, names))
        found = f"{counted(len(names), 'run')} found: {first_of(names)}"
        return f"no run matches {clean(self._chosen)!r} (--run){hint}; {found}"

    def add(self, key: RunKey) -> None:
        """Name a run that is read. It is shown if it was chosen, or if it turns out only now to be
        a run of its own and its name matches."""
        with self._lock:
            self._add((key,))
            if key in self._wanted:  # a union copies the keys of all runs
                return
            parent = RunKey(key.logdir, _NUMBER.sub("", key.name))
            if self._chosen is None or parent in self._wanted:
                self._wanted |= {key}
            else:
                self._wanted |= {*called(self._chosen, {k: self.names_of(k) for k in self._names})}

    def _add(self, keys: Collection[RunKey]) -> None:
        """Name runs: by a short name where no other run has it, else by the path with the name of
        the logdir, and a number where the logdirs have one name, too."""
        if all(key in self._names for key in keys):
            return

        short = self._short_names(dict.fromkeys((*self._names, *keys)))
        found = _distinct([(name, self._full_path(key)) for key, name in short.items()])
        names = dict(zip(short, found, strict=True))
        given = Counter(found)
        for key in sorted(key for key, name in names.items() if given[name] > 1):
            number = 1
            while (name := f"{names[key]} ({number})") in given:
                number += 1
            names[key] = name
            given[name] += 1

        self._names = names

    def name_of(self, key: RunKey) -> str:
        """The first folder below the logdir where no other run lies in it, else the whole path.

        The name of the logdir stands for the logdir itself, and in front of a generic name and
        of one that another run has.
        """
        return self._names.get(key) or self._full_path(key)

    def names_of(self, key: RunKey) -> tuple[str, ...]:
        """All names of a run: its name, its path below the logdir, the first folder of that, and
        its path with the name of the logdir."""
        path = key.name.rstrip("/")
        return self.name_of(key), path, _head(path), self._full_path(key)

    def names(self, keys: Collection[RunKey]) -> list[str]:
        """Names of runs for people, also of runs that another session read."""
        for key in keys:
            self.add(key)
        return [self.name_of(key) for key in keys]

    def chosen(self, keys: Collection[RunKey]) -> set[RunKey]:
        """Pick the runs, read by another session, that are to be shown."""
        for key in keys:
            self.add(key)
        return {key for key in keys if self.is_chosen(key)}

    def called(self, text: str) -> list[RunKey]:
        """The runs that ``text`` means, no glob: of those to show, else of all. See
        :func:`called`."""
        groups = (self._wanted, self._names)
        found = (
            called(text, {k: self.names_of(k) for k in sorted(g)}, globs=False) for g in groups
        )
        return next(filter(None, found), [])

    def _short_names(self, keys: Collection[RunKey]) -> dict[RunKey, str]:
        """The first folder of each run, or its path; two runs may have the same."""
        told = _telling_parts(keys)
        count = Counter(told.values())
        paths = {}
        for key, part in told.items():
            ambiguous = is_nameless(key.name) or count[part] > 1
            paths[key] = self._full_path(key) if ambiguous or _is_logdir(key) else part
        heads = Counter(map(_head, paths.values()))
        folders = Counter((key.logdir, _head(part)) for key, part in told.items())
        names = {}
        for key, path in paths.items():
            head = _head(path)
            folder = _head(told[key])
            alone = heads[head] == 1 < len(heads)
            short = path == told[key] and not is_nameless(head) and alone
            names[key] = head if short else path
            alone = folders[key.logdir, folder] == 1
            nameless = _is_logdir(key) or is_nameless(folder)
            if alone and path != told[key] and not nameless:
                names[key] = f"{self._label(key)}/{folder}"

        return names

    def _full_path(self, key: RunKey) -> str:
        """The path of a run with the name of its logdir in front."""
        label = self._label(key)
        if _is_logdir(key):
            return label + key.name[1:] or key.name
        return f"{label}/{key.name}" if label else key.name

    def _label(self, key: RunKey) -> str:
        return self.labels[key.logdir] if key.logdir < len(self.labels) else ""


def called(text: str, names: Mapping[T, Sequence[str]], *, globs: bool = True) -> list[T]:
    """The items that ``text`` names: the one whose first name it is, else all that have it among
    their ``names`` or, with ``globs``, match it."""
    exact = [item for item, (name, *_) in names.items() if name == text]
    return exact or [
        item
        for item, known in names.items()
        if any(text == name or (globs and fnmatchcase(name, text)) for name in known)
    ]


def _telling_parts(keys: Collection[RunKey]) -> dict[RunKey, str]:
    """The path of each run without the first directories, if many frameworks give them the same
    name; the whole path where only a number would be left, or what another run is called."""
    parts = {}
    for key in keys:
        rest = key.name.split("/")
        while len(rest) > 1 and is_nameless(rest[0]):
            rest = rest[1:]
        parts[key] = "/".join(rest)
    unclear = len({(k.logdir, p) for k, p in parts.items()}) < len(parts)
    if unclear or any(part.isdecimal() for part in parts.values()):
        return {key: key.name for key in keys}
    return parts


def _is_logdir(key: RunKey) -> bool:
    """Whether a run is the logdir itself, or a part of its files."""
    return key.name == "." or key.name.startswith(".#")


def _head(path: str) -> str:
    """The first folder of a path."""
    return path.partition("/")[0]


def logdir_labels(paths: Sequence[Path]) -> tuple[str, ...]:
    """Names of logdirs: that of the directory, also where the path is ``.`` or a link. Where
    another logdir has the same, its host stands in front, and the directories above it."""
    choices = []  # of each logdir, the shortest first
    for path in paths:
        if isinstance(path, RemotePath):
            host, *parts = [clean(x) for x in path.parts[1:]] or [path.scheme]
            longer = [f"{host}:{'/'.join(parts[-n:])}" for n in range(1, len(parts) + 1)]
            choices.append([*(parts[-1:] or [host]), *longer, clean(str(path))])
            continue
        whole = path
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # the scan reports such a path
            whole = path.resolve()
        parts = [clean(x) for x in whole.parts if x != whole.anchor] or [clean(str(whole))]
        choices.append(["/".join(parts[-n:]) for n in range(1, len(parts) + 1)])

    return tuple(_distinct(choices))


def _distinct(choices: Sequence[Sequence[str]]) -> list[str]:
    """A name for each: the first of its ``choices`` that no other has, else the last."""
    chosen = [0] * len(choices)
    while True:
        names = [known[at] for known, at in zip(choices, chosen, strict=True)]
        given = Counter(names)
        longer = [
            at + (given[name] > 1 and at < len(known) - 1)
            for name, known, at in zip(names, choices, chosen, strict=True)
        ]
        if longer == chosen:
            return names
        chosen = longer
