"""What the page of a metric says of its verdict."""

from __future__ import annotations

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.pages.metric.lines import metric_lines
from rltui.pages.metric.metric_chart import WHOLE_RUN
from tests.builders import a_batch
from tests.fakes import a_session, grpo_clock, grpo_tags


def page(*kl: float) -> str:
    tags = grpo_tags(60, 1, None)
    tags["actor/ppo_kl"] = [0.001, 0.0012] * 29 + list(kl)
    (run,) = a_session(a_batch(tags), clock=grpo_clock()).runs()
    lines = metric_lines(run, "actor", "actor/ppo_kl", View(), WHOLE_RUN, 160, 40)
    return " ".join("\n".join(plain(line) for line in lines).split())


def test_a_value_beyond_its_limit_says_why_there_is_no_finding_yet() -> None:
    text = page(0.001, 0.1)
    assert "no tick: the newest value is outside" in text
