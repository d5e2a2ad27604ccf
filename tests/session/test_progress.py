"""How far a run is and whether it lives: the rules of run state and time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rltui.catalogue import load_catalogue
from rltui.config import Config, MetricOverride
from rltui.core.batch import MANY, Batch, LogClock, LogTail, Phase
from rltui.core.errors import UsageError
from rltui.core.level import Level, RunState
from rltui.facts import sentences
from rltui.formats.console import Console
from rltui.session import JudgedRun, Progress, Session
from rltui.session.progress import aged
from rltui.sources.follow.reader import Reader
from rltui.sources.follow.threaded_reader import ReaderState
from tests.builders import START, Tags, a_batch, a_block, a_source
from tests.clock import ManualClock
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock
from tests.formats.encode import event, header, simple, text
from tests.tables import cases

NAN = float("nan")


def rows(
    count: int,
    *,
    every: float | None = 10.0,
    first: int = 1,
    stride: int = 1,
    tags: Tags | None = None,
    **changes: object,
) -> Batch:
    """``count`` rows, one in ``every`` seconds (None: the log has no times)."""
    steps = [first + stride * i for i in range(count)]
    walls = [NAN if every is None else START + every * i for i in range(count)]
    block = a_block(tags or {"train/loss": [1.0] * count}, steps=steps, walls=walls)
    newest = START + (every or 0.0) * (count - 1)
    source = a_source("e", modified=newest)
    return a_batch(block, source=source, **changes)


def view_of(*batches: Batch, at: float = 0.0) -> JudgedRun:
    """The run, ``at`` seconds after START."""
    return a_session(*batches, clock=ManualClock(START + at)).runs()[0]


def progress_of(*batches: Batch, at: float = 0.0) -> Progress:
    found = view_of(*batches, at=at).progress
    assert found is not None
    return found


def test_a_log_without_times_is_not_searched_for_a_clock() -> None:
    """Each step of a live run would merge the points of every tag."""
    reader = FakeReader(rows(5, every=None, tags={"a/1": [1.0] * 5, "a/2": [1.0] * 5}))
    session = a_session(reader=reader)
    session.drain(verdicts=False)
    (run,) = session.runs()
    assert run.progress is not None
    assert not any(map(run.data.table.is_kept, run.data.tags))


# -- state ---------------------------------------------------------------------------------

HOUR = 3600.0


@cases(__file__, "a_run_is_live_or_stalled_by_its_own_pace")
def test_a_run_is_live_or_stalled_by_its_own_pace(
    every: float | None, silent: float, state: str
) -> None:
    """In one look; a guess where the log has no times."""
    at = 19 * (every or 0.0) + silent
    assert progress_of(rows(20, every=every), at=at).state is RunState(state)


def test_a_run_that_reached_its_total_is_finished_at_any_age() -> None:
    batch = rows(20, hparams={"max_steps": 20})
    for at in (190.0, 400.0, 50 * HOUR):
        assert progress_of(batch, at=at).state is RunState.FINISHED
    assert progress_of(rows(19, hparams={"max_steps": 20}), at=180).state is RunState.LIVE


def test_the_last_step_of_a_count_from_zero_is_one_below_the_total() -> None:
    planned: dict[str, object] = {"hparams": {"max_steps": 20}}
    assert progress_of(rows(20, first=0, **planned), at=50 * HOUR).state is RunState.FINISHED
    assert progress_of(rows(19, first=0, **planned), at=50 * HOUR).state is RunState.STOPPED


def test_the_closing_row_of_a_trainer_finishes_a_run() -> None:
    tags = {"train/loss": [1.0] * 9, "train/train_runtime": [NAN] * 9}
    batch = rows(9, tags=tags)
    closing = a_block({"train/train_runtime": [99.0], "train/train_loss": [0.5]}, first=9)
    both = (batch, a_batch(closing, source=a_source("e", modified=START + 90)))
    assert progress_of(*both, at=100).state is RunState.FINISHED


@cases(__file__, "a_bar_that_came_to_its_end_finishes_a_run")
def test_a_bar_that_came_to_its_end_finishes_a_run(last: str, bar: str, state: str) -> None:
    """Its rows are those of the steps before, or of every tenth one."""
    done, total = map(int, bar.split("/"))
    every = 10 if last == "30/40" else 1
    begin = int(last.partition("/")[0]) + 1 - 4 * every
    batch = rows(4, first=begin + every - 1, stride=every, hparams={"total_steps": 40})
    tail = LogTail((f"train: {bar}",), 1, Phase("train", "", done, total))
    for sent in (replace(batch, tail=tail), (batch, replace(batch, items=(), tail=tail))):
        batches = sent if isinstance(sent, tuple) else (sent,)
        found = progress_of(*batches, at=30 + 2 * HOUR)
        assert found.state is RunState(state), sent


def test_a_clock_that_lies_behind_the_log_gives_age_zero() -> None:
    progress = progress_of(rows(20), at=-5000)
    assert (progress.age_s, progress.state) == (0.0, RunState.LIVE)


def test_a_run_out_of_reach_is_not_stalled_but_as_it_was() -> None:
    clock, reader = ManualClock(START + 190), FakeReader()
    session = a_session(rows(20), clock=clock, reader=reader)
    (run,) = session.runs()
    reader.out_of_reach = session.logdirs
    clock.advance(2 * HOUR)
    session.refresh_progress()
    assert run.progress.state is RunState.LIVE
    assert not [f for f in run.report.findings if f.rule == "stalled"]
    reader.out_of_reach = ()
    session.refresh_progress()
    assert run.progress.state is RunState.STALLED


def test_since_when_a_run_is_out_of_reach() -> None:
    clock, reader = ManualClock(START + 190), FakeReader()
    session = a_session(rows(20), clock=clock, reader=reader)
    (run,) = session.runs()
    reader.out_of_reach = session.logdirs
    assert session.refresh_progress()
    noticed = clock.now()
    clock.advance(600)
    assert not session.refresh_progress(), "nothing that is shown has changed"
    assert run.progress.lost_at == noticed
    assert run.verdict.state_word == "unreachable"
    reader.lost = {session.logdirs[0]: START + 100}  # who reads knows better
    assert session.refresh_progress()
    assert run.progress.lost_at == START + 100
    reader.out_of_reach = ()
    assert session.refresh_progress()
    assert (run.progress.lost_at, run.verdict.state_word) == (None, "stalled")


@pytest.mark.parametrize(("rest", "word"), [({}, "unreachable"), ({"total": 20}, "finished")])
def test_only_what_may_go_on_is_unreachable(rest: dict[str, int], word: str) -> None:
    clock, reader = ManualClock(START + 190), FakeReader()
    batch = rows(20)
    if rest:
        batch = replace(batch, hparams={"total_training_steps": 20})
    session = a_session(batch, clock=clock, reader=reader)
    (run,) = session.runs()
    reader.out_of_reach = session.logdirs
    session.refresh_progress()
    assert run.verdict.state_word == word


# -- time ----------------------------------------------------------------------------------


def test_elapsed_and_eta_from_wall_times() -> None:
    progress = progress_of(rows(21, hparams={"max_steps": 100}), at=200)
    assert (progress.elapsed_s, progress.elapsed_derived) == (200.0, False)
    assert progress.eta_s == pytest.approx(79 * 10)
    assert progress.share == pytest.approx(0.21)


def test_progress_and_eta_count_the_axis_of_most_tags() -> None:
    tags = {t: [1.0] * 20 for t in ("a", "b", "c")}
    losses = rows(20, tags=tags, hparams={"max_steps": 40})
    seconds = rows(20, stride=10, tags={"reward/time": [1.0] * 20})
    found = progress_of(replace(losses, items=losses.items + seconds.items), at=200)
    assert (found.last_step, found.total_steps, found.share) == (20, 40, 0.5)
    assert found.eta_s == pytest.approx(200)


def test_eta_follows_the_present_pace() -> None:
    walls = [START + t for t in [*range(0, 1000, 10), *range(1000, 2000, 5)]]
    block = a_block({"x": [1.0] * 300}, walls=walls)
    source = a_source("e", modified=START + 1995)
    progress = progress_of(a_batch(block, source=source, hparams={"max_steps": 400}), at=1995)
    assert progress.eta_s == pytest.approx(100 * 5.0)


def test_without_wall_times_elapsed_is_the_sum_of_step_times_and_marked() -> None:
    tags = {"actor/entropy": [0.5] * 10, "timing_s/step": [4.0] * 10, "actor/pg_loss": [0.1] * 10}
    run = view_of(rows(10, every=None, tags=tags, hparams={"total_training_steps": 20}), at=30)
    progress = run.progress
    assert run.data.extent.last_wall_time == run.data.files.modified  # no row is younger
    assert (progress.elapsed_s, progress.elapsed_derived) == (40.0, True)
    assert progress.eta_s == pytest.approx(40.0)
    assert progress.age_s == 30.0


def test_a_run_beyond_its_total_is_not_over_100_percent() -> None:
    progress = progress_of(rows(30, hparams={"max_steps": 20}), at=290)
    assert (progress.share, progress.eta_s) == (1.0, 0.0)


# -- planned steps -------------------------------------------------------------------------


@pytest.mark.parametrize("name", load_catalogue().roles.total_steps)
def test_totals_from_hyperparameters(name: str) -> None:
    assert progress_of(rows(5, hparams={name: 500})).total_steps == 500
    assert progress_of(rows(5, hparams={name: "500"})).total_steps == 500
    assert progress_of(rows(5, hparams={name: 5e5})).total_steps == 500_000


@pytest.mark.parametrize("value", [-1, 0, None, "many", True, NAN, float("inf"), [5]])
def test_totals_that_are_none(value: object) -> None:
    assert progress_of(rows(5, hparams={"max_steps": value})).total_steps is None


def total_of(tmp_path: Path, raw: str) -> int | None:
    """The planned steps of an event file that holds ``raw`` as a text, through the decoder."""
    path = tmp_path / "events.out.tfevents.1.h"
    data = event(1, START, text(b"args/text_summary", raw.encode())) + b"".join(
        event(s, START + s, simple(b"train/loss", 1.0)) for s in range(1, 6)
    )
    path.write_bytes(header() + data)
    session = Session([tmp_path], clock=ManualClock())
    session.read_all()
    found = session.runs()[0].progress
    return found.total_steps


@pytest.mark.parametrize("raw", ["{", "{}", "[]", '{"max_steps": -1}', "max_steps", "{]\n|a|b|"])
def test_texts_without_a_total(tmp_path: Path, raw: str) -> None:
    assert total_of(tmp_path, raw) is None


def test_totals_from_the_markdown_table_of_cleanrl(tmp_path: Path) -> None:
    raw = "|param|value|\n|-|-|\n|exp_name|ppo|\n|total_timesteps|500000|\n|seed|1|"
    assert total_of(tmp_path, raw) == 500_000


# -- reading -------------------------------------------------------------------------------


def test_a_drain_ends_when_its_time_is_over() -> None:
    class Racing(ManualClock):
        def monotonic(self) -> float:
            self.advance(0.02)
            return super().monotonic()

    reader = FakeReader()
    session = a_session(reader=reader, clock=Racing())
    reader.feed(*[grpo_batch(1, first=i + 1) for i in range(40)])
    session.drain(0.05)
    assert session.busy
    assert 0 < len(reader.queue) < 40
    while session.busy:
        session.drain(0.05)
    assert not reader.queue


# -- what the user says --------------------------------------------------------------------


def overridden(**overrides: MetricOverride) -> JudgedRun:
    named = {k.replace("__", "/"): v for k, v in overrides.items()}
    config = Config(metrics=named)
    return a_session(grpo_batch(60), config=config, clock=grpo_clock()).runs()[0]


def test_overrides_by_metric_and_by_tag() -> None:
    run = overridden(
        entropy=MetricOverride(title="Unsicherheit", category="other"),
        my__own_metric=MetricOverride(title="mine", low=0.0, high=2.0, category="actor"),
    )
    entropy, own = run.infos["actor/entropy"], run.infos["my/own_metric"]
    assert (entropy.title, entropy.category.value) == ("Unsicherheit", "other")
    assert (own.title, own.category.value) == ("mine", "actor")
    assert (own.healthy.low, own.healthy.high) == (0.0, 2.0)


@pytest.mark.parametrize(
    ("low", "level", "shown"),
    [(0.0, Level.OK, "≥ 0"), (0.01, Level.OK, "≥ 0.01"), (9, Level.BAD, "≥ 9")],
)
def test_what_is_said_of_a_tag_and_a_range_of_the_user_win(
    low: float, level: Level, shown: str
) -> None:
    metric, tag = MetricOverride(low=low, title="metric"), MetricOverride(title="tag")
    run = overridden(entropy=metric, actor__entropy=tag)
    assert run.infos["actor/entropy"].title == "tag"
    judged = run.verdict.judgement("actor/entropy")
    assert (judged.level, sentences.healthy_short(judged)) == (level, shown)
    assert sentences.healthy(judged) == f"{shown} (your range)"
    found = {f.rule for f in run.firing() if f.tag == "actor/entropy"}
    assert found == ({"own_range", "entropy_collapse"} if level is Level.BAD else set())


def test_an_unknown_category_in_an_override_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown category 'nope'"):
        overridden(entropy=MetricOverride(category="nope"))


def test_the_fake_reader_has_the_face_of_the_real_one() -> None:
    face = {n for n in vars(FakeReader()) | vars(FakeReader) if not n.startswith("_")}
    extra = {"queue", "share", "running", "calls", "feed", "given", "lost", "replaced"}
    real = set(dir(Reader)) | set(vars(Reader([]))) | set(dir(ReaderState))
    assert face - extra <= real


# -- the times in the log win over those of its files ---------------------------------------

DAY = 24 * HOUR


def copied(count: int = 20, *, at: float, every: float | None = 10.0) -> Batch:
    """Rows as :func:`rows` makes them, in a file that was written ``at`` seconds after START."""
    batch = rows(count, every=every)
    return replace(batch, source=batch.source._replace(modified=START + at))


@pytest.mark.parametrize(
    ("old", "state"),
    [
        *((30 * DAY, RunState.STOPPED), (2 * HOUR, RunState.STALLED)),
        *((20 * 60.0, RunState.STALLED), (30.0, RunState.LIVE)),
    ],
)
def test_a_copy_is_as_old_as_its_last_row(old: float, state: RunState) -> None:
    at = 190.0 + old
    found = progress_of(copied(at=at), at=at)
    assert found.state is state
    if old > 900:
        assert found.written_at == START + 190.0
        assert found.age_s == old // (DAY if old >= DAY else 60) * (DAY if old >= DAY else 60)


@pytest.mark.parametrize(
    ("age", "shown"),
    [(59.0, 30.0), (3_599.0, 3_540.0), (DAY - 1, DAY - 60), (DAY, DAY), (2.9 * DAY, 2 * DAY)],
)
def test_an_age_is_shown_in_coarse_steps(age: float, shown: float) -> None:
    known = progress_of(rows(5), at=0.0)._replace(written_at=START, done=True)
    assert aged(known, START + age).age_s == shown
    assert known.limits.ended_after_s == DAY


def test_output_between_two_rows_is_a_sign_of_life() -> None:
    """Rows come each half hour; the file was written an hour after the last one."""
    at = 19 * 1800.0 + HOUR
    assert progress_of(copied(every=1800.0, at=at), at=at).state is RunState.LIVE


def test_a_clock_that_is_some_minutes_off_does_not_stall_a_run() -> None:
    for off in (-600.0, 600.0):
        batch = rows(20)
        source = batch.source._replace(modified=START + 190 + off)
        found = progress_of(replace(batch, source=source), at=190 + off)
        assert found.state is RunState.LIVE, off


def test_times_in_the_future_are_no_times() -> None:
    batch = rows(20)
    source = batch.source._replace(modified=START - 9 * HOUR)
    assert progress_of(replace(batch, source=source), at=-5 * HOUR).written_at == START - 9 * HOUR


def watching(*batches: Batch, at: float) -> Callable[..., RunState]:
    """A session that has read ``batches``, ``at`` seconds after START; its result lets some
    seconds pass, then feeds a batch, and returns the state."""
    clock, reader = ManualClock(START + at), FakeReader()
    session = a_session(*batches, reader=reader, clock=clock)

    def state(seconds: float = 0.0, batch: Batch | None = None) -> RunState:
        clock.advance(seconds)
        if batch is not None:
            source = batch.source._replace(modified=clock.now(), size=clock.now() - START)
            reader.feed(replace(batch, source=source))
        session.drain()
        session.refresh_progress()
        found = session.runs()[0].progress
        return found.state

    return state


def test_rows_that_come_while_they_are_watched_are_signs_of_life() -> None:
    """The clock of the node is an hour behind."""
    first = copied(at=190 + HOUR)
    state = watching(first, at=190 + HOUR)
    assert state() is RunState.STALLED
    assert state(20, rows(1, first=21)) is RunState.LIVE
    assert state(50) is RunState.LIVE
    assert state(30) is RunState.STALLED


def test_lines_without_rows_are_no_signs_of_life() -> None:
    """Health checks come every ten seconds, while the training hangs."""
    state = watching(rows(20), at=190)
    chatter = replace(rows(20), items=())
    found = [state(10, chatter) for _ in range(12)]
    assert found == [RunState.LIVE] * 6 + [RunState.STALLED] * 6


def measured(count: int, *, every: float, step: int) -> Batch:
    """What a tracker measures of the machine, beside a training that stands at a step."""
    walls = [START + every * i for i in range(count)]
    block = a_block({"system/cpu": [0.5] * count}, steps=[step] * count, walls=walls)
    return a_batch(block, source=a_source("e", modified=walls[-1]))


def test_what_a_tracker_measures_is_no_sign_of_life() -> None:
    """A training of 20 steps hangs; the helper of its tracker goes on."""
    at = 190 + 61.0
    found = progress_of(rows(20), measured(17, every=15.0, step=20), at=at)
    assert (found.state, found.written_at) == (RunState.STALLED, START + 190)

    state = watching(rows(20), at=190)
    assert [state(15, measured(1, every=1, step=20)) for _ in range(5)].count(RunState.STALLED) == 1


def test_what_a_tracker_measures_is_no_pace() -> None:
    """Ten times in each step of ten minutes."""
    machine = measured(200, every=60.0, step=1)
    block = machine.blocks[0]
    block = replace(block, steps=block.steps + np.arange(200) // 10)
    found = progress_of(rows(20, every=600.0), replace(machine, items=(block,)), at=19 * 600 + 900)
    assert (found.interval_s, found.state) == (600.0, RunState.LIVE)


def test_a_log_without_times_has_the_pace_that_was_seen() -> None:
    state = watching(rows(2, every=None), at=0)
    for n in range(3, 10):
        assert state(400, rows(1, every=None, first=n)) is RunState.LIVE
    assert state(1900) is RunState.LIVE
    assert state(200) is RunState.STALLED


@cases(__file__, "test_a_stamp_without_a_zone_shows_a_copy_of_an_old_console")
def test_a_stamp_without_a_zone_shows_a_copy_of_an_old_console(line: str, old: bool) -> None:
    """START is 2027-01-15, 08:00 UTC."""
    source = a_source("stdout.log", format="console", precision_rank=1, modified=START)
    source = source._replace(clock=Console().decoder().feed(f"{line}\n".encode()).clock)
    block = a_block({"x": [1.0] * 5}, walls=[NAN] * 5)
    batch = replace(a_batch(block, source=source), tail=LogTail((line,), 0))
    assert progress_of(batch).state is (RunState.STOPPED if old else RunState.LIVE)


@pytest.mark.parametrize(("rows_behind", "old"), [(0, True), (1, False), (MANY, False)])
def test_a_stamp_shows_a_copy_unless_a_row_follows_it(rows_behind: int, old: bool) -> None:
    clock = LogClock(START - 8 * DAY, 900.0, 5, rows_behind)
    source = a_source("stdout.log", format="console", precision_rank=1, modified=START)
    block = a_block({"x": [1.0] * 5}, walls=[NAN] * 5)
    found = progress_of(a_batch(block, source=source._replace(clock=clock)))
    assert found.state is (RunState.STOPPED if old else RunState.LIVE)
    assert found.age_s == (8 * DAY if old else 0.0)


def test_times_by_a_bar_hide_no_copy() -> None:
    """The begin of a bar is reckoned from the change of its file, which is that of the copy."""
    console = a_source("stdout.log", format="console", precision_rank=1, modified=START + 8 * DAY)
    bars = a_block({"loss": [1.0] * 20}, walls=[10.0 * n for n in range(20)])
    log = a_batch(bars, source=console._replace(clock=LogClock(190.0, 1.0)))
    found = progress_of(copied(at=8 * DAY), log, at=8 * DAY)
    assert found.written_at == START + 190.0
    assert found.age_s == 7 * DAY
