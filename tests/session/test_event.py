"""What changed in the verdict between two looks."""

from __future__ import annotations

import json
from dataclasses import replace

from rltui.core.batch import Batch, LogTail
from rltui.core.level import Level
from rltui.present.kit.sentences import summary
from rltui.present.output.json_document import event_line
from rltui.present.output.text_report import event_text
from rltui.session import Session
from rltui.session.event import Event, EventKind, Watcher
from tests.builders import a_batch, a_source, steps
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_tags


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


def test_a_finding_is_told_once_when_it_fires() -> None:
    session, reader, watcher, _ = watched(rows(1, 60, collapse=61))
    assert watcher.events() == []
    reader.feed(rows(61, 60, collapse=61))
    session.drain()
    found = watcher.events()
    assert ("fired", "entropy_collapse") in rules(found)
    assert watcher.events() == []


def test_a_run_that_stalls_and_goes_on() -> None:
    session, reader, watcher, clock = watched(rows(1, 60))
    watcher.events()
    clock.advance(3600)
    assert session.refresh_progress()
    assert rules(watcher.events()) == {("fired", "stalled")}
    fresh = replace(rows(61, 1), source=a_source(modified=clock.now()))
    reader.feed(fresh)
    session.drain()
    (event,) = watcher.events()
    assert (event.kind, event.finding.rule) == (EventKind.RESOLVED, "stalled")
    told = json.loads(event_line(event))
    assert (told["state"], told["until_step"]) == ("resolved", 61)


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


def test_the_words_of_an_event() -> None:
    session, reader, watcher, clock = watched(rows(1, 60, collapse=61))
    watcher.events()
    reader.feed(rows(61, 60, collapse=61))
    session.drain()
    event = next(e for e in watcher.events() if e.finding.rule == "entropy_collapse")
    assert event.kind is EventKind.FIRED
    text = event_text(event, clock.now())
    assert "\n" not in text
    assert summary(event.finding) in text
    document = json.loads(event_line(event))
    assert (document["schema"], document["event"]) == ("rltui.event/1", "fired")
    assert document["rule"] == "entropy_collapse"
