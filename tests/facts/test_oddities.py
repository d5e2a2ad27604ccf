"""What looks odd is told where it goes the way that its words are about."""

import pytest

from rltui.facts.oddities import odd_facts
from tests.builders import a_batch
from tests.fakes import a_session, grpo_tags


@pytest.mark.parametrize(
    ("tag", "start", "now", "told"),
    [
        ("timing_s/save_checkpoint", 20, 90, "takes longer"),
        ("timing_s/save_checkpoint", 90, 20, ""),
        ("perf/throughput", 900, 2900, ""),
        ("actor/kl_loss", 0.001, 0.2, "it starts at 0 and grows"),
        ("actor/kl_loss", 0.6, 0.2, ""),
        ("actor/ppo_kl", -0.002, 3e-9, "hardly any update"),
        ("actor/ppo_kl", -0.05, -0.004, ""),
        ("val-aux/num_turns/mean", 2, 9, "does the agent loop?"),
        ("val-aux/num_turns/mean", 9, 2, "has it stopped calling tools?"),
        ("prompt_length/mean", 120, 300, "a property of the data"),
        ("prompt_length/mean", 300, 120, "a property of the data"),
    ],
)
def test_words_of_one_direction(tag: str, start: float, now: float, told: str) -> None:
    way = [start + (now - start) * n / 30 for n in range(30)]
    (run,) = a_session(a_batch(grpo_tags(60) | {tag: [start] * 10 + way + [now] * 20})).runs()
    assert told in dict(odd_facts(run)).get(tag, "")
    assert bool(told) or tag not in dict(odd_facts(run))
