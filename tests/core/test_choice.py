"""Words that people type: whole, begun, ambiguous and misspelt names."""

from __future__ import annotations

import pytest

from rltui.core.level import choose

LEAVE, ACTOR, MODEL, RUNS = "leave", "the actor", "the reward model", "the runs"
NAMES = {"quit": LEAVE, "q": LEAVE, "actor": ACTOR, "act": ACTOR, "reward model": MODEL,
         "rm": MODEL, "runs": RUNS}  # fmt: skip


@pytest.mark.parametrize(
    ("word", "value"),
    [("q", LEAVE), ("qu", LEAVE), ("a", ACTOR), ("ACTO", ACTOR), ("rew", MODEL), ("ru", RUNS)],
)
def test_a_beginning_is_enough(word: str, value: str) -> None:
    assert choose(word, NAMES) == (value, "")


@pytest.mark.parametrize(
    ("word", "hint"),
    [("r", "; did you mean reward model or runs?"), ("actro", "; did you mean actor?"),
     ("zzz", ""), ("", "")],
)  # fmt: skip
def test_what_is_not_clear_chooses_nothing(word: str, hint: str) -> None:
    assert choose(word, NAMES) == (None, hint)
