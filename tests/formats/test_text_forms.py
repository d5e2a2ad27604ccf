"""One run in every form: the same rows are read whole, with the same verdict."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

import rltui
from rltui.formats.console import Console
from tests.formats import encode
from tests.formats.text_forms import FORMS, LoggedRow, run_rows

ROWS = run_rows(healthy=True)
#: What the rounding of the forms may change.
ROUNDED = 6e-4
#: Forms of the issue that nobody may lose.
ENOUGH = 70


def text_of(name: str, rows: Sequence[LoggedRow]) -> bytes:
    text = FORMS[name](rows)
    return text.encode() if isinstance(text, str) else text


def read(data: bytes) -> dict[str, list[tuple[int, float]]]:
    """tag -> (step, value), with rows that wait for the end of the log."""
    decoder = Console().decoder()
    decoded = decoder.feed(data).then(decoder.finish())
    points = encode.points_of([decoded])
    return {t: [(s, struct.unpack("<d", v)[0]) for s, _, v in ps] for t, ps in points.items()}


@pytest.mark.parametrize("name", FORMS)
def test_every_row_is_read(name: str) -> None:
    data = text_of(name, ROWS)
    assert Console().claims(Path("train.log"), data[:65536])
    found = read(data)
    for wanted, short in (("reward", "rew"), ("loss", "loss")):
        tag = next(t for t in found if short in t.lower())
        assert [v for _, v in found[tag]] == [
            pytest.approx(getattr(row, wanted), abs=ROUNDED) for row in ROWS
        ]
        steps = [step for step, _ in found[tag]]
        assert steps == sorted(set(steps)), "each row has its step"


def test_the_verdict_is_that_of_the_run(tmp_path: Path) -> None:
    for name in FORMS:
        for healthy in (True, False):
            place = tmp_path / ("healthy" if healthy else "sick") / f"r{list(FORMS).index(name)}"
            place.mkdir(parents=True)
            (place / "train.log").write_bytes(text_of(name, run_rows(healthy=healthy)))

    verdicts = {
        (kind, run["run"]): run["level"]
        for kind in ("healthy", "sick")
        for run in rltui.judge(tmp_path / kind)
    }
    wrong = {
        (name, kind): verdicts.get((kind, f"r{at}"))
        for at, name in enumerate(FORMS)
        for kind, levels in (("healthy", ("ok",)), ("sick", ("watch", "bad")))
        if verdicts.get((kind, f"r{at}")) not in levels
    }
    assert not wrong
    assert len(FORMS) > ENOUGH
