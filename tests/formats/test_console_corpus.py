"""Every text log of the corpora is read right: against the event file or JSON lines of the same
run, within what was printed; of published logs the rows and steps are known.

Skips where the corpora are not beside the repository.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import NamedTuple

import pytest

from rltui.core.batch import Restart
from rltui.formats import FORMATS, Decoded
from rltui.formats.console import Console
from tests.formats import encode
from tests.ids import path_id
from tests.places import CORPORA

pytestmark = pytest.mark.skipif(not CORPORA.is_dir(), reason=f"no corpora at {CORPORA}")

Values = dict[str, dict[int, list[float]]]


def decoded(path: Path) -> list[Decoded]:
    """Fed in pieces that split rows."""
    data = path.read_bytes()
    console = Console()
    assert console.claims_name(path.name)
    return encode.feed_all(console.decoder(None, path), data, piece=50_000)


def read(path: Path) -> list[Decoded]:
    data = path.read_bytes()
    form = next(f for f in FORMATS if f.claims_name(path.name) and f.claims(path, data[:65536]))
    assert form.name != "console"
    return encode.feed_all(form.decoder(None, path), data)


def values(parts: list[Decoded]) -> Values:
    found: Values = {}
    for tag, points in encode.points_of(parts).items():
        for step, _, raw in points:
            found.setdefault(tag, {}).setdefault(step, []).append(struct.unpack("<d", raw)[0])
    return found


class Case(NamedTuple):
    log: str
    """Below ``dev``."""
    exact: str
    """The same run, exact: a file or a pattern."""
    digits: int
    """Significant digits that were printed."""
    tags: int
    """How many tags both have."""


CASES = (
    Case("verl/grpo_healthy/stdout.log", "tiny_verl/grpo_healthy.jsonl", 15, 139),
    Case("verl/grpo_lr_nan/stdout.log", "tiny_verl/grpo_lr_nan.jsonl", 15, 139),
    Case("verl/grpo_healthy/stdout.log", "tensorboard_log/*/*/events*", 6, 139),
    Case("trl/dpo_healthy/stdout.log", "runs/events*", 4, 34),
    Case("trl/grpo_healthy/stdout.log", "runs/events*", 4, 29),
    Case("trl/grpo_log_completions/stdout.log", "runs/events*", 4, 31),
    Case("trl/sft_grad_explosion/stdout.log", "runs/events*", 4, 18),
    Case("trl/sft_healthy/stdout.log", "runs/events*", 4, 18),
    Case("trl/sft_nan/stdout.log", "runs/events*", 4, 18),
    Case("trl/sft_tqdm_stdout/stdout.log", "runs/events*", 4, 18),
    Case("sb3/dqn_cartpole_healthy/log.txt", "events*", 3, 6),
    Case("sb3/ppo_cartpole_healthy/log.txt", "events*", 3, 12),
    Case("sb3/ppo_cartpole_healthy/stdout.log", "events*", 3, 12),
    Case("sb3/ppo_cartpole_lr_high/log.txt", "events*", 3, 12),
    Case("sb3/ppo_cartpole_lr_zero/log.txt", "events*", 3, 12),
    Case("sb3/ppo_pendulum_critic_bad/log.txt", "events*", 3, 13),
    Case("sb3/sac_pendulum_healthy/log.txt", "events*", 3, 8),
    Case("cleanrl/runs/CartPole-v1__ppo__1__1795163526/stdout.log", "events*", 6, 1),
)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.log} - {c.exact}"[-59:])
def test_values_are_those_of_the_exact_log(case: Case) -> None:
    log = CORPORA / "dev" / case.log
    exact = values(read(next(log.parent.glob(case.exact))))
    rounded = values(decoded(log))
    shared = [t for t in rounded if t in exact and t != "charts/SPS"]
    assert len(shared) == case.tags
    for tag in shared:
        assert list(rounded[tag]) == list(exact[tag]), tag
        for step, printed in rounded[tag].items():
            for one, other in zip(printed, exact[tag][step], strict=True):
                assert _agree(one, other, case), (tag, step, one, other)


def _agree(printed: float, exact: float, case: Case) -> bool:
    if math.isnan(printed) or math.isnan(exact):
        return math.isnan(printed) and math.isnan(exact)
    return math.isclose(printed, exact, rel_tol=6 * 10.0**-case.digits, abs_tol=1e-30)


@pytest.mark.parametrize(
    ("log", "steps", "counted"),
    [
        ("trl_old_ppo/ppo_healthy/stdout.log", 150, False),
        ("trl_old_ppo/ppo_length_collapse/stdout.log", 150, False),
        ("trl_old_ppo/ppo_reward_collapse/stdout.log", 100, False),
        ("trl_old_ppo/ppo_weak_critic/stdout.log", 200, False),
        ("trl/sft_healthy/stdout.log", 300, True),
    ],
)
def test_steps_are_complete(log: str, steps: int, counted: bool) -> None:
    parts = decoded(CORPORA / "dev" / log)
    found = sorted({step for series in values(parts).values() for step in series})
    assert found == list(range(found[0], found[0] + steps))
    assert parts[-1].steps_are_row_numbers is counted


PUBLIC = (
    # log, rows, first and last step, tags, tag and its values at the ends
    ("minimind_dpo/dpo.log", 215, 20, 4292, 5, "dpo_loss", 0.6605, 0.3476),
    ("minimind_grpo_flat/grpo.log", 2571, 1, 2571, 7, "Reward", -2.3041, -1.9398),
    ("own_dpo_loop/dpo_train_20260105_1", 539, 1, 490, 4, "loss", 0.1386, None),
    ("sb3_combat_console/train.log", 30, 2048, 51200, 18, "rollout/ep_rew_mean", None, None),
    ("sb3_sac_isaacsim/iter_002.log", 1721, 1000128, 1288640, 11, "train/ent_coef", None, None),
    ("sb3_sac_isaacsim_plateau/iter_095_lr1e4.log", 1639, 38320128, 38884448, 11, None, 0, 0),
    ("trl_finqa_zero_std/train.log", 1246, 1, 1246, 23, "train/loss", 0.1367, 0.0),
    ("trl_hotpotqa_v2/grpo_v2.log", 46, 20, 920, 9, "train/loss", 0.0043, None),
    ("trl_hotpotqa_v3/grpo_v3.log", 47, 20, 936, 13, "train/kl", None, None),
    (
        "verl_guicursor_two_steps/verl_demo.log",
        2,
        1,
        2,
        69,
        "actor/grad_norm",
        0.914237380027771,
        0,
    ),
    ("verl_opd_collapse_to_1_token/output.log", 262, 0, 261, 270, "actor/entropy", None, None),
    ("verl_opd_healthy_a/output.log", 49, 1, 49, 127, "actor/entropy", None, None),
    ("verl_opd_length_collapse/output.log", 60, 0, 59, 270, "actor/entropy", None, None),
    ("verl_opd_long_healthy/output.log", 180, 0, 179, 234, "actor/entropy", None, None),
    ("verl_opd_no_progress/output.log", 30, 0, 29, 274, "actor/entropy", None, None),
    ("verl_opd_truncation/output.log", 160, 0, 159, 238, "actor/entropy", None, None),
)


@pytest.mark.parametrize("known", PUBLIC, ids=lambda k: k[0])
def test_published_logs(known: tuple[str, int, int, int, int, str | None, float, float]) -> None:
    log, _, first, last, tags, tag, begin, end = known
    path = CORPORA / "public" / log
    data = path.read_bytes()
    parts = decoded(path)
    assert not [i for p in parts for i in p.items if isinstance(i, Restart)]
    found = values(parts)
    steps = {step for series in found.values() for step in series}
    assert (min(steps), max(steps), len(found)) == (first, last, tags)
    assert Console().claims(path, data[:65536])
    if tag is not None and begin:
        assert found[tag][min(found[tag])][0] == begin
    if tag is not None and end:
        assert found[tag][max(found[tag])][-1] == end


@pytest.mark.parametrize("run", ["gigpo", "grpo"])
def test_a_resumed_training_in_one_file_and_in_two(run: str) -> None:
    folder = CORPORA / "public" / f"verl_searchr1_{run}_resumed"
    before, after = sorted(folder.glob("*.log"))
    assert "pre_resume" in before.name
    first, second = values(decoded(before)), values(decoded(after))
    assert list(first["actor/grad_norm"]) == list(range(1, 150))
    assert list(second["actor/grad_norm"]) == list(range(101, 301))
    both = encode.feed_all(Console().decoder(), before.read_bytes() + after.read_bytes())
    assert [i.step for p in both for i in p.items if isinstance(i, Restart)] == [101]


@pytest.mark.parametrize(
    "log", sorted(p.relative_to(CORPORA) for p in CORPORA.glob("dev/**/stdout.log")), ids=path_id
)
def test_logs_without_rows_are_not_claimed(log: Path) -> None:
    rows = {"verl", "trl", "trl_old_ppo", "sb3", "cleanrl"}
    claimed = Console().claims(CORPORA / log, (CORPORA / log).read_bytes()[:65536])
    assert claimed is (log.parts[1] in rows)
