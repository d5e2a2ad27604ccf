"""Loops of one's own: a failure is found under the names that people give a figure, and a healthy
run is quiet under the same name.

The spellings are those of public training scripts (PPO, REINFORCE and DQN loops, GRPO from scratch,
nanoGPT descendants, Isaac and Gym examples); none is picked for a log.
"""

import math
import random
from collections.abc import Callable

import pytest

from rltui.core.level import Level
from tests.builders import a_batch
from tests.fakes import a_session
from tests.tables import table

SPELLINGS = table(__file__)["spellings"]
ROWS, TURN = 96, 48


def reward(x: float, ill: float) -> float:
    return 0.2 + 0.5 * min(1.0, 2.2 * x) - 0.65 * ill


def entropy(x: float, ill: float) -> float:
    return (1.6 - 0.5 * x) * (1.0 - ill) + 0.01


def of_level(level: float, factor: float) -> Callable[[float, float], float]:
    return lambda x, ill: level * (1.0 + factor * ill)


COURSES: dict[str, Callable[[float, float], float]] = {
    "reward": reward,
    "evaluation": reward,
    "success": lambda x, ill: (0.3 + 0.5 * min(1.0, 2.2 * x)) * (1.0 - 0.97 * ill),
    "entropy": entropy,
    "kl": of_level(0.006, 700),
    "gradient": of_level(0.8, 900),
    "value": lambda x, ill: 2.0 * math.exp(-1.5 * x) * (1.0 + 5000 * ill),
    "length": of_level(320, -0.97),
    "time": of_level(12, 5),
}
#: What is logged beside it: a healthy reward, but where that would be the same outcome.
ALONE = {"reward", "evaluation", "success"}


def level(concept: str, name: str, *, sick: bool) -> Level:
    """What a run is judged that logs a figure under a name."""
    noise = random.Random(f"{name} {sick}")
    values: list[float | None] = []
    for n in range(ROWS):
        ill = min(1.0, max(0.0, (n - TURN) / 16)) if sick else 0.0
        value = COURSES[concept](n / ROWS, ill) * (1.0 + 0.03 * noise.gauss(0, 1))
        scale = 100 if name in ("pct_solved", "percent_success") else 1
        scale = 1000 if "ms" in name.split("_") else scale
        skipped = concept == "evaluation" and n % 4
        values.append(None if skipped else scale * value)
    tags = {"loss": [1.0 / (1 + 0.01 * n) + 0.01 * noise.gauss(0, 1) for n in range(ROWS)]}
    if concept not in ALONE:
        tags["reward"] = [reward(n / ROWS, 0) + 0.02 * noise.gauss(0, 1) for n in range(ROWS)]
    found = a_session(a_batch({**tags, name: values})).runs()[0].report
    about = [f for f in found.findings if f.is_about(name)]
    return max((f.level for f in (about if sick else found.findings)), default=Level.OK)


@pytest.mark.parametrize("concept", SPELLINGS)
def test_a_failure_is_found_and_a_healthy_run_is_quiet(concept: str) -> None:
    names = SPELLINGS[concept].split()
    missed = [name for name in names if level(concept, name, sick=True) < Level.WATCH]
    noisy = [name for name in names if level(concept, name, sick=False) > Level.OK]
    assert (missed, noisy) == ([], [])
