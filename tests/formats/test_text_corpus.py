"""Text logs of real frameworks say what the event file of the same training says.

Skipped where the folder of logs is absent. Event files hold float32, the texts as many digits
as their writer gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rltui.formats import FORMATS, Format
from rltui.formats.tfevents import TfEvents
from tests.formats import encode
from tests.ids import path_id
from tests.places import CORPORA

DEV, PUBLIC = CORPORA / "dev", CORPORA / "public"

#: tag -> [(step, value)] in the order of the log.
Values = dict[str, list[tuple[int, float]]]


@dataclass(frozen=True)
class Pair:
    """A text log, the event file of the same training, and how they differ."""

    text: Path
    events: Path
    only_events: frozenset[str] = frozenset()
    """Tags that the writer leaves out of the text log."""
    only_text: frozenset[str] = frozenset()
    """Tags that the writer leaves out of the event file."""
    monitor: bool = field(default=False)


_SB3_TEXT_ONLY = frozenset(("time/iterations", "time/time_elapsed", "time/episodes"))
_RAY_TEXT_ONLY = frozenset(("ray/tune/training_iteration", "ray/tune/time_total_s"))
#: Columns of Ray's progress.csv are those of the first result.
_RAY_LATER = frozenset(
    ("ray/tune/timers/synch_env_connectors", "ray/tune/env_runners/time_between_sampling")
)


def _pairs() -> list[Pair]:
    found = []
    for events in sorted(DEV.glob("sb3/*/*tfevents*")):
        own = _SB3_TEXT_ONLY | {"train/n_updates"}
        found += [
            Pair(events.parent / name, events, only_text=own)
            for name in ("progress.csv", "progress.json")
        ]
    for events in sorted(DEV.glob("trl/*/runs/*tfevents*")):
        text = events.parent.parent / "trainer_state.json"
        found += [Pair(text, events)] if text.exists() else []
    for events in sorted(DEV.glob("rllib/**/*tfevents*")):
        found.append(Pair(events.parent / "result.json", events, only_text=_RAY_TEXT_ONLY))
        found.append(Pair(events.parent / "progress.csv", events, _RAY_LATER, _RAY_TEXT_ONLY))
    for events in sorted(DEV.glob("lightning/lightning_tb/*/*tfevents*")):
        text = DEV / "lightning" / "lightning_logs" / events.parent.name / "metrics.csv"
        found.append(Pair(text, events, only_events=frozenset(("hp_metric",))))
    return found


def form_of(path: Path) -> Format:
    head = path.read_bytes()[: 1 << 16]
    return next(f for f in FORMATS if f.claims_name(path.name) and f.claims(path, head))


def values_of(form: Format, path: Path) -> Values:
    parts = encode.feed_all(form.decoder(None, path), path.read_bytes(), piece=1 << 16)
    return encode.values_of(parts)


def mismatches(text: Values, events: Values, tags: set[str]) -> list[str]:
    """What differs, in words."""
    out = []
    for tag in sorted(tags):
        mine, other = text[tag], events[tag]
        if tag.startswith("ray/tune/"):  # its logger leaves NaN out
            mine = [p for p in mine if not math.isnan(p[1])]
        if [s for s, _ in mine] != [s for s, _ in other]:
            out.append(f"{tag}: steps differ ({len(mine)} and {len(other)} points)")
            continue
        for (step, a), (_, b) in zip(mine, other, strict=True):
            if a != pytest.approx(b, rel=1e-6, abs=1e-12, nan_ok=True):
                out.append(f"{tag} at {step}: {a} and {b}")
                break
    return out


@pytest.mark.skipif(not DEV.is_dir(), reason=f"no corpus at {DEV}")
@pytest.mark.parametrize("pair", _pairs(), ids=lambda p: path_id(p.text.relative_to(DEV)))
def test_text_log_equals_event_file(pair: Pair) -> None:
    text = values_of(form_of(pair.text), pair.text)
    events = {
        tag: points
        for tag, points in values_of(TfEvents(), pair.events).items()
        if not tag.startswith("_hparams_/")
    }
    silent = {t for t, points in text.items() if all(math.isnan(v) for _, v in points)}
    assert set(events) - set(text) <= pair.only_events
    assert set(text) - set(events) - silent <= pair.only_text
    assert mismatches(text, events, set(text) & set(events)) == []


@pytest.mark.skipif(not PUBLIC.is_dir(), reason=f"no published logs at {PUBLIC}")
@pytest.mark.parametrize(
    ("path", "tags", "steps", "first", "last"),
    [
        ("csv_ppo_lunarlander/PPO_LunarLander-v2_log_0.csv", 2, 1666, 600, 999_600),
        ("dreamer_metrics/metrics.jsonl", 3, 86, 50, 4300),
        ("llamafactory_360_warmup/trainer_log.jsonl", 8, 202, 1, 202),
        ("monitor_a2c_bipedal_hardcore/0.monitor.csv", 2, 5110, 64, 6_249_389),
        ("monitor_dqn_cartpole/0.monitor.csv", 2, 500, 17, 50_111),
        ("msswift_sft/logging.jsonl", 20, 45, 1, 438),
        ("msswift_sft/trainer_state.json", 10, 41, 1, 400),
        ("rllib_a2c_beamrider/result.json", 26, 936, 500, 10_229_000),
        ("rllib_ppo_breakout/progress.csv", 35, 2704, 5000, 13_520_000),
        ("rllib_sac_halfcheetah/progress.csv", 42, 145, 10_000, 154_000),
        ("sb3_flappy_dqn_rew100/progress.csv", 9, 8538, 200, 1_999_968),
        ("sb3_warp_pendulum/progress.csv", 16, 98, 2048, 200_704),
        ("trl_openrs_vi_50steps/trainer_state.json", 10, 10, 5, 50),
        ("trl_unsloth_gsm8k/trainer_state.json", 13, 250, 1, 250),
        ("trl_verilog_curriculum/trainer_state.json", 22, 300, 2, 600),
    ],
)
def test_published_logs(path: str, tags: int, steps: int, first: int, last: int) -> None:
    """Counted with other tools; all of the file is read and nothing is noted."""
    file = PUBLIC / path
    found = values_of(form_of(file), file)
    seen = sorted({step for points in found.values() for step, _ in points})
    assert (len(found), len(seen), seen[0], seen[-1]) == (tags, steps, first, last)
    assert [
        n for d in [form_of(file).decoder(None, file).feed(file.read_bytes())] for n in d.notes
    ] == []


@pytest.mark.skipif(not PUBLIC.is_dir(), reason=f"no published logs at {PUBLIC}")
def test_the_state_and_the_log_of_one_training_agree() -> None:
    """ms-swift writes the transformers log rounded to 8 digits, and the state unrounded."""
    folder = PUBLIC / "msswift_sft"
    log, state = (
        values_of(form_of(folder / name), folder / name)
        for name in ("logging.jsonl", "trainer_state.json")
    )
    assert set(state) <= set(log)
    for tag, points in state.items():
        logged = [p for p in log[tag] if p[0] <= 400]
        assert [s for s, _ in logged] == [s for s, _ in points]
        for (_, a), (_, b) in zip(logged, points, strict=True):
            assert a == pytest.approx(b, rel=1e-4, abs=1e-7)
