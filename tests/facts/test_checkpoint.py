"""The checkpoint to go back to, and what was spent since."""

import pytest

from rltui.catalogue.settings import gpus_of
from rltui.facts.checkpoint import checkpoint_words, last_good_checkpoint
from rltui.output.json_document import run_entry
from rltui.output.text_report import run_lines
from rltui.session import JudgedRun
from tests.builders import a_batch, a_block
from tests.fakes import a_session
from tests.tables import cases

VERL = {"trainer.n_gpus_per_node": 8, "trainer.nnodes": 8}
N = 127


def the_run(config: dict[str, int], *, sick: bool = True, seconds: float | None = 15) -> JudgedRun:
    end = [float("nan")] * 37 if sick else [0.1] * 37
    tags = {
        "actor/pg_loss": [0.1] * 90 + end,
        "actor/grad_norm": [0.2] * 90 + end,
        "actor/entropy": [1.0] * N,
        "timing_s/save_checkpoint": [9.0 if s % 20 == 0 else None for s in range(1, N + 1)],
    }
    if seconds is not None:
        tags["timing_s/step"] = [seconds] * N
    return a_session(a_batch(a_block(tags), hparams=config)).runs()[0]


def test_what_was_spent_since_the_last_good_checkpoint() -> None:
    run = the_run({f"config.{name}": n for name, n in VERL.items()})
    found = last_good_checkpoint(run)
    assert found[:3] == (80, 47, 64)
    assert found.gpu_hours == pytest.approx(47 * 64 * 15 / 3600)
    words = "last good: checkpoint step 80; 47 steps × 64 GPUs = 12.5 GPU-hours since"
    assert sum(words in line for line in run_lines(run)) == 1
    assert run_entry(run)["last_good_checkpoint"] == found._asdict()


def test_without_gpus_or_step_times_what_is_known_is_said() -> None:
    run = the_run({})
    assert checkpoint_words(run, last_good_checkpoint(run)) == "checkpoint step 80; 47 steps since"
    found = last_good_checkpoint(the_run(VERL, seconds=None))
    assert found.gpu_hours == pytest.approx(47 * 64 / 3600)  # rows come once a second


def test_a_run_that_is_not_bad_has_none() -> None:
    run = the_run(VERL, sick=False)
    assert last_good_checkpoint(run) is None
    assert run_entry(run)["last_good_checkpoint"] is None


@cases(__file__, "gpus_are_as_the_configuration_says")
def test_gpus_are_as_the_configuration_says(
    settings: dict[str, object], expected: list[int] | None
) -> None:
    assert gpus_of(settings) == (expected and tuple(expected))
