"""When rows of a console log were written: stamps of loggers, bars, and what is no time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import LogClock
from rltui.core.block import Block
from rltui.formats.row_times import StampReader
from tests.formats.consoles import decode
from tests.tables import cases, table

#: One moment of this machine's clock.
LOCAL = datetime(2026, 11, 28, 12, 0, 3)
HERE, UTC = LOCAL.timestamp(), LOCAL.replace(tzinfo=timezone.utc).timestamp()
ZONELESS, DAY, BAR, CONTRADICTS = 900.0, 86400.0, 1.0, -1.0


def times(text: str, piece: int | None = None, tag: str = "loss") -> list[float]:
    """The times of all rows with a tag."""
    blocks = [i for part in decode(text, piece) for i in part.items if isinstance(i, Block)]
    return [float(w) for b in blocks if tag in b.tags for w in b.wall_times]


def clock(text: str) -> LogClock:
    return decode(text)[0].clock


def gaps(found: Sequence[float]) -> list[float]:
    return [round(b - a, 3) for a, b in pairwise(found)]


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: HERE + 3 * DAY)


@cases(__file__, "stamps")
def test_stamps(text: str, base: str, plus: float) -> None:
    expected, unit = (HERE, ZONELESS) if base == "HERE" else (UTC, 0.0)
    found = StampReader().moment(text.encode() + b"loss 0.5")
    assert found[0] == unit
    assert found[1] == pytest.approx(expected + plus, abs=1e-5)
    row = "{'loss': 0.5, 'step': %d}\n"
    if text.startswith(("2026", "[2026", "(")):
        assert times(text + row % 1 + text + row % 2)[0] == pytest.approx(found[1])


@cases(__file__, "what_is_no_stamp", "line")
def test_what_is_no_stamp(line: str) -> None:
    assert StampReader().moment(line.encode()) is None


def test_days_without_a_year_go_on_over_its_end() -> None:
    reader = StampReader()
    lines = (b"Dec 31 23:59:50 host", b"Jan  1 00:00:10 host", b"Dec 31 23:59:59 host")
    found = [moment[1] for line in lines if (moment := reader.moment(line))]
    assert gaps(found) == [20.0, -11.0]
    assert found[0] < HERE  # not in the future
    leap = StampReader().moment(b"Feb 29 10:00:00 host")
    assert datetime.fromtimestamp(leap[1]).date().isoformat() == "2024-02-29"


def test_times_of_day_turn_at_midnight() -> None:
    begin = datetime(2026, 1, 1, 23, 59, 30)
    hours = [begin + timedelta(minutes=m) for m in (0, 1, 60, 60 * 23, 60 * 45)]
    text = "".join(f"[{t:%H:%M:%S}] step {n} loss 0.5\n" for n, t in enumerate(hours, 1))
    assert gaps(times(text)) == [60.0, 3540.0, 22 * 3600.0, 22 * 3600.0]
    assert clock(text).unit == DAY
    assert clock(text).at_end


ROWS = {
    "on its line": "2026-11-28 12:{m:02d}:03 INFO step {n} loss 0.5\n",
    "behind Ray": "(A pid=1) [2026-11-28 12:{m:02d}:03] a.py:1 - step {n}: "
    "{{'train/loss': 0.5, 'x': 1}}\n",
    "of a collector": "2026-11-28T12:{m:02d}:03Z {{'loss': 0.5, 'epoch': {n}}}\n",
    "line before": "2026-11-28 12:{m:02d}:03 INFO rollout done\nstep {n} loss 0.5\n",
    "above a table": "INFO 11-28 12:{m:02d}:03 [x.py:7] next\n" + "-" * 20
    + "\n| loss | 0.5 |\n| total_timesteps | {n} |\n" + "-" * 20 + "\n",
    "bar before": " 1%|# | {n}/90 [{m}:03<10:00, 60.0s/it]\n{{'loss': 0.5, 'epoch': {n}}}\n",
    "bar behind": "step:{n} - loss:0.5 - a:1.0\nTraining:  1%|# | {n}/90 [{m}:03<10:00, 60s/it]\n",
    "bar with values": "Epoch 0:  1%|# | {n}/90 [{m}:03<10:00, 60.0s/it, loss=0.{n}, a=1]\n",
}  # fmt: skip


@pytest.mark.parametrize("form", ROWS)
def test_rows_a_minute_apart_in_pieces_of_any_size(form: str) -> None:
    text = "".join(ROWS[form].format(n=n, m=n) for n in range(1, 31))
    tag = "train/loss" if form in ("behind Ray", "of a collector", "bar before") else "loss"
    whole = times(text, tag=tag)
    assert len(whole) == 30
    known = [w for w in whole if not math.isnan(w)]
    assert len(known) >= 25
    assert math.isfinite(whole[-1])
    assert np.allclose(np.diff(known), 60.0, atol=2.5)
    for piece in (1, 7, 300):
        assert np.array_equal(times(text, piece, tag), whole, equal_nan=True)


def test_a_rare_stamp_is_no_time_of_rows() -> None:
    text = "2026-11-28 12:00:03 INFO started\n" + "".join(
        f"step {n} loss 0.5\n" + "2026-11-28 13:00:00 INFO saved\n" * (n % 10 == 0)
        for n in range(1, 60)
    )
    assert np.isnan(times(text)).all()


def test_a_bar_of_an_evaluation_is_not_the_clock() -> None:
    text = "".join(
        f" 1%|# | {n}/90 [{n}:00<10:00, 60s/it]\n{{'loss': 0.5, 'epoch': {n}}}\n"
        + "".join(f" 9%|# | {i}/50 [00:0{i}<00:09, 1it/s]\n" for i in range(9)) * (n % 5 == 0)
        for n in range(1, 40)
    )
    known = np.array(times(text, tag="train/loss"))
    assert np.allclose(np.diff(known[np.isfinite(known)]), 60.0)
    assert np.isfinite(known).sum() > 30


def test_stamps_that_contradict_each_other_are_none() -> None:
    minutes = np.random.default_rng(7).permutation(59)
    text = "".join(f"2026-11-28 12:{m:02d}:03 step {n} loss 0.5\n" for n, m in enumerate(minutes))
    assert clock(text).unit == CONTRADICTS
    assert math.isnan(times(text)[-1])


def test_an_hour_that_comes_twice_costs_rows_of_that_hour_only() -> None:
    stamps = [datetime(2026, 10, 25, 2, m) for m in range(60)] + [
        datetime(2026, 10, 25, 2 + m // 60, m % 60) for m in range(180)
    ]
    text = "".join(f"{t} step {n} loss 0.5\n" for n, t in enumerate(stamps, 1))
    found = np.array(times(text))
    assert np.isfinite(found[:60]).all()
    assert np.isfinite(found[121:]).all()
    assert (np.diff(found[np.isfinite(found)]) >= -60).all()  # two processes may be apart


def test_the_clock_of_a_log_is_that_of_its_last_line() -> None:
    rows = "".join(f"2026-11-28 12:0{n}:03 step {n} loss 0.5\n" for n in range(1, 5))
    assert clock(rows) == LogClock(HERE + 240, ZONELESS, 0, 0)
    later = rows + "2026-11-28 12:09:03 INFO a health check\n"
    assert clock(later) == LogClock(HERE + 540, ZONELESS, 0, 0)
    assert clock(later + "bye\n") == LogClock(HERE + 540, ZONELESS, 1, 0)
    assert clock(later + "bye\n" + "step 5 loss 0.5\n" * 3) == LogClock(HERE + 540, ZONELESS, 4, 3)
    bars = "".join(ROWS["bar before"].format(n=n, m=n) for n in (1, 2, 3))
    assert clock(bars + " 1%|# | 4/90 [04:30<10:00, 60s/it]\n") == LogClock(270, BAR)


ANY = st.sampled_from(
    [*(stamp["text"] for stamp in table(__file__)["stamps"].values()), "", "12:99:99 ", "\x00["]
)


@given(st.lists(ANY, max_size=30))
def test_any_stamps_in_any_order(stamps: list[str]) -> None:
    text = "".join(f"{stamp}step {n} loss 0.5\n" for n, stamp in enumerate(stamps, 1))
    whole = times(text)
    known = [w for w in whole if not math.isnan(w)]
    assert all(b >= a - 60 for a, b in pairwise(known))
    assert np.array_equal(times(text, 5), whole, equal_nan=True)


@given(st.binary(max_size=200))
def test_any_bytes_are_read(line: bytes) -> None:
    found = StampReader().moment(line)
    assert found is None or math.isfinite(found[1])
