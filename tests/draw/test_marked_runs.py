"""Other runs, the reference and other rows in the chart of a metric."""

import numpy as np

from rltui.draw.chart.chart_model import Chart
from rltui.draw.line import Token, plain
from rltui.draw.marked_runs import with_others
from rltui.draw.metric_chart import chart_lines, chart_of
from rltui.draw.view import View
from rltui.session import JudgedRun
from tests.builders import a_batch, steps
from tests.fakes import a_session, grpo_clock, marked, runs_of

TAG = "actor/entropy"


def chart(run: JudgedRun, view: View, tag: str = TAG) -> Chart:
    return with_others(chart_of(run, tag, view), run, tag, view)


def test_marked_runs_are_lines_in_their_colours() -> None:
    one, two, three = runs_of(1.0, 2.0, 3.0)
    found = chart(one, View(marked=marked([two, three])))
    assert [(o.sign, o.label) for o in found.overlays] == [("1", "exp_s2"), ("2", "exp_s3")]
    assert [o.token for o in found.overlays] == [Token.RUN_1, Token.RUN_2]
    assert [float(o.y[0]) for o in found.overlays] == [2.01, 3.01]
    assert found.envelope is None


def test_a_marked_run_is_not_drawn_twice_in_its_own_chart() -> None:
    one, two = runs_of(1.0, 2.0)
    found = chart(one, View(marked=marked([one, two])))
    assert (found.curve.sign, found.label) == ("1", "exp_s1")
    assert [(o.sign, o.label) for o in found.overlays] == [("2", "exp_s2")]
    assert (found.curve.sign, found.curve.token) == ("1", Token.RUN_1)
    (three,) = runs_of(3.0)
    unmarked = chart(three, View(marked=marked([two])))
    assert (unmarked.curve.sign, unmarked.curve.token) == ("", Token.STRONG)


def test_the_axis_holds_longer_runs() -> None:
    short, long = runs_of(1.0)[0], runs_of(2.0, rows=90)[0]
    assert chart(short, View(marked=marked([long]))).last == 90
    assert chart(long, View(marked=marked([short]))).last == 90


def test_charts_beside_each_other_have_one_range_also_where_a_longer_run_lacks_the_metric() -> None:
    (short,) = runs_of(1.0)
    other = a_batch(steps(1, {TAG: [2.0] * 90}), run="long", source="long/events.0")
    (long,) = a_session(other, clock=grpo_clock()).runs()
    view = View(marked=marked([long]))
    assert [chart(short, view, tag).last for tag in (TAG, "actor/grad_norm")] == [90, 90]


def test_a_run_without_the_metric_or_the_axis_is_left_out() -> None:
    one, two = runs_of(1.0, 2.0)
    other = a_session(a_batch({"loss": [1.0]}, run="other")).runs()[0]
    assert chart(one, View(marked=marked([other]))).overlays == ()
    untimed = two.shown(TAG)
    untimed.wall_times[:] = np.nan
    assert chart(one, View(axis="relative", marked=marked([two]))).overlays == ()


def test_marked_rows_share_a_chart() -> None:
    (run,) = runs_of(1.0)
    view = View(shared=(TAG, "actor/grad_norm"))
    found = chart(run, view)
    assert (found.label, found.curve.sign) == ("entropy nats", "1")
    assert [(o.label, o.sign) for o in found.overlays] == [("gradient norm", "2")]
    other = chart(run, View(shared=("actor/grad_norm", "no/such")))
    assert other.overlays == ()


def test_the_held_out_side_of_a_metric_is_in_its_chart_unasked() -> None:
    train, held_out = "train/rewards/accuracies", "eval/rewards/accuracies"
    tags = {train: [0.5, 1.0] * 20, held_out: [0.4] * 40}
    (run,) = a_session(a_batch(steps(1, tags)), clock=grpo_clock()).runs()
    for tag, other in ((train, held_out), (held_out, train)):
        found = chart(run, View(), tag)
        assert [o.label for o in found.overlays] == [run.infos[other].title]
        assert found.label == run.infos[tag].title
    assert chart(run, View(marked=marked(runs_of(1.0))), train).overlays == ()
    small = chart_lines(run, train, View(), 60, 12, small=True)
    assert not any(run.infos[held_out].title in plain(x) for x in small)


def test_a_chart_is_drawn_again_when_a_marked_run_grows() -> None:
    session = a_session(
        *(a_batch(steps(1, {TAG: [1.0] * 20}), run=n, source=f"{n}/e") for n in ("a", "b")),
        clock=grpo_clock(),
    )
    one, two = session.runs()
    view = View(marked=marked([two]))
    before = chart_lines(one, TAG, view, 60, 14)
    assert chart_lines(one, TAG, view, 60, 14) is before
    assert any("1 b" in plain(line) for line in before)
    two.version += 1
    assert chart_lines(one, TAG, view, 60, 14) is not before


def compared(*tags: dict[str, list[float]]) -> tuple[JudgedRun, ...]:
    """A run, and the one that it is compared with."""
    batches = (
        a_batch(steps(1, logged), run=name, source=f"{name}/events.0")
        for name, logged in zip(("mine", "past"), tags, strict=True)
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
    assert np.array_equal(old[1], reference.series("charts/episodic_return").values)
    assert chart_of(run, "train/approx_kl", View()).curve.old is None
