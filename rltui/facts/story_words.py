"""The sentences about stories, the same on every surface; badges and layout are added there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from rltui.core.level import Level
from rltui.core.secrets import without_secrets
from rltui.core.text import counted, fit, spaced
from rltui.facts import numbers, sentences
from rltui.facts.checkpoint import checkpoint_words
from rltui.facts.checks import CheckItem, then_words
from rltui.facts.findings import FindingRow, change_words, course_words, usually
from rltui.facts.lanes import waste
from rltui.facts.metrics import make_row
from rltui.facts.runs import calm_words, certain_words, exit_words, since_words, why_unknown
from rltui.facts.story import Story, story_of
from rltui.facts.timing import anatomy
from rltui.health.model import Diagnosis, Finding, Suspect
from rltui.health.symptoms import SETTING_CHANGED, Harm, in_sentence, knowledge
from rltui.session import JudgedRun

BadgeOf = Callable[[Level], str]
#: Most complaints of a log that are named, and cells of each.
_COMPLAINTS = 3
_COMPLAINT_CELLS = 80


class Part(Enum):
    """Parts of a story below its evidence, in their order; people read the values."""

    NEXT = "next step"
    CHECKPOINT = "last good"
    LOG_SAYS = "the log says"
    BEGAN_WITH = "began with"
    LIKELY_CAUSE = "likely cause"
    CHECK_FIRST = "check first"
    MOVED = "moved first"
    THEN = "then"
    CAUSES = "usual causes"


def action(story: Story) -> str:
    """The next step, the same on every surface: what the log itself asks for, where the time of a
    slow step goes, then what helps."""
    users = "" if story.crash is None else story.crash.users
    if story.same is not None:
        return spaced(action(story.same), users, by=" ")
    setting = story.setting
    top = story.top
    helps = sentences.with_step(story.run, story.advice, story.since)
    if setting is not None and top is not None and not top.is_over:
        known = {
            "setting": in_sentence(story.run.infos[setting.tag].title),
            "turn": "Lower" if setting.after > setting.before else "Raise",
            "before": numbers.plain(setting.before),
            "step": numbers.step(setting.step),
        }
        helps = knowledge().restore.format(**known)
    if story.crash is not None:
        return spaced(helps, users, by=" ")
    asked = dict.fromkeys(c.advice for c in story.complaints if c.advice)
    return spaced(*asked, _slowest(story), helps, by=" ")


def _slowest(story: Story) -> str:
    """ "Look at generate first: 79 % of the average step."; "" where no timer shows a story."""
    run = story.run
    lead = story.lead
    if lead is None:
        return ""
    if lead.symptom.harm is Harm.COST and any(wasted := waste(run)):
        return f"Cut what is {''.join(wasted)}."
    # of single slow steps the average one says nothing
    tags = {f.tag for f in lead.findings if f.rule != "slow_steps"}
    is_timed = any(run.infos[tag].part_of for tag in tags if tag in run.infos)
    found = anatomy(run) if is_timed else None
    if found is None:
        return ""
    stage = found.slowed[0] if found.slowed else found.leaf(max(found.parts, key=found.share))
    share = numbers.percent(found.share(stage), whole=True)
    return f"Look at {run.infos[stage.tag].title} first: {share} of the average step."


def complaint_words(story: Story) -> str:
    """ "missing advantages for sample # (64 times)"; "" for none."""
    found = story.complaints[:_COMPLAINTS]
    told = ", ".join(f"{fit(c.text, _COMPLAINT_CELLS)} ({c.times} times)" for c in found)
    return without_secrets(told)


def title(story: Story, diagnosis: Diagnosis) -> str:
    """ "learning rate × 200" for a setting that jumped, else the name of a symptom of the story."""
    setting = story.setting if diagnosis.symptom.id == SETTING_CHANGED else None
    if setting is None:
        return diagnosis.symptom.title
    return f"{story.run.infos[setting.tag].title} {change_words(setting)}"


def summary(story: Story, diagnosis: Diagnosis | None = None) -> str:
    """One sentence: a symptom, else what began the story, since when, and what it brought about:
    only what began later came ``then``."""
    diagnosis = diagnosis or (None if story.crash else story.top)
    if diagnosis is None:
        return headline(story)
    said = {f.title for f in diagnosis.findings}
    effects: dict[str, list[str]] = {", with ": [], "; then ": []}
    for effect in story.effects(diagnosis):
        word = "; then " if _is_after(effect, diagnosis) else ", with "
        titles = dict.fromkeys(f.title for f in effect.findings if f.title not in said)
        effects[word] += titles
        said |= titles.keys()
    named = (word + ", ".join(titles) for word, titles in effects.items() if titles)
    return _symptom_words(story, diagnosis) + "".join(named)


def _symptom_words(story: Story, diagnosis: Diagnosis) -> str:
    """ "learning rate 1e-6 → 1e-4 (× 100) at step 120", "KL runs away since step 31"."""
    setting = story.setting if diagnosis.symptom.id == SETTING_CHANGED else None
    since = numbers.step(diagnosis.since_step)
    until = numbers.step(diagnosis.until_step)
    if setting is not None:
        text = f"{story.run.infos[setting.tag].title} {course_words(setting)}"
        text += f" at step {numbers.step(setting.step)}"
        return f"{text}, until {until}" if diagnosis.is_over else text
    text = diagnosis.symptom.title
    if diagnosis.is_over:
        return (
            f"{text} at step {until}" if since == until else f"{text} from step {since} to {until}"
        )
    return text if diagnosis.since_step is None else f"{text} since step {since}"


def _is_after(effect: Diagnosis, cause: Diagnosis) -> bool:
    """Whether the steps say that an effect came after its cause; a setting comes before what is
    measured in its step."""
    if effect.since_step is None or cause.since_step is None:
        return False
    first = cause.since_step + (cause.symptom.id != SETTING_CHANGED)
    return effect.since_step >= first


def began_words(story: Story, diagnosis: Diagnosis) -> str:
    """Explanation of a symptom of a story: "learning rate × 100 at 61", "the policy moves too far
    per update since 410"; "" where nothing else does."""
    top = story.top
    if top is None or diagnosis.explained_by is None:
        return ""
    name = title(story, top)
    if top.is_over:
        return f"{name}, {numbers.step_range(top.since_step, top.until_step)}"
    when = "at" if top.symptom.id == SETTING_CHANGED else "since"
    return name if top.since_step is None else f"{name} {when} {numbers.step(top.since_step)}"


def cause_words(run: JudgedRun, finding: Finding) -> str:
    """Cause of a finding: see :func:`began_words`."""
    story = story_of(run, finding)
    own = next((d for d in story.diagnoses if finding in d.findings), None) if story else None
    return began_words(story, own) if story is not None and own is not None else ""


def headline(story: Story, *, short: bool = False) -> str:
    """The symptom to begin with, or for a ``short`` one its first finding, behind what began it:
    "learning rate × 200 at 30, then KL runs away"; without "then" where the steps do not say
    so."""
    top = story.top
    lead = story.lead
    if story.crash is not None:
        return exit_words(story.crash)
    if top is None or lead is None:
        return story.rows[0].finding.title
    name = lead.findings[0].title if short and lead.findings else title(story, lead)
    if top is lead:
        return name
    joint = ", then" if _is_after(lead, top) else ";"
    return f"{began_words(story, lead)}{joint} {name}"


def judged_words(run: JudgedRun) -> str:
    """Describe a run without a finding: why it has no verdict, or how many rules judged."""
    judged = counted(len(run.report.judged) if run.report else 0, "rule")
    return why_unknown(run) or f"{calm_words(run)}, {judged} judged"


def row_words(run: JudgedRun, row: FindingRow) -> str:
    """One fact: its newest episode, and when the others were."""
    finding = row.finding
    when = when_words(run, finding)
    if row.earlier:
        spans = (numbers.step_range(f.since_step, f.until_step) for f in row.earlier)
        when = f"{row.times} times: {when}, and {', '.join(spans)}"
    text = f"{finding.title}, {when}: {sentences.summary(finding)}"
    return text if finding.words is not None else without_secrets(text)


def when_words(run: JudgedRun, finding: Finding) -> str:
    """The steps at which a finding held."""
    if finding.since_step is not None and not finding.fires:
        span = numbers.step_range(finding.since_step, finding.until_step)
        return f"{span}, {finding.state.value}"
    return since_words(run, finding) + certain_words(finding)


def blame_words(story: Story, tag: str) -> str:
    """Why a setting is the cause of a story: "usually ≤ 0.02: the likely cause of these findings";
    "" for any other tag."""
    setting = story.setting
    if setting is not None and setting.tag == tag:
        at = f"{story.run.step_word} {numbers.step(setting.step)}"
        return f"{change_words(setting)} at {at}: the cause of these findings"
    suspect = next((s for s in story.suspects if s.tag == tag), None)
    return f"{usually(suspect)}: the likely cause of these findings" if suspect else ""


def suspect_words(story: Story) -> dict[str, str]:
    """Tag -> "learning rate 0.2 (usually ≤ 0.02)", for each setting that is its likely cause
    although it did not jump."""
    found = ((make_row(story.run, s.tag), usually(s)) for s in story.suspects)
    return {
        row.tag: f"{row.info.title} {numbers.value(row.value)} ({range_})" for row, range_ in found
    }


def suspect_facts(run: JudgedRun, suspects: Iterable[Suspect]) -> list[dict[str, object]]:
    """Settings that are likely causes in numbers, in units of the screen."""
    return [
        {
            "tag": suspect.tag,
            "metric": run.infos[suspect.tag].key or suspect.tag,
            "value": make_row(run, suspect.tag).value,
            "low": suspect.low,
            "high": suspect.high,
        }
        for suspect in suspects
    ]


def parts(story: Story, badge_of: BadgeOf) -> list[tuple[Part, str]]:
    """Words about a story that holds, below its evidence, in the order of :class:`Part`; those
    without text are left out."""
    if not story.is_open and story.crash is None:
        return []
    run = story.run
    lead = story.lead
    top = story.top
    began = ""
    if lead is not None and top is not None and top is not lead and top.is_over:
        began = began_words(story, lead)
    moves = (
        f"{run.infos[move.tag].title} at {numbers.step(move.step)}: {course_words(move)}"
        for move in story.moves
    )
    found = {
        Part.NEXT: action(story),
        Part.CHECKPOINT: checkpoint_words(run, story.checkpoint),
        Part.LOG_SAYS: complaint_words(story),
        Part.BEGAN_WITH: began,
        Part.MOVED: "; ".join(moves),
        Part.CAUSES: "" if lead is None else lead.symptom.causes,
        **_checked(story, badge_of),
    }
    return [(part, found[part]) for part in Part if found[part]]


def _checked(story: Story, badge_of: BadgeOf) -> dict[Part, str]:
    """Check lines of a story: settings that are likely causes, what stands out, and the rest."""
    jumped = None if story.setting is None else story.setting.tag
    causes, first, rest = _by_rank(story, jumped)
    missing = [item.title for item in story.checks if item.tag is None]

    blamed = [_item_words(item, item.hint, badge_of) for item in causes]
    told = {item.tag for item in causes}
    blamed += [words for tag, words in suspect_words(story).items() if tag not in told]
    asked = (_item_words(item, item.hint or item.ask, badge_of) for item in first)
    then = [_item_words(item, item.hint or item.answer, badge_of) for item in rest]
    then += [f"not logged: {sentences.listed(missing)}"] if missing else []
    return {
        Part.LIKELY_CAUSE: sentences.listed(blamed),
        Part.CHECK_FIRST: sentences.listed(asked),
        Part.THEN: sentences.listed(then),
    }


def _by_rank(
    story: Story, jumped: str | None
) -> tuple[list[CheckItem], list[CheckItem], list[CheckItem]]:
    """Sort the logged items: settings that are likely causes; what to check first; and then. The
    setting that jumped is told by its story."""
    causes = list[CheckItem]()
    first = list[CheckItem]()
    rest = list[CheckItem]()
    for item in story.checks:
        if item.tag is None or item.tag == jumped:
            continue
        is_cause = item.leads and item.is_setting
        (causes if is_cause else first if item.first else rest).append(item)
    if rest and not (causes or first or rest[0].answer):
        first.append(rest.pop(0))
    return causes, first, rest


def _item_words(item: CheckItem, remark: str, badge_of: BadgeOf) -> str:
    """ "learning rate 0.2 ✖ (× 200 at 30)". No tick: before a question it reads as a yes."""
    badge = f" {badge_of(item.level)}" if item.level >= Level.WATCH else ""
    then = then_words(item)
    value = numbers.value(item.value) + (f" now, {then}" if then else "")
    return f"{item.title} {value}{badge}" + (f" ({remark})" if remark else "")
