"""What measures success never rose, or fell: power, false alarms, and what must not matter."""

import numpy as np
import pytest

from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.detectors.progress import never_fell
from rltui.health.detectors.registry import DETECTORS
from rltui.health.detectors.signal import Rows, Signal
from rltui.health.detectors.trend import gain_now, gains
from rltui.health.rule import Variant
from rltui.health.rules import load_rules

VARIANTS = {v.detector.name: v for r in load_rules() for v in r.variants}
FELL, NEVER_ROSE = VARIANTS["fell"], VARIANTS["never_rose"]
CONSTANT = next(v for r in load_rules() for v in r.variants if v.id.endswith(".constant"))
BOTH = pytest.mark.parametrize("variant", [FELL, NEVER_ROSE], ids=["fell", "never_rose"])


def judged(
    variant: Variant, x: FloatArray, level: Level = Level.WATCH, **others: FloatArray
) -> Signal:
    return variant.detector.run(Rows(x, np.arange(len(x)), others), **variant.levels[level])


def found(
    variant: Variant, x: FloatArray, level: Level = Level.WATCH, **others: FloatArray
) -> bool:
    return bool(judged(variant, x, level, **others).beyond[-1])


def noise(seed: int, rows: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(rows)


def courses(rows: int, seed: int = 0) -> list[FloatArray]:
    """Flat; rises; rises and falls; rises, dips and recovers."""
    place = np.linspace(0.0, 1.0, rows)
    knots = [[0, 0, 0, 0, 0], [0, 3, 6, 8, 8], [0, 4, 8, 0, 0], [0, 4, 8, 2, 8]]
    line = [np.interp(place, np.linspace(0, 1, 5), k) for k in knots]
    return [x + noise(4 * seed + i, rows) for i, x in enumerate(line)]


@BOTH
@pytest.mark.parametrize("level", [Level.WATCH, Level.BAD])
@pytest.mark.parametrize("rows", [1, 7, 40, 137, 260])
def test_no_later_row_changes_a_verdict(variant: Variant, level: Level, rows: int) -> None:
    for x in (*courses(300), np.zeros(300), np.repeat([0.0, 5.0, 1.0], 100)):
        own, whole = judged(variant, x[:rows], level), judged(variant, x, level)
        np.testing.assert_array_equal(own.beyond, whole.beyond[:rows])


@BOTH
@pytest.mark.parametrize("level", [Level.WATCH, Level.BAD])
def test_a_third_of_the_rows_says_the_same(variant: Variant, level: Level) -> None:
    long = [x for seed in range(10) for x in courses(12_000, seed)]
    differ = sum(found(variant, x[::3], level) is not found(variant, x, level) for x in long)
    assert differ <= len(long) / 4  # near its limit chance decides


@pytest.mark.parametrize(("level", "most"), [(Level.WATCH, 10), (Level.BAD, 2)])
def test_noise_seldom_falls(level: Level, most: int) -> None:
    wrong = sum(bool(judged(FELL, noise(s, 300), level).beyond.any()) for s in range(200))
    assert wrong <= most


@pytest.mark.parametrize(("level", "part"), [(Level.WATCH, 8), (Level.BAD, 5)])
@pytest.mark.parametrize("rows", [64, 160, 333, 800])
def test_a_loss_of_the_whole_gain_is_found_soon_beside_the_rows(
    rows: int, level: Level, part: int
) -> None:
    for seed in range(10):
        x = np.concatenate([np.linspace(0.0, 10.0, rows), np.zeros(rows // part)])
        signal = judged(FELL, x + 0.5 * noise(seed, len(x)), level)
        assert signal.beyond[-1]
        assert not signal.beyond[:rows].any()
        assert abs(int(signal.onset[-1]) - rows) <= 2


@pytest.mark.parametrize(
    ("top", "forgotten"), [(0.85, False), (1.2, True), (20.0, True)],
    ids=["below its best", "above it", "small beside the range"],
)  # fmt: skip
def test_a_dip_is_forgotten_once_it_is_made_good(top: float, forgotten: bool) -> None:
    dip = np.concatenate([np.linspace(0.0, 1.0, 40), np.zeros(20), np.linspace(0.0, top, 120)])
    dip[:60] += 0.02 * noise(1, 60)
    signal = judged(FELL, dip)
    row = int(np.argmax(signal.beyond))
    assert 40 <= row < 60
    assert not signal.beyond[-1]
    assert bool(signal.forgotten[row]) is forgotten


def test_rows_without_a_gain_are_found_and_a_rise_is_not() -> None:
    rise = np.linspace(0.0, 2.0, 100)
    assert sum(found(NEVER_ROSE, noise(s, 100)) for s in range(50)) >= 25
    assert sum(found(NEVER_ROSE, noise(s, 300)) for s in range(50)) >= 45
    assert not any(found(NEVER_ROSE, rise + noise(s, 100)) for s in range(50))
    assert not any(found(NEVER_ROSE, noise(s, 12)) for s in range(50))


def test_what_rose_early_and_stays_did_rise() -> None:
    early = np.minimum(np.arange(600) / 60, 1.0)
    assert not any(found(NEVER_ROSE, 4 * early + noise(s, 600)) for s in range(50))


def test_rows_that_act_at_random_gain_nothing() -> None:
    rate = np.where(np.arange(600) < 580, 1.0, 0.05)
    assert not found(NEVER_ROSE, noise(4, 600), exploration=rate)
    assert found(NEVER_ROSE, noise(4, 600))


@pytest.mark.parametrize(("explained", "found"), [(0.02, True), (0.3, False), (None, False)])
def test_a_loss_that_never_fell_beside_what_is_explained(
    explained: float | None, found: bool
) -> None:
    noise = np.random.default_rng(4).standard_normal(120)
    others = {"reward": np.linspace(0, 9, 120) + 0.1 * noise}
    if explained is not None:
        others["explained"] = np.full(120, explained)
    rows = Rows(5 + noise, np.arange(120), others)
    assert never_fell(rows, explains=0.13).beyond[-1] == found


def test_equal_rows_are_certain_unless_they_were_normalised() -> None:
    x = np.zeros(320)
    assert found(CONSTANT, x, Level.BAD)
    assert not found(CONSTANT, x[:12])
    assert not found(CONSTANT, x, spread=np.ones(320))
    assert found(CONSTANT, x, spread=np.zeros(320))
    assert not found(NEVER_ROSE, x)


def test_the_gain_of_the_newest_row_is_that_of_all_rows_so_far() -> None:
    for x in courses(200):
        change, error = gain_now(np.where(np.arange(200) == 9, np.nan, x))
        assert (change, error) == pytest.approx(gain_now(8.0 * np.delete(x, 9) - 512.0))
        assert change == pytest.approx(gains(Rows(x, np.arange(200)))[3, -1], abs=0.05)
    for nothing in (np.empty(0), np.ones(2), np.ones(99), np.full(9, np.nan)):
        assert gain_now(nothing) == (0.0, np.inf)


@pytest.mark.parametrize("rows", [30, 120, 400])
def test_a_clear_rise_is_sure_of_its_gain_and_what_only_drifts_is_not(rows: int) -> None:
    def sure(x: FloatArray) -> bool:
        change, error = gain_now(x)
        return change - 2.3 * error >= 0.7

    line, seeds = np.linspace(0.0, 8.0, rows), range(50)
    assert sure(line)
    assert sum(sure(line + noise(s, rows)) for s in seeds) >= 48
    assert not any(sure(noise(s, rows)) for s in seeds)
    drifts = [np.convolve(noise(s, rows + 9), np.ones(10) / 10, "valid") for s in seeds]
    assert sum(sure(x) for x in drifts) <= 10


@pytest.mark.parametrize(("first", "judged"), [(1, 600), (400, 210), (8100, 0)])
def test_what_continues_a_longer_training_may_have_risen_in_that(first: int, judged: int) -> None:
    rows = Rows(noise(1, 600), np.arange(first, first + 600, dtype=np.int64))
    found = NEVER_ROSE.detector.run(rows, **NEVER_ROSE.levels[Level.WATCH])
    assert not found.beyond[: 600 - judged].any()
    assert found.beyond[-1] == (judged > 0) != found.silent


def test_nothing_was_won_where_a_fall_goes_below_the_start() -> None:
    def won(x: FloatArray) -> float:
        return float(DETECTORS["fell"].run(Rows(x, np.arange(len(x)))).facts["won"][-1])

    small = noise(2, 300) / 50
    up, down = np.linspace(0.1, 0.9, 150), np.full(150, 0.1)
    assert won(np.concatenate([up, down]) + small) == 1
    assert won(np.concatenate([np.full(100, 0.5), np.full(200, 0.1)]) + small) == 0
