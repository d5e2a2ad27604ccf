"""All runs in memory. The main thread owns it; :meth:`Store.apply` is the only way in.

Two files of one directory that begin at the same step and whose spans coincide are not a
resumed run but two runs; the later one is then shown as a run of its own, ``NAME#2``. So is a
source that lies beside a run and whose values turn out to be others; it gets its own name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rltui.core.batch import Batch, RunKey
from rltui.store.run import RunData


@dataclass(frozen=True, slots=True)
class Changes:
    """What one or several batches changed; falsy when nothing did (then nobody repaints)."""

    runs: frozenset[RunKey] = frozenset()
    series: frozenset[tuple[RunKey, str]] = frozenset()
    new_runs: bool = False
    new_tags: frozenset[RunKey] = frozenset()
    """Runs whose set of tags grew."""

    def __bool__(self) -> bool:
        return bool(self.runs or self.new_runs)

    def __or__(self, other: Changes) -> Changes:
        return Changes(
            self.runs | other.runs,
            self.series | other.series,
            self.new_runs or other.new_runs,
            self.new_tags | other.new_tags,
        )


class Store:
    """The runs of all logdirs, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.runs: dict[RunKey, RunData] = {}
        self._moved: dict[tuple[RunKey, Path], RunKey] = {}
        self._left: set[RunKey] = set()
        """Runs that are made of files that left another one."""

    def add_run(self, key: RunKey, path: Path) -> RunData:
        """The run of ``key``, made when it is new (a run may exist before its first point)."""
        run = self.runs.get(key)
        if run is None:
            run = self.runs[key] = RunData(key, path)
        return run

    def key_of(self, batch: Batch) -> RunKey:
        """The run to which a batch belongs."""
        return self._moved.get((batch.run, batch.source.path), batch.run)

    def apply(self, batch: Batch) -> Changes:
        """Take one batch in; says what changed."""
        key = self.key_of(batch)
        new_run = key not in self.runs
        run = self.add_run(key, batch.run_path)
        if key != batch.run:
            batch = replace(batch, waiting=0)
        tags, new_tag = run.apply(batch)
        changes = Changes(
            frozenset({key}),
            frozenset((key, t) for t in tags),
            new_run,
            frozenset({key}) if new_tag else frozenset(),
        )
        if not batch.more and not run.reading and len(run.sources) > 1:
            changes |= self._split(run, batch.source.path)
        return changes

    def _split(self, run: RunData, newest: Path) -> Changes:
        changes = Changes()
        while found := run.strangers(newest):
            changes |= self._part(run, found)
        return changes

    def _part(self, run: RunData, strangers: list[Path]) -> Changes:
        changes = Changes()
        for path in strangers:
            key = self._free_key(run, path)
            other = self.add_run(key, path if run.sources[path].alone else run.path)
            run.give(path, other)
            self._moved[(run.key, path)] = key
            keys = frozenset({run.key, key})
            touched = frozenset((k, t) for k in keys for t in self.runs[k].tags)
            changes |= Changes(keys, touched, True, keys)
        return changes

    def _free_key(self, run: RunData, path: Path) -> RunKey:
        """The name of the run that a file of another run is: its own, or a number."""
        alone = run.sources[path].alone
        own = replace(run.key, name=alone)
        if alone and own not in self.runs:
            self._left.add(own)
            return own
        if own in self._left and own != run.key:
            return own  # another log of that training has left before
        number = 2
        while (key := replace(run.key, name=f"{alone or run.key.name}#{number}")) in self.runs:
            number += 1
        return key
