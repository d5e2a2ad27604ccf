"""The reference run in charts and rows."""

from __future__ import annotations

import numpy as np

from rltui.draw.view import View
from rltui.pages.metric.metric_chart import chart_of
from rltui.session import RunView
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_clock


def compared(mine: dict[str, list[float]], past: dict[str, list[float]]) -> tuple[RunView, RunView]:
    """A run, and the one that it is compared with."""
    batches = (
        a_batch(steps(1, tags), run=name, source=f"{name}/events.0")
        for name, tags in (("mine", mine), ("past", past))
    )
    session = a_session(*batches, clock=grpo_clock())
    runs = {r.name: r for r in session.runs()}
    session.reference.choose(runs["past"])
    session.drain()
    return runs["mine"], runs["past"]


def test_the_ghost_is_that_of_the_same_metric() -> None:
    past = {"charts/episodic_return": [float(i) for i in range(60)], "losses/entropy": [0.5] * 60}
    mine = {"rollout/ep_rew_mean": [1.0] * 60, "train/approx_kl": [0.01] * 60}
    run, reference = compared(mine, past)
    tag = "rollout/ep_rew_mean"
    assert run.infos[tag].metric == reference.infos["charts/episodic_return"].metric
    old = chart_of(run, tag, View()).curve.old
    assert old is not None
    assert np.array_equal(old[1], reference.series("charts/episodic_return").values)
    assert chart_of(run, "train/approx_kl", View()).curve.old is None
