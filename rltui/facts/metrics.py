"""Tabs, their sections and rows of metrics: order, grouping, and what a row shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rltui.catalogue.model import Category, TagInfo
from rltui.core.level import Level, choose, worst
from rltui.core.text import Names, natural, words_match
from rltui.facts import numbers
from rltui.facts.cache import per_version
from rltui.facts.environments import environments_of
from rltui.facts.series_stats import newest_of
from rltui.health.model import Judgement
from rltui.session import JudgedRun

#: Tags of one family that may be drawn as the band of the mean.
_LOW = "min"
_HIGH = "max"
_CENTRE = "mean"
#: Heading of rows that answer none of the questions and fire.
_ELSEWHERE = "Alarms on other tabs"
#: Heading of the rows that the user pinned.
PINNED = "Pinned"
#: Devices in the order of their sections, as the catalogue labels them.
_DEVICES = ("GPU", "host", "process", "disk", "network")
#: Heading of rows that answer none of the questions of their tab.
_NO_ANSWER = "Other"
#: Stands for labels that are numbers alone.
_NUMBERED = "numbered"
#: Heads of the shares of groups that none, some or all of their answers solved.
_SOLVED = ("none/some/all", "0/some/all", "solved")
#: Tags of the lowest and the highest value of a family.
Ends = tuple[str, str]
OVERVIEW = "overview"
FINDINGS = "findings"
ALL = "all"


class TagRow(NamedTuple):
    """One line of a table: a tag, or a family of tags folded into one."""

    tag: str
    info: TagInfo
    judgement: Judgement
    value: float | None
    """Newest value as shown; None when there is none."""
    band: Ends | None = None
    """Tags of the lowest and highest value of the family, drawn as a band."""
    name: str = ""
    """Name in its section, where that is not the title of its tag."""
    cells: tuple[str, str] | None = None
    """Cells in place of unit and limits; "" for the limits."""

    @property
    def title(self) -> str:
        """Name on screen."""
        return self.name or self.info.title

    @property
    def level(self) -> Level:
        """Its badge."""
        return self.judgement.level


class Section(NamedTuple):
    """Rows under one heading."""

    title: str
    rows: tuple[TagRow, ...]
    level: Level
    """Worst level of the rows, also of those that are left out for want of room."""
    heads: Mapping[str, Names] = {}
    """Column -> its head where it is not the usual one, the longest first that may fit."""


def section_of(
    title: str, rows: Iterable[TagRow], heads: Mapping[str, Names] | None = None
) -> Section:
    """A section of all these rows."""
    rows = tuple(rows)
    return Section(title, rows, worst([r.level for r in rows]), heads or {})


def rows_in(sections: Iterable[Section]) -> list[TagRow]:
    """The rows of some sections, in order."""
    return [row for section in sections for row in section.rows]


def make_row(run: JudgedRun, tag: str, band: Ends | None = None, *, valued: bool = True) -> TagRow:
    """The row of one tag, ``valued``: with its newest value, for which its points are read."""
    info = run.infos[tag]
    twin = twin_of(run, tag) if valued else None
    cells = None
    value = newest_of(run, run.shown(tag)) if valued else None
    if twin is not None and run.infos[twin].category is Category.VALIDATION and not info.unit:
        cells = f"eval {numbers.short(newest_of(run, run.shown(twin)))}", ""
    return TagRow(tag, info, run.verdict.judgement(tag), value, band, cells=cells)


def twin_of(run: JudgedRun, tag: str) -> str | None:
    """The other one of a pair, such as the held-out metric of one of the training."""
    info = run.infos[tag]
    others = run.tags_of_metrics(tuple(sorted(run.catalogue.relatives(info.key, "pairs"))))
    return next((t for t in others if run.infos[t].unit == info.unit), None)


def fold(run: JudgedRun, tags: Iterable[str], *, valued: bool = True) -> list[TagRow]:
    """Rows of ``tags`` in catalogue order; ``*/mean,max,min`` become one row with a band."""
    ordered = sorted(tags, key=lambda t: (run.infos[t].order, natural(run.infos[t].title), t))
    families: dict[str, dict[str, str]] = {}
    for tag in ordered:
        info = run.infos[tag]
        if info.family and info.stat:
            families.setdefault(info.family, {}).setdefault(info.stat, tag)

    hidden: set[str] = set()
    bands: dict[str, Ends] = {}

    for members in families.values():
        if _CENTRE in members and _LOW in members and _HIGH in members:
            ends = members[_LOW], members[_HIGH]
            bands[members[_CENTRE]] = ends
            hidden.update(t for t in ends if run.verdict.judgement(t).level < Level.WATCH)

    return [make_row(run, t, bands.get(t), valued=valued) for t in ordered if t not in hidden]


def tab_sections(
    run: JudgedRun, tab: str, text: str = "", *, valued: bool = True
) -> Sequence[Section]:
    """The sections of a tab, after the filter ``text``; kept until the run changes. Rows that are
    not ``valued`` may lack their newest value."""
    return _tab_sections(run, tab, text, run.pins.tags, valued)


@per_version
def _tab_sections(
    run: JudgedRun, tab: str, text: str, pinned: Names, valued: bool
) -> Sequence[Section]:
    sections: list[Section] = []
    if tab == OVERVIEW:
        # pinned rows stand at the top only; the other sections keep the level of all their rows
        top = section_of(PINNED, (_with_band(run, t) for t in pinned if t in run.infos))
        others = (
            s._replace(rows=tuple(r for r in s.rows if r.tag not in pinned))
            for s in overview_sections(run)
        )
        sections = [top, *others]
    elif tab == ALL:
        sections = _sections_of_all(run, valued=valued)
    elif tab != FINDINGS:
        sections = _category_sections(run, Category(tab), valued=valued)

    if text:
        sections = [
            section_of(s.title, (r for r in s.rows if _matches(r, text)), s.heads) for s in sections
        ]

    return [s for s in sections if s.rows]


def _category_sections(run: JudgedRun, category: Category, *, valued: bool) -> list[Section]:
    tags = [t for t, i in run.infos.items() if category in (i.category, i.also)]
    asked = run.catalogue.questions
    rest = set(tags)
    sections = []
    if category not in asked.tabs:
        return [section_of(category.heading, fold(run, tags, valued=valued))]
    # each question with the rows that answer it, in their order; last those that answer none
    for question in asked.tabs[category]:
        ranks: dict[str, tuple[int, int]] = {}
        for n, key in enumerate(question.metrics):
            for tag in rest.intersection(run.tags_of_metrics((key,))):
                ranks.setdefault(tag, (n, run.infos[tag].order))
        rows: list[TagRow] = []
        heads: Mapping[str, Names] = {}
        if category is asked.environments.tab and question.title == asked.environments.title:
            rows, heads, shown = _environment_rows(run, valued=valued)
            rest -= shown
        others = fold(run, ranks.keys() & rest, valued=valued)
        rest -= ranks.keys()
        others.sort(key=lambda r: ranks[r.tag])
        sections.append(section_of(question.title, [*rows, *others], heads))
    return [*sections, section_of(_NO_ANSWER, fold(run, rest, valued=valued))]


def _matches(row: TagRow, text: str) -> bool:
    """Whether a row passes the filter: all words in title, tag or metric; ``!word`` excludes."""
    return words_match(f"{row.title} {row.tag} {row.info.key}", text)


def _environment_rows(
    run: JudgedRun, *, valued: bool
) -> tuple[list[TagRow], Mapping[str, Names], set[str]]:
    """A row for each environment or data source that the run logs by itself, with its share of the
    reward in place of a unit and of groups solved in place of limits; the heads of these, and all
    tags that the rows stand for."""
    found = environments_of(run)
    rows = []
    shown: set[str] = set()
    for one in found:
        share = "" if one.share is None else numbers.percent(one.share, whole=True)
        solved = "/".join("–" if x is None else f"{100 * x:.0f}" for x in one.solved)
        cells = share, f"{solved} %" if solved else ""
        rows.append(make_row(run, one.tag, valued=valued)._replace(name=one.name, cells=cells))
        shown |= one.tags
    rewards = run.catalogue.questions.environments.metrics["reward"]
    scored = all(r.info.key in rewards for r in rows)
    heads = {
        "value": ("reward" if scored else "success",),
        "unit": ("of reward", "share") if any(x.share is not None for x in found) else (),
        "healthy": _SOLVED if any(x.solved for x in found) else (),
    }
    return rows, heads if found else {}, shown


def _sections_of_all(run: JudgedRun, *, valued: bool) -> list[Section]:
    """Every tag by itself: those of a category together, those of the system by the device that
    they are about: each GPU, the host, disks, the network, and what says nothing of a device."""
    order = {c: n for n, c in enumerate(Category)}
    sections: dict[tuple[int, tuple[object, ...], str], list[TagRow]] = {}

    for tag, info in sorted(run.infos.items(), key=lambda x: (x[1].order, natural(x[0]))):
        title = info.category.heading
        place: tuple[object, ...] = ()
        if info.category is Category.SYSTEM:
            part = info.labels.get("part", "")
            number = info.labels.get("n", "")
            title = " ".join(x for x in (part, number, info.place) if x) or title
            kind = _DEVICES.index(part) if part in _DEVICES else len(_DEVICES)
            place = not part, natural(info.place), kind, int(number or -1)
        rows = sections.setdefault((order[info.category], place, title), [])
        rows.append(make_row(run, tag, valued=valued))

    return [
        section_of(title[0].upper() + title[1:], rows)
        for (_, _, title), rows in sorted(sections.items())
    ]


def tab_of_parts(run: JudgedRun) -> str:
    """The id of the tab with the parts of a reward: that of agents, else where the reward is."""
    found = {i.category for i in run.infos.values()}
    tab = Category.TURNS if Category.TURNS in found else Category.CRITIC
    return str(tab.value)


@per_version
def overview_sections(run: JudgedRun) -> Sequence[Section]:
    """The questions of the scenario with the metrics that answer them, as far as logged."""
    if run.recognition is None:
        return []
    shown = set[str]()
    sections = []
    for question in run.recognition.scenario.questions:
        tags = _answering(run, question.metrics)
        rows = [_with_band(run, tag) for tag in tags if tag not in shown]
        shown.update(tags)
        if rows:
            sections.append(section_of(question.title, rows))

    if not sections and run.infos:
        return [section_of("Logged", fold(run, run.infos))]
    # what fires elsewhere: one row for each rule and metric, worst first
    found = run.firing()
    firing = {(f.rule, f.metric): f.tag for f in reversed(found) if f.tag in run.infos}
    worst_first = dict.fromkeys(reversed(firing.values()))
    rows = [_with_band(run, tag) for tag in worst_first if tag is not None and tag not in shown]

    return [section_of(_ELSEWHERE, rows), *sections] if rows else sections


def _answering(run: JudgedRun, metrics: Names) -> list[str]:
    """The tags of some metrics: of synonyms the first, of cards and numbered environments the
    worst, and none of these where their mean is logged and all are well."""
    tags = dict[tuple[str, str], str]()
    level = run.verdict.tag_level
    for tag in run.tags_of_metrics(metrics):
        info = run.infos[tag]
        place = info.key or tag, _apart(info.labels)
        known = tags.setdefault(place, tag)
        several = place[1] == _NUMBERED or "part" in info.labels
        tags[place] = tag if several and level(tag) > level(known) else known
    spoken_for = {key for key, labels in tags if labels == "[]"}
    return [
        tag
        for (key, labels), tag in tags.items()
        if labels != _NUMBERED or key not in spoken_for or level(tag) >= Level.WATCH
    ]


def _apart(labels: Mapping[str, str]) -> str:
    """Key that tells tags of one metric apart, without the number of a card or of an
    environment."""
    if "part" in labels:  # Perf has each card
        labels = {k: v for k, v in labels.items() if k not in ("n", "node", "rank")}
    elif labels and all(x.isdigit() for x in labels.values()):
        return _NUMBERED
    return str(sorted(labels.items()))


def _with_band(run: JudgedRun, tag: str) -> TagRow:
    """The row of a tag, with the band of its family where it is the mean of one."""
    info = run.infos[tag]
    ends = _family_ends(run).get(info.family or "", {}) if info.stat == _CENTRE else {}
    return make_row(run, tag, (ends[_LOW], ends[_HIGH]) if len(ends) == 2 else None)


@per_version
def _family_ends(run: JudgedRun) -> dict[str, dict[str, str]]:
    """Family -> its tags of the lowest and the highest value."""
    ends: dict[str, dict[str, str]] = {}
    for tag, info in run.infos.items():
        if info.family and info.stat in (_LOW, _HIGH):
            ends.setdefault(info.family, {})[info.stat] = tag
    return ends


class Tab(NamedTuple):
    """One tab of a run: its id, key and names at three widths."""

    id: str
    key: str
    """The digit that selects it, or ""."""
    title: str
    medium: str
    short: str
    category: Category | None = None


#: Id, title, medium and short name, key; a tab of metrics has the id of its category.
_TABS = """
overview     | Overview     | Overview   | Over  | 1
validation   | Validation   | Val        | Val   | 2
actor        | Actor        | Actor      | Act   | 3
critic       | Critic       | Critic     | Crit  | 4
length       | Length       | Length     | Len   | 5
preference   | Preference   | Pref       | Pref  |
reward_model | Reward model | RM         | RM    |
turns        | Agents       | Agents     | Agent |
timing       | Timing       | Timing     | Time  | 6
rollout      | Rollout      | Rollout    | Roll  |
perf         | Perf         | Perf       | Perf  | 7
balance      | Balance      | Balance    | Bal   | 8
findings     | Findings     | Findings   | Find  | 9
all          | All          | All        | All   | 0
"""


def _tab(row: str) -> Tab:
    """A row of the table."""
    id, title, medium, short, key = (cell.strip() for cell in row.split("|"))
    is_category = id not in (OVERVIEW, FINDINGS, ALL)
    return Tab(id, key, title, medium, short, Category(id) if is_category else None)


TABS = tuple(map(_tab, _TABS.strip().splitlines()))
TAB_BY_ID = {tab.id: tab for tab in TABS}
#: Categories without a tab: they are sections of All.
UNTABBED = frozenset(Category).difference(tab.category for tab in TABS)


def tab_of(info: TagInfo) -> str:
    """The id of the tab that has a metric."""
    places = (c.value for c in (info.category, info.also) if c and c not in UNTABBED)
    return next(places, ALL)


def tab_named(run: JudgedRun, name: str) -> tuple[Tab | None, str]:
    """The tab that ``name`` is or begins, those of the run first; else None and a hint."""
    own, every = (
        {n.lower(): t for t in tabs for n in (t.title, t.id, t.medium, t.short)}
        for tabs in (tabs_of(run), TABS)
    )
    aside = {i.category for i in run.infos.values()} & UNTABBED
    own |= {c.value: TAB_BY_ID[ALL] for c in Category if c in aside}
    tab, hint = choose(name, own)
    return tab or choose(name, every)[0], hint


@per_version
def tabs_of(run: JudgedRun) -> list[Tab]:
    """The tabs that this run has something for; Overview, Findings and All always."""
    have = {c for i in run.infos.values() for c in (i.category, i.also)} | {None}
    return [t for t in TABS if t.category in have]
