"""A picture shows what the keys lead to, and is the same in every run."""

from __future__ import annotations

import re

from rltui.demo import SCENARIOS
from tests.test_documentation import load_script

make_pictures = load_script("make_pictures")


def test_every_picture_has_a_name_of_its_own() -> None:
    names = [shot.name for shot in make_pictures.SHOTS]
    assert len(set(names)) == len(names)


def test_equal_pictures_in_every_run() -> None:
    shot = make_pictures.Shot("actor", ("3",))
    with make_pictures.quiet_place():
        pictures = [make_pictures.take(shot, (80, 24), "dark") for _ in range(2)]
    assert pictures[0] == pictures[1]
    assert "grpo-7b-lr" in pictures[0]
    assert "clip&#160;fraction" in pictures[0]


def test_the_tour_shows_its_pictures_and_their_demos() -> None:
    text = (make_pictures.ROOT / "docs" / "tour.md").read_text()
    assert re.findall(r"\(tour/(\S+)\.png\)", text) != []
    assert set(re.findall(r"\(tour/(\S+)\.png\)", text)) == {s.name for s in make_pictures.TOUR}
    named = set(re.findall(r"--scenario ([a-z-]+)", text))
    assert named <= SCENARIOS.keys()
    assert {s.demo for s in make_pictures.TOUR if s.demo} <= named
    words = len(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())
    assert words < 2000, "ten minutes are 2,000 words"


def test_a_picture_of_a_demo_waits_for_its_verdict() -> None:
    with make_pictures.quiet_place():
        found = make_pictures.take(make_pictures.Shot("x", (), demo="aborts"), (80, 24), "dark")
    assert "requests" in found or "abort" in found
    assert "▲" in found
