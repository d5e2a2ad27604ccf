"""What screens keep of a run is dropped when the run changes."""

from __future__ import annotations

import weakref

from rltui.facts.cache import RunCache, RunSeriesCache
from tests.builders import a_batch, steps
from tests.fakes import FakeReader, a_session


def test_values_are_kept_until_the_run_changes() -> None:
    reader = FakeReader()
    session = a_session(a_batch({"loss": [3, 2]}), reader=reader)
    (run,) = session.runs()
    cache: RunCache[str, int] = RunCache()
    made: list[str] = []

    def get(key: str) -> int:
        return cache.get(run, key, lambda: made.append(key) or len(made))  # type: ignore[func-returns-value]

    assert [get("a"), get("b"), get("a")] == [1, 2, 1]
    reader.feed(a_batch({"loss": [3, 2, 1]}, replaced=True))
    session.drain()
    assert [get("a"), get("a")] == [3, 3]


def test_values_of_a_run_that_is_not_shown_any_more_are_dropped_once_it_changes() -> None:
    reader = FakeReader()
    session = a_session(
        a_batch({"a": [1]}, run="x"), a_batch({"a": [1]}, run="y", source="e"), reader=reader
    )
    x, y = session.runs()
    cache: RunCache[str, set[str]] = RunCache()
    left = weakref.ref(cache.get(x, "curve", set))
    for row in range(4):
        reader.feed(
            a_batch(steps(row + 2, {"a": [2]}), run="x"),
            a_batch(steps(row + 2, {"a": [2]}), run="y", source="e"),
        )
        session.drain()
        cache.get(y, "curve", set)
    assert left() is None
    assert cache.has(y, "curve")


def test_each_run_has_a_series_cache_of_its_own() -> None:
    session = a_session(a_batch({"a": [1]}, run="x"), a_batch({"a": [1]}, run="y", source="e"))
    cache: RunSeriesCache[str] = RunSeriesCache()
    x, y = session.runs()
    assert cache.of(x) is cache.of(x)
    assert cache.of(x) is not cache.of(y)
