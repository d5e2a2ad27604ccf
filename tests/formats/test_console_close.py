"""What open dialects hold is returned when the log is over, and not once more when it goes on."""

from __future__ import annotations

import pytest

from rltui.formats.console import Console
from tests.formats import encode

_BOX = "------\n| total_timesteps | {0} |\n| loss | 0.{0} |\n"
_RSL = "#####\n Learning iteration {0}/9 \n\nMean reward: 1.{0}\n"
_LAST = {"box": (_BOX, "------\n"), "rsl_rl": (_RSL, "-----\nTotal timesteps: 4\n")}


@pytest.mark.parametrize("name", _LAST)
def test_an_open_block_is_given_at_the_end_and_only_once(name: str) -> None:
    form, last = _LAST[name]
    first, second = (form.format(step) for step in (1, 2))
    data = (first + last + second).encode()
    whole = encode.points_of(encode.feed_all(Console().decoder(), data + last.encode()))
    decoder = Console().decoder()
    parts = [decoder.feed(data), decoder.finish()]
    assert encode.points_of(parts) == whole
    assert not decoder.finish().items
    parts += [decoder.feed(last.encode()), decoder.finish()]
    assert encode.points_of(parts) == whole


def test_a_box_cut_before_its_counter_is_not_given() -> None:
    decoder = Console().decoder()
    decoder.feed((_BOX.format(1) + "------\n| iterations | 2 |\n| loss | 0.5 |\n").encode())
    assert not decoder.finish().items
