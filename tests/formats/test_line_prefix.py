"""A log behind prefixes is the log without them, whoever put them there.

A last line that is read before its end has come, and then goes on.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.formats.console import Console
from rltui.formats.console.console_line import LinePrefix
from tests import places
from tests.formats import encode
from tests.formats.consoles import decode
from tests.tables import cases, table

FIXTURES = places.FIXTURES / "console"
AREAL = "".join(
    f"20250711-10:12:{10 + n}.123 stats INFO: \n"
    "╭──────────────────────────────┬──────────────╮\n"
    f"│ step                         │ {n:<12} │\n"
    f"│ grpo_actor/task_reward/avg   │ {0.1 * n:<12.4f} │\n"
    f"│ grpo_actor/update/grad_norm  │ {1.5 + n:<12.4f} │\n"
    "╰──────────────────────────────┴──────────────╯\n"
    for n in range(1, 9)
)
RSL_RL = "".join(
    "#" * 80 + f"\n                     Learning iteration {n}/100\n\n"
    f"                       Computation: 5000 steps/s (collection: 0.5s, learning 0.1s)\n"
    f"               Value function loss: 0.0{n}11\n"
    f"                       Mean reward: {n}.50\n"
    f"               Mean episode length: 20.0\n"
    + "-" * 80
    + f"\n                   Total timesteps: {n}000\n                    ETA: 10.0s\n\n"
    for n in range(1, 6)
)
LOGS = {
    "SB3": (FIXTURES / "sb3.log").read_text(),
    "TRL with bars": (FIXTURES / "trl_bars.log").read_text(),
    "TRL": (FIXTURES / "trl_rows.log").read_text(),
    "verl": (FIXTURES / "verl.log").read_text(),
    "CleanRL": (FIXTURES / "cleanrl.log").read_text(),
    "a loop of one's own": (FIXTURES / "own.log").read_text(),
    "AReaL": AREAL,
    "rsl_rl": RSL_RL,
}
PREFIXES = table(__file__)["prefixes"]


def lines(log: str) -> list[str]:
    """As a collector gets them: of a bar that is redrawn the first state has the prefix."""
    return log.split("\n")[:-1]


def points(log: str) -> dict[str, list[tuple[int, object]]]:
    """Step and value of each point, NaN as text."""
    found = encode.points_of(decode(log))
    return {tag: [(step, repr(value)) for step, _, value in rows] for tag, rows in found.items()}


@pytest.mark.parametrize("name", LOGS)
def test_every_log_is_the_same_behind_every_prefix(name: str) -> None:
    bare = points(LOGS[name])
    assert bare
    wrong = [
        prefix
        for prefix, text in PREFIXES.items()
        if points("".join(f"{text}{line}\n" for line in lines(LOGS[name]))) != bare
    ]
    assert wrong == []


@given(st.data())
def test_a_prefixed_log_may_come_in_any_pieces(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(LOGS)))
    prefix = PREFIXES[data.draw(st.sampled_from(sorted(PREFIXES)))]
    log = "".join(f"{prefix}{line}\n" for line in lines(LOGS[name])[:120]).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=6)))
    decoder = Console().decoder()
    pieces = [log[a:b] for a, b in zip([0, *cuts], [*cuts, len(log)], strict=True)]
    parts = [decoder.feed(piece, more=True) for piece in pieces]
    whole = encode.points_of([Console().decoder().feed(log, more=True)])
    found = encode.points_of(parts)
    assert {tag: repr(rows) for tag, rows in found.items()} == {
        tag: repr(rows) for tag, rows in whole.items()
    }


@pytest.mark.parametrize("label", ["{}: ", "[rank{}]: ", "[default{}]:"])
@pytest.mark.parametrize("name", LOGS)
def test_of_many_ranks_rank_0_is_read(name: str, label: str) -> None:
    """Every rank prints every line, a moment apart."""
    log = "".join(
        f"{label.format(rank)}{line}\n" for line in lines(LOGS[name]) for rank in (0, 1, 7)
    )
    assert points(log) == points(LOGS[name])


def test_a_rank_that_alone_has_rows_is_read() -> None:
    """Megatron prints on the last rank."""
    log = "".join(
        f"[rank0]: waiting\n[rank7]: step:{n} - actor/entropy:{n / 10}\n" for n in range(1, 9)
    )
    assert [step for step, _ in points(log)["actor/entropy"]] == list(range(1, 9))


def test_lines_before_the_prefix_begins() -> None:
    log = "starting\nloading\n" + "".join(
        f"2025-11-23T14:30:19Z step:{n} - a:{n}\n" for n in range(1, 5)
    )
    assert [step for step, _ in points(log)["a"]] == [1, 2, 3, 4]


@cases(__file__, "what_may_be_a_value_stays", "line")
def test_what_may_be_a_value_stays(line: str) -> None:
    assert LinePrefix().split(line.encode()) == (b"", 0)
