"""What ``rltui.brief/1`` says of one run; docs/command-line.md has its fields.

Whatever comes from a log stands in quotes, cleaned and bounded: it is data, and may read like an
instruction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from rltui.catalogue import Catalogue
from rltui.core.address import PIPE, is_remote
from rltui.core.fault import NOT_SHOWN
from rltui.core.level import Level
from rltui.core.secrets import without_secrets
from rltui.core.text import kept_clean
from rltui.facts import findings, numbers, sentences
from rltui.facts.cache import per_version
from rltui.facts.checkpoint import last_good_checkpoint
from rltui.facts.odd import lacking, odd_facts
from rltui.facts.runs import age_words, calm_words, why_unknown
from rltui.facts.seams import seam_words
from rltui.health.model import Diagnosis, Finding, lead_of
from rltui.health.symptoms import SETTING_CHANGED, Harm
from rltui.output.json_document import Json, MoveDocument, SkippedDocument, fields_of
from rltui.session import RunView, Session

#: Characters of a text from a log.
_QUOTED = 60
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


def quoted(text: str) -> str:
    """A text from a log: cleaned, at most 60 characters, in quotes that it has none of."""
    text = kept_clean(text).replace('"', "'")
    return f'"{text if len(text) <= _QUOTED else text[: _QUOTED - 1] + "…"}"'


def _said(text: str) -> str:
    """A line of a log in quotes, without its secrets."""
    return quoted(without_secrets(text))


def absolute(path: Path) -> str:
    """A path as text, the same from every working directory."""
    return str(path if is_remote(path) or path == PIPE else path.absolute())


def unread(session: Session, known: Collection[Path] = ()) -> list[str]:
    """What cannot be read now, and the reference run that is missing, in words; not of the
    ``known`` paths."""
    notes = (n for n in session.reach.notes if n.level >= Level.WATCH and n.path not in known)
    told = [f"{quoted(str(n.path))}: {_said(n.message)}" for n in notes]
    if session.reference.waits and session.reading() is None:
        told.append(quoted(str(session.reference.missing())))
    return told


def brief_entry(run: RunView) -> Json:
    """What is to be known of a run, but for its name, which depends on all runs; of one that rltui
    fails in as if it had logged nothing."""
    entry: Json = {}
    with run.walled(NOT_SHOWN):
        entry = _entry(run)
    return entry or _entry(run.blank())


@per_version
def _entry(run: RunView) -> Json:
    known, progress, report = run.recognition, run.progress, run.report
    age = progress.age_s if progress else None
    stories = [s for s in findings.diagnosed_in(run).stories() if s[0].level >= Level.WATCH]
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
        "level": run.verdict.level.word,
        "calm": why_unknown(run) or _marked(run, calm_words(run)),
        "headline": _headline(run),
        "story": _told_stories(run, stories),
        "seam": _marked(run, seam_words(run)),
        "odd": _odd(run, {id(f) for s in stories for d in s for f in d.findings}),
        "not_judged": list(map(_whole, lacking(run))),
        "skipped": [fields_of(s, SkippedDocument) for s in (report.skipped if report else ())],
    }


def _headline(run: RunView) -> Json | None:
    tag = run.headline()
    values = run.shown(tag).values if tag is not None else np.empty(0)
    finite = values[np.isfinite(values)] * (run.infos[tag].scale if tag is not None else 1.0)
    if tag is None or len(finite) < 2:
        return None
    part = max(1, min(5, len(finite) // 2))
    ends = (float(np.median(finite[:part])), float(np.median(finite[-part:])))
    return {"metric": _title(run, tag), "before": ends[0], "after": ends[1]}


def _told_stories(run: RunView, stories: Sequence[Sequence[Diagnosis]]) -> list[Json]:
    """What is wrong now, the worst first; how it ended before the others."""
    diagnosed, report = findings.diagnosed_in(run), run.report
    told = [_story(run, story, is_worst=not place) for place, story in enumerate(stories)]
    known = {id(f) for d in diagnosed.diagnoses for f in d.findings}
    for finding in report.firing() if report else ():
        if id(finding) not in known and finding.level >= Level.WATCH:  # no symptom knows its rule
            advice = _marked(run, findings.advice_of(run, finding))
            harm, title = Harm.MINOR.value, finding.title
            one = _told(run, finding.rule, finding.level, harm, title, [finding])
            told.append(one | {"next": advice})
    told.sort(key=lambda story: story["level"] != Level.BAD.word)
    return [*_ending(run), *told]


def _told(
    run: RunView, name: str, level: Level, harm: str, words: str, found: Sequence[Finding]
) -> Json:
    """A story that begins with the first of its findings."""
    first = found[0] if found else None
    certain = first.certain_step if first else None
    return {
        "id": name,
        "level": level.word,
        "harm": harm,
        "words": words,
        "since": first.since_step if first else None,
        "certain": certain,
        "evidence": [_evidence(run, f) for f in found[:_FACTS]],
        "first_moved": [],
        "next": "",
    }


def _ending(run: RunView) -> list[Json]:
    """How the run ended, where that is wrong."""
    crash = run.verdict.crash
    if crash is None or run.verdict.exit_level < Level.WATCH:
        return []
    diagnosis = findings.ending_diagnosis(run) if run.infos else None
    words = f"{crash.kind.value}: {', then '.join(map(_said, (crash.reason, *crash.after)))}"
    words += f", {_said(crash.line)}" if crash.line and crash.line not in crash.reason else ""
    name = diagnosis.symptom.id if diagnosis else crash.kind.value
    level, harm = run.verdict.exit_level, diagnosis.symptom.harm if diagnosis else Harm.FATAL
    story = _told(run, name, level, harm.value, words, ()) | {"since": run.data.last_step}
    return [story | {"next": _marked(run, findings.ending_advice(run, crash))}]


def _story(run: RunView, story: Sequence[Diagnosis], *, is_worst: bool) -> Json:
    """A story by what to begin with; what holds stands before what it brought about and is over."""
    lead, top = lead_of(story), story[0]
    found = list(lead.findings)
    found += [f for d in story for f in d.findings if d is not lead]
    found.sort(key=lambda f: f not in run.report.firing() if run.report else False)
    words = lead.symptom.title
    if top is not lead:
        when = "at" if top.symptom.id == SETTING_CHANGED else "since"
        cause = _marked(run, findings.title_of(run, top))
        words += f", after {cause} {when} {numbers.step(top.since_step)}"
    told = _told(run, lead.symptom.id, top.level, lead.symptom.harm.value, words, found)
    certain = [f.certain_step for f in lead.findings if f.certain_step is not None]
    told |= {"since": lead.since_step, "certain": min(certain, default=None)}
    said = findings.complaints_in(run, lead)[:2]
    log = "".join(f"The log says {_said(c.text)} {c.times} times. " for c in said)
    checkpoint = last_good_checkpoint(run) if is_worst else None
    saved = f" Last good checkpoint: {numbers.step(checkpoint.step)}." if checkpoint else ""
    told["first_moved"] = [
        fields_of(move, MoveDocument, metric=_title(run, move.tag), setting=move.is_setting)
        for move in findings.diagnosed_in(run).moves[: _FACTS if is_worst else 0]
    ]
    return told | {"next": f"{log}{_marked(run, findings.next_step_of(run, lead))}{saved}"}


def _evidence(run: RunView, finding: Finding) -> Json:
    evidence, row = finding.evidence, finding.evidence.row
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


def _odd(run: RunView, told: Collection[int]) -> list[str]:
    """What looks wrong and is no reason to stop: what is usual, not sure yet, over or to come; not
    what is ``told`` (ids of findings) in a story."""
    facts = [f"{_title(run, tag)} {words}" for tag, words in odd_facts(run)]
    over = []
    for row in findings.finding_rows(run):
        finding, times = row.finding, f"{row.times} times, last " if row.earlier else ""
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


def _title(run: RunView, tag: str) -> str:
    """The title of a tag, in quotes where a part of it is from the log."""
    title = run.infos[tag].title
    known = _catalogued(run.catalogue).get(title)
    return known or quoted(_whole(title, r"[a-z]+\.(?=[ ,]|$)"))  # words of a log have no point


def _marked(run: RunView, text: str) -> str:
    """A sentence with quotes around the names from the log that are in it, and whole titles."""
    known = _catalogued(run.catalogue)
    named = {n for tag, info in run.infos.items() for n in (tag, info.title) if n in text}
    found = [n for n in named if n in known or not _WORD.fullmatch(n)]
    if not found:
        return text
    any_of = "|".join(map(re.escape, sorted(found, key=len, reverse=True)))
    shown = {n: known.get(n) or quoted(n) for n in found}
    return re.sub(rf"(?<![\w/])(?:{any_of})(?![\w/])", lambda m: shown[m[0]], text)
