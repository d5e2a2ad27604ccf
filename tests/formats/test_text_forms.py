"""One run in every form: the same rows are read whole, with the same verdict."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

import rltui
from rltui.formats.console import Console
from tests.formats import encode
from tests.formats.text_forms import FORMS, LoggedRow, run_rows
from tests.tables import cases

ROWS = run_rows(healthy=True)
#: What the rounding of the forms may change.
ROUNDED = 6e-4
#: Forms that nobody may lose.
ENOUGH = 70
#: A trainer whose dialect has no reward: it trains on texts.
UNREWARDED = ("Megatron", "sick")


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
        if verdicts.get((kind, f"r{at}")) not in levels and (name, kind) != UNREWARDED
    }
    assert not wrong
    assert len(FORMS) > ENOUGH


# counters


def steps_of(text: str, tag: str) -> list[int]:
    return [step for step, _ in read(text.encode())[tag]]


def test_a_counter_in_thousands_has_all_its_rows() -> None:
    text = "".join(
        f"step:{f'{n}00' if n < 10 else f'{n // 10}K'} smpl:{8 * n}K ep:{n} loss:{1 / n:.3f}\n"
        for n in range(1, 151)
    )
    found = steps_of(text, "loss")
    assert len(found) == 150
    assert found[-1] == 15_000


def test_many_rows_of_one_step_wait_for_another() -> None:
    text = "".join(f"step:{1 + n // 30}K loss:{n}.5 reward:{n}.25\n" for n in range(60))
    assert steps_of(text, "loss") == [1000] * 30 + [2000] * 30


def test_a_bar_with_a_counter_from_0_has_its_first_row() -> None:
    text = "".join(
        f"\rEpoch 1: {n}%|#   | {n}/40 [00:01<00:09,  9.9it/s, step={n}, loss={n}.5]"
        for n in range(40)
    )
    assert steps_of(text + "\n", "loss") == list(range(40))


def test_a_row_is_believed_by_its_leading_names() -> None:
    text = "step=0 loss=9.5 reward=0.5 start_score=0.1\n"
    text += "".join(f"step={n} loss={n}.5 reward={n}.25\n" for n in range(1, 9))
    text += "step=9 reward=9.25 loss=9.5 eval_acc=0.7\n"
    assert steps_of(text, "loss") == list(range(10))
    assert steps_of(text, "eval_acc") == [9]


@cases(__file__, "test_what_stands_still_or_falls_counts_nothing", "form")
def test_what_stands_still_or_falls_counts_nothing(form: str) -> None:
    text = "".join(form.format(n=n, odd=1000 + 37 * n % 101) for n in range(1, 21))
    assert steps_of(text, "reward") == list(range(1, 21))


def test_a_heading_right_above_a_dict_has_its_step() -> None:
    text = "".join(
        f"[STEP {5 * n:>4}]  loss=2.5\n{{'loss': '2.{n:02}', 'epoch': '0.{n:02}'}}\n"
        for n in range(1, 9)
    )
    assert steps_of(text, "train/loss") == [5 * n for n in range(1, 9)]
    told = "".join(
        f"Tried to log to step {40 + n}, which is too late\n{{'loss': {n}.5, 'epoch': {n}.0}}\n"
        for n in range(1, 9)
    )
    assert steps_of(told, "train/loss") == list(range(1, 9)), "a sentence is no heading"


def test_several_numbers_of_one_name_are_several_series() -> None:
    text = "".join(
        f"[Update {n}/40] Step: {n}/640 | FPS: 90{n}\n"
        f" └─ WinRate: 0.{n} | Loss(P/V/E): -0.00{n}/0.07/0.39\n"
        for n in range(1, 9)
    )
    assert {"WinRate", "Loss(P)", "Loss(V)", "Loss(E)"} <= set(read(text.encode()))
    uneven = "".join(f"step {n} Loss(P/V): 0.1/0.2/0.3 reward {n}.5\n" for n in range(1, 9))
    assert set(read(uneven.encode())) == {"reward"}


def test_a_sentence_with_a_comma_is_no_fraction() -> None:
    text = "".join(f"step {n}: loss 0.5, betas 0,9, tokens 1,024\n" for n in range(1, 9))
    assert [value for _, value in read(text.encode())["tokens"]] == [1024.0] * 8


def test_utf_16_may_come_in_any_pieces() -> None:
    whole = FORMS["UTF-16"](ROWS)
    assert isinstance(whole, bytes)
    pieces = encode.points_of(encode.feed_all(Console().decoder(), whole, piece=1))
    assert pieces == encode.points_of(encode.feed_all(Console().decoder(), whole))
    assert pieces
