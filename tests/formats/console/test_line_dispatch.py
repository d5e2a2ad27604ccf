"""Which dialect reads which line: the marker of the rows leads, and hides no line of another one.

A log in many pieces is read as the same log in one: there nothing leads yet.
"""

import pytest

from rltui.formats.base import Decoded
from tests.formats.consoles import decode
from tests.formats.encode import points_of

LOOP = "".join(f"step={n} loss={1 / n:.4f} reward={n / 90:.3f}\n" for n in range(1, 60))
VERL = "".join(
    f"(TaskRunner pid=7) step:{n} - actor/entropy:{1 / n:.4f} - critic/score/mean:{n / 90:.3f}\n"
    for n in range(1, 60)
)
TRL = "".join(
    f"{{'loss': {1 / n:.4f}, 'reward': 0.5, 'epoch': {n / 60:.4f}}}\n" for n in range(1, 60)
)
BARS = "".join(
    f"Epoch 0: {n:3d}%|#  | {n}/60 [00:{n:02d}<00:10, 1.20it/s, loss={1 / n:.4f}]\n"
    for n in range(1, 4)
)
ENGINE = (
    "INFO 11-28 12:00:03 loggers.py:123] Engine 000: Avg prompt throughput: 120.5 tokens/s, Avg "
    "generation throughput: 80.1 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: "
    "1.5%, Prefix cache hit rate: 0.0%\n"
)
#: Lines with the marker of the rows that are no rows.
ASIDE = (
    "a step: Avg prompt throughput: 120.5 tokens/s\n",
    "the next step=up is here: 3/5\n",
    "{'not': a row}\n",
    ENGINE,
)


def read(parts: list[Decoded]) -> object:
    return points_of(parts), {k: v for part in parts for k, v in part.hparams.items()}


@pytest.mark.parametrize(
    "text",
    [
        LOOP + VERL + VERL.replace("step:", "step:1"),
        VERL + LOOP,
        TRL + VERL,
        *(rows + "".join(a + rows for a in ASIDE) for rows in (LOOP, VERL, TRL)),
        LOOP + BARS + LOOP,
    ],
    ids=["loop, verl", "verl, loop", "TRL, verl", "loop", "verl", "TRL", "bars"],
)
def test_what_is_found_does_not_depend_on_the_pieces(text: str) -> None:
    whole = read(decode(text))
    for piece in (600, 2000):
        assert read(decode(text, piece)) == whole


def test_a_loop_is_read_by_its_form_as_line_by_line() -> None:
    """Values of any length and kind, a line with more in it, and one whose counter is rounded."""
    lines = LOOP.splitlines(keepends=True)
    lines[30] = "step=31 loss=nan reward=1e-3\n"
    lines[31] = "step=32 loss=1.5k reward=-2\n"
    lines[32] = "step=33 loss=0.5 reward=0.1 kl=0.2\n"
    lines[33] = "step=1.5k loss=0.5 reward=0.1\n"
    found = points_of(decode("".join(lines)))
    assert [step for step, _, _ in found["loss"]] == [*range(1, 34), 1500, *range(35, 60)]
    assert [step for step, _, _ in found["kl"]] == [33]
