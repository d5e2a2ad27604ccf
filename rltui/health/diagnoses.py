"""Diagnoses: the findings of a run as stories, each beginning with its cause. Pure.

Every finding shows one symptom. A symptom that another one explains (it began soon after, or while
the other lasted) is folded below it; what is left at the top are the causes. What is over explains
what still holds only if it began first and nothing that holds explains it. A setting that jumped
just before is the cause of all that began then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category, Infos, select
from rltui.core.level import Direction, Level, worst
from rltui.health.first_movers import has_gained, moved_between, moved_first, settings_changed
from rltui.health.limits import movement
from rltui.health.model import (
    Diagnosed,
    Diagnosis,
    Finding,
    Judgement,
    Move,
    Suspect,
    harm_of,
)
from rltui.health.symptoms import (
    FIRST,
    SETTING_CHANGED,
    Limits,
    Symptom,
    in_sentence,
    knowledge,
    symptoms,
)
from rltui.store import RunData, Series

#: How fast a run is and what it takes of the machine.
MACHINE = (Category.TIMING, Category.PERF, Category.SYSTEM, Category.BALANCE)


class Pace(NamedTuple):
    """How many steps count as near each other."""

    stride: float
    """Steps between two rows."""
    onset: float
    """Steps to which an onset is known."""
    first: float
    """First step: the onset of what is about the whole run."""
    last: float


class Facts(NamedTuple):
    """Facts that diagnoses read of a run."""

    run: RunData
    infos: Infos
    vital: tuple[str, ...]
    """Metric keys whose moves are worth a line."""
    tags: Mapping[str, Judgement]
    kinds: frozenset[str] = frozenset()
    """Scenario and algorithm."""

    def by_metric(self) -> dict[str, str]:
        """Metric key -> its first tag that has points."""
        found: dict[str, str] = {}
        for tag, info in self.infos.items():
            if info.key and self.run.count(tag):
                found.setdefault(info.key, tag)
        return found

    def series(self, tag: str) -> Series:
        """The points of a tag as people read them."""
        series = self.run.series(tag)
        return series.negated() if self.infos[tag].sign < 0 else series

    def gained(self, present: Mapping[str, str]) -> set[str]:
        """The metrics that some symptom asks for, and that are well and above their start."""
        every = symptoms().values()
        asked = {k for s in every for sign in s.found for k in (*sign.gained, *s.unless)}
        ill = {tag for tag, judged in self.tags.items() if judged.level >= Level.WATCH}
        tags = {key: present[key] for key in asked & present.keys()}
        return {k for k, t in tags.items() if t not in ill and has_gained(self.series(t))}

    def pace(self, findings: Iterable[Finding]) -> Pace:
        """How often rows come: of the tag among ``findings`` that is logged most often."""
        tags = {f.tag for f in findings if f.tag is not None}
        found = [s for t in tags if len(s := self.run.series(t).steps)]
        ends = [(float(s[0]), float(s[-1]), len(s)) for s in found] or [(0.0, 0.0, 1)]
        strides = [(last - first) / (n - 1) for first, last, n in ends if n > 1]
        stride = max(1.0, min(strides, default=1.0))
        firsts, lasts, _ = zip(*ends, strict=True)
        return Pace(stride, movement().story.onset_rows * stride, min(firsts), max(lasts))


def diagnose(findings: Sequence[Finding], facts: Facts) -> Diagnosed:
    """The stories of the findings of a run, what moved first, and settings far from usual."""
    diagnosed = _diagnosed(findings, facts)
    return diagnosed._replace(suspects=_suspects(diagnosed, facts))


def _diagnosed(findings: Sequence[Finding], facts: Facts) -> Diagnosed:
    if not findings:
        return Diagnosed()
    present = facts.by_metric()
    pace = facts.pace(findings)
    gained = facts.gained(present)
    found = _begun(_folded(_saturated(_shown(findings, present, pace, gained), pace), pace), pace)
    hold = (d.symptom for d in found if not d.is_over)
    known = (s.fact for s in hold if gained.isdisjoint(s.unless))
    kinds = {*facts.kinds, *known}
    begun = min((_onset(d, pace) for d in found), default=None)
    for n, diagnosis in enumerate(found):
        words = {*kinds, *(f.title for f in diagnosis.findings[:1] if f.fires)}
        if diagnosis.since_step == begun:
            words.add(FIRST)
        found[n] = diagnosis._replace(symptom=diagnosis.symptom.worded(words))
    if not any(d.level >= Level.WATCH for d in found):
        return Diagnosed(tuple(found))
    settings = _settings(found, facts, present)
    if settings:
        until = _setting_until(settings[0], facts.series(settings[0].tag))
        found = _below_setting(found, settings[0], until, pace)
    ordered: list[Diagnosis] = []
    told = _stories(found)
    for story in told:
        top = story[0]
        since = _begin(story) if top.symptom.correlated else top.since_step
        ordered += [top._replace(level=_level(story), since_step=since), *story[1:]]
    step = settings[0].step if settings else _begin(told[0])
    moves = () if step is None else _moves(settings, step, facts, told[0], present)
    return Diagnosed(tuple(ordered), moves)


def story_order(findings: Sequence[Finding], diagnosed: Diagnosed) -> list[Finding]:
    """The findings in the order of the stories, firing ones first; in a story the worst first. One
    that no symptom knows (a rule of the user) is a story of its own, behind the others of its
    level."""
    place: dict[int, tuple[int, int]] = {}
    for story in diagnosed.stories():
        level = _level(story)
        own = [f for d in story for f in d.findings]
        own.sort(key=lambda f: -f.level)
        place |= {id(f): (-level, len(place) + at) for at, f in enumerate(own)}

    def key(finding: Finding) -> tuple[bool, tuple[int, int]]:
        over = not finding.fires
        own = (-(Level.OK if over else finding.level), len(place))
        return over, place.get(id(finding), own)

    return sorted(findings, key=key)


def _shown(
    findings: Sequence[Finding], present: Mapping[str, str], pace: Pace, gained: set[str]
) -> list[Diagnosis]:
    """One diagnosis per symptom that the findings show, in the order of cause and effect."""
    left = [f for f in findings if f.error is None]
    rules = {f.rule for f in left}
    out = []
    for symptom in symptoms().values():
        if rules.isdisjoint(sign.rule for sign in symptom.found) or not symptom.is_about(present):
            continue
        if own := _own(symptom, left, pace, gained):
            out.append(_diagnosis(symptom, own))
            left = [f for f in left if f not in own]

    return out


def _own(symptom: Symptom, left: list[Finding], pace: Pace, gained: set[str]) -> list[Finding]:
    """The findings that show a symptom, and what is joined to them."""
    own = [f for f in left if symptom.shown_by(f.rule, f.metric, f.title, gained, f.evidence.facts)]
    if symptom.together > 1:
        own = _together(own, symptom.together, pace)
    joined = (f for f in left if f not in own and symptom.is_joined_by(f.rule, f.metric))
    return [*own, *joined] if own else own


def _together(findings: list[Finding], rules: int, pace: Pace) -> list[Finding]:
    """The findings that began near the first of them, if they are of that many rules; else none."""
    known = sorted((f for f in findings if f.since_step is not None), key=began)
    reach = movement().moved.rows_after * pace.stride
    for first in known:
        near = [f for f in known if 0 <= began(f) - began(first) <= reach]
        if len({f.rule for f in near}) >= rules:
            return [f for f in findings if f in near]
    return []


def _diagnosis(symptom: Symptom, findings: list[Finding]) -> Diagnosis:
    firing = [f for f in findings if f.fires]
    firing.sort(key=lambda f: (-f.level, began(f)))
    findings = [*firing, *(f for f in findings if f not in firing)]
    begun = [f.since_step for f in firing or findings if f.since_step is not None]
    until = None if firing else max((f.until_step or 0 for f in findings), default=None)
    level = max(worst(f.level for f in firing), Level.OK)
    return Diagnosis(symptom, level, tuple(findings), min(begun, default=None), until)


def _saturated(found: list[Diagnosis], pace: Pace) -> list[Diagnosis]:
    """Each correlation that ended because nothing varies any more holds while what it brought about
    does."""

    def holding(one: Diagnosis) -> Diagnosis:
        until = one.until_step
        made = one.symptom.correlated
        left = [d for d in found if d.symptom.id in made and not d.is_over]
        if until is None or not any(_onset(d, pace) <= until for d in left):
            return one
        return one._replace(level=min(one.peak, _level(left)), until_step=None)

    return list(map(holding, found))


def _onset(diagnosis: Diagnosis, pace: Pace) -> float:
    return pace.first if diagnosis.since_step is None else diagnosis.since_step


def _folded(found: list[Diagnosis], pace: Pace) -> list[Diagnosis]:
    """Each symptom that another one explains, with the id of the one at the top."""
    tops: dict[str, str] = {}
    out: list[Diagnosis] = []
    for diagnosis in found:
        # what holds first, then what began first
        causes = (d for d in out if _explains(d, diagnosis, pace))
        cause = min(causes, key=lambda d: (d.is_over, d.since_step or 0), default=None)
        if cause is not None:
            tops[diagnosis.symptom.id] = tops.get(cause.symptom.id, cause.symptom.id)
            diagnosis = diagnosis._replace(explained_by=tops[diagnosis.symptom.id])
        out.append(diagnosis)
    return out


def _begun(found: list[Diagnosis], pace: Pace) -> list[Diagnosis]:
    """Each story below the earlier one that began it, where cause and effect can be either way
    round."""
    tops = {d.symptom.id: d.explained_by or d.symptom.id for d in found}
    for top in found:
        known = top.symptom.id
        earlier = [d for d in found if _begins(d, top, pace)]
        if earlier and top.explained_by is None:
            # a correlation names the cause of what is seen before it
            cause = min(earlier, key=lambda d: (not d.symptom.correlated, d.since_step or 0))
            first = cause.symptom.id
            head = tops[first] if tops[first] != known else first
            tops |= dict.fromkeys((s for s, at in tops.items() if at == known), head)
    heads = ((d, tops[d.symptom.id]) for d in found)
    return [d._replace(explained_by=None if at == d.symptom.id else at) for d, at in heads]


def _begins(one: Diagnosis, other: Diagnosis, pace: Pace) -> bool:
    """Whether ``one`` can bring about the ``other`` above it, is the earlier, and no milder. A
    correlation is seen only some rows after what it brought about in the course of the run."""
    known = other.symptom.id
    cause = one.symptom
    since = _onset(other, pace)
    brought = (*cause.begins, *cause.brings, *cause.correlated)
    if known not in brought or one.since_step is None or one.is_over:
        return False
    if cause.correlated and pace.first < since:
        return one.since_step <= since + movement().story.reach_rows * pace.stride
    is_earlier = one.since_step < since or (known in cause.brings and one.since_step == since)
    return is_earlier and one.level >= other.level


def _explains(cause: Diagnosis, effect: Diagnosis, pace: Pace) -> bool:
    if not cause.symptom.can_explain(effect.symptom):
        return False
    begun = _onset(cause, pace)
    since = _onset(effect, pace)
    if effect.since_step is None and not cause.is_over:
        # no gain: the last third of the run is no better than the first
        return 3 * (begun - pace.first) <= pace.last - pace.first
    tolerance = 0.0 if cause.is_over and not effect.is_over else pace.onset
    if begun > since + tolerance:
        return False
    reach = movement().story.reach_rows * pace.stride
    return cause.until_step is None or since <= cause.until_step + reach


def _settings(found: list[Diagnosis], facts: Facts, present: Mapping[str, str]) -> list[Move]:
    """Settings that jumped before the story that they explain best: the first worst one."""
    tags = [
        tag
        for key, tag in present.items()
        if facts.infos[tag].category is Category.HYPER and key not in knowledge().by_design
    ]
    series = [facts.series(t) for t in tags]
    rates = frozenset(t for k, t in present.items() if k.startswith("lr."))
    for story in _stories(found):
        begun = _begin(story)
        if begun is not None and _level(story) >= Level.WATCH:
            moves = settings_changed(series, begun, rates)
            if moves:
                return moves

    return []


def _setting_until(setting: Move, series: Series) -> int | None:
    """The last step at which a setting was nearer to its value after the jump than to that before;
    None while it is."""
    values = series.values.astype(np.float64)
    is_set = np.abs(values - setting.after) <= np.abs(values - setting.before)
    last = int(np.flatnonzero(is_set)[-1])
    return None if last == series.count - 1 else int(series.steps[last])


def _suspects(diagnosed: Diagnosed, facts: Facts) -> tuple[Suspect, ...]:
    """The settings that the worst story asks for, or what began no later, and that are far from
    usual, now and when it began."""
    leading = diagnosed.leading
    jumped = diagnosed.cause
    if leading is None or leading.level < Level.WATCH:
        return ()
    begun = leading.since_step or 0  # of the whole run
    story = diagnosed.stories()[0]
    asking = [leading, *(d for d in story if d.since_step is not None and d.since_step <= begun)]
    present = facts.by_metric()
    out = dict[str, Suspect]()
    for check in (check for d in asking for check in d.symptom.checks):
        tag = next((present[k] for k in select(check.metrics, present.keys())), None)
        if tag is None or facts.infos[tag].category is not Category.HYPER:
            continue
        suspect = _suspect(facts, tag, check.usual, begun)
        if suspect is not None and (jumped is None or jumped.tag != tag):
            out.setdefault(tag, suspect)

    return tuple(out.values())


def _suspect(facts: Facts, tag: str, usual: Limits, step: int) -> Suspect | None:
    """A setting that is beyond its usual range, now and at a step."""
    series = facts.series(tag)
    scale = facts.infos[tag].scale
    begun = series.rows_until(step) - 1  # the newest one where none came before
    values = [float(series.values[row]) * scale for row in (begun, -1)]
    title = in_sentence(facts.infos[tag].title)
    if usual.high is not None and min(values) > usual.high:
        return Suspect(tag, None, usual.high / scale, knowledge().too_high.format(setting=title))
    # a zero may hide a value below the last decimal
    most = max(values) + facts.run.hidden_in_zero(tag) * scale
    if usual.low is not None and most < usual.low:
        return Suspect(tag, usual.low / scale, None, knowledge().too_low.format(setting=title))
    return None


def _below_setting(
    found: list[Diagnosis], setting: Move, until: int | None, pace: Pace
) -> list[Diagnosis]:
    """The stories that began with the jump of a setting, folded below it."""
    first = setting.step - pace.onset
    last = setting.step + movement().setting.rows_before * pace.stride
    begun = {story[0].symptom.id: _begin(story) for story in _stories(found)}
    below = {top for top, step in begun.items() if step is not None and first <= step <= last}
    out = [
        d._replace(explained_by=SETTING_CHANGED) if (d.explained_by or d.symptom.id) in below else d
        for d in found
    ]

    return [Diagnosis(symptoms()[SETTING_CHANGED], Level.OK, (), setting.step, until), *out]


def _stories(found: list[Diagnosis]) -> list[list[Diagnosis]]:
    """The diagnoses by story, the worst first: bad before watch, firing before over, by the harm
    that they do, then by time."""
    groups: dict[str, list[Diagnosis]] = {}
    for diagnosis in found:
        groups.setdefault(diagnosis.explained_by or diagnosis.symptom.id, []).append(diagnosis)
    for group in groups.values():
        group.sort(key=lambda d: (d.explained_by is not None, d.symptom.order))
    return sorted(
        groups.values(),
        key=lambda s: (-_level(s), harm_of(s), _begin(s) or 0, s[0].symptom.order),
    )


def _level(story: list[Diagnosis]) -> Level:
    return max(d.level for d in story)


def _begin(story: list[Diagnosis]) -> int | None:
    """The first step of a story, without the setting that jumped before it."""
    steps = [d.since_step for d in story if d.findings and d.since_step is not None]
    return min(steps, default=None)


def _vital(story: list[Diagnosis], facts: Facts, present: Mapping[str, str]) -> list[str]:
    """The tags whose moves may matter to a story: those of the machine in a story about it only."""
    tags = {f.tag for d in story for f in d.findings if f.tag is not None}
    machine = any(t in facts.infos and facts.infos[t].category in MACHINE for t in tags)
    keys = (k for k in select(facts.vital, present.keys()) if k not in knowledge().repeats)
    vital = dict.fromkeys(present[k] for k in keys)
    return [t for t in vital if machine or facts.infos[t].category not in MACHINE]


def _moves(
    settings: list[Move],
    step: int,
    facts: Facts,
    story: list[Diagnosis],
    present: Mapping[str, str],
) -> tuple[Move, ...]:
    """Settings, the vital signs that moved around ``step``, and what the first findings of the
    story are about, in order of time; settings before others of the same step.

    Without a setting the search begins again around the first thing that moved: rules are sure of
    a symptom only some rows after it began.
    """
    known = {m.tag for m in settings}
    series = [facts.series(t) for t in _vital(story, facts, present) if t not in known]
    limits = {t: j for t, j in facts.tags.items() if facts.infos[t].sign > 0}
    moved = moved_first(series, step, limits)
    for _ in range(0 if settings else movement().story.anchored):
        first = min((m.step for m in moved), default=step)
        if first >= step:
            break
        step = first
        moved = moved_first(series, step, limits)

    ways = Direction.DOWN, Direction.UP  # what gets better explains nothing
    moved = [m for m in moved if facts.infos[m.tag].direction is not ways[m.after > m.before]]
    known |= {m.tag for m in moved}
    moved += _found(story, facts, known)
    return tuple(sorted([*settings, *moved], key=lambda m: (m.step, not m.is_setting, -m.size)))


def _found(story: list[Diagnosis], facts: Facts, known: set[str]) -> list[Move]:
    """The moves of the tags of the findings with which a story began, but for ``known`` ones: what
    drifts is found long before it leaves its usual level by far."""
    begun = _begin(story)
    dated = [f for d in story for f in d.findings]
    if begun is None:
        return []
    last = begun + facts.pace(dated).onset
    out = dict[str, Move | None]()
    for finding in sorted(dated, key=began):
        tag = finding.tag
        since = began(finding)
        if tag is not None and tag not in known and begun <= since <= last:
            move = moved_between(facts.series(tag), since, finding.certain_step or since)
            out.setdefault(tag, move)
    return list(filter(None, out.values()))


def began(finding: Finding) -> int:
    """The first step of a finding; -1 where it holds for the whole run."""
    return finding.since_step if finding.since_step is not None else -1
