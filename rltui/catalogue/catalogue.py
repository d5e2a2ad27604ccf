"""The catalogue: metrics, dialects and scenarios, and queries on them.

Owned by the main thread. Heads of dialects are read at start, bodies when a run needs them;
documents of the user are read completely at start, so that a mistake in them is reported then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path

from rltui.catalogue.dialect import Entry, Head, Prefixes, read_body, read_head, read_text
from rltui.catalogue.metrics import read_metrics, read_relations, read_scenarios, read_tabs
from rltui.catalogue.model import (
    Explanation,
    Metrics,
    Recognition,
    Roles,
    Scenario,
    TabQuestions,
    TagInfo,
)
from rltui.catalogue.normal import normal
from rltui.catalogue.recognise import Names, algorithm_of, judge, seen_by
from rltui.catalogue.resolve import Resolver
from rltui.core.errors import UsageError
from rltui.core.installation import shipped
from rltui.core.yaml_document import nearest

GENERIC = "generic"


class Dialect:
    """How a framework names its tags: the shipped document, and those of the user over it."""

    def __init__(self, head: Head, documents: Sequence[tuple[Path, str]]) -> None:
        self.head = head
        """Identity and fingerprint, merged from all documents."""
        self.id = head.id
        """Framework id: verl, trl, ..."""
        self.title = head.id if head.title is None else head.title
        """Name for people; empty for generic."""
        self.rank = head.rank or 0
        """Order among similar dialects; one of the user comes first unless it sets a rank."""
        self.documents = tuple(documents)
        """Path and text of each document, the user's first."""
        self.prefixes = head.prefixes or ()
        """Prefixes of its head, or of the one that it inherits from."""
        self.algorithms = head.algorithms or ()
        """Algorithms of its head, or of the one that it inherits from."""
        self._layers: tuple[tuple[Entry, ...], ...] | None = None

    def layers(self, metrics: Metrics) -> tuple[tuple[Entry, ...], ...]:
        """The entries of each document, read on first use. Raises DocumentError."""
        if self._layers is None:
            self._layers = tuple(read_body(path, text, metrics) for path, text in self.documents)
        return self._layers

    def under(self, head: Head, text: str) -> Dialect:
        """This dialect with one more document over it."""
        return Dialect(head.over(self.head), ((head.path, text), *self.documents))


class Catalogue:
    """All knowledge about frameworks and metrics."""

    def __init__(
        self,
        metrics: Metrics,
        dialects: dict[str, Dialect],
        scenarios: tuple[Scenario, ...],
        roles: Roles,
    ) -> None:
        self.roles = roles
        """Metrics that describe a run as a whole."""
        self.metrics = metrics
        """Every canonical metric by key, in display order."""
        self.dialects = dialects
        """Every dialect by framework id."""
        self.scenarios = {s.id: s for s in scenarios}
        """Every scenario by id."""
        self._resolvers: dict[tuple[str, str | None, str | None], Resolver] = {}
        for dialect in dialects.values():
            heads = [d.head for d in self._lineage(dialect.id)]
            prefixes = (h.prefixes for h in heads if h.prefixes is not None)
            algorithms = (h.algorithms for h in heads if h.algorithms is not None)
            dialect.prefixes, dialect.algorithms = next(prefixes, ()), next(algorithms, ())
        self.suspects = sorted(dialects.values(), key=lambda d: (d.rank, d.id))
        """Every dialect, in the order in which recognition tries them."""

    @cached_property
    def _relations(self) -> dict[str, tuple[frozenset[str], ...]]:
        return read_relations(shipped("catalogue", "data") / "relations.yaml", self.metrics)

    @cached_property
    def questions(self) -> TabQuestions:
        """Questions of the tabs of categories."""
        return read_tabs(shipped("catalogue", "data") / "tabs.yaml", self.metrics)

    def relatives(self, key: str, kind: str = "relations") -> frozenset[str]:
        """Keys of the metrics that are read together with ``key``; of the ``kind`` pairs those
        whose distance from it is what counts."""
        return frozenset().union(*(r for r in self._relations[kind] if key in r)) - {key}

    def step_keys(self) -> tuple[str, ...]:
        """Names of the step in text logs, best first: those of generic, then of the frameworks in
        the order in which recognition tries them. Each once.
        """
        heads = [s.head for s in self.suspects]
        heads.sort(key=lambda h: h.id != GENERIC)
        return tuple(dict.fromkeys(key for head in heads for key in head.step_keys or ()))

    def recognise(
        self,
        tags: Iterable[str],
        *,
        formats: Iterable[str] = (),
        framework: str | None = None,
        algorithm: str | None = None,
    ) -> Recognition:
        """Framework, algorithm and scenario of a run that logs ``tags``.

        ``formats`` are names of log formats; ``framework`` and ``algorithm`` come from the user
        and win. Raises UsageError for a framework that does not exist.
        """
        names = Names(tags)
        reasons: tuple[str, ...] = ("by option",)
        if framework:
            dialect = self._chosen(framework)
        else:
            dialect, reasons = self._found(names, formats)
        seen = seen_by(names, dialect.prefixes)
        if algorithm is not None:
            algorithm = algorithm.strip().upper()
            reasons = (*reasons, f"{algorithm} by option")
        elif (guess := algorithm_of(dialect.algorithms, seen)) is not None:
            algorithm = guess[0]
            reasons = (*reasons, guess[1])

        if dialect.id == GENERIC:
            seen = Names((*seen.all, *map(normal, names.all)))
        head = dialect.head
        scenario = self.scenarios.get(head.scenario or "")
        if scenario is None:
            fitting = (s for s in self.scenarios.values() if algorithm in s.algorithms)
            scenario = next(fitting, None)
        if scenario is None:
            kind = algorithm_of(head.scenarios or (), seen)
            scenario = self.scenarios[kind[0] if kind else GENERIC]

        return Recognition(dialect.id, dialect.title, algorithm, scenario, reasons)

    def resolver(
        self, framework: str, algorithm: str | None = None, scenario: str | None = None
    ) -> Resolver:
        """The resolver of one framework, algorithm and scenario, always the same object.

        Raises UsageError for a framework that does not exist.
        """
        algorithm = algorithm.upper() if algorithm else None
        key = (framework, algorithm, scenario)
        if key not in self._resolvers:
            chosen = self._chosen(framework)
            lineage = self._lineage(framework)
            layers = [layer for dialect in lineage for layer in dialect.layers(self.metrics)]
            generic = None
            if all(dialect.id != GENERIC for dialect in lineage) and GENERIC in self.dialects:
                generic = partial(self.resolver, GENERIC, algorithm, scenario)
            self._resolvers[key] = Resolver(
                layers, chosen.prefixes, self.metrics, algorithm, scenario, generic
            )

        return self._resolvers[key]

    def entries(self, framework: str) -> tuple[Entry, ...]:
        """The entries of one dialect's own documents."""
        layers = self.dialects[framework].layers(self.metrics)
        return tuple(entry for layer in layers for entry in layer)

    def explain(self, name: str, framework: str | None = None) -> Explanation:
        """Everything known about a tag or metric key, in one framework or in all."""
        ids = [framework] if framework else list(self.dialects)
        answers = ((i, self.resolver(i).resolve(name)) for i in ids)
        known = tuple((i, a) for i, a in answers if a.metric is not None and not a.added)
        metric = self.metrics.get(name)
        patterns: list[tuple[str, str, str]] = []
        if metric is not None:
            patterns = [(i, *found) for i in ids for found in self.resolver(i).entries_of(name)]
        own = self._own(name) if GENERIC in ids else ()
        found = metric or known or any(info.metric for _, info in own)
        hints = () if found else self._similar(name)

        return Explanation(name, metric, known, own, tuple(patterns), hints)

    def _similar(self, name: str) -> tuple[str, ...]:
        """The tag and the metric that a name resembles most, as far as there are any."""
        tags = {e.pattern.text for d in self.dialects for e in self.entries(d)}
        found = (nearest(name, tags), nearest(name, self.metrics))
        return tuple(dict.fromkeys(hint for hint in found if hint is not None))

    def _own(self, name: str) -> tuple[tuple[tuple[Scenario, ...], TagInfo], ...]:
        """Meaning of a name in runs of no known framework, by kind of training."""
        found: dict[str | None, tuple[list[Scenario], TagInfo]] = {}
        for scenario in self.scenarios.values():
            info = self.resolver(GENERIC, scenario=scenario.id).resolve(name)
            found.setdefault(info.where, ([], info))[0].append(scenario)
        return tuple((tuple(kinds), info) for kinds, info in found.values())

    def _chosen(self, framework: str) -> Dialect:
        if framework not in self.dialects:
            message = f"unknown framework {framework!r} (known: {', '.join(self.dialects)})"
            raise UsageError(message, hint=nearest(framework.lower(), self.dialects))
        return self.dialects[framework]

    def _found(self, tags: Names, formats: Iterable[str]) -> tuple[Dialect, tuple[str, ...]]:
        formats = tuple(formats)
        seen: dict[Prefixes, Names] = {}
        best = (0, 0)
        found = self.dialects[GENERIC]
        reasons: tuple[str, ...] = ("no framework is recognised",)
        for dialect in self.suspects:
            if dialect.id == GENERIC:
                continue
            if dialect.prefixes not in seen:
                seen[dialect.prefixes] = seen_by(tags, dialect.prefixes)
            marks = dialect.head.fingerprint
            worth, why = judge(marks, seen[dialect.prefixes], formats)
            if worth > best:
                best = worth
                found = dialect
                reasons = why
        return found, reasons

    def _lineage(self, framework: str) -> list[Dialect]:
        """The dialect, then what it inherits from, nearest first."""
        out = [self.dialects[framework]]
        while (node := out[-1].head.inherits_at) is not None:
            parent = self.dialects[node.name(self.dialects, "dialect")]
            if parent in out:
                node.fail(f"dialect {parent.head.id!r} inherits from itself")
            out.append(parent)
        return out


def load_catalogue(extra_dirs: Sequence[Path] = ()) -> Catalogue:
    """Read the shipped catalogue and the dialects in ``extra_dirs`` (later directories win).

    Raises DocumentError with file, line and column when a document is wrong.
    """
    root = shipped("catalogue", "data")
    metrics = read_metrics(root / "metrics.yaml")
    scenarios, roles = read_scenarios(root / "scenarios.yaml", metrics)
    names = tuple(s.id for s in scenarios)
    dialects: dict[str, Dialect] = {}
    for path in sorted((root / "dialects").glob("*.yaml")):
        _add(dialects, path, names)
    own = [
        _add(dialects, path, names)
        for directory in extra_dirs
        for path in sorted((*directory.glob("*.yaml"), *directory.glob("*.yml")))
    ]
    catalogue = Catalogue(metrics, dialects, scenarios, roles)
    for head in own:
        catalogue.resolver(head.id)

    return catalogue


def _add(dialects: dict[str, Dialect], path: Path, scenarios: Sequence[str]) -> Head:
    text = read_text(path)
    head = read_head(path, text, scenarios)
    known = dialects.get(head.id)
    dialects[head.id] = known.under(head, text) if known else Dialect(head, ((path, text),))
    return head
