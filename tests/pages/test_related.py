"""Related metrics are those that move together or are read together, not those that are bad."""

import numpy as np

from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.pages.metric.lines import related, related_lines
from rltui.session import JudgedRun
from tests.builders import a_batch, a_block
from tests.fakes import a_session

ROWS = 120


def tags() -> dict[str, list[float]]:
    """A step time that follows the length of the answers; entropy and KL on their own."""
    rng = np.random.default_rng(3)
    length = 400 + 50 * rng.normal(size=ROWS)
    return {
        "response_length/mean": list(length),
        "response_length/max": list(2 * length),
        "timing_s/step": list(length / 20 + 0.1 * rng.normal(size=ROWS)),
        "timing_s/gen": list(np.roll(length, 2) / 30),
        "timing_s/reward": [0.5] * ROWS,
        "actor/entropy": list(0.5 + 0.1 * rng.normal(size=ROWS)),
        "actor/kl_loss": list(0.5 + 0.1 * rng.normal(size=ROWS)),
        "critic/score/mean": list(0.5 + 0.1 * rng.normal(size=ROWS)),
        "team/answer_words": list(-length + 12 * rng.normal(size=ROWS)),
        "team/answer_kilobytes": list(0.004 * length),
        "team/answer_words_copy": list(length),
    }


def a_view(values: dict[str, list[float]]) -> JudgedRun:
    return a_session(a_batch(a_block(values))).runs()[0]


def text(run: JudgedRun, tag: str, width: int = 38, room: int = 20) -> str:
    return "\n".join(plain(x) for x in related_lines(run, tag, View(), width, room))


def test_what_moves_with_a_metric_comes_first() -> None:
    found = related(a_view(tags()), "response_length/mean")
    links = [r.tag for r in found if r.is_linked]
    assert links[0] == "timing_s/gen"
    assert set(links) == {"team/answer_words", "timing_s/step", "timing_s/gen"}
    assert found.index(next(r for r in found if not r.is_linked)) == len(links)
    by_tag = {r.tag: r.correlation for r in found}
    assert by_tag["team/answer_words"] is not None
    assert by_tag["team/answer_words"].r < -0.9
    lag = by_tag["timing_s/gen"]
    assert lag.lag == 2


def test_copies_and_statistics_of_a_metric_are_left_out() -> None:
    found = [r.tag for r in related(a_view(tags()), "response_length/mean")]
    assert "team/answer_words_copy" not in found
    assert "team/answer_kilobytes" not in found
    assert "response_length/max" not in found


def test_a_relative_that_does_not_move_with_it_says_so() -> None:
    shown = text(a_view(tags()), "response_length/mean").splitlines()
    assert next(line for line in shown if " entropy " in line).endswith("unrelated")
    assert not any("KL to reference" in line for line in shown)


def test_few_points_are_not_compared() -> None:
    run = a_view({t: v[:10] for t, v in tags().items()})
    assert "too few points" in text(run, "response_length/mean")
    assert related(run, "team/answer_words") == ()
    assert text(run, "team/answer_words") == ""


def test_a_common_trend_is_named_as_such() -> None:
    rng = np.random.default_rng(1)
    t = np.linspace(0, 3, ROWS)
    values = {
        "actor/entropy": list(2 - 0.5 * t + 0.1 * rng.normal(size=ROWS)),
        "actor/ppo_kl": list(0.01 + 0.01 * t + 0.002 * rng.normal(size=ROWS)),
        "team/odd": list(t + 0.2 * rng.normal(size=ROWS)),
    }
    run = a_view(values)
    (only,) = related(run, "actor/entropy")
    assert (only.tag, only.is_linked) == ("actor/ppo_kl", False)
    assert "shared trend" in text(run, "actor/entropy")


def test_what_jumps_at_the_same_time_is_linked() -> None:
    rng = np.random.default_rng(2)

    def jumping(at: int, size: float) -> list[float]:
        return list(1 + 0.05 * rng.normal(size=ROWS) + size * (np.arange(ROWS) >= at))

    values = {
        "actor/ppo_kl": jumping(ROWS - 6, 3.0),
        "actor/pg_clipfrac": jumping(ROWS - 4, 5.0),
        "critic/score/max": [2.0] * ROWS,
        "actor/entropy": jumping(ROWS - 6, -0.9),
        "actor/grad_norm": jumping(20, 5.0),
    }
    shown = text(a_view(values), "actor/ppo_kl").splitlines()
    by_title = {line[2:21].strip(): line[21:].strip() for line in shown[1:]}
    assert by_title["clip fraction"] == "jumps too 2 later"
    assert by_title["entropy"] == "jumps against"
    assert by_title["gradient norm"] == "unrelated"
