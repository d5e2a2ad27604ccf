"""Gathers the answers of the variants into one report per run."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import groupby
from typing import Any, NamedTuple

from rltui.catalogue.model import Infos, Question
from rltui.core.level import Level, worst
from rltui.core.text import Names, counted
from rltui.health.badges import reading, too_few, without_outcome
from rltui.health.diagnoses import Facts, began, diagnose, story_order
from rltui.health.harm import confirmed, limited, reason_in, tempered
from rltui.health.judge import Outcome
from rltui.health.judgement import limit_of
from rltui.health.model import (
    Diagnosed,
    Evidence,
    Finding,
    FindingState,
    Judgement,
    Limit,
    Report,
    Skipped,
)
from rltui.health.plan import Task
from rltui.health.rule import OWN_RANGE, Rule
from rltui.health.success import is_measured, success_of
from rltui.health.symptoms import Harm
from rltui.store import RunData

#: Most resolved episodes listed per rule and title: the worst ones, and besides the first of all,
#: from which on there was something to see. All are counted.
OVER_LISTED = 3

_NOT_JUDGED = Judgement(Level.UNKNOWN)


class Answer(NamedTuple):
    """The answer of a variant for one tag, or the error it raised instead."""

    tag: str
    rows: int
    outcome: Outcome | None
    error: str | None


Answers = Sequence[tuple[Task, tuple[Answer, ...]]]


def make_report(
    run: RunData,
    infos: Infos,
    answers: Answers,
    questions: Sequence[Question],
    unfit: Collection[str],
    kinds: frozenset[str],
) -> Report:
    """The report of a run from the answers of all its tasks.

    ``questions``: those of its kind of training; the moves of their metrics are worth naming beside
    a finding. ``unfit``: tags whose documented range is not for such a run; ``kinds``: words for
    its kind of training.
    """
    answers = _by_harm(run, infos, answers)
    findings = [*_findings(_said_once(answers), infos, run.off_axis), *_broken(answers)]
    # firing before resolved, bad before watch, newest first
    findings.sort(key=lambda f: (not f.fires, -f.level, -began(f)))
    tags = _judgements(infos, answers, unfit, findings)
    vital = tuple(key for question in questions for key in question.metrics)
    stories = partial(_diagnosed, run, infos, vital, kinds)
    diagnosed = stories(findings, tags)
    findings = story_order(findings, diagnosed)
    judged, skipped = _judged_and_skipped(answers)
    rows = 0
    for tag in infos:
        if run.table.logged(tag) > rows:  # no series is built that cannot have most points
            rows = max(rows, run.count(tag))
    few = too_few(rows)
    if few is not None:
        words = f"{counted(rows, 'row')}, too few to judge"
        ticked = {t: j for t, j in tags.items() if j.level is Level.OK}
        tags |= {t: replace(j, level=Level.UNKNOWN, doubt=words) for t, j in ticked.items()}
    tags = {tag: reading(infos[tag], run.series(tag), j) for tag, j in tags.items()}
    tags = dict(without_outcome(tags, infos, questions, findings))
    unblamed = {tag: tags.get(tag, _NOT_JUDGED) for tag in diagnosed.blamed}
    tags = with_blame(tags, diagnosed)
    praised = any(j.rules and Level.OK <= j.level <= Level.UNSURE for j in tags.values())
    calm = Level.OK if few is None and praised else Level.UNKNOWN
    level = worst(f.level for f in findings if f.fires)
    return Report(
        run=run.key,
        level=max(level, calm),
        findings=tuple(findings),
        tags=tags,
        skipped=skipped,
        judged=judged,
        diagnosed=diagnosed,
        calm=calm,
        few_rows=few if judged else None,
        unblamed=unblamed,
        stories=stories,
    )


def _by_harm(run: RunData, infos: Infos, answers: Answers) -> Answers:
    """The answers, those of technical signs milder where the run does well, those about success
    worse where a sign agrees."""
    firing = [
        (task.rule.harm, finding)
        for task, answer in _each(answers)
        if answer.outcome
        for finding in answer.outcome.findings
        if finding.fires
    ]
    success = cache(lambda: success_of(run, infos, firing))  # most runs ask for none
    reason = reason_in(firing)
    blank = any(harm is Harm.UNMEASURED for harm, _ in firing)
    measured = blank and is_measured(run, infos)

    def weighed(task: Task, answer: Answer) -> Answer:
        said = answer.outcome
        if said is None or said.is_quiet:
            return answer
        variant = task.variant
        is_rise = variant.detector.rising and Level.BAD in variant.levels
        if measured and task.rule.harm is Harm.UNMEASURED:
            said = limited(said, Level.OK)
        elif reason and is_rise and task.rule.harm is Harm.OUTCOME:
            said = confirmed(said, reason)
        else:
            said = tempered(said, task.rule.harm, success())
        return answer._replace(outcome=said)

    return [(task, tuple(weighed(task, a) for a in own)) for task, own in answers]


def with_blame(tags: Mapping[str, Judgement], diagnosed: Diagnosed) -> dict[str, Judgement]:
    """The judgements, with the level of its story for each setting that is blamed."""
    out = dict(tags)
    for tag, level in diagnosed.blamed.items():
        own = out.get(tag, _NOT_JUDGED)
        out[tag] = replace(
            own, level=max(own.level, level), pending=False, doubt="", published=None
        )
    return out


def _diagnosed(
    run: RunData,
    infos: Infos,
    vital: Names,
    kinds: frozenset[str],
    findings: Iterable[Finding],
    tags: Mapping[str, Judgement],
) -> Diagnosed:
    """The stories of the tags on the main axis: steps of another one have no order with them."""
    elsewhere = run.off_axis
    own = {t: i for t, i in infos.items() if t not in elsewhere}
    judged = {t: j for t, j in tags.items() if t not in elsewhere}
    found = [f for f in findings if f.tag not in elsewhere]

    return diagnose(found, Facts(run, own, vital, judged, kinds))


def _said_once(answers: Answers) -> list[Finding]:
    """The findings without those of a rule that yields to another one which found something; what
    lasts yields to what lasts only. That there is no gain in the whole run says less than since
    when it falls."""
    found = [f for _, a in _each(answers) if a.outcome for f in a.outcome.findings]
    yields = {t.rule.id: t.rule.yields_to for t, _ in answers}
    said = {(f.rule, state) for f in found for state in {f.state, FindingState.RESOLVED}}
    dated = {(f.rule, f.tag, f.level) for f in found if f.fires and f.since_step is not None}
    return [
        f
        for f in found
        if said.isdisjoint((rule, f.state) for rule in yields[f.rule])
        and (f.since_step is not None or (f.rule, f.tag, f.level) not in dated)
    ]


def _findings(found: list[Finding], infos: Infos, off_axis: frozenset[str]) -> list[Finding]:
    """One finding per episode: several tags or variants that show the same are merged, but for
    tags whose steps cannot be compared."""
    titles: dict[tuple[str, str, str | None], list[Finding]] = {}
    for finding in found:
        axis = finding.tag if finding.tag in off_axis else None
        titles.setdefault((finding.rule, finding.title, axis), []).append(finding)
    out: list[Finding] = []
    for same in titles.values():
        merged = _merge(same, infos)
        firing = [f for f in merged if f.fires]
        over = [f for f in merged if not f.fires]
        over.sort(key=lambda f: (-f.level, -f.evidence.row.get("rows", 0), -(f.since_step or 0)))
        kept = [*firing, *over[:OVER_LISTED]]
        kept += [f for f in over[OVER_LISTED:] if f is merged[0]]
        if len(merged) > 1:
            kept = [_with_evidence(f, episodes=len(merged)) for f in kept]
        out.extend(kept)

    return out


def _merge(found: list[Finding], infos: Infos) -> list[Finding]:
    """Findings of one title whose steps overlap become one: the worst, from the earliest step
    on."""
    groups: list[list[Finding]] = []
    end = -math.inf
    for finding in sorted(found, key=lambda f: f.since_step or 0):
        if (finding.since_step or 0) > end:
            groups.append([])
        groups[-1].append(finding)
        end = max(end, math.inf if finding.until_step is None else finding.until_step)
    return [g[0] if len(g) == 1 else _merged(g, infos) for g in groups]


def _merged(group: list[Finding], infos: Infos) -> Finding:
    firing = [f for f in group if f.fires]
    # of a timer and one inside it the inner one says more
    outer = {infos[f.tag].part_of for f in firing or group if f.tag is not None}
    best = max(firing or group, key=lambda f: (f.level, f.metric not in outer))
    first = group[0]
    others = [t for t in dict.fromkeys(f.tag for f in group) if t != best.tag and t is not None]
    until = None if firing else max(f.until_step or 0 for f in group)
    merged = best._replace(
        since_step=first.since_step, since_wall_time=first.since_wall_time, until_step=until
    )

    return _with_evidence(merged, others=tuple(others)) if others else merged


def _with_evidence(finding: Finding, **changes: Any) -> Finding:
    return finding._replace(evidence=replace(finding.evidence, **changes))


def _broken(answers: Answers) -> list[Finding]:
    """One visible entry per rule that raised an error; it does not count against the run."""
    out: dict[str, Finding] = {}
    for task, answer in _each(answers):
        if answer.error is not None:
            out.setdefault(task.rule.id, Finding(
                task.rule.id, task.variant.title, Level.UNKNOWN, FindingState.FIRING, None,
                answer.tag, None, None, None, Evidence("", None, None, 0, 0), None,
                "mute the rule and report this", error=answer.error,
            ))  # fmt: skip
    return list(out.values())


def _each(answers: Answers) -> Iterable[tuple[Task, Answer]]:
    for task, said in answers:
        for answer in said:
            yield task, answer


def _judgements(
    infos: Infos, answers: Answers, unfit: Collection[str], findings: Iterable[Finding]
) -> dict[str, Judgement]:
    """The judgement of each tag; of equally bad ones that of the finding which is shown, so that
    row and sentence have one limit."""
    tags: dict[str, Judgement] = {}
    compared: dict[str, Judgement] = {}
    shown = {id(f.evidence.row) for f in findings if f.fires}

    def is_silent(case: tuple[Task, Answer]) -> bool:
        said = case[1].outcome.findings if case[1].outcome else ()
        return not any(id(f.evidence.row) in shown for f in said)

    for task, answer in sorted(_each(answers), key=is_silent):
        said = answer.outcome
        if said is None or not said.judged:
            continue
        if said.judgement.level is not Level.OK or task.variant.badge_ok:
            new = said.judgement
            kept = compared if task.variant.detector.reference else tags
            old = kept.get(answer.tag)
            kept[answer.tag] = new if old is None else _both(old, new)
    for tag, new in compared.items():
        own = tags.get(tag)
        if own is not None:
            new = _both(own, new)
            # the range to show stays that of the metric itself where it has one
            if own.low is not None or own.high is not None:
                new = replace(own, level=new.level, rules=new.rules)
        tags[tag] = new
    for tag, judged in _of_quotients(infos, answers).items():
        tags.setdefault(tag, judged)
    # no rule judges these: the range that the documentation gives, and no badge
    for tag, info in infos.items():
        if tag not in tags and tag not in unfit and info.healthy is not None:
            documented = limit_of(info, Level.UNKNOWN, *info.healthy)
            tags[tag] = Judgement(Level.UNKNOWN, (documented,))
    return tags


def _of_quotients(infos: Infos, answers: Answers) -> dict[str, Judgement]:
    """Tag of a derived quotient -> the judgement of the rule that compares the two metrics it is
    made of; its limits are those of the quotient."""
    made: dict[Names, str] = {
        (m.derived.first, m.derived.second): tag
        for tag, info in infos.items()
        if (m := info.metric) is not None and m.derived is not None and m.derived.how == "ratio"
    }
    out: dict[str, Judgement] = {}
    for task, answer in _each(answers) if made else ():
        compared = (infos[answer.tag].metric, *(infos[t].metric for t in task.roles.values()))
        tag = made.get(tuple(metric.key for metric in compared if metric is not None))
        if tag is not None and answer.outcome is not None and answer.outcome.judgement.rules:
            own = answer.outcome.judgement
            # by the words about the rows of what it is made of
            ends = ((one, (one.numbers.get("low"), one.numbers.get("high"))) for one in own.limits)
            limits = tuple(Limit(one.level, *end, end, rule=one.rule) for one, end in ends)
            out[tag] = replace(own, limits=limits)
    return out


def _both(old: Judgement, new: Judgement) -> Judgement:
    """The worse of two; of equals that by a range of the user, then the one whose limit the newest
    row is beyond, then the one with limits to show, else the first."""

    def rank(one: Judgement) -> tuple[Level, bool, bool, bool, bool]:
        limited = one.low is not None or one.high is not None
        said = any(limit.words for limit in one.limits[:1])
        own = any(limit.rule == OWN_RANGE for limit in one.limits)
        return one.level, own, one.pending and limited, limited, said or one.level >= Level.WATCH

    rest, chosen = sorted((new, old), key=rank)
    limits = chosen.limits or rest.limits
    pending = chosen.level is Level.OK and (old.pending or new.pending)
    rules = tuple(dict.fromkeys(old.rules + new.rules))
    return replace(chosen, rules=rules, limits=limits, pending=pending)


def _judged_and_skipped(answers: Answers) -> tuple[Names, tuple[Skipped, ...]]:
    judged = []
    skipped = []
    for rule_id, own in groupby(answers, key=lambda one: one[0].rule.id):
        parts = list(own)
        said = [a for _, each in parts for a in each]
        if any(a.outcome is not None and a.outcome.judged for a in said):
            judged.append(rule_id)
            continue
        rule: Rule = parts[0][0].rule
        if any(a.error is not None for a in said):
            skipped.append(Skipped(rule_id, rule.title, broke=True))
        elif said:
            skipped.append(Skipped(rule_id, rule.title, rows=max(a.rows for a in said)))
        elif not rule.seldom:
            missing = dict.fromkeys(k for t, _ in parts for k in t.variant.metrics)
            skipped.append(_lacking(rule_id, rule.title, tuple(missing)))

    return tuple(judged), tuple(skipped)


#: Most runs lack what most rules need: one object for all of them.
_lacking = lru_cache(maxsize=4096)(Skipped)
