"""Judges runs that were read once: as they are, up to a step, thinned, with noise.

Nothing of what follows a step is used for the verdict at it: framework and meaning of the tags
are recognised anew from what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rltui.catalogue import Catalogue
from rltui.config import Config
from rltui.core.batch import Batch, Restart, RunKey, SourceInfo
from rltui.core.block import Block, FloatArray, IntArray, ValueArray
from rltui.core.level import Level
from rltui.health.configured import open_catalogue, open_rules
from rltui.health.engine import Engine
from rltui.health.model import Finding
from rltui.health.rule import Rule
from rltui.session import Session
from rltui.session.naming import Naming
from rltui.session.run import JudgedRun
from rltui.session.tag_resolution import Interpreter
from rltui.store import Store

Points = tuple[IntArray, FloatArray, ValueArray]


def rows_of(points: Points, chosen: slice | IntArray) -> Points:
    """Some of the points of a tag."""
    return points[0][chosen], points[1][chosen], points[2][chosen]


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """What a run logged, by tag: steps, wall times, values, without what was superseded."""

    name: str
    tags: Mapping[str, Points]
    formats: tuple[str, ...]
    hyperparameters: Mapping[str, object]
    restarts: tuple[int, ...] = ()
    """Steps at which the training was taken up again, ascending."""

    @property
    def span(self) -> tuple[int, int]:
        """First and last step."""
        steps = [p[0] for p in self.tags.values()]
        return min(int(s[0]) for s in steps), max(int(s[-1]) for s in steps)

    def until(self, step: float) -> Logged:
        """The part up to a step."""

        def cut(points: Points) -> Points:
            end = int(np.searchsorted(points[0], step, side="right"))
            return rows_of(points, slice(end))

        restarts = tuple(at for at in self.restarts if at <= step)
        return replace(self.changed(cut), restarts=restarts)

    def thinned(self, every: int, offset: int = 0) -> Logged:
        """Logged ``every`` times as rarely: tags keep one of ``every`` points."""
        return self.changed(lambda p: rows_of(p, slice(offset, None, every)))

    def noisy(self, share: float, seed: int) -> Logged:
        """Each value times a random factor of that relative spread; a share stays one."""
        random = np.random.default_rng(seed)

        def shake(points: Points) -> Points:
            factor = 1.0 + share * random.standard_normal(len(points[2]))
            values = points[2].astype(np.float64)
            is_share = bool(((values >= 0.0) & (values <= 1.0)).all())
            values = values * factor
            return points[0], points[1], np.minimum(values, 1.0) if is_share else values

        return self.changed(shake)

    def changed(self, change: Callable[[Points], Points]) -> Logged:
        """With the points of each tag changed; tags without any are left out."""
        changed = {tag: change(points) for tag, points in self.tags.items()}
        return replace(self, tags={t: p for t, p in changed.items() if len(p[0])})


@dataclass(frozen=True, slots=True)
class Said:
    """A finding, as far as the score needs it."""

    rule: str
    bad: bool
    since: int | None
    """The step at which it was certain; None if it holds for the whole run."""
    certain: int | None = None
    """The same, for every finding."""
    title: str = ""
    """Of the variant."""
    metric: str | None = None
    """Key of what was judged."""


class Judge:
    """Reads runs, and judges what is left of them; documents are read once."""

    def __init__(self, rules: Iterable[Rule] | None = None) -> None:
        """Judge by ``rules``, by default those that are shipped."""
        self._config = Config()
        self.catalogue: Catalogue = open_catalogue(self._config)
        shipped = open_rules(self._config, self.catalogue) if rules is None else rules
        self.rules: tuple[Rule, ...] = tuple(shipped)
        self._interpreters: dict[tuple[str | None, str | None], Interpreter] = {}

    def read(self, path: Path) -> list[Logged]:
        """The runs at or below a path."""
        session = Session([path])
        session.scan()
        session.read_all()
        return [found for run in session.runs() if (found := _logged(run)).tags]

    def judge(
        self, logged: Logged, framework: str | None = None, algorithm: str | None = None
    ) -> list[Said]:
        """All findings, firing or over; of a run whose framework is given or else recognised."""
        if not logged.tags:
            return []
        view = self.view(logged, framework, algorithm)
        assert view.recognition is not None
        report = Engine(self.rules).evaluate(view.data, view.infos, view.recognition, 0.0)
        return [_said(f) for f in report.findings if f.error is None]

    def view(
        self, logged: Logged, framework: str | None = None, algorithm: str | None = None
    ) -> JudgedRun:
        """The run with the meaning of its tags, of which there is one at least."""
        store, key = Store(), RunKey(0, logged.name)
        for number, form in enumerate(logged.formats):
            items = tuple(_items(logged)) if number == 0 else ()
            hyper = dict(logged.hyperparameters) if number == 0 else {}
            path = Path(f"/{logged.name}/{number}.{form}")
            source = SourceInfo(path, form, number, 1, 1, 1, 0.0)
            store.apply(Batch(key, path.parent, source, items, hparams=hyper))
        view = JudgedRun(store.runs[key], Naming(), self.catalogue)
        view.hyperparameters.values.update(logged.hyperparameters)
        named = framework, algorithm
        if named not in self._interpreters:
            self._interpreters[named] = Interpreter(self.catalogue, self._config, *named)
        self._interpreters[named].interpret(view)
        return view


def _said(finding: Finding) -> Said:
    since = None if finding.since_step is None else finding.certain_step
    return Said(
        finding.rule,
        finding.level is Level.BAD,
        since,
        finding.certain_step,
        finding.title,
        finding.metric,
    )


def _logged(run: JudgedRun) -> Logged:
    data = run.data
    tags = {t: data.series(t).points for t in data.tags if data.series(t).count}
    formats = tuple(dict.fromkeys(s.format for s in data.files.sources.values()))
    return Logged(
        run.name,
        tags,
        formats or ("jsonl",),
        dict(run.hyperparameters.values),
        tuple(run.points.extent.restarts),
    )


def _items(logged: Logged) -> list[Block | Restart]:
    """The points of each part of the training, with the restarts between them."""
    items: list[Block | Restart] = []
    begin = -np.inf
    for end in (*logged.restarts, np.inf):
        items += [Restart(int(begin))] if items else []
        items += _blocks(logged, begin, end)
        begin = end
    return items


def _blocks(logged: Logged, begin: float, end: float) -> list[Block]:
    """The points of each tag from a step on up to another one. What is logged at a restart is
    logged twice: a part from which nothing comes again is not seen to be taken up."""
    found = []
    for tag, points in logged.tags.items():
        first = int(np.searchsorted(points[0], begin))
        last = int(np.searchsorted(points[0], end)) + 1
        steps, walls, values = rows_of(points, slice(first, last))
        if len(steps):
            found.append(Block((tag,), steps, walls, np.ascontiguousarray(values)[:, np.newaxis]))
    return found
