"""Demo runs: verl's tags in real event files, the same for equal seeds, each with its story."""

import itertools
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from rltui.core.errors import UsageError
from rltui.demo import SCENARIOS, DemoRun, DemoWriter
from tests import event_files
from tests.clock import ManualClock

Points = dict[str, tuple[np.ndarray, np.ndarray]]

#: verl logs these on GPUs; the runs of the corpus were made without any.
GPU_TAGS = {
    "actor/perf/max_memory_allocated_gb",
    "actor/perf/max_memory_reserved_gb",
    "perf/mfu/actor",
    "timing_s/update_weights",
}


#: Scenarios that are one run of verl.
VERL = [s.id for s in SCENARIOS.values() if s.trainer == "verl" and not s.runs]


def events(directory: Path) -> list[tuple[str, int, float, float]]:
    """(tag, step, wall time, value) of every record."""
    return [
        (v.tag, event.step, event.wall_time, v.simple_value)
        for path in sorted(directory.rglob("events.out.tfevents.*"))
        for event in event_files.events(path.read_bytes())
        for v in event.summary.value
    ]


def columns(directory: Path) -> Points:
    points: dict[str, list[tuple[int, float]]] = {}
    for tag, step, _, value in events(directory):
        points.setdefault(tag, []).append((step, value))
    return {t: tuple(np.array(c) for c in zip(*p, strict=True)) for t, p in points.items()}  # type: ignore[misc]


def whole_run(directory: Path, scenario: str, seed: int = 1, total: int = 200) -> Points:
    with closing(DemoRun(directory, scenario, seed, total, clock=ManualClock())) as run:
        run.write_history(total)
        assert run.finished
    return columns(directory)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Points]:
    told = ("healthy", "entropy-collapse", "kl-blowup", "nan")
    return {
        s: whole_run(tmp_path_factory.mktemp(s), s, total=200 if s in told else 20) for s in VERL
    }


def values(points: Points, tag: str) -> np.ndarray:
    return points[tag][1]


def test_scenarios_are_described() -> None:
    assert list(SCENARIOS)[:4] == ["healthy", "entropy-collapse", "kl-blowup", "nan"]
    for key, scenario in SCENARIOS.items():
        assert scenario.id == key
        assert "\n" not in scenario.summary
        assert len(scenario.summary) <= 90
    assert SCENARIOS["kl-blowup"].onset_of(100) == 30


def test_tags_are_those_of_verl(runs: Mapping[str, Points], corpus: Path) -> None:
    logged = {tag for tag, *_ in events(corpus / "verl/grpo_healthy/tensorboard_log")}
    for points in runs.values():
        assert points.keys() - logged == GPU_TAGS
        assert 60 <= len(points) <= 100


@pytest.mark.parametrize("scenario", ["entropy-collapse", "kl-blowup", "nan"])
def test_a_sick_run_is_healthy_before_its_onset(runs: Mapping[str, Points], scenario: str) -> None:
    onset = SCENARIOS[scenario].onset
    assert onset is not None
    for tag in ("actor/entropy", "actor/ppo_kl", "actor/grad_norm", "critic/score/mean"):
        before = values(runs[scenario], tag)[: onset - 1]
        assert before.tolist() == values(runs["healthy"], tag)[: onset - 1].tolist(), tag


def test_story_of_nan(runs: Mapping[str, Points]) -> None:
    points = runs["nan"]
    norm = values(points, "actor/grad_norm")
    assert np.isfinite(norm[:62]).all()
    assert norm[61] > 50 * np.median(norm[:59])
    for tag in ("grad_norm", "loss", "pg_loss", "entropy", "ppo_kl", "kl_loss"):
        assert np.isnan(values(points, f"actor/{tag}")[62:]).all(), tag
    assert (values(points, "actor/pg_clipfrac")[62:] == 0).all()
    assert (values(points, "critic/score/mean")[62:] == 0).all()
    assert (values(points, "response_length/clip_ratio")[62:] == 1).all()
    assert (values(points, "response_length/mean")[62:] == 1024).all()
    for tag in ("timing_s/step", "perf/throughput", "critic/score/mean", "actor/lr"):
        assert np.isfinite(values(points, tag)).all(), tag


def test_equal_seeds_give_equal_runs(tmp_path: Path) -> None:
    one = whole_run(tmp_path / "1", "kl-blowup", 7, 40)
    two = whole_run(tmp_path / "2", "kl-blowup", 7, 40)
    other = whole_run(tmp_path / "3", "kl-blowup", 8, 40)
    assert one.keys() == two.keys()
    assert all(one[t][1].tolist() == two[t][1].tolist() for t in one)
    assert one["actor/entropy"][1].tolist() != other["actor/entropy"][1].tolist()


def test_history_ends_now_and_times_never_run_backwards(tmp_path: Path) -> None:
    clock = ManualClock(2_000_000_000.0)
    with closing(DemoRun(tmp_path, "healthy", 3, 30, clock=clock)) as run:
        run.write_history(20)
        assert run.step == 20
        clock.advance(-5)  # a clock that was set back
        assert run.write_step()
        clock.advance(60)
        assert run.write_step()
        found = events(tmp_path)
    walls = [wall for _, _, wall, _ in found]
    assert all(a <= b for a, b in itertools.pairwise(walls))
    history = [wall for _, step, wall, _ in found if step <= 20]
    assert history[-1] == pytest.approx(2_000_000_000.0, abs=0.01)
    assert 12 < history[-1] - history[0] < 40
    assert walls[-1] == pytest.approx(2_000_000_055.0, abs=0.01)
    assert [s for t, s, *_ in found if t == "actor/lr"] == list(range(1, 23))


def test_a_run_ends_at_its_last_step(tmp_path: Path) -> None:
    with closing(DemoRun(tmp_path, "healthy", 3, 5, clock=ManualClock())) as run:
        run.write_history(100)
        assert (run.step, run.finished, run.next_duration) == (5, True, 0.0)
        assert not run.write_step()
        run.write_history(100)
    assert max(step for _, step, *_ in events(tmp_path)) == 5


def test_what_is_written_can_be_read_at_once(tmp_path: Path) -> None:
    with closing(DemoRun(tmp_path, "healthy", 3, clock=ManualClock())) as run:
        run.write_step()
        assert {step for _, step, *_ in events(tmp_path)} == {0}
        run.write_step()
        assert {step for _, step, *_ in events(tmp_path)} == {0, 1}
        assert run.directory == tmp_path


def test_tensorboard_itself_reads_it(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    with closing(DemoRun(tmp_path, "nan", 3, 3, clock=ManualClock())) as run:
        run.write_history(3)
    (path,) = tmp_path.glob("events.*")
    loaded = list(LegacyEventFileLoader(str(path)).Load())
    assert {event.step for event in loaded if event.summary.value} == {0, 1, 2, 3}
    assert loaded == list(event_files.events(path.read_bytes()))


def test_wrong_requests(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'kl-blowup'"):
        DemoRun(tmp_path, "kl-blow", 1)
    with pytest.raises(UsageError, match="at least one step"):
        DemoRun(tmp_path, "healthy", 1, 0)
    assert list(tmp_path.iterdir()) == []


def test_the_writer_writes_all_steps(tmp_path: Path) -> None:
    waits: list[float] = []
    done = threading.Event()
    run = DemoRun(tmp_path, "healthy", 3, 4, clock=ManualClock())

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        if run.step == 3:
            done.set()
        return False

    writer = DemoWriter(run, wait=wait)
    writer.start(speed=2.0)
    assert done.wait(30)
    writer.stop()
    assert len(waits) == 5
    durations = values(columns(tmp_path), "timing_s/step")
    assert waits[0] == 0
    np.testing.assert_allclose(np.array(waits[1:]) * 2, durations, rtol=1e-6)


def test_the_writer_stops_in_the_middle_of_a_wait(tmp_path: Path) -> None:
    """With the real wait and a step that takes an hour: stop() returns all the same."""
    run = DemoRun(tmp_path, "healthy", 3, 4, clock=ManualClock())
    run.write_history(1)
    writer = DemoWriter(run)
    writer.start(speed=1 / 3600)
    writer.stop()
    assert run.step == 1


def test_the_writer_reports_what_went_wrong(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file where the directory should be")
    writer = DemoWriter(DemoRun(tmp_path / "run", "healthy", 3), wait=lambda seconds: False)
    writer.start()
    with pytest.raises(FileExistsError):
        writer.stop()
    writer.stop()


def test_a_history_leaves_the_first_paint_its_time(tmp_path: Path) -> None:
    run, at = DemoRun(tmp_path, "healthy", 3, 4, clock=ManualClock()), list[int]()

    def wait(_: float) -> bool:
        at.append(run.step)
        return run.step >= 2

    writer = DemoWriter(run, wait=wait)
    writer.start(history=2)
    writer.stop()
    assert (at[0], run.step) == (-1, 2)
