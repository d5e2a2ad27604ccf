"""Entry of one run in ``rltui.brief/1``; docs/command-line.md has its fields.

Whatever comes from a log stands in quotes, cleaned and bounded: it is data, and may read like an
instruction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rltui.catalogue import Catalogue
from rltui.core.address import PIPE, is_remote
from rltui.core.fault import NOT_SHOWN
from rltui.core.level import Level
from rltui.core.secrets import without_secrets
from rltui.core.text import Json, kept_clean
from rltui.facts import findings, numbers, sentences
from rltui.facts.cache import per_version
from rltui.facts.oddities import lacking, odd_facts
from rltui.facts.runs import age_words, calm_words, phase_words, why_unknown
from rltui.facts.seams import jumps, seam_words
from rltui.facts.story import Story, main_story, stories
from rltui.facts.story_words import action, headline, suspect_facts, suspect_words
from rltui.facts.verdict_sentence import ends_of
from rltui.health.model import Finding
from rltui.output.json_text import fields_of
from rltui.output.verdict_types import MoveDocument, SkippedDocument
from rltui.session import JudgedRun, Session

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus

#: Characters of a text from a log.
_QUOTED = 60
#: Characters of a note about what was not read, which quotes a line.
_NOTE = 160
#: A name that can be no instruction, and would be marked where it is only a word.
_WORD = re.compile(r"[A-Za-z]{1,20}|..?")
#: Words that are cut in titles, which must be short on a screen.
_WHOLE = dict(
    re.findall(
        r"([a-z.]+): ([a-z ]+)",
        "abs.: absolute, acc: accuracy, adv.: advantage, ep.: episode, env: environment, "
        "env.: environment, eval: evaluation, expl.: explained, frac.: fraction, "
        "gen: generation, gen.: generation, grad: gradient, learn.: learning, len: length, "
        "len.: length, mem.: memory, no.: number, pct.: percentile, pol.: policy, "
        "ppl: perplexity, pref.: preference, prob: probability, prob.: probability, "
        "probs: probabilities, ref: reference, ref.: reference, resp.: response, seq.: sequence, "
        "std: standard deviation, temp.: temperature, val: validation, var.: variance",
    )
)
#: Facts of a story that a document has at most.
_FACTS = 8


def quoted(text: str, most: int = _QUOTED) -> str:
    """A text from a log: cleaned, at most ``most`` characters, in quotes that it has none of."""
    text = kept_clean(text).replace('"', "'")
    return f'"{text if len(text) <= most else text[: most - 1] + "…"}"'


def _said(text: str) -> str:
    """A line of a log in quotes, without its secrets."""
    return quoted(without_secrets(text))


def absolute(path: Path) -> str:
    """A path as text, the same from every working directory."""
    return str(path if is_remote(path) or path == PIPE else path.absolute())


def unread(session: Session, known: Collection[Path] = ()) -> list[str]:
    """List in words what was not read: the newest note of each path, and the reference run that is
    missing; not of the ``known`` paths."""
    notes = {n.path: n for n in session.troubles() if n.level >= Level.WATCH}
    told = [
        f"{quoted(str(path))}: {quoted(without_secrets(note.message), _NOTE)}"
        for path, note in notes.items()
        if path not in known
    ]
    if session.reference.waits and session.reading() is None:
        told.append(quoted(str(session.reference.missing())))
    return told


def standing(name: str, entry: Mapping[str, Any], before: str = "") -> str:
    """Name, trainer, step, state, with words ``before`` that, and level of a run in a line."""
    what = " ".join(x for x in (quoted(name), entry["framework"], entry["algorithm"]) if x)
    step = "no row"
    if entry["step"] is not None:
        step = f"{entry['step_unit']} {numbers.step(entry['step'])}"
    step += f"/{numbers.step(entry['total_steps'])}" if entry["total_steps"] else ""
    state = " ".join(x for x in (before, entry["state"], entry["age"]) if x)
    state += f", {entry['phase']}" if entry["phase"] else ""
    return f"{what}, {step}, {state}: {entry['level'].upper()}"


def brief_entry(run: JudgedRun) -> Json:
    """Entry of a run, but for its name, which depends on all runs; of one that rltui fails in as if
    it had logged nothing."""
    entry: Json = {}
    with run.isolate_faults(NOT_SHOWN):
        entry = _entry(run)
    return entry or _entry(run.blank())


@per_version
def _entry(run: JudgedRun) -> Json:
    known = run.recognition
    progress = run.progress
    report = run.report
    age = progress.age_s if progress else None
    first = main_story(run)
    holding = [story for story in stories(run) if story.is_open]
    holding.sort(key=lambda story: story is not first)
    return {
        "run": run.key.name,
        "logdir": run.key.logdir,
        "path": absolute(run.data.path),
        "framework": known.framework if known else None,
        "algorithm": known.algorithm if known else None,
        "step": run.data.last_step,
        "total_steps": progress.total_steps if progress else None,
        "step_unit": run.step_word,
        "state": run.verdict.state_word,
        "age": age_words(run) if age is not None and age >= 3600 else "",
        "phase": _said(phase_words(run)) if phase_words(run) else "",
        "level": run.verdict.level.word,
        "calm": why_unknown(run) or _marked(run, calm_words(run)),
        "headline": _headline(run),
        "story": list(map(_story, holding)),
        "seam": _marked(run, seam_words(run)),
        "jumps": [{"metric": _title(run, j.tag), **j._asdict()} for j in jumps(run)],
        "odd": _odd(run, {id(row.finding) for story in holding for row in story.rows}),
        "not_judged": list(map(_whole, lacking(run))),
        "skipped": [fields_of(s, SkippedDocument) for s in (report.skipped if report else ())],
    }


def _headline(run: JudgedRun) -> Json | None:
    tag = run.headline()
    if tag is None:
        return None
    _, means = ends_of(run, tag)
    if run.data.count(tag) < 2 or len(means) < 2:
        return None
    return {"metric": _title(run, tag), "before": means[0], "after": means[1]}


def _story(story: Story) -> Json:
    """Stories that hold now, with their first evidence."""
    run = story.run
    found = [f for row in story.rows for f in (row.finding, *row.earlier)]
    moves = story.moves[:_FACTS]
    saved = ""
    if story.checkpoint is not None:
        saved = f" Last good checkpoint: {numbers.step(story.checkpoint.step)}."
    return {
        "id": story.id,
        "level": story.level.word,
        "harm": story.harm.value,
        "words": _ended(story.crash) if story.crash else _marked(run, headline(story)),
        "since": story.since,
        "certain": story.certain,
        "evidence": [_evidence(run, f) for f in found[:_FACTS]],
        "first_moved": [
            fields_of(move, MoveDocument, metric=_title(run, move.tag), setting=move.is_setting)
            for move in moves
        ],
        "suspects": [_marked(run, words) for words in suspect_words(story).values()],
        "settings": suspect_facts(run, story.suspects),
        "log_says": "; ".join(f"{_said(c.text)} {c.times} times" for c in story.complaints[:2]),
        "next": f"{_marked(run, action(story))}{saved}",
    }


def _ended(crash: ExitStatus) -> str:
    """How the run ended, with what its log says in quotes."""
    words = f"{crash.kind.value}: {', then '.join(map(_said, (crash.reason, *crash.after)))}"
    said = crash.line and crash.line not in crash.reason
    return f"{words}, {_said(crash.line)}" if said else words


def _evidence(run: JudgedRun, finding: Finding) -> Json:
    evidence = finding.evidence
    row = finding.evidence.row
    over = finding.until_step is not None
    spans = f" ({numbers.step_range(finding.since_step, finding.until_step)}, over)" if over else ""
    return {
        "rule": finding.rule,
        "tag": finding.tag,
        "since": finding.since_step,
        "before": row.get("before"),
        "after": row.get("peak" if over else "now", evidence.value),
        "words": f"{finding.title}{spans}: {_marked(run, sentences.summary(finding))}",
    }


def _odd(run: JudgedRun, told: Collection[int]) -> list[str]:
    """List what looks wrong and is no story: what is usual, not sure yet, over or to come;
    not what is ``told`` (ids of findings) in a story."""
    facts = [f"{_title(run, tag)} {words}" for tag, words in odd_facts(run)]
    over = []
    for row in findings.finding_rows(run):
        finding = row.finding
        times = f"{row.times} times, last " if row.earlier else ""
        if not row.is_firing and finding.level >= Level.WATCH and id(finding) not in told:
            span = numbers.step_range(finding.since_step, finding.until_step)
            over.append(f"{finding.title} {times}{span}, over")
    ahead = [_marked(run, findings.ahead_sentence(run, p)) for p in findings.projections(run)]
    return [*facts, *over, *ahead]


# -- what comes from logs --------------------------------------------------------------------


@lru_cache(maxsize=4)
def _catalogued(catalogue: Catalogue) -> Mapping[str, str]:
    """The titles of the catalogue, with those in whole words."""
    return {metric.title: _whole(metric.title) for metric in catalogue.metrics.values()}


def _whole(title: str, cut: str = r"[a-z]+\.?") -> str:
    """A title of the catalogue without cut words."""
    return re.sub(cut, lambda m: _WHOLE.get(m[0], m[0]), title)


def _title(run: JudgedRun, tag: str) -> str:
    """The title of a tag, in quotes where a part of it is from the log."""
    title = run.infos[tag].title
    known = _catalogued(run.catalogue).get(title)
    return known or quoted(_whole(title, r"[a-z]+\.(?=[ ,]|$)"))  # words of a log have no point


def _marked(run: JudgedRun, text: str) -> str:
    """A sentence with quotes around the names from the log that are in it, and whole titles."""
    known = _catalogued(run.catalogue)
    named = {n for tag, info in run.infos.items() for n in (tag, info.title) if n in text}
    found = [n for n in named if n in known or not _WORD.fullmatch(n)]
    if not found:
        return text
    any_of = "|".join(map(re.escape, sorted(found, key=len, reverse=True)))
    shown = {n: known.get(n) or quoted(n) for n in found}
    return re.sub(rf"(?<![\w/])(?:{any_of})(?![\w/])", lambda m: shown[m[0]], text)
