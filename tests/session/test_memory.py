"""Points are given up when memory is short, and read again when someone looks."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from rltui.config import Config, MetricOverride, WatchConfig
from rltui.core.batch import Batch, RunKey, SourceInfo
from rltui.core.errors import UnreachableError
from rltui.core.level import Level, RunState
from rltui.session import Session
from rltui.sources.follow.threaded_reader import Arriving
from tests.builders import START, a_batch, a_source, steps
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_tags

ROWS = 400
#: Less than what three runs hold, more than what two do.
BUDGET = 2_600_000
#: No run is live any more.
LONG_AFTER = START + 10_000


def grown(name: str, first: int = 1, rows: int = ROWS) -> Batch:
    """A run of its own file, ``rows`` rows from step ``first`` on."""
    source = a_source(f"{name}/events.0", offset=(first + rows) * 1000)
    tags = {**grpo_tags(rows, first), **{f"x/{i}": [float(i)] * rows for i in range(300)}}
    return a_batch(steps(first, tags), run=name, source=source)


def small(**changes: object) -> Config:
    config = Config()
    return replace(config, watch=replace(WatchConfig(), memory_bytes=BUDGET, **changes))  # type: ignore[arg-type]


def live(*names: str) -> tuple[Session, FakeReader, ManualClock]:
    """A session that has read these runs, one after the other, on a live screen."""
    reader, clock = FakeReader(), ManualClock(LONG_AFTER)
    session = a_session(reader=reader, clock=clock, config=small())
    session.start()
    for name in names:
        reader.feed(grown(name))
        clock.advance(60)
        session.drain()
    return session, reader, clock


def view(session: Session, name: str):  # type: ignore[no-untyped-def]
    return session.views[RunKey(0, name)]


def test_what_was_shown_least_recently_goes() -> None:
    session, reader, clock = live("a")
    session.memory.shown(view(session, "a").key)
    clock.advance(60)
    for name in "bc":
        reader.feed(grown(name))
        session.drain()
        clock.advance(60)
    unloaded = {v.name for v in session.runs() if v.data.unloaded}
    assert "b" in unloaded
    assert "a" not in unloaded


def test_verdict_progress_and_headline_stay() -> None:
    session, reader, _ = live("a", "b", "c")
    gone = next(v for v in session.runs() if v.data.unloaded)
    kept = a_session(grown(gone.name)).views[RunKey(0, gone.name)]
    assert [f for f in gone.report.findings if f.rule != "stalled"] == list(kept.report.findings)
    assert (gone.data.first_step, gone.data.last_step) == (1, ROWS)
    assert gone.data.extent.last_wall_time == kept.data.extent.last_wall_time
    assert gone.data.tags == kept.data.tags
    reader.calls.clear()
    headline = gone.headline()
    assert headline is not None
    assert np.array_equal(gone.series(headline).values, kept.series(headline).values)
    assert reader.calls == []  # nobody had to read for that


def test_a_run_that_grows_is_loaded_and_judged_whole() -> None:
    session, reader, _ = live("a", "b", "c")
    gone = next(v for v in session.runs() if v.data.unloaded)
    reader.feed(grown(gone.name, ROWS + 1, 5))
    session.drain()
    assert gone.data.last_step == ROWS + 5
    assert gone.series("actor/entropy").count == ROWS + 5


def test_a_range_of_the_user_reaches_runs_whose_points_were_unloaded() -> None:
    session, _, clock = live("a", "b", "c")
    gone = next(v for v in session.runs() if v.data.unloaded)
    ranges = {"entropy": MetricOverride(low=99.0)}
    session.heed(replace(session.interpreter.config, metrics=ranges))
    while session.unsettled:
        clock.advance(60)
        session.drain()
    assert {v.verdict.judgement("actor/entropy").low for v in session.runs()} == {99.0}
    assert gone.verdict.mark is Level.WATCH


def test_a_headless_command_reads_again_at_once() -> None:
    clock = ManualClock(LONG_AFTER)
    session = a_session(reader=FakeReader(), config=small(), clock=clock)
    fake = session.reader
    fake.queue.extend(grown(n) for n in "abc")  # type: ignore[attr-defined]
    session.read_all()
    assert any(v.data.unloaded for v in session.runs())
    assert all(v.report is not None for v in session.runs())
    assert [v.series("x/3").count for v in session.runs()] == [ROWS] * 3
    held = sum(v.data.table.nbytes for v in session.runs())
    assert held < BUDGET + 100_000


def test_what_cannot_be_read_again_stays() -> None:
    reader = FakeReader()
    session = a_session(reader=reader, config=small(), clock=ManualClock(LONG_AFTER))
    session.start()
    for name in "abc":
        reader.feed(replace(grown(name), generation=1))  # its file was written anew
        session.drain()
    assert not any(v.data.unloaded for v in session.runs())
    assert session.memory.over
    assert "watch.memory_bytes" in session.troubles()[0].message


def test_a_run_that_is_being_written_stays() -> None:
    reader, clock = FakeReader(), ManualClock()
    session = a_session(reader=reader, clock=clock, config=small())
    session.start()
    for name in "abc":
        reader.feed(grown(name))
        session.drain()
    assert not any(v.data.unloaded for v in session.runs())
    assert session.memory.over


def test_lines_between_rows_that_wait_for_the_run_double_nothing() -> None:
    session, reader, _ = live("a", "b", "c")
    gone = next(v for v in session.runs() if v.data.unloaded)
    row = grown(gone.name, ROWS + 1, 1)
    line = replace(row, items=(), source=row.source._replace(offset=row.source.offset + 80))
    reader.feed(row, line, grown(gone.name, ROWS + 2, 1))
    session.drain()
    steps_now = gone.series("actor/entropy").steps.tolist()
    assert steps_now == list(range(1, ROWS + 3))


def test_the_death_of_an_unloaded_run_is_seen() -> None:
    session, reader, _ = live("a", "b", "c")
    gone = next(v for v in session.runs() if v.data.unloaded)
    reader.feed(replace(grown(gone.name, ROWS, 1), items=(), exit_code=1))
    session.drain()
    assert gone.data.unloaded
    assert gone.progress.state is RunState.CRASHED


def test_points_that_are_in_no_file_any_more_are_reported() -> None:
    session, reader, _ = live("a", "b", "c")
    gone = next(v for v in session.runs() if v.data.unloaded)
    reader.given.clear()
    session.reader.read_again = lambda *_: None
    assert gone.series("x/7").count == 0
    session.drain()
    assert gone.data.unloaded
    assert gone.data.last_step == ROWS
    assert any("does not hold them any more" in n.message for n in gone.data.files.notes)


def test_a_run_whose_log_was_written_anew_begins_anew() -> None:
    session, reader, _ = live("a", "b", "c")
    gone = next(v for v in session.runs() if v.data.unloaded)
    reader.feed(replace(grown(gone.name, 1, 7), generation=1))
    session.drain()
    series = gone.series("actor/entropy")
    assert (series.count, series.old_count) == (7, 0)


def test_a_run_whose_host_is_lost_halfway_is_as_it_was() -> None:
    session, reader, clock = live("a", "b", "c")
    gone = next(v for v in session.runs() if v.data.unloaded)
    report, headline = gone.report, gone.headline()
    works = session.reader.read_again

    def half(key: RunKey, sources: Mapping[Path, SourceInfo], generations: object) -> Arriving:
        def batches() -> Iterator[Batch]:
            yield grown(gone.name)
            raise UnreachableError("no route")

        return Arriving(batches(), lambda: True)

    session.reader.read_again = half
    reader.feed(grown(gone.name, ROWS + 1, 1))
    session.drain()
    assert gone.data.unloaded
    assert not gone.data.loading
    assert gone.report is report
    assert headline is not None
    assert gone.series(headline).count == ROWS
    assert [n.message for n in gone.data.files.notes] == [
        "its points were unloaded to save memory, and cannot be read again now: no route"
    ]
    session.reader.read_again = works
    assert session.unsettled
    clock.advance(1)
    session.drain()
    assert not session.unsettled
    assert not gone.data.files.notes
    assert gone.series("actor/entropy").count == ROWS + 1


def test_nobody_waits_for_what_has_not_arrived() -> None:
    session, _, _ = live("a", "b", "c", "d")
    first, second = [v for v in session.runs() if v.data.unloaded]
    works, come = session.reader.read_again, [False]

    def read_again(key: RunKey, *rest: object) -> Iterator[Batch] | None:
        found = works(key, *rest)  # type: ignore[arg-type]
        assert found is not None
        return Arriving(found, lambda: come[0]) if key == first.key else found

    session.reader.read_again = read_again
    assert not first.series("x/7").count + second.series("x/7").count
    session.drain()
    assert (first.data.unloaded, second.data.unloaded) == (True, False)
    assert session.unsettled
    assert not session.busy
    come[0] = True
    session.drain()
    assert first.series("x/7").count == ROWS


def test_a_run_goes_once_its_host_has_said_that_it_keeps_it() -> None:
    reader, clock, asked = FakeReader(), ManualClock(LONG_AFTER), []
    session = a_session(reader=reader, clock=clock, config=small())
    answers = {"a": None, "b": False, "c": True}

    def rereadable(key: RunKey, *_: object) -> bool | None:
        asked.append(key.name)
        return answers[key.name]

    session.reader.rereadable = rereadable
    session.start()
    for name in "abc":
        reader.feed(grown(name))
        clock.advance(60)
        session.drain()
    assert asked == ["a"]  # whose points would be enough
    assert not session.memory.over
    answers["a"] = False
    session.drain()
    assert [v.name for v in session.runs() if v.data.unloaded] == ["c"]
