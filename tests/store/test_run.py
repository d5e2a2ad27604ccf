"""A copy of a run stays as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import Restart
from rltui.store import RunData
from tests.builders import a_batch, a_run, steps

GROWTH = {
    "rows": a_batch(steps(4, {"a": [4, 5], "b": [6, 7]})),
    "another tag": a_batch(steps(4, {"c": [8]})),
    "a restart": a_batch(Restart(2), steps(2, {"a": [9, 9]})),
    "a resumed run": a_batch(steps(2, {"a": [5, 5]}), source="events.1", order=1),
    "another format": a_batch(steps(1, {"d": [5, 5]}), source="x.jsonl"),
    "a new content": a_batch(steps(1, {"a": [0]}), replaced=True, generation=1),
}


def content(run: RunData) -> object:
    series = {t: [x.tolist() for x in (*run.series(t).points, *run.series(t).old_points)]
              for t in run.tags}  # fmt: skip
    return series, run.last_step, run.extent.restarts, list(run.files.sources)


@given(st.lists(st.sampled_from(sorted(GROWTH)), min_size=1, max_size=4), st.booleans())
def test_a_copy_stays_whatever_the_run_takes_in(kinds: list[str], read: bool) -> None:
    run = a_run({"a": [1, 2, 3], "b": [3, 4, 5]})
    expected = content(a_run({"a": [1, 2, 3], "b": [3, 4, 5]}))
    if read:
        assert content(run) == expected
    copy = run.copy()
    for kind in kinds:
        run.apply(GROWTH[kind])
    assert content(copy) == expected
    assert content(run) != expected


def test_a_copy_shares_its_points() -> None:
    run = a_run({"a": [1, 2, 3]})
    series = run.series("a")
    copy = run.copy()
    assert copy.series("a") is series
    assert copy.key == run.key
