"""Sessions without files and threads, for tests of the floors above the session.

session = a_session(a_batch({"loss": [3, 2, 1]}))       read to the end and judged
reader = FakeReader(); session = a_session(reader=reader)
reader.feed(a_batch(...))                               as if the reader thread had read it
grpo_batch(60)                                          a run that a rich screen can be made of
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from rltui.catalogue import Catalogue
from rltui.config import Config
from rltui.core.batch import Batch, Note, RunKey, SourceInfo
from rltui.facts.groups import Marked, toggled
from rltui.facts.story import main_story
from rltui.facts.story_words import action
from rltui.health.configured import open_catalogue, open_rules
from rltui.health.rule import Rule
from rltui.session import JudgedRun, Session
from rltui.session import judging as judging_module
from rltui.session import session as session_module
from rltui.session.session import Choice
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.threaded_reader import ReaderState
from tests.builders import LOGDIR, START, a_batch, a_block, a_source, steps
from tests.clock import ManualClock


def _within(batch: Batch, sources: Mapping[Path, SourceInfo]) -> bool:
    known = sources.get(batch.source.path)
    return known is not None and batch.source.offset <= known.offset


class FakeReader:
    """Has the face of :class:`rltui.sources.follow.reader.Reader`; reads what the test feeds it."""

    def __init__(self, *batches: Batch) -> None:
        self.queue: deque[Batch] = deque(batches)
        self.given: list[Batch] = []
        self.notes: tuple[Note, ...] = ()
        self.unclaimed: tuple[Note, ...] = ()
        self.out_of_reach: tuple[Path, ...] = ()
        self.lost: dict[Path, float] = {}
        self.replaced: dict[Path, str] = {}
        self.unread: tuple[Note, ...] = ()
        self.searching: tuple[Path, ...] = ()
        self.connecting: tuple[Path, ...] = ()
        self.on_batch: Callable[[], None] | None = None
        self.share: tuple[int, int] = (0, 0)
        self.run_count = 0
        self.running = False
        self.calls: list[str] = []

    def scan(self) -> tuple[object, ...]:
        self.calls.append("scan")
        return ()

    @property
    def state(self) -> ReaderState:
        return ReaderState(
            *(self.notes, self.unread, self.unclaimed, self.run_count),
            *(self.searching, self.connecting),
            {path: self.lost.get(path) for path in self.out_of_reach},
            self.replaced,
        )

    def start(self) -> None:
        self.calls.append("start")
        self.running = True

    def stop(self) -> None:
        self.calls.append("stop")
        self.running = False

    def read_all(self) -> Iterator[Batch]:
        while self.queue:
            yield self._next()

    def _next(self) -> Batch:
        self.given.append(self.queue.popleft())
        return self.given[-1]

    def read_again(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> Iterator[Batch] | None:
        """What was fed of a run, up to the place that the store knows."""
        self.calls.append("read_again")
        if any(generations):
            return None
        given = list(self.given)
        return (b for b in given if b.run == key and _within(b, sources))

    def rereadable(
        self, key: RunKey, sources: Mapping[Path, SourceInfo], generations: Iterable[int]
    ) -> bool | None:
        return not any(generations)

    def drain(self, max_batches: int = 64) -> list[Batch]:
        return [self._next() for _ in range(min(max_batches, len(self.queue)))]

    def progress(self) -> tuple[int, int]:
        return self.share

    @property
    def ended(self) -> bool:
        return False

    def feed(self, *batches: Batch) -> None:
        """New batches; wakes whoever asked to be woken, as the reader thread does."""
        self.queue.extend(batches)
        if self.on_batch is not None:
            self.on_batch()


def a_session(
    *batches: Batch,
    reader: FakeReader | None = None,
    clock: ManualClock | None = None,
    config: Config | None = None,
    choice: Choice | None = None,
    logdirs: Sequence[Path] = (LOGDIR,),
) -> Session:
    """A session that has taken in ``batches`` and judged them."""
    with _documents_read_once(config is None):
        session = Session(
            logdirs,
            config,
            choice=choice,
            clock=clock or ManualClock(),
            reader=cast(Reader, reader or FakeReader()),
        )
        session.judge.prepare()
        if choice is not None and choice.reference is not None:
            session.scan()
    fake = cast(FakeReader, session.reader)
    fake.queue.extendleft(reversed(batches))
    if batches:
        session.read_all()
    return session


@contextmanager
def _documents_read_once(shipped: bool) -> Iterator[None]:
    """Sessions without settings of their own share the catalogue and the rules: they are fast."""
    if not shipped:
        yield
        return
    catalogue, rules = _shipped()
    with (
        patch.object(session_module, "open_catalogue", lambda config: catalogue),
        patch.object(judging_module, "open_rules", lambda config, catalogue: rules),
    ):
        yield


@lru_cache(maxsize=1)
def _shipped() -> tuple[Catalogue, tuple[Rule, ...]]:
    catalogue = open_catalogue(Config())
    return catalogue, open_rules(Config(), catalogue)


def grpo_tags(rows: int, first: int = 1, collapse: int | None = None) -> dict[str, list[float]]:
    """What verl logs of a GRPO run; entropy collapses at ``collapse``.

    The reward scatters too widely to be sure that the run gets better, which would excuse a sign.
    """
    steps = range(first, first + rows)

    def wave(size: float, period: float) -> list[float]:
        return [size * math.sin(s * 2 * math.pi / period + 1.3 * s) for s in steps]

    def sick(step: int) -> float:
        return 0.0 if collapse is None or step < collapse else 1 - math.exp(-(step - collapse) / 4)

    noise = wave(1.0, 7.0)
    entropy = [
        (0.45 + 0.4 * math.exp(-s / 60)) * (1 - 0.97 * sick(s)) + 0.005 * n
        for s, n in zip(steps, noise, strict=True)
    ]
    reward = [0.2 + 0.2 * (1 - math.exp(-s / 40)) + 0.15 * n for s, n in zip(steps, noise)]  # noqa: B905
    length = [400 + 2.5 * s + 12 * n for s, n in zip(steps, noise)]  # noqa: B905
    return {
        "actor/entropy": entropy,
        "actor/pg_loss": [0.01 * n for n in wave(1.0, 11.0)],
        "actor/ppo_kl": [0.0012 * (1.3 + n) for n in noise],
        "actor/kl_loss": [0.0004 + 0.001 * s for s in steps],
        "actor/pg_clipfrac": [0.0035 * (1.5 + n) for n in noise],
        "actor/grad_norm": [0.3 + 0.03 * n + 2.0 * sick(s) for s, n in zip(steps, noise)],  # noqa: B905
        "actor/lr": [1e-6] * rows,
        "critic/score/mean": reward,
        "critic/score/max": [1.0] * rows,
        "critic/score/min": [0.0] * rows,
        "critic/rewards/mean": [r - 0.001 for r in reward],
        "critic/rewards/max": [1.0] * rows,
        "critic/rewards/min": [0.0] * rows,
        "critic/advantages/mean": [0.02 * n for n in noise],
        "response_length/mean": length,
        "response_length/max": [1024.0] * rows,
        "response_length/min": [x / 5 for x in length],
        "response_length/clip_ratio": [0.01] * rows,
        "prompt_length/mean": [120.0] * rows,
        "timing_s/gen": [11.0 + n for n in noise],
        "timing_s/update_actor": [6.0 + 0.2 * n for n in noise],
        "timing_s/step": [20.0 + 1.5 * n for n in noise],
        "perf/throughput": [2600 + 40 * n for n in noise],
        "perf/mfu/actor": [0.31 + 0.01 * n for n in noise],
        "perf/time_per_step": [20.0 + 1.5 * n for n in noise],
        "global_seqlen/balanced_min": [5000.0] * rows,
        "global_seqlen/balanced_max": [5200.0] * rows,
        "training/global_step": [float(s) for s in steps],
        "my/own_metric": [5 * n for n in noise],
    }


def blown_up_tags(rate: list[float] | None = None) -> dict[str, list[float]]:
    """60 rows of a GRPO run whose KL blows up at row 40, with this learning rate."""
    kl = {"actor/ppo_kl": [0.001, 0.0012] * 19 + [0.001] + [3.0] * 21}
    return grpo_tags(60) | kl | ({"actor/lr": rate} if rate else {})


def grpo_batch(
    rows: int = 60,
    *,
    run: str = "grpo",
    first: int = 1,
    collapse: int | None = 40,
    total: int | None = None,
    **changes: Any,
) -> Batch:
    """A GRPO run in the tags of verl, one step in 20 s, with all kinds of rows."""
    block = a_block(
        grpo_tags(rows, first, collapse),
        first=first,
        walls=[START + 20.0 * s for s in range(first, first + rows)],
    )
    source = a_source(f"{run}/events.0", modified=START + 20.0 * (first + rows - 1))
    hparams: dict[str, object] = {} if total is None else {"total_training_steps": total}
    return a_batch(block, run=run, source=source, hparams=hparams, **changes)


def grpo_clock(rows: int = 60, age: float = 5.0) -> ManualClock:
    """The time ``age`` seconds after the last row of :func:`grpo_batch`."""
    return ManualClock(START + 20.0 * rows + age)


def judged_before_the_newest_row(**newest: float) -> JudgedRun:
    """A healthy run that was judged, and one row after that."""
    reader = FakeReader()
    session = a_session(reader=reader, clock=grpo_clock())
    reader.feed(a_batch(steps(1, grpo_tags(60))))
    session.drain()
    row = grpo_tags(1, 61) | {t: [v] for t, v in newest.items()}
    reader.feed(a_batch(steps(61, row), source=a_source(offset=2000, size=2000)))
    session.drain(verdicts=False)
    (run,) = session.runs()
    assert run.data.last_step == 61
    return run


def next_step(run: JudgedRun) -> str:
    """The action of the story to begin with; "" for a run without one."""
    story = main_story(run)
    return "" if story is None else action(story)


def runs_of(*levels: float, rows: int = 40) -> list[JudgedRun]:
    """Runs s1, s2, ... whose entropy rises by a hundredth a step from these levels."""
    batches = []
    for n, level in enumerate(levels, 1):
        entropy = [level + step / 100 for step in range(1, rows + 1)]
        block = steps(1, {"actor/entropy": entropy, "actor/grad_norm": [1.0] * rows})
        named = {"run": f"exp_s{n}", "source": f"exp_s{n}/events.0"}
        batches.append(a_batch(block, **named, hparams={"lr": 10.0**-n}))
    return a_session(*batches, clock=grpo_clock()).runs()


def marked(runs: list[JudgedRun]) -> tuple[Marked, ...]:
    found: tuple[Marked, ...] = ()
    for run in runs:
        found = toggled(found, run)
    return found
