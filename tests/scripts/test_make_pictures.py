"""A picture shows what the keys lead to, and is the same in every run."""

from __future__ import annotations

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
