"""Values made from series are made again when the series change, and only then."""

from __future__ import annotations

import weakref

from rltui.store import Series
from rltui.store.series import SeriesCache
from tests.builders import a_batch, a_block, a_run, steps


class _Value:
    """Something of which one sees whether it is kept."""


def total(series: Series) -> float:
    return float(series.values.sum())


def test_a_value_is_made_once_per_content() -> None:
    cache: SeriesCache[float] = SeriesCache()
    made: list[int] = []

    def make(series: Series) -> float:
        made.append(series.count)
        return total(series)

    run = a_run({"a": [1, 2], "b": [5, 6]})
    assert [cache.get(run.series("a"), make) for _ in range(3)] == [3.0] * 3
    run.apply(a_batch(steps(3, {"b": [7]})))
    assert cache.get(run.series("a"), make) == 3.0
    assert made == [2]
    run.apply(a_batch(steps(3, {"a": [7]})))
    assert cache.get(run.series("a"), make) == 10.0
    assert made == [2, 3]


def test_only_the_newest_names_of_a_tag_are_kept() -> None:
    """The name of a sparkline contains the last step: a live run has another one for each row."""
    cache: SeriesCache[_Value] = SeriesCache()
    run = a_run({"a": [1], "b": [1]})
    other = cache.get(run.series("b"), lambda _: _Value())
    made = weakref.WeakSet[_Value]()
    for row in range(50):
        run.apply(a_batch(steps(row + 2, {"a": [7]})))
        newest = cache.get(run.series("a"), lambda _: _Value(), name=("until", row))
        made.add(newest)
        assert newest is cache.get(run.series("a"), lambda _: _Value(), name=("until", row))
    assert len(made) == 4
    assert cache.get(run.series("b"), lambda _: _Value()) is other


def test_appended_points_extend_and_everything_else_makes_anew() -> None:
    cache: SeriesCache[list[str]] = SeriesCache()

    def make(series: Series) -> list[str]:
        return [f"made {series.count}"]

    def extend(known: list[str], series: Series) -> list[str]:
        return [*known, f"extended {series.count}"]

    run = a_run({"a": [1, 2, 3]})
    cache.get(run.series("a"), make, extend=extend)
    run.apply(a_batch(steps(4, {"a": [4]})))
    assert cache.get(run.series("a"), make, extend=extend) == ["made 3", "extended 4"]
    run.apply(a_batch(a_block({"a": [20]}, first=2), source="events.1", order=1))
    assert cache.get(run.series("a"), make, extend=extend) == ["made 2"]
