"""The branches of a run: which points count, what changes, and what goes to another run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rltui.core.batch import SourceInfo
from rltui.store.lineage import Lineage
from tests.builders import LOGDIR, a_block, a_source, steps


def a_lineage(*files: Sequence[float]) -> Lineage:
    """A file of ``loss`` for each argument, from step 1 on."""
    lineage = Lineage()
    for order, values in enumerate(files):
        lineage.append(source(order), 0, a_block({"loss": values}))
    return lineage


def source(order: int, **changes: object) -> SourceInfo:
    return a_source(f"events.{order}", order, **changes)


def points(lineage: Lineage, tag: str = "loss") -> list[tuple[int, float]]:
    series = lineage.series(tag)
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def lost(lineage: Lineage, tag: str = "loss") -> list[float]:
    return list(lineage.series(tag).old_points[2].tolist())


# -- taking in ------------------------------------------------------------------------------------


def test_a_document_replaces_itself_and_what_is_older() -> None:
    lineage = a_lineage([1.0], [2.0, 2.0], [3.0, 3.0, 3.0])
    lineage.append(source(1), 0, steps(9, {"other": [1.0]}))
    assert lineage.replace(source(1), 0, older_too=False) == {"loss", "other"}
    assert [b.path.name for b in lineage.branches] == ["events.0", "events.2"]
    assert lineage.replace(source(2), 0, older_too=True) == {"loss"}
    assert lineage.branches == []
    assert points(lineage) == []
    lineage.append(source(2), 0, a_block({"loss": [4.0]}))
    assert points(lineage) == [(1, 4.0)]


def test_after_clearing_files_begin_anew() -> None:
    lineage = a_lineage([1.0, 2.0])
    before = lineage.series("loss")
    lineage.clear()
    assert (lineage.branches, points(lineage), lineage.tags, lineage.nbytes) == ([], [], [], 0)
    lineage.append(source(0), 0, a_block({"loss": [5.0, 6.0]}))
    assert points(lineage) == [(1, 5.0), (2, 6.0)]
    assert lineage.series("loss") is not before


# -- the same object until the points change ------------------------------------------------------


def test_a_tag_that_began_in_an_older_file_goes_on_there() -> None:
    lineage = a_lineage([1.0], [])
    lineage.append(source(1), 0, steps(5, {"other": [1.0]}))
    lineage.series("loss")
    lineage.append(source(0), 0, steps(2, {"loss": [2.0]}))
    lineage.append(source(1), 0, steps(3, {"loss": [7.0]}))
    assert points(lineage) == [(1, 1.0), (2, 2.0), (3, 7.0)]
    lineage.append(source(0), 0, steps(3, {"loss": [3.0, 4.0]}))
    assert points(lineage) == [(1, 1.0), (2, 2.0), (3, 7.0)]
    assert lost(lineage) == [3.0, 4.0]


# -- another run ----------------------------------------------------------------------------------


def test_a_file_goes_to_another_run() -> None:
    one, other = a_lineage([1.0, 2.0], [8.0]), Lineage()
    other.append(source(2), 0, a_block({"loss": [5.0, 6.0, 7.0]}))
    other.append(source(0), 0, steps(1, {"early": [3.0]}))
    before = points(one), points(other)
    path = source(1).path
    one.register(source(1, guessed=frozenset({"loss"})))
    one.mark_copy(path, source(0).path)
    one.mark_copy(source(0).path, path)
    one.mark_copy(LOGDIR / "x", LOGDIR / "y")
    (moved,) = one.move(path, other)
    assert moved.path == path
    assert one.trust.exact
    assert one.copies == {LOGDIR / "x": LOGDIR / "y"}
    assert [b.rank[0] for b in other.branches] == [0, 1, 2]
    assert points(one) == [(1, 1.0), (2, 2.0)] != before[0]
    assert points(other) == before[1]
    assert lost(other) == [8.0]
    other.append(source(1), 0, steps(2, {"new": [9.0]}))
    assert len(other.branches) == 3, "it stays open"
    other.begin(source(2), 0, 99)
    one.append(source(1), 0, steps(3, {"loss": [3.0]}))
    assert points(one) == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert len(other.branches) == 4


def test_bytes_of_branches_and_of_what_grew() -> None:
    lineage = a_lineage([1.0, math.nan])
    held = sum(b.nbytes for b in lineage.branches)
    assert lineage.nbytes == held > 0
    lineage.series("loss")
    lineage.append(source(0), 0, steps(3, {"loss": [3.0]}))
    lineage.series("loss")
    assert lineage.nbytes > sum(b.nbytes for b in lineage.branches) > held
