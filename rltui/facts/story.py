"""Stories, the one record of what is wrong in a run: cause, effects, evidence and one action.

Every surface (text, brief, JSON, HTML, screens, notifications) renders these records, in their
order. They hold ids and numbers; :mod:`rltui.facts.story_words` has the sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rltui.core.level import ExitKind, Level
from rltui.facts.cache import per_version
from rltui.facts.checkpoint import LastGood, last_good_checkpoint
from rltui.facts.checks import CheckItem, check_items
from rltui.facts.findings import FindingRow, diagnosed_in, finding_rows
from rltui.facts.runs import newest_log
from rltui.health.model import Diagnosis, Finding, Move, Suspect, lead_of
from rltui.health.symptoms import SETTING_CHANGED, Harm, symptom_of, symptoms
from rltui.session import JudgedRun

if TYPE_CHECKING:
    from rltui.health.crash import ExitStatus
    from rltui.session.complaints import Complaint


@dataclass(frozen=True, eq=False)
class Story:
    """One thing that is wrong, or was: what began it, what it brought about, and what to do."""

    run: JudgedRun
    id: str
    """Id of the symptom to begin with; the rule, or the kind of end, where no symptom knows it."""
    level: Level
    """Worst level of what holds; OK when all is over."""
    harm: Harm
    rows: tuple[FindingRow, ...] = ()
    """The evidence, firing first, the worst first. Empty for the end of a run."""
    diagnoses: tuple[Diagnosis, ...] = ()
    """Its symptoms, the cause first; empty where no symptom knows it."""
    lead: Diagnosis | None = None
    """The symptom to begin with."""
    crash: ExitStatus | None = None
    """How the run ended, if that is the story."""
    same: Story | None = None
    """Story of what fires that tells of the end of the run, too: their action is one."""
    is_worst: bool = False
    """Whether it is the worst of those that symptoms tell: what moved first belongs to it."""

    @property
    def is_open(self) -> bool:
        """Whether something of it holds that is worth an action."""
        return self.level >= Level.WATCH

    @property
    def since(self) -> int | None:
        """Onset, a step; the last step for the end of a run."""
        if self.crash is not None:
            return self.run.data.last_step
        return self.rows[0].finding.since_step if self.lead is None else self.lead.since_step

    @property
    def onset(self) -> int | None:
        """Step at which its cause began, if that is known."""
        return self.since if self.setting is None else self.setting.step

    @property
    def certain(self) -> int | None:
        """First step at which it was certain."""
        found = self.lead.findings if self.lead else tuple(r.finding for r in self.rows)
        return min((f.certain_step for f in found if f.certain_step is not None), default=None)

    @property
    def top(self) -> Diagnosis | None:
        """The symptom that began it, which may be over."""
        return self.diagnoses[0] if self.diagnoses else None

    @cached_property
    def setting(self) -> Move | None:
        """The setting whose jump began it."""
        jumped = self.top is not None and self.top.symptom.id == SETTING_CHANGED
        return diagnosed_in(self.run).cause if jumped else None

    @property
    def has_past_cause(self) -> bool:
        """Whether no evidence that holds shows what began it: a setting, or what is over."""
        over = self.lead is not None and self.lead.is_over
        return self.setting is not None or (over and self.is_open)

    @cached_property
    def suspects(self) -> tuple[Suspect, ...]:
        """Settings that are its likely cause although none of them jumped."""
        return diagnosed_in(self.run).suspects if self.is_worst else ()

    @property
    def blamed(self) -> tuple[str, ...]:
        """Tags of the settings that are its cause."""
        jumped = () if self.setting is None else (self.setting.tag,)
        return (*jumped, *(s.tag for s in self.suspects))

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """Metrics that moved first, in order of time."""
        return diagnosed_in(self.run).moves if self.is_worst else ()

    def effects(self, of: Diagnosis) -> tuple[Diagnosis, ...]:
        """The symptoms that another one explains, in order of time; first those known from no
        step."""
        own = (d for d in self.diagnoses if d.explained_by == of.symptom.id)
        return tuple(sorted(own, key=lambda d: -1 if d.since_step is None else d.since_step))

    @cached_property
    def checks(self) -> tuple[CheckItem, ...]:
        """Checks to make, in order."""
        return () if self.lead is None else tuple(check_items(self.run, self.lead))

    @cached_property
    def complaints(self) -> tuple[Complaint, ...]:
        """Complaints that the console log repeats, for the worst story."""
        path = newest_log(self.run) if self.is_worst and self.is_open else None
        if path is None:
            return ()
        from rltui.session.complaints import complaints  # heavy: most runs go on

        return complaints(self.run.data.files.tails[path])

    @cached_property
    def checkpoint(self) -> LastGood | None:
        """The newest checkpoint from before it."""
        return last_good_checkpoint(self.run) if self.is_worst else None

    @property
    def advice(self) -> str:
        """The action: what puts the cause right, else what helps against the symptom."""
        top = self.top
        lead = self.lead
        if self.setting is not None and top is not None and not top.is_over:
            return top.symptom.advice
        if self.suspects:
            return self.suspects[0].advice
        if lead is not None:
            # before the first row or step there is no checkpoint of this run
            is_at_start = (self.since or 0) <= max(1, self.run.data.first_step or 0)
            return (is_at_start and lead.symptom.at_start) or lead.symptom.advice
        return self.crash.advice if self.crash else self.rows[0].finding.advice


@per_version
def stories(run: JudgedRun) -> tuple[Story, ...]:
    """How the run ended, then what is or was wrong: the worst first."""
    own = [*_diagnosed(run)]
    known = set[int]()
    for story in own:
        known |= {id(row.finding) for row in story.rows}
    own += [_lone(run, row) for row in finding_rows(run) if id(row.finding) not in known]
    own.sort(key=lambda story: -story.level)
    return (*_ended(run, own), *own)


def _diagnosed(run: JudgedRun) -> Iterator[Story]:
    """The stories that symptoms tell."""
    for place, diagnoses in enumerate(diagnosed_in(run).stories()):
        lead = lead_of(diagnoses)
        own = {id(f) for d in diagnoses for f in d.findings}
        rows = tuple(row for row in finding_rows(run) if id(row.finding) in own)
        yield Story(
            run,
            lead.symptom.id,
            diagnoses[0].level,
            lead.symptom.harm,
            rows,
            tuple(diagnoses),
            lead,
            is_worst=place == 0,
        )


def _lone(run: JudgedRun, row: FindingRow) -> Story:
    """The story of a finding that is judged by itself: of the state of the run, or of a rule that
    no symptom knows."""
    finding = row.finding
    level = finding.level if finding.fires else Level.OK
    shown = symptom_of(finding.rule, finding.metric, finding.title)
    lead = None
    if shown is not None and finding.error is None:
        lead = Diagnosis(shown, level, (finding,), finding.since_step, finding.until_step)
    return Story(run, finding.rule, level, Harm.MINOR, (row,), lead=lead)


def _ended(run: JudgedRun, told: Iterable[Story]) -> Iterator[Story]:
    """How the run ended, where it did not finish; with the symptom that the reason shows (out of
    memory), or what is ``told`` where findings show it, too."""
    crash = run.verdict.crash
    level = run.verdict.exit_level
    if crash is None:
        return
    shown = (s for s in symptoms().values() if run.infos and s.ending and s.ending in crash.reason)
    symptom = next(shown, None)
    known = next(
        (
            s
            for s in told
            if any(symptom is not None and d.symptom.id == symptom.id for d in s.diagnoses)
        ),
        None,
    )
    if symptom is None or known is not None:
        yield Story(run, crash.kind.value, level, Harm.FATAL, crash=crash, same=known)
        return
    if run.recognition is not None:
        symptom = symptom.worded(run.recognition.kinds)
    lead = Diagnosis(symptom, level, (), run.data.last_step, None)
    yield Story(run, symptom.id, level, symptom.harm, diagnoses=(lead,), lead=lead, crash=crash)


def rows_shown(run: JudgedRun, most: int) -> list[FindingRow]:
    """At most that many rows in the order of the stories: first what no other row of a story says,
    then the worst."""
    known = [(row, n > 0) for story in stories(run) for n, row in enumerate(story.rows)]
    ranked = sorted(known, key=lambda x: (not x[0].is_firing, x[1], -x[0].finding.level))
    kept = {row.id for row, _ in ranked[:most]}
    return [row for row, _ in known if row.id in kept]


def main_story(run: JudgedRun) -> Story | None:
    """Story to begin with: the first one that holds, but for an end that names no symptom and no
    error the one that is as bad; None for a run without."""
    ended, *others = [story for story in stories(run) if story.is_open][:2] or (None,)
    crash = None if ended is None else ended.crash
    if ended is None or crash is None or ended.lead is not None:
        return ended
    is_error = crash.kind is ExitKind.CRASHED and crash.line and ended.same is None
    as_bad = (story for story in others if story and story.level >= ended.level)
    return ended if is_error else next(as_bad, ended)


def story_of(run: JudgedRun, finding: Finding) -> Story | None:
    """The story that a finding is part of; None for one that the user muted."""
    for story in stories(run):
        rows = (f for row in story.rows for f in (row.finding, *row.earlier))
        if any(f is finding for f in rows) or any(finding in d.findings for d in story.diagnoses):
            return story
    return None


def story_blaming(run: JudgedRun, tag: str) -> Story | None:
    """The story whose cause is a setting."""
    return next((story for story in stories(run) if tag in story.blamed), None)
