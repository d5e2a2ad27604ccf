"""All runs in memory. The main thread owns it; :meth:`Store.apply` is the only way in.

Two files of one directory that begin at the same step and whose spans coincide are not a
resumed run but two runs; the later one then becomes a run of its own, ``NAME#2``. So does a
log that lies beside a run and turns out to have other values; it gets its own name. A log that
resumes one of several attempts goes where its values go on. The store
alone decides this and reports it as :class:`Moved`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rltui.core.batch import Batch, RunKey
from rltui.core.record import record
from rltui.store.identity import RunIdentity
from rltui.store.run import RunData


class Moved(NamedTuple):
    """A file turned out to belong to another run; all that came from it is there now."""

    path: Path
    source: RunKey
    target: RunKey


@record
class Changes:
    """Changes by one or several batches; falsy when there is nothing to repaint."""

    runs: frozenset[RunKey] = frozenset()
    new_runs: bool = False
    new_tags: frozenset[RunKey] = frozenset()
    """Runs whose set of tags grew."""
    moved: tuple[Moved, ...] = ()
    """Files that changed their run, in order."""

    def __bool__(self) -> bool:
        return bool(self.runs or self.new_runs)

    def __or__(self, other: Changes) -> Changes:
        return Changes(
            self.runs | other.runs,
            self.new_runs or other.new_runs,
            self.new_tags | other.new_tags,
            self.moved + other.moved,
        )


class Store:
    """The runs of all logdirs, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.runs: dict[RunKey, RunData] = {}
        self._identities: dict[RunKey, RunIdentity] = {}
        self._moved: dict[tuple[RunKey, Path], RunKey] = {}
        self._made_of_moved: set[RunKey] = set()
        """Runs made of files that left another one."""
        self._resumed: dict[Path, dict[Path, RunData]] = {}
        """Directory -> its files that go on from others of their run, with the run."""
        self._read: set[RunKey] = set()
        """Runs that have been read once."""
        self._compared_at: dict[Path, float] = {}
        """File -> rows that it had when it was last compared with other attempts."""

    def add_run(self, key: RunKey, path: Path) -> RunData:
        """The run of ``key``, made when it is new (a run may exist before its first point)."""
        run = self.runs.get(key)
        if run is None:
            run = self.runs[key] = RunData(key, path)
            self._identities[key] = RunIdentity(run)
        return run

    def key_of(self, batch: Batch) -> RunKey:
        """The run to which a batch belongs."""
        return self._moved.get((batch.run, batch.source.path), batch.run)

    def apply(self, batch: Batch) -> Changes:
        """Take one batch in; returns what changed."""
        key = self.key_of(batch)
        new_run = key not in self.runs
        run = self.add_run(key, batch.run_path)
        if key != batch.run:
            batch = replace(batch, waiting=0)
        new_tags = run.apply(batch)
        changes = Changes(frozenset({key}), new_run, frozenset({key} if new_tags else ()))
        if batch.more or run.files.reading:
            return changes
        if len(run.files.by_path) > 1:
            while found := self._identities[key].misplaced_files(batch.source.path):
                for path in found:
                    changes |= self._move(run, path, self._free_key(run, path))

        return changes | self._resume(run, batch)

    def _resume(self, run: RunData, batch: Batch) -> Changes:
        """Move files that resume one of several attempts, once that one has been read."""
        path = batch.source.path
        rows = batch.source.records
        resumed = self._resumed.setdefault(path.parent, {})
        asked: list[tuple[Path, RunData]] = []
        if run.key not in self._read:  # it may be the attempt that others resume
            self._read.add(run.key)
            asked = [(p, r) for p, r in resumed.items() if r is not run]
        if len(run.files.by_path) > 1 and rows >= 2 * self._compared_at.get(path, 0.5):
            self._compared_at[path] = rows
            asked.append((path, run))
        changes = Changes()

        for file, its_run in asked:
            found = self._identities[its_run.key].attempts(file, self.runs.values())
            if found is not None:
                resumed[file] = its_run
            for paths, other in found or ():
                target = self._free_key(its_run, paths[0]) if other is None else other.key
                for moved in paths:
                    resumed.pop(moved, None)
                    changes |= self._move(its_run, moved, target)

        return changes

    def _move(self, run: RunData, path: Path, key: RunKey) -> Changes:
        alone = run.files.by_path[path].source.alone
        run.move(path, self.add_run(key, path if alone else run.path))
        self._moved[(run.key, path)] = key
        keys = frozenset({run.key, key})
        return Changes(keys, True, keys, (Moved(path, run.key, key),))

    def _free_key(self, run: RunData, path: Path) -> RunKey:
        """The key of the run that a misplaced file becomes: its own name, or a number."""
        alone = run.files.by_path[path].source.alone
        own = run.key._replace(name=alone)
        if alone and own not in self.runs:
            self._made_of_moved.add(own)
            return own
        if own in self._made_of_moved and own != run.key:
            return own  # another log of that training has been moved before
        number = 2
        while (key := run.key._replace(name=f"{alone or run.key.name}#{number}")) in self.runs:
            number += 1

        return key
