"""What the points of a live run cost, however its log was written."""

from __future__ import annotations

from rltui.store import RunData
from tests.builders import START, a_batch, a_run, steps

TAGS = [f"t{n}" for n in range(20)]
ROWS = 300
#: Bytes of a value, and its share of the step and time of its row.
POINT = 8 + 16 / len(TAGS)
#: For spare room.
ROOM = 1.15


def write(run: RunData, file: int, first: int, rows: int = ROWS) -> None:
    """Append a file row by row; somebody reads every tag after each row."""
    for step in range(first, first + rows):
        row = steps(step, {tag: [step / 7] for tag in TAGS})
        run.apply(a_batch(row, source=f"events.{file}", order=file))
        assert {run.series(tag).last for tag in run.tags} == {(step, START + step, step / 7)}


def test_a_superseded_point_costs_no_more_than_another() -> None:
    run = a_run()
    for file in range(3):
        write(run, file, 1)
    assert (run.series("t0").count, run.series("t0").old_count) == (ROWS, 2 * ROWS)
    assert run.table.nbytes < ROOM * POINT * 3 * ROWS * len(TAGS)
