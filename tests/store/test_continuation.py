"""Several attempts in one folder: a log goes on with the one whose values it continues."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import rltui
from rltui.core.block import Block
from rltui.store import Store
from tests.builders import a_batch, a_block, a_source

RNG = np.random.default_rng(5)


def rewards(first: int, last: int, begin: float, end: float) -> Block:
    """A course of rewards with noise, and what all attempts log alike."""
    steps = np.arange(first, last + 1)
    values = np.linspace(begin, end, len(steps)) + 0.01 * RNG.standard_normal(len(steps))
    rate = 1e-3 * (1 - steps / 200)
    return a_block({"reward": values.tolist(), "lr": rate.tolist()}, first=first)


WELL, COLLAPSED = rewards(1, 60, 0.1, 0.796), rewards(1, 60, 0.1, 0.3)
LONGER = rewards(1, 90, 0.1, 0.2)
RESUMED = rewards(61, 120, 0.81, 0.9)


def read(*files: Block) -> Store:
    store = Store()
    for order, block in enumerate(files):
        source = a_source(f"events.{order}", order, records=len(block.steps))
        store.apply(a_batch(block, source=source, waiting=len(files) - 1 - order))
    return store


def ends(store: Store) -> dict[str, tuple[int, float, float]]:
    """Run -> last step, reward at step 60 and at the end."""
    found = {}
    for key, run in store.runs.items():
        series = run.series("reward")
        at = float(series.values[np.searchsorted(series.steps, 60)])
        found[key.name] = int(series.steps[-1]), round(at, 1), round(float(series.values[-1]), 1)
    return found


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(order, id="-".join(names))
        for names, order in (
            (("well", "collapsed", "resumed"), (WELL, COLLAPSED, RESUMED)),
            (("collapsed", "well", "resumed"), (COLLAPSED, WELL, RESUMED)),
            (("well", "longer", "resumed"), (WELL, LONGER, RESUMED)),
            (("longer", "well", "resumed"), (LONGER, WELL, RESUMED)),
        )
    ],
)
@pytest.mark.parametrize("live", [False, True])
def test_a_log_goes_on_with_the_attempt_whose_values_it_continues(
    files: tuple[Block, ...], live: bool
) -> None:
    if live:
        store = Store()
        for order, block in enumerate(files):
            source = a_source(f"events.{order}", order, records=len(block.steps))
            store.apply(a_batch(block, source=source))
    else:
        store = read(*files)
    found = sorted(ends(store).values())
    other = LONGER if LONGER in files else COLLAPSED
    assert found[-1] == (120, 0.8, 0.9)
    assert len(found) == 2
    assert found[0][0] == int(other.steps[-1])
    assert found[0][1] < 0.4
    assert all(run.extent.restarts == () for run in store.runs.values())


def test_what_follows_goes_where_its_log_went() -> None:
    store = read(COLLAPSED, WELL, RESUMED)
    source = a_source("events.2", 2, records=80)
    store.apply(a_batch(rewards(121, 140, 0.9, 0.9), source=source))
    assert max(last for last, _, _ in ends(store).values()) == 140


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_attempts_that_look_alike_stay_where_they_are(order: tuple[int, ...]) -> None:
    """Nothing tells them apart: the last one counts, as after any restart."""
    alike = rewards(1, 60, 0.1, 0.77), rewards(1, 80, 0.1, 1.0), RESUMED
    store = read(*(alike[n] for n in order))
    assert len(store.runs) == 1


def test_files_that_resume_each_other_are_one_run() -> None:
    parts = [rewards(1 + 50 * n, 60 + 50 * n, 0.1 * n, 0.1 * n + 0.12) for n in range(9)]
    store = read(*parts)
    assert list(ends(store).values()) == [(460, 0.1, 0.9)]


def write(path: Path, block: Block) -> None:
    """The rows of a block as JSON lines."""
    rows = zip(block.steps.tolist(), block.values.tolist(), strict=True)
    names = block.tags
    path.write_text(
        "".join(f"{json.dumps({'step': s} | dict(zip(names, v, strict=True)))}\n" for s, v in rows)
    )


@pytest.mark.parametrize(
    ("resumed", "expected"),
    [
        (RESUMED, {"attempt1": 60, "attempt2": 120}),
        (rewards(61, 120, 0.3, 0.3), {"attempt1": 120, "attempt2": 60}),
        (rewards(61, 120, 0.55, 0.6), {"attempt1": 60, "attempt2": 60, "attempt3": 120}),
    ],
    ids=["of the second", "of the first", "of neither"],
)
def test_files_of_their_own_names(tmp_path: Path, resumed: Block, expected: dict[str, int]) -> None:
    for name, block in (("attempt1", COLLAPSED), ("attempt2", WELL), ("attempt3", resumed)):
        write(tmp_path / f"{name}.jsonl", block)
    found = {run.name: int(run["reward"].steps[-1]) for run in rltui.read(tmp_path)}
    assert found == expected
