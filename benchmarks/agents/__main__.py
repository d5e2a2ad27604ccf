"""Is the text of ``rltui brief`` enough to act on? Asked about sick and healthy runs, and scored.

The runs are chosen by rules: every recorded run of tests/fixtures/labelled, every scenario of the
demo that is one run, and of each failure of ``benchmarks/verdicts/failures_2026.yaml`` its first
row at 1.2 times its limit and the first healthy log that looks like it. LABELS (files or
directories with ``labels.yaml``) add recorded runs of open origins.

Each run is asked about by one call, of whose answer the text alone counts:

- named first: the title of the first story is the label's failure, or one of them; "in the first
  story" counts its evidence, too. How a run ended is a story that counts only where the label has
  it: labels of recorded runs speak of their metrics;
- step: that story begins within a tenth of the run of where the label has its failure; one of the
  whole run, which has no step, counts, as it does for verdicts;
- next: its next step is one of those that ``accepted.yaml`` has for the failure;
- a failure that ended in the run is named where the text has it as over and no story, and has no
  next step;
- a healthy run has no story at the level bad, which is what an agent would stop for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from benchmarks.agents.cases import Case, Failure, cases
from benchmarks.machine import table
from benchmarks.verdicts.labels import arguments, by_origin
from rltui.health.symptoms import symptoms
from rltui.output.brief import brief_document, brief_text
from rltui.session import Session

ACCEPTED = Path(__file__).with_name("accepted.yaml")
#: Characters of a token, and tokens that an agent has for its answers.
_TOKEN, MOST_TOKENS = 4, 1_000
_NUMBER = r"(-?[\d,.]+[kMGT]?)"
_STORY = re.compile(rf"^  (bad|watch) \[(\w+)\](?: since {_NUMBER})?.*$", re.MULTILINE)
_NEXT = re.compile(r"^    next: (.*)$", re.MULTILINE)
#: Stories of how a run ended.
_ENDINGS = frozenset({"crashed", "stopped", "stalled"})
_SI = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


class Told(NamedTuple):
    """The first story of a text."""

    level: str = ""
    id: str = ""
    since: float | None = None
    """None: from the beginning."""
    next: str = ""
    evidence: str = ""

    def begins_in(self, failure: Failure) -> bool:
        """Whether it is told to begin where the failure does."""
        return self.since is None or failure.earliest <= self.since <= failure.latest


class Score(NamedTuple):
    """What was made of a run."""

    told: Told
    tokens: int
    named: bool = False
    within: bool = False
    """The first story names it, as its title or its evidence."""
    step: bool = False
    next: bool = False
    stop: bool = False
    """A story is bad: a reason to stop."""

    @property
    def is_useful(self) -> bool:
        """Named, at its step, with a next step, within the tokens."""
        return self.named and self.step and self.next and self.tokens <= MOST_TOKENS


def told(text: str, skipped: Container[str] = ()) -> Told:
    """Read the first story as a reader of the text would; none of those ``skipped``."""
    stories = list(_STORY.finditer(text))
    for story, following in zip_longest(stories, stories[1:]):
        if story[2] in skipped:
            continue
        body = text[story.end() : following.start() if following else len(text)]
        step = _NEXT.search(body)
        return Told(story[1], story[2], _number(story[3]), step[1] if step else "", body)
    return Told()


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    factor = _SI.get(text[-1], 1.0)
    return float(text.rstrip("kMGT").replace(",", "")) * factor


def names(story: str) -> frozenset[str]:
    """The rules or endings that a story stands for."""
    known = symptoms().get(story)
    signs = (*known.found, *known.joined) if known else ()
    return frozenset({story, *(sign.rule for sign in signs)})


@cache
def accepted() -> dict[str, Any]:
    """What a next step may be, by failure; see the document."""
    found: dict[str, Any] = yaml.safe_load(ACCEPTED.read_text("utf-8"))["actions"]
    return found


def is_accepted(text: str, failure: Failure) -> bool:
    """Whether the text holds all phrases of an action for the failure."""
    text = text.casefold()
    actions = [a for rule in failure.rules for a in accepted().get(rule, {}).get("accepted", ())]
    return any(
        all(any(word.casefold() in text for word in phrase.split("|")) for phrase in action)
        for action in actions
    )


def over_in(text: str, failure: Failure, titles: Mapping[str, str]) -> float | None:
    """The step from which a text has a failure that is over; None where it has none."""
    rules = "|".join(re.escape(t) for t, rule in titles.items() if rule in failure.rules)
    times = r"(?:\d+ times, last )?"
    found = rules and re.search(rf"\b(?:{rules}) {times}{_NUMBER} to {_NUMBER}, over", text)
    return _number(found[1]) if found else None


def score(case: Case, text: str, titles: Mapping[str, str]) -> Score:
    """Of the text about a run; ``titles``: of findings, with their rules."""
    rules = {rule for f in case.failures for rule in f.rules}
    unlabelled = _ENDINGS - rules if case.failures else set[str]()
    first, tokens = told(text, unlabelled), -(-len(text) // _TOKEN)
    told_bad = {story[2] for story in _STORY.finditer(text) if story[1] == "bad"}
    stop = bool(told_bad - unlabelled)
    meant = [f for f in case.failures if names(first.id) & set(f.rules)]
    shown = {rule for title, rule in titles.items() if f"{title}: " in first.evidence}
    within = bool(meant) or any(shown & set(f.rules) for f in case.failures)
    step = any(first.begins_in(f) for f in meant)
    right = any(is_accepted(first.next, f) for f in meant)
    over = [f for f in case.failures if f.is_over]
    since = next((s for f in over if (s := over_in(text, f, titles)) is not None), None)
    if not first.id and since is not None:
        step = any(f.earliest <= since <= f.latest for f in over)
        return Score(first, tokens, True, True, step, True, stop)
    return Score(first, tokens, bool(meant), within, step, right, stop)


def asked(case: Case) -> tuple[Score, str]:
    """Ask about a run, and score the answer, which is returned, too."""
    session = Session([case.path])
    session.scan()
    session.read_all()
    text = brief_text(brief_document(session))
    found = [f for run in session.runs() for f in (run.report.findings if run.report else ())]
    return score(case, text, {f.title: f.rule for f in found}), text


def rows(done: Iterable[tuple[Case, Score]]) -> Iterator[tuple[str, ...]]:
    """A line for each source of runs, see ``HEAD``."""
    done = list(done)
    kinds = dict.fromkeys(case.kind for case, _ in done)
    for kind in (*kinds, "all"):
        mine = [(case, s) for case, s in done if kind in (case.kind, "all")]
        sick = [s for case, s in mine if case.failures]
        healthy = [s for case, s in mine if not case.failures]
        flags = [(s.named, s.within, s.step, s.next) for s in sick]
        parts = list(zip(*flags, strict=True)) or [()] * 4
        yield (
            kind,
            str(len(sick)),
            *(f"{sum(p)} ({sum(p) / max(1, len(p)):.0%})" for p in parts),
            str(sum(s.is_useful for s in sick)),
            str(len(healthy)),
            str(sum(s.stop for s in healthy)),
            str(sum(bool(s.told.id) for s in healthy)),
            str(max(s.tokens for _, s in mine)),
        )


HEAD = (
    *("runs", "sick", "named first", "in the first story", "step", "next step", "all three"),
    *("healthy", "bad", "watch", "most tokens"),
)


def misses(done: Sequence[tuple[Case, Score]]) -> Iterator[str]:
    """A line for each run that was not answered as it should be."""
    for case, s in done:
        what = [w for w, met in (("name", s.named), ("step", s.step), ("next", s.next)) if not met]
        wrong = what if case.failures else ["stop"] * s.stop
        if wrong:
            label = " or ".join(
                f"{'/'.join(f.rules)} ({f.earliest:,.0f} to {f.latest:,.0f})" for f in case.failures
            )
            yield (
                f"- {case.kind} {case.name}: {', '.join(wrong)}; label {label or 'healthy'}; told "
                f"{s.told.id or 'nothing'} since {s.told.since or 'the start'}: {s.told.next}"
            )


def main() -> int:
    """Ask about all runs, and print table and misses."""
    parser = arguments(".agents", __doc__, needed=False)
    parser.prog = "benchmarks.agents"
    parser.add_argument("--details", action="store_true", help="also the text about each run")
    parser.add_argument("--only", default="", help="runs whose name contains this")
    options = parser.parse_args()
    opened = by_origin(options.labels, sealed=False)
    labels = [label for found in opened.values() for label in found]
    with (
        TemporaryDirectory() as folder,
        ExitStack() as held,
        ProcessPoolExecutor(options.jobs) as pool,
    ):
        chosen = [c for c in cases(Path(folder), labels, held) if options.only in c.name]
        answers = list(pool.map(asked, chosen))
    done = [(case, answer[0]) for case, answer in zip(chosen, answers, strict=True)]
    lines = [*table(HEAD, rows(done)), "", *misses(done)]
    if options.details:
        for case, (_, text) in zip(chosen, answers, strict=True):
            lines += ["", f"{case.kind} {case.name}", text.rstrip()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
