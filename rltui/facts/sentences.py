"""The sentences about findings and limits: templates of the rules, filled with evidence; and the
copied text of what the cursor is on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from rltui.core.level import Level
from rltui.core.template import parts_of
from rltui.core.text import clean, counted
from rltui.facts import numbers
from rltui.health.judgement import is_outside
from rltui.health.model import Evidence, FewRows, Finding, Judgement, Limit, Side, Skipped

if TYPE_CHECKING:
    from rltui.session import JudgedRun

Fact = float | int | str | None

#: What a metric whose meaning is a guess rests on.
GUESSED = "by its name; findings are at most watch, but for NaN"

#: Sign of a limit -> of what was beyond it.
_PAST = str.maketrans("≥≤><", "<>≤≥")
#: Sign of a healthy range -> where it ends.
_BEYOND = {"≥": "below", ">": "below", "≤": "above", "<": "above", "±": "outside ±"}
#: A template that says no more of a limit than its ends.
_PLAIN = re.compile(r"(?:[≤≥<>±] )?(?:[\d.]+|\{\w+(?::%)?\})(?: to \{high\})?")
#: Where an advice goes back to.
_RESUME = re.compile(r"resume from (?:a checkpoint )?before this step(?:, or start anew)?")
#: How the templates of rules call a limit; a field may have the same name.
_LIMIT = re.compile(r"(?<!\{)\b(limit|floor)\b")


def summary(finding: Finding) -> str:
    """One sentence with the evidence, no newline."""
    if finding.error is not None:
        return f"this rule broke on {finding.tag}: {finding.error}"
    if finding.words is None:
        return _state(finding)
    summary = finding.words.summary.replace("{note}", "".join(finding.evidence.notes))
    template = _limit_named(finding, summary)
    row = finding.evidence.row
    others = finding.evidence.others
    said = _filled(template, facts(finding.evidence))
    if others:
        said += f"; the same for {others[0] if len(others) == 1 else f'{len(others)} other tags'}"
    if finding.fires and finding.evidence.wavers:
        form = "{average:%}" if "{value:%}" in template else "{average}"
        if _filled("{average}", row) != _filled("{limit}", row):
            said += _filled(f"; {form} on average since {{since:d}}", row)
    if "beside" in row:
        said += f"; bad because {row['beside']} shows why"
    if finding.evidence.again:
        said += "; the newest row is beyond it again"
    return f"{said}; a guess: {finding.tag}" if "guessed" in row else said


def short(finding: Finding) -> str:
    """Sentence of at most about 45 cells, for narrow screens."""
    if finding.error is not None:
        return "the rule itself broke"
    if finding.words is None:
        return _state(finding)
    return _filled(_limit_named(finding, finding.words.short), facts(finding.evidence))


def _limit_named(finding: Finding, template: str) -> str:
    """The template with the level of its limit, where a rule has a limit for each level: rows and
    charts show that of ``watch``. A finding may be milder than its limit."""
    known = finding.evidence.facts
    if known.get("watch") is None or known.get("bad") is None:
        return template
    levels = (finding.level, Level.BAD, Level.WATCH)
    reached = (x for x in levels if known.get(x.word) == finding.evidence.threshold)
    word = next(reached, finding.level).word
    template = template.replace("limit {bound}", word + " {past}", 1)
    return _LIMIT.sub(
        lambda found: f"{word} {'below' if found[1] == 'floor' else 'limit'}", template, count=1
    )


def _state(finding: Finding) -> str:
    """Sentence on the state of a run, which no rule judges."""
    known = finding.evidence.facts
    age = finding.evidence.value
    interval = known.get("interval_s")
    total = known.get("total_steps")
    if isinstance(total, int):
        planned = f"{numbers.step(total)} steps were planned"
        return f"no process writes its log any more; {planned}"

    if age is None:
        return ": ".join(str(known[k]) for k in ("reason", "line") if known.get(k))
    pace = "" if interval else "; the usual pace is not known"
    if interval:
        often = "several times a second"
        every = f"every {numbers.duration(float(interval))}" if float(interval) >= 0.5 else often
        pace = f"; rows usually come {every}"

    doing = known.get("phase")
    usual = known.get("phase_usual_s")
    doing = f", {doing}" if doing else ""
    doing += f", usually {numbers.duration(float(usual))}" if usual else ""

    return f"no row for {numbers.age(age)}{doing}{pace}"


def with_step(run: JudgedRun, text: str, step: int | None) -> str:
    """A text that speaks of "this step" for the step that it is told of; None: the whole run. There
    is nothing to resume from before the first step."""
    if (step or 0) <= max(1, run.data.first_step or 0):
        text = _RESUME.sub("start anew", text)
    if step is None:
        return text.replace("before this step", "before it began").replace("this step", "its onset")
    return text.replace("this step", f"{run.step_word} {numbers.step(step)}")


def facts(evidence: Evidence) -> dict[str, Fact]:
    """The values that templates and the JSON documents use, by name."""
    if not evidence.row:
        return dict(evidence.facts)
    row = evidence.row
    side = evidence.side
    limit = math.nan if evidence.threshold is None else evidence.threshold
    if side is Side.BOTH:  # limits of equal size: the one that the value is beyond
        below = evidence.value is not None and evidence.value < 0
        side, limit = (Side.LOW, -abs(limit)) if below else (Side.HIGH, abs(limit))
    sign, word = ("≥", "below") if side is Side.LOW else ("≤", "above")
    ends = {"bound": f"{sign} {numbers.plain(limit)}", "past": f"{word} {numbers.plain(limit)}"}

    has_before = evidence.has_before and math.isfinite(row["before"])
    before = numbers.plain(row["before"])
    latest = ", {latest} at step {until:d}" if evidence.is_past else ", now {latest}"
    out: dict[str, Fact] = {
        **row,
        "when": "now" if evidence.newest else f"at step {numbers.step(row['step'])}",
        "from": f"{before} → " if has_before else "",
        "was": f"; the value before was {before}" if has_before else "",
        **(ends if math.isfinite(limit) else {}),
        **evidence.facts,
    }
    if evidence.latest is None:
        latest = ""
    out["and_now"] = _filled(latest, {**row, "latest": evidence.latest})
    out["note"] = "".join(_filled(note, out) for note in evidence.notes)

    return out


def healthy(judgement: Judgement, value: float | None = None) -> str:
    """Where the mildest limit is, see :func:`limit_words`, or where the newest ``value`` was; "" if
    there is none."""
    said = was(judgement, value)
    return said or (limit_words(judgement.limits[0]) if judgement.limits else "")


def was(judgement: Judgement, value: float | None) -> str:
    """Where a value was that is inside its limit again, while its level stays: "was > 0.3"; ""
    for another."""
    ends = judgement.limits[0].shown if judgement.limits else (None, None)
    is_inside = value is not None and ends != (None, None) and not is_outside(value, *ends)
    if judgement.level < Level.WATCH or not is_inside:
        return ""
    short = healthy_short(judgement)
    return f"was {short.translate(_PAST)}" if short[0] in "≥≤><" else "was outside"


def healthy_short(judgement: Judgement) -> str:
    """Healthy range in at most 12 cells: "≥ 1.15"."""
    return limit_short(judgement.limits[0]) if judgement.limits else ""


def limit_words(limit: Limit) -> str:
    """A limit in the unit of the values beside it, and what it is relative to: "≤ 0.08",
    "≥ 0.21 (30 % of start)"; what has to hold where it is no limit of the value: "must change"."""
    own = _own_range(limit)
    said = _filled(limit.words, limit.numbers, limit_number)
    if not own or not said:
        return own or said
    return own if _PLAIN.fullmatch(limit.words) else f"{own} ({said.lstrip('≥≤<>± ')})"


def limit_short(limit: Limit) -> str:
    """A limit in at most 12 cells, without what it is relative to."""
    return _own_range(limit) or _filled(limit.short, limit.numbers, limit_number)


def _own_range(limit: Limit) -> str:
    """The limits of the value itself, on the side that the words name: "≤ 0.08"; "" without."""
    low, high = limit.shown
    sign = limit.words[:1]
    if sign and sign in "≤<" and high is not None:
        return f"{sign} {limit_number(high)}"
    if sign and sign in "≥>" and low is not None:
        return f"{sign} {limit_number(low)}"
    if low and low == -(high or 0.0):
        return f"± {limit_number(-low)}"
    return bounds(low, high)


def bad_limit(judgement: Judgement) -> str:
    """The limit for bad where there is a milder one, too; "" where it says the same."""
    found = limit_words(judgement.limits[1]) if len(judgement.limits) > 1 else ""
    return "" if found == healthy(judgement) else found


def beyond(limit: str) -> str:
    """Where a level begins with a ``limit``: "below 30 % of start" for "≥ 30 % of start"."""
    sign, _, rest = limit.partition(" ")
    return f"{_BEYOND[sign]} {rest}" if sign in _BEYOND else f"unless {limit}"


def limits(judgement: Judgement) -> str:
    """Both limits with their level: "watch above 0.08, bad above 0.2", "healthy ≤ 1" for one; ""
    without any."""
    mild = healthy(judgement)
    bad = bad_limit(judgement)
    if bad:
        return f"watch {beyond(mild)}, bad {beyond(bad)}"
    return f"healthy {mild}" if mild else ""


def no_tick(judgement: Judgement) -> str:
    """Why the badge is not ok although no rule has found anything; "" for none."""
    limit = judgement.published
    found = [judgement.doubt] if judgement.doubt else []
    if limit is not None:
        found.append(f"outside the published range, {limit_words(limit)}")
    return "; ".join(found)


def edge_words(limit: Limit, value: float, *, above: bool) -> str:
    """One end of a limit, as a chart draws it: "watch > 0.08"; "usual ≤ 1" for a range that is
    only documented."""
    number = limit_number(value)
    if limit.level is Level.UNKNOWN:
        return f"usual {'≤' if above else '≥'} {number}"
    return f"{limit.level.word} {'>' if above else '<'} {number}"


def bounds(low: float | None, high: float | None) -> str:
    """A range in words: "0 to 1", "≤ 0.2"; "" when it is open at both ends."""
    if low is not None and high is not None:
        return f"{limit_number(low)} to {limit_number(high)}"
    if high is not None:
        return f"≤ {limit_number(high)}"
    return "" if low is None else f"≥ {limit_number(low)}"


def listed(items: Iterable[str]) -> str:
    """The items in a row: "a, b", and "a, max; b" where one has a comma of its own. Of titles that
    begin alike it says once what they share: "a (also max)", "a (min, max)"."""
    parts: dict[str, list[str]] = {}
    for item in dict.fromkeys(items):
        title, _, part = item.partition(", ")
        if "(" in title:  # the comma is one of a remark
            title = item
            part = ""
        parts.setdefault(title, []).append(part)
    found = []
    for title, own in parts.items():
        also = f"({'also ' * ('' in own)}{', '.join(filter(None, own))})"
        found.append(f"{title} {also}" if len(own) > 1 else f"{title}, {own[0]}".removesuffix(", "))
    return ("; " if any("," in x for x in found) else ", ").join(found)


def too_few(few: FewRows) -> str:
    """Why a run without a finding is not called ok."""
    return f"{counted(few.rows, 'row')}, too few to judge (a verdict needs {few.needed})"


def why_skipped(skipped: Skipped, missing: str) -> str:
    """Why a rule could not judge; ``missing`` names the metrics that it lacks."""
    if skipped.broke:
        return "the rule broke"
    if missing:
        return f"no {missing}"
    return f"not applicable in {counted(skipped.rows, 'row')}"


def _filled(
    template: str, values: Mapping[str, Fact], number: Callable[[float], str] = numbers.plain
) -> str:
    """``template`` with numbers in place of its fields; a field without a value shows as ``–``."""
    return "".join(
        part if isinstance(part, str) else _shown(values.get(part.name), part.spec, number)
        for part in parts_of(template)
    )


def limit_number(value: float) -> str:
    """A limit in the form of the values beside it in a table: 7,515, 10.2k."""
    return numbers.short(value) if abs(value) >= 1000 else numbers.plain(value)


def _shown(value: Fact, form: str, number: Callable[[float], str]) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return numbers.MISSING
    if form == "s":  # the plural of what it counts
        return "" if number(value) == "1" else "s"
    if form == "%":
        return f"{numbers.plain(100 * value)} %"
    if form == "d" or isinstance(value, int):
        return numbers.step(round(value) if math.isfinite(value) else value)
    return number(value)


def run_text(run: JudgedRun) -> str:
    """A run: name, level and path, which may hold any byte."""
    return f"{run.name}\t{run.verdict.level.word}\t{clean(str(run.data.path))}"


def finding_text(run: JudgedRun, finding: Finding) -> str:
    """A finding in one line."""
    return f"{run.name}: {finding.title} ({finding.rule}): {summary(finding)}"


def metric_text(run: JudgedRun, tag: str, at: int | None = None) -> str:
    """The newest value of ``tag`` with full precision, or that at the step ``at``."""
    series = run.series(tag)
    row = -1 if at is None else series.rows_until(at) - 1
    if not series.count:
        return f"{run.name}\t{tag}"
    if at is not None and (row < 0 or series.steps[row] != at):
        row = -1
    columns = (series.steps, series.wall_times, series.values)
    step, wall, value = (column[row].item() for column in columns)
    when = "" if math.isnan(wall) else f"\t{wall:.3f}"
    return f"{run.name}\t{tag}\t{run.step_word} {step}\t{value!r}{when}"
