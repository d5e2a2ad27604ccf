"""Event records with several values, as TF1's merged summaries and writers of JAX have them."""

from __future__ import annotations

import random

import pytest

from rltui.formats import Options
from rltui.formats.tfevents import TfEvents
from tests.bytecodes import bytecodes
from tests.formats import encode

STYLES = (encode.simple, encode.float_tensor, encode.content_tensor, encode.double_tensor)
TAGS = [b"group%d/name_%d" % (i % 5, i) for i in range(40)]


def read(data: bytes, *, piece: int | None = None, verify: bool = False) -> encode.Points:
    decoder = TfEvents().decoder(Options(verify=verify))
    return encode.points_of(encode.feed_all(decoder, data, piece=piece))


def merged(step: int, tags: list[bytes], rng: random.Random, styles: int = 1) -> bytes:
    values = [STYLES[i % styles](tag, rng.random()) for i, tag in enumerate(tags)]
    return encode.event(step, 1.78e9 + step, *values)


@pytest.mark.parametrize(("size", "styles"), [(2, 1), (3, 4), (10, 4), (40, 1)])
def test_every_size_and_style(size: int, styles: int) -> None:
    rng = random.Random(size)
    data = b"".join(merged(step, TAGS[:size], rng, styles) for step in range(120))
    expected = encode.reference(data)
    for piece in (None, 3000):
        assert read(data, piece=piece) == expected


@pytest.mark.parametrize("seed", range(2))
def test_any_order_of_any_styles(seed: int) -> None:
    """Among single values, histograms, and records that name a tag twice."""
    rng = random.Random(seed)
    plan = [rng.sample(TAGS, rng.randint(1, 12)) for _ in range(40)]
    records = [encode.header()]
    for step in range(1, 300):
        tags = rng.choice(plan)
        if rng.random() < 0.02:
            tags = [*tags, tags[0]]
        records.append(merged(step + rng.choice((0, 0, 1)), tags, rng, 1 + 2 * seed))
        if step % 50 == 0:
            records.append(encode.event(step, 1.78e9 + step, encode.histogram(b"h")))
    data = b"".join(records)
    expected = encode.reference(data)
    for piece in (None, 997, 1 << 15):
        assert read(data, piece=piece) == expected


@pytest.mark.parametrize("layouts", [1, 20])
def test_no_loop_over_the_values(layouts: int) -> None:
    """Twice the records take hardly more steps of the interpreter."""
    rng = random.Random(5)
    plan = [rng.sample(TAGS, 10) for _ in range(layouts)]
    records = [merged(step, rng.choice(plan), rng) for step in range(1, 4001)]
    few, many = b"".join(records[:2000]), b"".join(records)
    spent = [bytecodes(lambda d=data: TfEvents().decoder().feed(d)) for data in (few, many)]
    assert spent[1] - spent[0] < 2000 * 10 * 10
