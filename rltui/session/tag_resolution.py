"""Meaning of the tags of a run: framework, algorithm, an entry of the catalogue per tag; and
metrics that no framework logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from rltui.catalogue import Catalogue, Range, guess
from rltui.catalogue.catalogue import GENERIC
from rltui.catalogue.model import (
    Category,
    Infos,
    Metric,
    Recognition,
    Roles,
    Scenario,
    TagInfo,
    select,
    tags_of,
)
from rltui.catalogue.resolve import Resolver
from rltui.catalogue.settings import scope_of
from rltui.config import Config
from rltui.core.batch import Note
from rltui.core.level import Level
from rltui.health.configured import category_of
from rltui.session.run import JudgedRun
from rltui.store.pace import Duration, Pace
from rltui.store.point_table import PointTable
from rltui.store.series import Derived


def derive(table: PointTable, infos: Infos, metrics: Mapping[str, Metric]) -> dict[str, TagInfo]:
    """Add the series that the catalogue can derive from the tags of a run; their meanings by tag.

    A metric that the run logs itself is not derived.
    """
    logged: dict[str, str] = {}
    for tag, info in sorted(infos.items(), key=lambda item: item[1].order):
        if info.metric is not None and info.sign == 1.0 and info.scale == 1.0:
            logged.setdefault(info.key, tag)
    found: dict[str, TagInfo] = {}
    for key, metric in metrics.items():
        how = metric.derived
        if how is None or key in logged or how.first not in logged or how.second not in logged:
            continue
        derived = Derived(how.how, logged[how.first], logged[how.second])
        table.derive(derived)
        source = f"rltui: {derived.how} of two logged metrics"
        found[derived.tag] = replace(TagInfo.of_metric(derived.tag, metric), source=source)

    return found


def pace_of(table: PointTable, infos: Infos, roles: Roles, scenario: str) -> Pace | None:
    """The tag that tells best how long rows take; None without any."""
    step = Duration.ROW if scenario in roles.long_rows else Duration.STEP
    kinds = {roles.elapsed: Duration.ELAPSED, roles.step_time: step, roles.speed: Duration.SPEED}
    for key, how in kinds.items():
        if tags := tags_of(infos, key):
            tag = min(tags, key=lambda tag: (-table.logged(tag), tag))
            return Pace(tag, how, infos[tag].scale)
    return None


def distinguished(infos: Infos) -> dict[str, TagInfo]:
    """``infos`` with a longer title where several tags would be called the same. Unknown ones
    get all parts of the tag as words, or the tag itself where these are the same too; known ones
    the part of the tag that differs."""
    out = dict(infos)
    for longer in (guess.full_title, str):
        seen = Counter((info.category, info.title) for info in out.values())
        for tag, info in out.items():
            if info.metric is None and seen[(info.category, info.title)] > 1:
                out[tag] = replace(info, title=longer(tag))
    by_title: dict[str, list[str]] = {}
    for tag in sorted(out, key=lambda t: (out[t].metric is None, out[t].order)):
        by_title.setdefault(out[tag].title, []).append(tag)
    taken = set(by_title)
    for title, tags in by_title.items():
        for tag, longer_title in zip(tags, guess.distinct_titles(title, tags), strict=True):
            unique = longer_title == title or longer_title not in taken
            taken.add(longer_title)
            if longer_title != title:
                out[tag] = replace(out[tag], title=longer_title if unique else f"{title}, {tag}")

    return out


def _ranked(infos: dict[str, TagInfo]) -> dict[str, TagInfo]:
    """``infos`` where no tag of the user means a metric that the framework logs itself."""
    logged = {info.key for info in infos.values() if not info.added}
    for tag, info in infos.items():
        if info.added and info.key in logged:
            infos = infos | {tag: replace(info, metric=None)}
    return infos


def _also_shown(infos: dict[str, TagInfo], catalogue: Catalogue) -> dict[str, TagInfo]:
    """``infos`` where what answers a question of another tab shows there too, if the run has
    something of its own for that tab."""
    asked = catalogue.questions
    out = dict(infos)
    by_key: dict[str, list[str]] = {}
    for tag, info in infos.items():
        by_key.setdefault(info.key, []).append(tag)
    for category in {info.category for info in infos.values()} & asked.tabs.keys():
        keys = select(tuple(k for q in asked.tabs[category] for k in q.metrics), by_key)
        tags = {tag for key in keys for tag in by_key[key]}
        if category is asked.environments.tab:
            tags.update(*(found.values() for found in asked.environments.tags(infos).values()))
        for tag in tags:
            if out[tag].also is None and out[tag].category is not category:
                out[tag] = replace(out[tag], also=category)
    return out


def _with_guess(
    infos: dict[str, TagInfo], scenario: Scenario, catalogue: Catalogue
) -> dict[str, TagInfo]:
    """``infos`` with the best guess at the reward, where the run logs none that has a name."""
    logged = {info.key for info in infos.values()}
    if not scenario.reward or select(scenario.reward, logged):
        return infos
    reward = guess.likely_reward(
        [
            tag
            for tag, info in infos.items()
            if info.category is not Category.VALIDATION
            and (not info.key or info.key.endswith(".other"))
        ]
    )
    if reward is None:
        return infos
    info = TagInfo.of_metric(reward, catalogue.metrics[scenario.reward[0]])

    return infos | {reward: replace(info, title=guess.guessed_title(info.title), guessed=True)}


#: Categories that say nothing of how a training goes.
_ASIDE = frozenset(
    {Category.PROGRESS, Category.TIMING, Category.PERF, Category.SYSTEM, Category.HYPER}
)
#: Names that may be known by chance once what all tags have in front is left out.
_BY_CHANCE = 2

#: Sets of tags whose meaning is kept: the runs of a sweep log the same ones.
_MOST_KEPT = 32
#: Tags of a run that are shown and judged; of more only those that the framework names, too. A
#: list of as many is of use to nobody, and each costs time and memory whenever something is new.
MOST_SHOWN = 10_000
_NOT_SHOWN = "tags are shown and judged; all are read and exported"


class _Names(NamedTuple):
    """Names that the meaning of a run depends on."""

    tags: tuple[str, ...]
    hyperparameters: tuple[str, ...]
    formats: frozenset[str]


class Interpreter:
    """Looks tags up as the user's configuration and command line want them."""

    def __init__(
        self,
        catalogue: Catalogue,
        config: Config,
        framework: str | None = None,
        algorithm: str | None = None,
    ) -> None:
        self._catalogue = catalogue
        self.config = config
        self._framework = framework
        self._algorithm = algorithm
        self._kept: dict[_Names, tuple[Recognition, dict[str, TagInfo]]] = {}
        """Tags, hyperparameters and formats of a run -> what they mean."""

    def interpret(self, view: JudgedRun) -> None:
        """Recognise the framework from the set of tags and look every tag up."""
        points = view.points
        table = points.table
        tags = table.some_tags(MOST_SHOWN)
        if not tags:
            return
        formats = frozenset(f.source.format for f in points.files.by_path.values())
        names = _Names(tags, tuple(view.hyperparameters.values), formats)
        view.recognition, known = self._meaning(names)
        if table.tag_count > len(tags):
            more = table.some_tags(MOST_SHOWN, self._resolver(view.recognition).names)
            view.recognition, known = self._meaning(names._replace(tags=more))
            notes = points.files.notes
            notes[:] = [n for n in notes if not n.message.endswith(_NOT_SHOWN)]
            branches = (b for lineage in table.lineages.values() for b in lineage.branches)
            widest = max(branches, key=lambda b: len(b.columns))
            message = f"{len(known):,} of {table.tag_count:,} {_NOT_SHOWN}"
            notes.append(Note(widest.path, None, Level.WATCH, message))
        self.heed_settings(view)
        infos = known | derive(table, known, self._catalogue.metrics)
        roles = self._catalogue.roles
        scenario = view.recognition.scenario.id
        if (pace := pace_of(table, known, roles, scenario)) is not None:
            table.time_by(pace, points.files.sources)
        infos = {tag: overridden(info, self.config) for tag, info in infos.items()}
        view.infos = _also_shown(infos, self._catalogue)

    def heed_settings(self, view: JudgedRun) -> bool:
        """Note what the settings of a run say of its updates, in its logs or else in files beside
        them; returns whether that is news."""
        known = view.recognition
        if known is not None:
            settings = {**view.facts.settings, **view.hyperparameters.values}
            view.recognition = known._replace(scope=scope_of(settings, known))
        return view.recognition != known

    def _meaning(self, names: _Names) -> tuple[Recognition, dict[str, TagInfo]]:
        """Framework and meaning by the tags, without what all of them have in front where more are
        known then."""
        if names in self._kept:
            return self._kept[names]
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        known, infos = self._looked_up(names, "")
        nameless = [tag for tag, info in infos.items() if info.metric is None]
        aside = sum(info.category in _ASIDE for info in infos.values() if info.metric)
        ours = known.framework == GENERIC and len(nameless) + aside == len(names.tags)
        if ours and (head := guess.shared_head(nameless)):
            without = self._looked_up(names, head)
            if sum(without[1][tag].metric is not None for tag in nameless) > _BY_CHANCE:
                known, infos = without
        infos = distinguished(_with_guess(_ranked(infos), known.scenario, self._catalogue))
        self._kept[names] = known, infos

        return known, infos

    def _resolver(self, known: Recognition) -> Resolver:
        return self._catalogue.resolver(known.framework, known.algorithm, known.scenario.id)

    def _looked_up(self, names: _Names, head: str) -> tuple[Recognition, dict[str, TagInfo]]:
        """Recognise and resolve the names without ``head``, which all tags have in front."""
        bare = {tag: tag.removeprefix(head) for tag in names.tags}
        known = self._catalogue.recognise(
            [*bare.values(), *(f"hyperparameter/{name}" for name in names.hyperparameters)],
            formats=names.formats,
            framework=self._framework,
            algorithm=self._algorithm,
        )
        resolve = self._resolver(known).resolve
        infos = {tag: resolve(name) for tag, name in bare.items()}
        if head:
            infos = {tag: replace(info, tag=tag) for tag, info in infos.items()}

        return known, infos


def overridden(info: TagInfo, config: Config) -> TagInfo:
    """``info`` with what the user says of its metric, and of the tag, which wins."""
    for override in filter(None, map(config.metrics.get, (info.key, info.tag))):
        ends = {"low": override.low, "high": override.high}
        own = {name: end for name, end in ends.items() if end is not None}
        info = replace(
            info,
            title=override.title or info.title,
            category=category_of(override) or info.category,
            healthy=Range(**own) if own else info.healthy,
            own_range=own or info.own_range,
        )
    return info
