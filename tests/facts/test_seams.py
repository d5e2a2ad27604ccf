"""What jumped at a restart, in every place where it is told."""

import numpy as np
import pytest

from rltui.core.level import Level
from rltui.draw.line import plain
from rltui.draw.view import View
from rltui.facts.seams import jumps, seam_words
from rltui.output.brief import brief_document, text_of
from rltui.output.text_report import check_text
from rltui.pages.hyperparameters import setting_lines
from rltui.session import Session
from tests.builders import a_batch, a_block
from tests.fakes import a_session


def verl_rows(first: int, last: int, seed: int, **changes: float) -> dict[str, list[float]]:
    """The rows of verl from step to step; what changes is multiplied."""
    noise = 0.01 * np.random.default_rng(seed).standard_normal((last - first + 1, 3))
    step = np.arange(first, last + 1)
    courses = {
        "critic/rewards/mean": 0.2 + 0.004 * step + noise[:, 0],
        "response_length/mean": 400 + step + 100 * noise[:, 1],
        "actor/ppo_kl": 0.01 + 0.1 * noise[:, 2] ** 2,
    }
    return {tag: (x * changes.get(tag, 1.0)).tolist() for tag, x in courses.items()}


def resumed(**changes: float) -> Session:
    first = a_batch(a_block(verl_rows(1, 100, 1)))
    rest = a_block(verl_rows(81, 140, 2, **changes), first=81)
    return a_session(first, a_batch(rest, source="events.1", order=1))


def test_another_policy_is_told_everywhere() -> None:
    session = resumed(**{"critic/rewards/mean": 0.6, "response_length/mean": 1.5})
    (run,) = session.runs()
    assert [(j.tag, j.step) for j in jumps(run)] == [
        ("critic/rewards/mean", 81),
        ("response_length/mean", 81),
    ]
    words = seam_words(run)
    assert words.startswith("at the restart at step 81: ")
    assert run.verdict.level >= Level.WATCH
    assert words in check_text(session)
    assert "at the restart at step 81" in text_of(brief_document(session))
    lines = [plain(line) for line in setting_lines(run, View(), 100)]
    assert any(line.startswith("Jumped at a restart") for line in lines)


@pytest.mark.parametrize("factor", [1.0, 1.02])
def test_the_same_policy_is_no_word_worth(factor: float) -> None:
    session = resumed(**{"critic/rewards/mean": factor})
    (run,) = session.runs()
    assert jumps(run) == ()
    assert "restart" not in check_text(session)
