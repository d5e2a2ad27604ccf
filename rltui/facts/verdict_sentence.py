"""The verdict on a run as one sentence and one action: the same words on every surface.

A sentence is made of clauses, of which as many are told as there is room for: it is never cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.core.secrets import without_secrets
from rltui.core.text import cell_width, spaced
from rltui.facts import numbers, sentences, story_words
from rltui.facts.cache import per_version
from rltui.facts.checkpoint import checkpoint_words
from rltui.facts.runs import calm_words, exit_words, since_words, why_unknown
from rltui.facts.story import Story, main_story, stories
from rltui.health.model import Finding
from rltui.session import JudgedRun

#: Share of the rows whose mean is the beginning of a measure, and its end.
_END = 0.05
#: Cells of the evidence that the sentence has room for.
_EVIDENCE_CELLS = 80
#: Where one sentence of an advice ends and the next begins.
_BETWEEN = re.compile(r"(?<=[.?!]) (?=[A-Z])")


class Clause(NamedTuple):
    """A part of a sentence."""

    joint: str
    """Text that joins it to what stands before it."""
    text: str
    rank: int = 0
    """Clauses of a higher rank are the first to be left out."""


class VerdictSentence(NamedTuple):
    """Verdict on a run, and the action."""

    level: Level
    """Level of the mark before it."""
    head: str
    """ "bad since 120", "ok at 246", "crashed at 96"."""
    clauses: tuple[Clause, ...]
    """In their order; the first one is always told."""
    action: str
    """What to do, in whole sentences; "" for nothing."""
    brief: str
    """Fewest words, for a cell of a table."""

    def words(self, cells: int) -> str:
        """The sentence in that many cells: as many clauses as fit; the brief words where not even
        the first one does."""
        lead = f"{self.head}: "
        text = lead + self.clauses[0].text
        if cell_width(text) > cells:
            return self.brief
        for rank in sorted({clause.rank for clause in self.clauses}):
            kept = [clause for clause in self.clauses if clause.rank <= rank]
            longer = lead + "".join(clause.joint + clause.text for clause in kept)
            if cell_width(longer) >= cells:
                break
            text = longer
        return text

    def to_do(self, cells: int) -> str:
        """The action: as many of its sentences as that many cells hold, at least the first."""
        first, *others = _BETWEEN.split(self.action)
        for sentence in others:
            if cell_width(first) + 1 + cell_width(sentence) > cells:
                break
            first = f"{first} {sentence}"
        return first


@per_version
def verdict_sentence(run: JudgedRun) -> VerdictSentence:
    """The sentence and the action of a run: how it ended, its worst story, or how it does well."""
    story = main_story(run)
    if story is None:
        return _calm(run)
    action = story_words.action(story)
    if saved := checkpoint_words(run, story.checkpoint):
        action += f" Last good: {saved}."
    clauses = tuple(_clauses(story))
    if story.crash is not None and story.lead is None:
        kind, _, reason = exit_words(story.crash).partition(": ")
        ended = exit_words(story.crash)
        return VerdictSentence(story.level, kind + _at(run), (Clause("", reason),), action, ended)
    head, name = _head(story), story_words.headline(story, short=True)
    brief = spaced(name, head.partition(" ")[2], by=" ")  # "entropy collapse since 46"
    return VerdictSentence(story.level, head, clauses, action, brief)


def _at(run: JudgedRun) -> str:
    return "" if run.data.last_step is None else f" at {numbers.step(run.data.last_step)}"


def _shown(story: Story) -> Sequence[Finding]:
    """The findings that a story begins with."""
    of_lead = story.lead.findings if story.lead is not None else ()
    return of_lead or [row.finding for row in story.rows]


def _head(story: Story) -> str:
    """ "bad since 120"; "bad" for what has no onset."""
    finding = next(iter(_shown(story)), None)
    if finding is None or story.onset is None:
        return story.level.word
    began = finding._replace(since_step=story.onset)
    return f"{story.level.word} {since_words(story.run, began)}"


def _clauses(story: Story) -> Iterator[Clause]:
    """Cause, evidence, effects in order of time, and how much else there is."""
    run, lead, shown = story.run, story.lead, _shown(story)
    yield Clause("", story_words.headline(story))
    if shown:
        said = sentences.summary(shown[0]).partition("; ")[0]  # the limit stands beside the row
        if cell_width(said) > _EVIDENCE_CELLS:
            said = sentences.short(shown[0])
        yield Clause(": ", without_secrets(said), 2)
    if causes := sentences.listed(story_words.suspect_words(story).values()):
        yield Clause("; likely cause: ", causes, 1)
    effects = story.effects(lead) if lead is not None else ()
    told = {finding.title for finding in shown}
    titles = [f.title for d in effects for f in d.findings if f.title not in told]
    for place, title in enumerate(dict.fromkeys(titles)):
        yield Clause(", " if place else "; with ", title, 3 + place)
    own = {id(row.finding) for row in story.rows}
    others = sum(r.is_firing and id(r.finding) not in own for s in stories(run) for r in s.rows)
    if others:
        yield Clause("; ", f"and {others} more", len(titles) + 3)


def _calm(run: JudgedRun) -> VerdictSentence:
    """The sentence about a run in which nothing holds that is worth an action."""
    level = run.verdict.mark
    if unknown := why_unknown(run):
        clauses = [Clause("", unknown)]
        return VerdictSentence(level, f"not judged{_at(run)}", tuple(clauses), "", unknown)
    word = "ok" if level is Level.OK else "ok so far"
    said = [_course(run, tag) for tag in _outcomes(run)]
    said += [calm_words(run)] if level is not Level.OK or not said else []
    clauses = [Clause(", " if place else "", text, place) for place, text in enumerate(said)]
    done = Clause("; ", "nothing to do")
    return VerdictSentence(level, word + _at(run), (*clauses, done), "", calm_words(run))


def _outcomes(run: JudgedRun) -> list[str]:
    """Tags of the best measures of success that rise, one of the training and a held-out one; else
    the tag that the run is known by."""
    from rltui.health.success import Course, measures_of  # heavy

    found: dict[bool, str] = {}
    for measure in measures_of(run.data, run.infos):
        is_held_out = run.infos[measure.tag].category is Category.VALIDATION
        if measure.course in (Course.RISES, Course.SOLVED):
            found.setdefault(is_held_out, measure.tag)
    headline = run.headline()
    if not found and headline is not None:
        return [headline]
    return [found[place] for place in (False, True) if place in found]


def outcome_tag(run: JudgedRun) -> str | None:
    """Tag of what the training is for, on the axis of the run: its best measure of success, of the
    training before a held-out one; else the tag that the run is known by."""
    if run.report is None:
        return run.headline()
    from rltui.health.success import measures_of  # heavy

    own = [m.tag for m in measures_of(run.data, run.infos) if m.tag not in run.points.off_axis]
    training = [t for t in own if run.infos[t].category is not Category.VALIDATION]
    return next(iter([*training, *own]), run.headline())


def _course(run: JudgedRun, tag: str) -> str:
    """ "reward 0.12 → 0.46": the means of the first and the last rows."""
    values = run.shown(tag).values
    known = values[np.isfinite(values)]
    size = max(1, round(_END * len(known)))
    ends = (numbers.plain(float(part.mean())) for part in (known[:size], known[-size:]))
    return f"{run.infos[tag].title} {' → '.join(ends)}" if len(known) else ""
