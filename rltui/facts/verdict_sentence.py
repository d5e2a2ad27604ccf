"""The verdict on a run as one sentence and one action: the same words on every surface.

A sentence is made of clauses, of which as many are told as there is room for: it is never cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rltui.catalogue.model import Category
from rltui.core.level import Level
from rltui.core.secrets import without_secrets
from rltui.core.text import cell_width, spaced
from rltui.facts import numbers, sentences, story_words
from rltui.facts.cache import per_version
from rltui.facts.checkpoint import checkpoint_words
from rltui.facts.runs import calm_words, reason_words, since_words, until_judged, why_unknown
from rltui.facts.story import Story, main_story, stories
from rltui.health.model import Finding
from rltui.session import JudgedRun

#: Share of the rows whose mean is the beginning of a measure, and its end.
_END = 0.05
#: Cells of the evidence that the sentence has room for.
_EVIDENCE_CELLS = 80
#: What the evidence says besides its numbers.
_ASIDES = re.compile(r" \([^)]*\)|[;:] .*")
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
            bare = self.brief.partition(" since ")[0]
            return self.brief if cell_width(self.brief) <= cells else bare
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
    saved = checkpoint_words(run, story.checkpoint)
    if saved:
        action += f" Last good: {saved}."

    shown = _shown(story)
    since = ""
    if shown and story.onset is not None:
        since = since_words(run, shown[0]._replace(since_step=story.onset))
    head = spaced(story.level.word, since, by=" ")
    if _is_end(story) or run.verdict.crash is not None:
        head = run.verdict.state_word + _at(run)

    brief = story_words.headline(story, short=True)
    if story.crash is None:
        brief = spaced(brief, since, by=" ")  # "entropy collapse since 46"
    clauses = (*_what(story), *_consequences(story))
    return VerdictSentence(story.level, head, clauses, action, brief)


def _at(run: JudgedRun) -> str:
    last = run.data.last_step
    return "" if last is None else f" at {numbers.step(last)}"


def _shown(story: Story) -> Sequence[Finding]:
    """The findings that a story begins with."""
    of_lead = story.lead.findings if story.lead is not None else ()
    told = story if story.same is None else story.same
    return of_lead or [row.finding for row in told.rows]


def _is_end(story: Story) -> bool:
    """Whether it is the end of a run, or its state, which no rule judges."""
    shown = _shown(story)
    return story.crash is not None or any(f.words is None and f.error is None for f in shown[:1])


def _what(story: Story) -> Iterator[Clause]:
    """Cause, evidence and settings that are the likely cause."""
    shown = _shown(story)
    if story.crash is not None:
        cause = reason_words(story.crash)
    elif _is_end(story):
        cause = sentences.summary(shown[0])
    else:
        cause = story_words.headline(story)

    yield Clause("", cause)
    if shown:
        # the numbers alone: "2.46 now"
        infos = story.run.infos
        tag = shown[0].tag or ""
        name = infos[tag].title if tag in infos else tag
        said = _ASIDES.sub("", sentences.summary(shown[0]).removeprefix(f"{tag}: "))
        said = said.removesuffix(f" since step {numbers.step(story.onset)}")
        # a title may hold the tag: total loss of loss
        parts = said.split(tag) if tag else [said]
        said = name.join(
            " ".join(infos[word].title if word in infos else word for word in part.split(" "))
            for part in parts
        )
        said = said.removeprefix(f"{name} ") if name in cause else said
        if cell_width(said) > _EVIDENCE_CELLS:
            said = sentences.short(shown[0])
        if said not in cause:
            yield Clause("", f" ({without_secrets(said)})", 2)
    suspects = story_words.suspect_words(story).values()
    if suspects:
        yield Clause("; likely cause: ", sentences.listed(suspects), 1)


def _consequences(story: Story) -> Iterator[Clause]:
    """Effects in order of time, the outcome, the other stories, and how the run ended."""
    run = story.run
    lead = story.lead
    shown = _shown(story)
    own_titles = {f.title for f in shown}
    own_tags = {f.tag for f in shown}

    effects = story.effects(lead) if lead is not None else ()
    titles = (f.title for d in effects for f in d.findings if f.title not in own_titles)
    yield from _listed("; with it: ", dict.fromkeys(titles), 4)

    if story.crash is not None:
        yield from _others(story)
    since = None if _is_end(story) else story.onset or 0
    courses = (_course(run, tag, since) for tag in outcome_tags(run) if tag not in own_tags)
    joint = "; "
    if (since or 0) > (run.data.first_step or 0):
        joint += f"since {'then' if run.verdict.crash is None else numbers.step(since)} "
    yield from _listed(joint, filter(None, courses), 3)
    if story.crash is None:
        yield from _others(story)
        if run.verdict.crash is not None:
            yield Clause("; ended by: ", run.verdict.crash.reason, 3)


def _others(story: Story) -> Iterator[Clause]:
    """The other stories; of a run that crashed they are told first."""
    others = (o for o in stories(story.run) if o.is_open and o.crash is None and o is not story)
    names = (story_words.headline(o, short=True) for o in others)
    yield from _listed("; also ", names, 1 if story.crash else 5)


def _listed(joint: str, texts: Iterable[str], rank: int) -> Iterator[Clause]:
    for place, text in enumerate(texts):
        yield Clause(", " if place else joint, text, rank + place)


def _calm(run: JudgedRun) -> VerdictSentence:
    """The sentence about a run in which nothing holds that is worth an action."""
    level = run.verdict.mark
    if unknown := why_unknown(run):
        head = f"not judged{_at(run)}"
        return VerdictSentence(level, head, (Clause("", unknown),), until_judged(run), unknown)
    word = "ok" if level is Level.OK else "ok so far"
    told = outcome_tags(run, True) or filter(None, [run.headline()])
    said = [course for tag in told if (course := _course(run, tag))]
    clauses = [*_listed("", said, 0)]
    if level is not Level.OK or not said:
        clauses.append(Clause("; " if said else "", calm_words(run), len(said)))
    waits = not (level is Level.OK or run.verdict.has_ended)
    clauses.append(Clause("; ", "nothing to do" + " yet" * waits))
    return VerdictSentence(level, word + _at(run), tuple(clauses), "", calm_words(run))


@per_version
def outcome_tags(run: JudgedRun, rising: bool = False) -> Sequence[str]:
    """Tags of the best measures of success: one of the training on the axis of the run, then a
    held-out one; with ``rising`` of those that rise or have reached their maximum."""
    if run.report is None:
        return []
    from rltui.health.success import Course, course_of, measures_of  # heavy

    well = (Course.RISES, Course.SOLVED)
    found: dict[bool, str] = {}
    for tag in measures_of(run.infos):
        info = run.infos[tag]
        is_held_out = info.category is Category.VALIDATION
        if is_held_out in found or not (is_held_out or tag not in run.points.off_axis):
            continue
        if not rising or course_of(run.data, info) in well:
            found[is_held_out] = tag
    return [found[place] for place in (False, True) if place in found]


def outcome_tag(run: JudgedRun) -> str | None:
    """Tag of what the training is for, on the axis of the run: its best measure of success, of the
    training before a held-out one; else the tag that the run is known by."""
    own = (tag for tag in outcome_tags(run) if tag not in run.points.off_axis)
    return next(own, run.headline())


def ends_of(run: JudgedRun, tag: str, since: int | None = None) -> tuple[str, list[float]]:
    """ "mean reward", and the means of the rows before a step, else of the first ones, and of the
    last ones; fewer where there are no rows."""
    steps, known = run.shown(tag).finite()
    before = known[steps < (since or 0)]
    size = max(1, round(_END * len(known)))
    first = before[-size:] if len(before) else known[:size]
    title = run.infos[tag].title
    mean = "mean " * (size > 1 and "mean" not in title)
    return f"{mean}{title}", [float(p.mean()) for p in (first, known[-size:]) if len(p)]


def _course(run: JudgedRun, tag: str, since: int | None = None) -> str:
    """ "mean reward 0.12 → 0.46"."""
    title, means = ends_of(run, tag, since)
    ends = dict.fromkeys(map(numbers.plain, means))
    is_told = len(ends) > 1 or (ends and since is None)
    return f"{title} {' → '.join(ends)}" if is_told else ""
