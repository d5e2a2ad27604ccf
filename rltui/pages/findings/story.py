"""The worst story of a run in a few lines: likely cause, what to check first, the next step."""

from __future__ import annotations

from rltui.core.level import Level
from rltui.core.text import pad
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import MUTED, STRONG, TEXT, Line
from rltui.draw.prose import paragraph, whole_clauses
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.diagnosis import (
    advice_of,
    cause_of,
    ending_advice,
    next_step_of,
    precondition_of,
    worst_story,
)
from rltui.health.model import Diagnosis
from rltui.pages.findings.checks import CheckItem, check_items, then_words
from rltui.session import RunView

#: Cells of the names of the facts, with a blank.
STORY_NAMES = 13


def next_step(run: RunView) -> str:
    """What to do about the worst of what is wrong; "" for a run without a finding."""
    story, crash = worst_story(run), run.verdict.crash
    if crash is not None and (story is None or run.verdict.exit_level > story.level):
        return ending_advice(run, crash)
    if story is not None:
        return next_step_of(run, story)
    firing = run.report.firing() if run.report else ()
    return next((advice_of(run, f) for f in firing if f.level >= Level.WATCH), "")


def check_facts(run: RunView, diagnosis: Diagnosis, glyphs: GlyphSet) -> list[tuple[str, str]]:
    """(name, text) pairs: a setting that is likely to be the cause, what to check first, and then
    with the names of what is not logged; those without text are left out."""
    items = check_items(run, diagnosis)
    known = cause_of(run)
    jumped = known.tag if known else None
    logged = [i for i in items if i.tag is not None]
    causes = [i for i in logged if i.leads and i.is_setting and i.tag != jumped]
    rest = [i for i in logged if not i.first]
    unanswered = [i for i in rest if not i.answer]
    first = [i for i in logged if i.first and i not in causes]
    first = first or ([] if causes else unanswered[:1])
    then = [_words(i, i.hint or i.answer, glyphs) for i in rest if i not in first]
    missing = [i.title for i in items if i.tag is None]
    if missing:
        then.append(f"not logged: {', '.join(missing)}")
    asked = [_words(i, i.ask if i.tag == jumped else i.hint or i.ask, glyphs) for i in first]
    facts = [
        ("began with", precondition_of(run, diagnosis)),
        ("likely cause", ", ".join(_words(i, i.hint, glyphs) for i in causes)),
        ("check first", ", ".join(asked)),
        ("then", ", ".join(then)),
    ]
    return [(name, text) for name, text in facts if text]


def _words(item: CheckItem, remark: str, glyphs: GlyphSet) -> str:
    """ "learning rate 0.2 ✖ (× 200 at 30)". No tick: before a question it would read as a yes."""
    badge = f" {glyphs.badge(item.level)}" if item.level >= Level.WATCH else ""
    then = then_words(item)
    value = numbers.value(item.value) + (f" now, {then}" if then else "")
    return f"{item.title} {value}{badge}" + (f" ({remark})" if remark else "")


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
    facts = check_facts(run, story, view.glyphs) if story is not None else []
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
