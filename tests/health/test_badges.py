"""No tick where the newest rows contradict it."""

from __future__ import annotations

import math

import pytest

from rltui.catalogue import load_catalogue
from rltui.catalogue.model import TagInfo
from rltui.core.level import Level
from rltui.health.badges import doubt, within_range
from rltui.health.model import Judgement
from tests.builders import a_run

METRICS = load_catalogue().metrics
OK = Judgement(Level.OK)
RISE = [s / 20 for s in range(20)]


def doubted(key: str, values: list[float], judgement: Judgement = OK) -> str:
    info = TagInfo.of_metric(key, METRICS[key])
    return doubt(info, a_run({key: values}).series(key), judgement)


@pytest.mark.parametrize("key", ["val.dpo.accuracy", "rm.accuracy"])
def test_an_accuracy_below_chance_gets_no_tick(key: str) -> None:
    assert doubted(key, [0.6] * 10 + [0.45] * 3) == "below chance (0.5)"
    assert doubted(key, [0.6] * 13) == ""


def test_a_share_of_nothing_gets_no_tick() -> None:
    assert doubted("val.accuracy.token", [0.1] * 10 + [0.0] * 3) == "not one is right"


def test_limits_of_a_share_are_shares() -> None:
    info = TagInfo.of_metric("val.accuracy", METRICS["val.accuracy"])
    shown = within_range(info, Judgement(Level.OK, low=-0.15, values={"low": -0.15, "best": 0.1}))
    assert (shown.low, shown.values["low"], shown.values["best"]) == (0.0, 0.0, 0.1)
    both = Judgement(Level.OK, low=0.2, high=0.9, bad={"low": -0.1}, bad_low=-0.1, bad_high=1.2)
    shown = within_range(info, both)
    assert (shown.bad_low, shown.bad_high, shown.bad) == (0.0, 1.0, {"low": 0.0})
    same = within_range(info, Judgement(Level.OK, low=-0.1, bad_low=-0.2))
    assert (same.low, same.bad_low) == (0.0, None)
    loss = TagInfo.of_metric("val.loss", METRICS["val.loss"])
    assert within_range(loss, Judgement(Level.OK, low=-0.15)).low == -0.15


def test_a_value_that_is_not_finite_gets_no_tick() -> None:
    assert doubted("entropy", [1.0, 1.0, math.nan]) == "the newest value is not finite"


def test_a_value_outside_its_range_gets_no_tick() -> None:
    pending = Judgement(Level.OK, high=0.1, pending=True)
    assert doubted("kl.old_new", [0.01, 0.2], pending).startswith("the newest value is outside")


@pytest.mark.parametrize("key", ["reward.mean", "val.accuracy", "episode_return.mean"])
def test_a_gain_that_is_lost_gets_no_tick_within_three_rows(key: str) -> None:
    assert doubted(key, [*RISE, *[0.95] * 20]) == ""
    assert "of its gain" in doubted(key, [*RISE, *[0.95] * 20, 0.1, 0.1, 0.1])


def test_noise_and_a_small_dip_keep_their_tick() -> None:
    noisy = [math.sin(7.0 * s) for s in range(60)]
    assert doubted("reward.mean", noisy) == ""
    assert doubted("reward.mean", [*RISE, *[0.95] * 20, 0.8, 0.8, 0.8]) == ""


def test_a_newest_row_far_below_those_before_it_takes_the_tick() -> None:
    noisy = [x + 0.01 * math.sin(7.0 * n) for n, x in enumerate([*RISE, *[0.95] * 20])]
    assert doubted("reward.mean", noisy) == ""
    assert doubted("reward.mean", [*noisy, 0.7]).startswith("it has just lost")
    assert doubted("reward.mean", [*noisy, 0.7, 0.94]) == ""


def test_a_loss_that_falls_is_no_lost_gain() -> None:
    assert doubted("loss.value", RISE[::-1]) == ""


@pytest.mark.parametrize("key", ["grad_norm.actor", "reward.std", "advantage.max"])
def test_a_learning_signal_that_vanished_gets_no_tick(key: str) -> None:
    assert doubted(key, [1.0] * 20) == ""
    assert doubted(key, [1.0] * 20 + [0.01] * 5) == "the signal has vanished: 1.0% of its start"
    assert doubted("kl.old_new", [1.0] * 20 + [0.01] * 5) == ""
