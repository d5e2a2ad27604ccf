"""What screens keep of a run is dropped when the run changes."""

from __future__ import annotations

from rltui.facts.cache import RunSeriesCache, kept
from tests.builders import a_batch
from tests.fakes import FakeReader, a_session


def test_values_are_kept_until_the_run_changes() -> None:
    reader = FakeReader()
    session = a_session(a_batch({"loss": [3, 2]}), reader=reader)
    (run,) = session.runs()
    made: list[str] = []

    def get(key: str) -> int:
        return kept(run, key, lambda: made.append(key) or len(made))  # type: ignore[func-returns-value]

    assert [get("a"), get("b"), get("a")] == [1, 2, 1]
    reader.feed(a_batch({"loss": [3, 2, 1]}, replaced=True))
    session.drain()
    assert [get("a"), get("a")] == [3, 3]


def test_each_run_has_a_series_cache_of_its_own() -> None:
    session = a_session(a_batch({"a": [1]}, run="x"), a_batch({"a": [1]}, run="y", source="e"))
    kept_series: RunSeriesCache[str] = RunSeriesCache()
    x, y = session.runs()
    assert kept_series.of(x) is kept_series.of(x)
    assert kept_series.of(x) is not kept_series.of(y)
