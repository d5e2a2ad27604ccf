"""The worst story of a run in a few lines: likely cause, what to check first, the next step."""

from __future__ import annotations

from rltui.core.text import pad
from rltui.draw.line import MUTED, STRONG, TEXT, Line
from rltui.draw.prose import paragraph, whole_clauses
from rltui.draw.view import View
from rltui.facts.checks import check_facts, next_step
from rltui.facts.findings import worst_story
from rltui.session import RunView

#: Cells of the names of the facts, with a blank.
STORY_NAMES = 13


def story_lines(run: RunView, view: View, width: int, height: int) -> list[Line]:
    """What to do about a run in at most ``height`` lines: the next step, and above it as much as
    fits of the likely cause and of what to check. Empty for a run without a finding."""
    step = view.glyphs.text(next_step(run))
    if not step or height < 1 or width < 2 * STORY_NAMES:
        return []
    ellipsis, room = view.glyphs.ellipsis, width - STORY_NAMES
    most = 1 if height < 3 else max(1, height // 2)
    last: list[Line] = [[(x, STRONG)] for x in whole_clauses(step, room, most, ellipsis=ellipsis)]
    story = worst_story(run)
    facts = check_facts(run, story, view.glyphs.badge) if story is not None else []
    spare = height - len(last)
    lines: list[Line] = []
    for at, (name, text) in enumerate(facts):
        more = sum(name != "then" for name, _ in facts[at + 1 :])
        limit = min(2, spare - more)
        if limit < 1 or (name == "then" and height < 4):
            break
        words = view.glyphs.text(text)
        body = paragraph(words, room, TEXT, limit=limit, ellipsis=ellipsis)
        spare -= len(body)
        lines += _named(name, body)

    return [*lines, *_named("next step", last)]


def _named(name: str, body: list[Line]) -> list[Line]:
    """The lines of a fact behind its name."""
    return [[(pad("" if n else name, STORY_NAMES), MUTED), *line] for n, line in enumerate(body)]
