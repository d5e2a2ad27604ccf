"""What changed in the verdict between two looks."""

import json
import math
from dataclasses import replace

from rltui.core.batch import Batch, LogTail
from rltui.core.level import Level
from rltui.facts.runs import why_unknown
from rltui.output.json_document import event_line
from rltui.output.text_report import check_text, event_text, verdict_line
from rltui.session import Session
from rltui.session.event import Event, EventKind, Watcher
from tests.builders import a_batch, a_source, steps
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, blown_up_tags, grpo_tags


def watched(*batches: Batch) -> tuple[Session, FakeReader, Watcher, ManualClock]:
    reader, clock = FakeReader(), ManualClock()
    session = a_session(reader=reader, clock=clock)
    session.start()
    reader.feed(*batches)
    session.drain()
    return session, reader, Watcher(session), clock


def rows(first: int, count: int, collapse: int | None = None) -> Batch:
    tags = grpo_tags(first + count - 1, collapse=collapse)
    tags = {k: v[first - 1 :] for k, v in tags.items()}
    return a_batch(steps(first, tags), source=a_source(modified=1_800_000_000.0))


def rules(events: list[Event]) -> set[tuple[str, str]]:
    return {(e.kind.value, e.finding.rule) for e in events}


def test_a_finding_is_reported_once_when_it_fires() -> None:
    session, reader, watcher, _ = watched(rows(1, 60, collapse=61))
    assert watcher.events() == []
    reader.feed(rows(61, 60, collapse=61))
    session.drain()
    found = watcher.events()
    assert ("fired", "entropy_collapse") in rules(found)
    assert watcher.events() == []


def test_what_came_and_went_between_two_looks_is_reported_as_resolved() -> None:
    session, reader, watcher, _ = watched(rows(1, 60))
    assert watcher.events() == []
    tags = {k: v[60:] for k, v in grpo_tags(100).items()}
    tags["actor/grad_norm"] = [math.nan, *tags["actor/grad_norm"][1:]]
    reader.feed(a_batch(steps(61, tags), source=a_source(modified=1_800_000_000.0)))
    session.drain()
    assert ("resolved", "nan") in rules(watcher.events())
    assert watcher.events() == []


def test_what_a_run_had_before_the_watch_is_no_news() -> None:
    """Also when it is written at this moment, and when its end was seen before its verdict."""
    reader, clock = FakeReader(), ManualClock()
    session = a_session(reader=reader, clock=clock)
    session.start()
    clock.advance(3600)
    watcher = Watcher(session)
    reader.feed(replace(rows(1, 120, collapse=61), source=a_source(modified=clock.now() + 1)))
    session.drain(verdicts=False)
    watcher.events()
    session.drain()
    found = watcher.events()
    assert ("fired", "entropy_collapse") in rules(found)
    assert not any(e.is_news for e in found)


def test_a_run_that_stalls_and_goes_on() -> None:
    session, reader, watcher, clock = watched(rows(1, 60))
    watcher.events()
    clock.advance(3600)
    assert session.refresh_progress()
    assert rules(watcher.events()) == {("stalled", "stalled")}
    fresh = replace(rows(61, 1), source=a_source(modified=clock.now()))
    reader.feed(fresh)
    session.drain()
    (event,) = watcher.events()
    assert (event.kind, event.finding.rule) == (EventKind.RESOLVED, "stalled")
    printed = json.loads(event_line(event))
    assert (printed["state"], printed["until_step"]) == ("resolved", 61)


def test_a_crash_is_bad() -> None:
    session, reader, watcher, clock = watched(rows(1, 60))
    watcher.events()
    source = a_source("stdout.log", format="console", precision_rank=1)
    tail = LogTail(("Traceback (most recent call last):", "RuntimeError: boom"), 2)
    reader.feed(replace(a_batch(steps(1, {"x": [1.0]}), source=source), tail=tail))
    session.drain()
    assert "crashed" not in {e.finding.rule for e in watcher.events()}  # may have been caught
    clock.advance(3600)
    session.refresh_progress()
    (event,) = (e for e in watcher.events() if e.finding.rule == "crashed")
    assert event.finding.level is Level.BAD


def test_an_event_names_its_cause() -> None:
    tags = blown_up_tags([1e-6] * 39 + [1e-4] * 21)
    _, _, watcher, _ = watched(a_batch(steps(1, tags), source=a_source(modified=1_800_000_000.0)))
    (event,) = (e for e in watcher.events() if e.finding.rule == "kl_blowup")
    assert event_text(event, 0.0).endswith("; cause: learning rate × 100 at 40")
    assert json.loads(event_line(event))["cause"] == "learning rate × 100 at 40"
    over = event._replace(kind=EventKind.RESOLVED)
    assert "cause" not in event_text(over, 0.0)


def test_a_single_look_finds_a_stall_as_a_watch_does() -> None:
    watched_for, looked_at = ManualClock(), ManualClock()
    session = a_session(rows(1, 60), clock=watched_for)
    watched_for.advance(600)
    session.refresh_progress()
    looked_at.advance(600)
    single = a_session(rows(1, 60), clock=looked_at)
    for run in (*session.runs(), *single.runs()):
        assert (run.verdict.state_word, run.verdict.level) == ("stalled", Level.WATCH)
        assert [f.rule for f in run.report.firing()] == ["stalled"]
        assert why_unknown(run) == ""


def test_cancelled_is_not_crashed_anywhere() -> None:
    session, reader, watcher, _ = watched(rows(1, 60))
    source = a_source("slurm-7.out", format="console", precision_rank=1)
    tail = LogTail(("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***",), 1)
    reader.feed(replace(a_batch(source=source), tail=tail))
    session.drain()
    (run,) = session.runs()
    assert run.verdict.state_word == "cancelled"
    (event,) = (e for e in watcher.events() if e.finding.rule == "crashed")
    text = check_text(session) + verdict_line(session) + event_text(event, 0.0)
    assert "crashed" not in text
    assert "cancelled" in text
