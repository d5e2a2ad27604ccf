"""Where the histograms and pictures of a run stand: bounded, whatever is logged."""

from pathlib import Path

import numpy as np

from rltui.core.batch import Batch, MediaKind, MediaPlace
from rltui.store.media import Media, MediaKey
from tests.fakes import a_batch, a_source

KEY = MediaKey("x", MediaKind.HISTOGRAM)


def batch(*steps: int, tag: str = "x", path: str = "events.0") -> Batch:
    places = tuple(MediaPlace(tag, MediaKind.HISTOGRAM, s, 10 * s, 9) for s in steps)
    return a_batch(source=a_source(path), media=places)


def test_steps_are_thinned_evenly_and_the_newest_stays() -> None:
    media = Media()
    for step in range(10_000):
        media.add(batch(step))
    steps = [p.step for p in media.steps(KEY)]
    assert 60 <= len(steps) <= 128
    assert (steps[0], steps[-1]) == (0, 9_999)
    gaps = set(np.diff(steps[:-1]).tolist())
    assert len(gaps) == 1


def test_later_values_of_a_step_win_and_later_steps_can_be_left_out() -> None:
    media = Media()
    media.add(batch(1, 2, 3))
    media.add(batch(2, path="events.1"))
    found = media.steps(KEY)
    assert [(p.step, p.path.name) for p in found] == [
        (1, "events.0"), (2, "events.1"), (3, "events.0"),
    ]  # fmt: skip
    assert [p.step for p in media.steps(KEY, as_of=2)] == [1, 2]


def test_with_many_tags_each_keeps_fewer_steps() -> None:
    media = Media()
    for n in range(5_000):
        media.add(batch(*range(100), tag=f"t{n}"))
    kept = sum(len(media.steps(key)) for key in media.keys)
    assert len(media.keys) == 4096
    assert kept <= 3 * (1 << 14) + 128 * 128


def test_a_file_that_belongs_to_another_run_takes_its_places_along() -> None:
    media, other = Media(), Media()
    media.add(batch(1, 3))
    moved = batch(2, path="events.1")
    media.add(moved)
    media.move(moved.source.path, other)
    assert [p.step for p in media.steps(KEY)] == [1, 3]
    assert [p.path for p in other.steps(KEY)] == [Path(moved.source.path)]
