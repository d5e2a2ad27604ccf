"""What the console decoder makes of a text."""

import struct

from rltui.core.batch import Restart
from rltui.formats.base import Decoded
from rltui.formats.console import Console
from tests.formats import encode

Found = dict[str, list[tuple[int, float]]]


def decode(text: str | bytes, piece: int | None = None) -> list[Decoded]:
    data = text.encode() if isinstance(text, str) else text
    return encode.feed_all(Console().decoder(), data, piece=piece)


def values(text: str | bytes) -> Found:
    """tag -> (step, value)."""
    found = encode.points_of(decode(text))
    return {t: [(s, struct.unpack("<d", v)[0]) for s, _, v in ps] for t, ps in found.items()}


def restarts(text: str | bytes) -> list[int]:
    return [i.step for p in decode(text) for i in p.items if isinstance(i, Restart)]


def goal(text: str | bytes) -> object:
    return {k: v for p in decode(text) for k, v in p.hparams.items()}.get("total_steps")


def guessed(text: str | bytes) -> frozenset[str]:
    return decode(text)[-1].guessed
