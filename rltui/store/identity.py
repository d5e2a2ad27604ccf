"""Which files of a run are of another training after all, or say nothing new.

Discovery puts files together by where they lie; only their points can tell whether they are of
one training. Judged when a run has been read, and again as long as nothing can be said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rltui.core.batch import Joined, SourceInfo
from rltui.store.branch import Branch
from rltui.store.lineage import Lineage, concatenate
from rltui.store.merge import Agreement, agreement

#: Tags that two files are compared by, at most: those that tell something.
_TAGS = 12
#: Rows after which a file has shown most of its tags.
_ROWS = 20


def same_training(
    path: Path, lineages: Mapping[str, Lineage], sources: Mapping[Path, SourceInfo]
) -> Agreement:
    """Whether a file tells the same values as the other sources of the run."""
    own = {s.format for s in sources.values() if s.joined is Joined.OWN and s.path != path}
    others = [name for name in lineages if name != sources[path].format]
    shared = 0
    # what makes the run decides; logs that only lie beside may be of that other training, too
    for names in ([n for n in others if n in own], [n for n in others if n not in own]):
        answer, compared = _vote(path, {n: lineages[n] for n in names}, lineages, sources[path])
        if answer is not Agreement.UNKNOWN:
            return answer
        shared += compared
    if not shared and sources[path].joined is Joined.MAYBE and _have_shown(path, sources):
        return Agreement.NO
    return Agreement.UNKNOWN


def _vote(
    path: Path,
    others: Mapping[str, Lineage],
    lineages: Mapping[str, Lineage],
    source: SourceInfo,
) -> tuple[Agreement, int]:
    """What most of the tags say that a file shares with some lineages, and how many it shares."""
    own = lineages[source.format].branches_of(path)
    votes = {Agreement.YES: 0, Agreement.NO: 0}
    shared = 0
    for lineage in others.values():
        if lineage.counted or source.counted:
            continue
        exactness = min(lineage.exactness, source.exactness)
        for tag in [t for t in dict.fromkeys(t for b in own for t in b.columns) if lineage.has(t)]:
            shared += 1
            if shared > 4 * _TAGS or sum(votes.values()) >= _TAGS:
                break
            mine = concatenate([b.points(tag) for b in own])
            answer = agreement(mine, lineage.told(tag).kept, exactness)
            if answer in votes:
                votes[answer] += 1
    if not any(votes.values()):
        return Agreement.UNKNOWN, shared
    better = votes[Agreement.YES] >= votes[Agreement.NO]
    return (Agreement.YES if better else Agreement.NO), shared


def _have_shown(path: Path, sources: Mapping[Path, SourceInfo]) -> bool:
    """Whether a file and the others have enough rows to have logged what they log: one may
    begin with an evaluation, and the other with a loss."""
    others = [s.records for p, s in sources.items() if p != path]
    return sources[path].records >= _ROWS and max(others, default=0) >= _ROWS


def twin_of(path: Path, branches: Sequence[Branch], judged: set[Path]) -> Branch | None:
    """The older file that a file coincides with: same first step, same span, the same tags.

    One that was judged before and has grown is looked at again as long as they grow side by
    side: a training that begins anew in its directory passes the place where the older one
    ended, and is still the same run.
    """
    alone = _files_of_one_branch(branches)
    mine = alone.get(path)
    if mine is None:
        return None
    for other in alone.values():
        if other.rank < mine.rank and _coincide(mine, other, judged):
            return other
    return None


def equal_points(branch: Branch, other: Branch) -> bool:
    """Whether two files hold the same points: copies, or a log that was written twice."""
    for tag in branch.columns:
        mine, theirs = branch.points(tag), other.points(tag)
        common = min(len(mine[0]), len(theirs[0]))
        if not common:
            continue
        if (mine[0][:common] != theirs[0][:common]).any():
            return False
        if not np.array_equal(mine[2][:common], theirs[2][:common], equal_nan=True):
            return False
    return True


def _files_of_one_branch(branches: Sequence[Branch]) -> dict[Path, Branch]:
    """The files that are no resumed run by themselves, with their branch."""
    found: dict[Path, Branch | None] = {}
    for branch in branches:
        if branch.begin is not None:
            found[branch.path] = None if branch.path in found else branch
    return {path: branch for path, branch in found.items() if branch is not None}


def _coincide(branch: Branch, older: Branch, judged: set[Path]) -> bool:
    """Whether two spans from one step end at the same place, within 2 %, and have 2 rows."""
    if branch.begin is None or branch.last_step is None or older.last_step is None:
        return False
    if branch.begin != older.begin:
        return False
    side_by_side = branch.first_wall_time < older.last_wall_time  # not so without times
    if branch.path in judged and not side_by_side:
        return False
    longest = max(branch.last_step, older.last_step) - branch.begin
    near = longest > 1 and abs(branch.last_step - older.last_step) <= 0.02 * longest
    return near and _alike(set(branch.columns), set(older.columns))


def _alike(tags: set[str], others: set[str]) -> bool:
    return 2 * len(tags & others) > len(tags | others)
