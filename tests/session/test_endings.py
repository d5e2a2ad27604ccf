"""What whoever walks away is sent of runs that end, crash or stall: the right message, once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rltui.config import Config, HooksConfig
from rltui.core.batch import LogTail
from rltui.core.yaml_document import parse_document
from rltui.facts.goals import open_goals
from rltui.output.json_document import event_message
from rltui.session.event import Event, Watcher
from rltui.session.hook import Hook
from tests.builders import START, a_batch, a_block, a_source
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_tags
from tests.session.test_process_probe import CLOSED, GONE, HELD, Processes, processes
from tests.tables import cases

__all__ = ["processes"]
HOLDS = {"held": HELD, "gone": GONE, "closed": CLOSED, "unknown": None}
#: Longest wait between two looks, seconds.
TICK_S = 30.0


class Story:
    """Runs that are written and watched as some lines tell."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.clock, self.reader = ManualClock(START), FakeReader()
        self.session = a_session(reader=self.reader, clock=self.clock)
        self.session.start()
        self.session._live = False  # looks at processes are waited for
        self.watcher: Watcher | None = None
        self.events: list[tuple[Event, str]] = []
        """What happened, and the document of each as it was then."""
        self.steps: dict[str, int] = {}

    def tell(self, line: str) -> None:
        """ "a rows 20 of 50", "a log LINE|LINE", "wait 100", "gone a", "watch"."""
        first, _, rest = line.partition(" ")
        if first == "watch":
            self.watcher = Watcher(self.session)
        elif first == "goals":
            hooks = HooksConfig(goals=tuple(parse_document(rest, Path("config.yaml")).items()))
            self.session.goals = open_goals(Config(hooks=hooks))
        elif first == "wait":
            self.wait(float(rest))
        elif first in HOLDS:
            name, hold = rest, HOLDS[first]
            self.processes.other[f"{name}.jsonl"] = hold
        else:
            verb, _, given = rest.partition(" ")
            getattr(self, verb)(first, given)
        self.look()

    def wait(self, seconds: float) -> None:
        while seconds > 0:
            self.clock.advance(min(TICK_S, seconds))
            seconds -= TICK_S
            self.look()

    def rows(self, run: str, given: str) -> None:
        count, _, plan = given.partition(" ")
        first = self.steps.get(run, 0) + 1
        self.steps[run] = first + int(count) - 1
        self.clock.advance(max(0.0, START + 10.0 * self.steps[run] - self.clock.now()))
        settings = {"max_steps": int(plan.split()[-1])} if plan.startswith("of") else {}
        tags = grpo_tags(int(count), first, collapse=first if plan == "bad" else None)
        if plan in ("trainer", "closing"):
            tags = {"train/loss": [1.0] * int(count), "train/epoch": [0.5] * int(count)}
            tags |= {"train/train_runtime": [400.0]} if plan == "closing" else {}
        now = self.clock.now()
        walls = [now - 10.0 * i for i in reversed(range(int(count)))]
        source = a_source(f"{run}.jsonl", format="jsonl", modified=now)
        block = a_block(tags, first=first, walls=walls)
        self.reader.feed(a_batch(block, run=run, source=source, hparams=settings))

    def log(self, run: str, given: str) -> None:
        lines = tuple(given.split("|"))
        source = a_source(f"{run}.out", format="console", order=1, modified=self.clock.now())
        batch = a_batch(run=run, source=source)
        self.reader.feed(replace(batch, tail=LogTail(lines, len(lines))))

    def look(self) -> None:
        self.session.drain()
        self.session.refresh_progress()
        if self.watcher is not None:
            self.events += [(e, event_message(e).document) for e in self.watcher.events()]


def sent(story: Story, settings: HooksConfig) -> list[str]:
    """What is handed over of the state of runs: run, kind and text of each."""
    hook = Hook(settings, story.clock, pytest.fail)
    wanted = [(e, d) for e, d in story.events if hook.wants(e) and not e.kind.is_of_finding]
    documents = [json.loads(document) for _, document in wanted]
    assert all(d["schema"] == "rltui.event/1" and d["cause"] is None for d in documents)
    return [f"{d['run']} {d['event']}: {d['text']}" for d in documents]


@cases(__file__, "endings")
def test_one_message_for_each_end(
    story: list[str], expected: list[str], processes: Processes
) -> None:
    told = Story(processes)
    if "watch" not in story:
        told.tell("watch")
    for line in story:
        told.tell(line)
    found = sent(told, HooksConfig())
    assert len(found) == len(expected), found
    for text, words in zip(found, expected, strict=True):
        head, *others = words.split(" ... ")
        assert text.startswith(f"{head}: "), found
        assert all(other in text for other in others), text


def test_only_the_events_that_the_user_wants(processes: Processes) -> None:
    story = Story(processes)
    for line in ("watch", "a rows 60 of 60", "b rows 30", "wait 600"):
        story.tell(line)
    for events in (("finished",), ("stalled",), ("finished", "stalled")):
        found = sent(story, HooksConfig(events=events))
        assert [text.split(":")[0].split()[1] for text in found] == list(events)
    assert sent(story, HooksConfig(events=("finding", "crashed"))) == []
