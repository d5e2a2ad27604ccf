"""Text logs of real frameworks say what the event file of the same training says.

Skipped where the folder of logs is absent. Event files hold float32, the texts as many digits
as their writer gives.
"""

import math
from pathlib import Path
from typing import NamedTuple

import pytest

from rltui.formats import FORMATS
from rltui.formats.base import Format
from rltui.formats.console import Console
from tests.formats import encode
from tests.ids import path_id
from tests.places import CORPORA
from tests.tables import cases

DEV, PUBLIC = CORPORA / "dev", CORPORA / "public"
pytestmark = pytest.mark.skipif(not CORPORA.is_dir(), reason=f"no corpora at {CORPORA}")

#: tag -> [(step, value)] in the order of the log.
Values = dict[str, list[tuple[int, float]]]


class Pair(NamedTuple):
    """A text log, the exact log of the same training, and how they differ."""

    text: Path
    exact: Path
    only_exact: frozenset[str] = frozenset()
    """Tags that the writer leaves out of the text log."""
    only_text: frozenset[str] = frozenset()
    """Tags that the writer leaves out of the exact one."""
    digits: int = 6
    """Significant digits that were printed."""
    shared: int | None = None
    """How many tags a console log shares with the exact one."""


_SB3_TEXT_ONLY = frozenset(
    ("time/iterations", "time/time_elapsed", "time/episodes", "train/n_updates")
)
_RAY_TEXT_ONLY = frozenset(("ray/tune/training_iteration", "ray/tune/time_total_s"))
#: Columns of Ray's progress.csv are those of the first result.
_RAY_LATER = frozenset(
    ("ray/tune/timers/synch_env_connectors", "ray/tune/env_runners/time_between_sampling")
)
#: Console log, the exact one as a pattern, digits, shared tags.
_CONSOLES = (
    ("verl/grpo_healthy/stdout.log", "tiny_verl/grpo_healthy.jsonl", 15, 139),
    ("verl/grpo_lr_nan/stdout.log", "tiny_verl/grpo_lr_nan.jsonl", 15, 139),
    ("verl/grpo_healthy/stdout.log", "tensorboard_log/*/*/events*", 6, 139),
    ("trl/dpo_healthy/stdout.log", "runs/events*", 4, 34),
    ("trl/grpo_log_completions/stdout.log", "runs/events*", 4, 31),
    ("trl/sft_healthy/stdout.log", "runs/events*", 4, 18),
    ("trl/sft_nan/stdout.log", "runs/events*", 4, 18),
    ("trl/sft_tqdm_stdout/stdout.log", "runs/events*", 4, 18),
    ("sb3/dqn_cartpole_healthy/log.txt", "events*", 3, 6),
    ("sb3/ppo_cartpole_healthy/stdout.log", "events*", 3, 12),
    ("sb3/ppo_pendulum_critic_bad/log.txt", "events*", 3, 13),
    ("sb3/sac_pendulum_healthy/log.txt", "events*", 3, 8),
    ("cleanrl/runs/CartPole-v1__ppo__1__1795163526/stdout.log", "events*", 6, 1),
)


def _pairs() -> list[Pair]:
    found = []
    for events in sorted(DEV.glob("sb3/*/*tfevents*")):
        texts = (events.parent / name for name in ("progress.csv", "progress.json"))
        found += [Pair(text, events, only_text=_SB3_TEXT_ONLY) for text in texts]
    for events in sorted(DEV.glob("trl/*/runs/*tfevents*")):
        text = events.parent.parent / "trainer_state.json"
        found += [Pair(text, events)] if text.exists() else []
    for events in sorted(DEV.glob("rllib/**/*tfevents*")):
        found.append(Pair(events.parent / "result.json", events, only_text=_RAY_TEXT_ONLY))
        found.append(Pair(events.parent / "progress.csv", events, _RAY_LATER, _RAY_TEXT_ONLY))
    for events in sorted(DEV.glob("lightning/lightning_tb/*/*tfevents*")):
        text = DEV / "lightning" / "lightning_logs" / events.parent.name / "metrics.csv"
        found.append(Pair(text, events, only_exact=frozenset(("hp_metric",))))
    for log, exact, digits, shared in _CONSOLES if DEV.is_dir() else ():
        text = DEV / log
        found.append(Pair(text, next(text.parent.glob(exact)), digits=digits, shared=shared))
    return found


def form_of(path: Path) -> Format:
    head = path.read_bytes()[: 1 << 16]
    return next(f for f in FORMATS if f.claims_name(path.name) and f.claims(path, head))


def values_of(path: Path) -> Values:
    """In pieces that split rows."""
    decoder = form_of(path).decoder(None, path)
    return encode.values_of(encode.feed_all(decoder, path.read_bytes(), piece=50_000))


def mismatches(pair: Pair, text: Values, exact: Values) -> list[str]:
    """What differs, in words."""
    out = []
    for tag in sorted(text.keys() & exact.keys() - {"charts/SPS"}):
        mine, other = text[tag], exact[tag]
        if tag.startswith("ray/tune/"):  # its logger leaves NaN out
            mine = [p for p in mine if not math.isnan(p[1])]
        if [s for s, _ in mine] != [s for s, _ in other]:
            out.append(f"{tag}: steps differ ({len(mine)} and {len(other)} points)")
            continue
        for (step, a), (_, b) in zip(mine, other, strict=True):
            if a != pytest.approx(b, rel=6 * 10.0**-pair.digits, abs=1e-12, nan_ok=True):
                out.append(f"{tag} at {step}: {a} and {b}")
                break
    return out


@pytest.mark.parametrize("pair", _pairs(), ids=lambda p: path_id(p.text.relative_to(DEV)))
def test_text_log_equals_exact_log(pair: Pair) -> None:
    text, exact = values_of(pair.text), values_of(pair.exact)
    exact = {tag: points for tag, points in exact.items() if not tag.startswith("_hparams_/")}
    assert mismatches(pair, text, exact) == []
    if pair.shared is not None:
        assert len(text.keys() & exact.keys() - {"charts/SPS"}) == pair.shared
        return
    silent = {t for t, points in text.items() if all(math.isnan(v) for _, v in points)}
    assert set(exact) - set(text) <= pair.only_exact
    assert set(text) - set(exact) - silent <= pair.only_text


@cases(__file__, "published_logs")
def test_published_logs(path: str, tags: int, steps: int, first: int, last: int) -> None:
    """Counted with other tools; all of the file is read, nothing is noted and nothing restarts."""
    file = PUBLIC / path
    found = values_of(file)
    seen = sorted({step for points in found.values() for step, _ in points})
    assert (len(found), len(seen), seen[0], seen[-1]) == (tags, steps, first, last)
    whole = form_of(file).decoder(None, file).feed(file.read_bytes())
    assert not whole.notes
    assert encode.restarts_of([whole]) == []


@pytest.mark.parametrize("run", ["gigpo", "grpo"])
def test_a_resumed_training_in_one_file_and_in_two(run: str) -> None:
    before, after = sorted((PUBLIC / f"verl_searchr1_{run}_resumed").glob("*.log"))
    assert [s for s, _ in values_of(before)["actor/grad_norm"]] == list(range(1, 150))
    assert [s for s, _ in values_of(after)["actor/grad_norm"]] == list(range(101, 301))
    both = encode.feed_all(Console().decoder(), before.read_bytes() + after.read_bytes())
    assert encode.restarts_of(both) == [101]


@pytest.mark.parametrize(
    "log", sorted(DEV.glob("**/stdout.log")), ids=lambda log: path_id(log.relative_to(DEV))
)
def test_logs_without_rows_are_not_claimed(log: Path) -> None:
    rows = {"verl", "trl", "trl_old_ppo", "sb3", "cleanrl"}
    claimed = Console().claims(log, log.read_bytes()[:65536])
    assert claimed is (log.relative_to(DEV).parts[0] in rows)
