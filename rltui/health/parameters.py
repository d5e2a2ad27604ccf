"""Parameters of detectors in documents: those of a rule, and what a configuration changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rltui.core.yaml_document import Node, nearest, read_each
from rltui.core.yaml_record import shipped_record
from rltui.health.detectors.registry import Detector, Parameter
from rltui.health.rule import Number

_GROUPS = ("parameters", "watch", "bad")
#: What stands for a limit that no healthy run went beyond.
_FROM_HEALTHY = ("healthy", "1/healthy")
#: What stands for a limit of bad that is twice that of watch.
_TWICE = "twice"


class Farthest(NamedTuple):
    """How many times the usual value of the run itself is beyond healthy runs, for one rule."""

    rule: str
    watch: float
    bad: float
    farthest: float
    """Farthest value that a healthy run reached; 1 if none got anywhere."""
    runs: int
    origins: int

    @property
    def source(self) -> str:
        """Where the limits are from."""
        own = f"{self.origins} origins, the farthest at {self.farthest:g} times the usual"
        return f"beyond {self.runs} healthy runs of {own}"


def from_farthest(farthest: float, *, inverse: bool) -> float:
    """The limit for something that grows, or shrinks, so many times."""
    return float(f"{1 / farthest:.2g}") if inverse else farthest


class Healthy(NamedTuple):
    """``data/healthy.yaml``, which benchmarks.verdicts.limits writes."""

    watch: float
    bad: float
    """How many times as far as all others one origin may go."""
    limits: tuple[Farthest, ...]
    """First that of any rule which is not among the others."""

    def of(self, rule: str) -> Farthest:
        """The limits of a rule."""
        return next((far for far in self.limits if far.rule == rule), self.limits[0])


def healthy() -> Healthy:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(Healthy, "health", "data", "healthy.yaml")


def read_parameters(
    node: Node | None,
    detector: Detector,
    farthest: float | None,
    watch: Mapping[str, Number],
) -> dict[str, Number]:
    """The parameters at ``node``, the word ``healthy`` as the limit ``farthest``, ``1/healthy`` as
    its inverse, ``twice`` as twice that of ``watch``. Raises DocumentError for one that the
    detector lacks."""
    if node is None:
        return {}
    table = node.table()
    known = detector.parameters
    given = table.named(known, f"detector {detector.name} has no parameter")
    return read_each(
        given.items(),
        lambda name, value: (
            2 * watch[name]
            if value.value == _TWICE and name in watch
            else _value(known[name], value, farthest)
        ),
    )


def from_healthy(node: Node | None) -> tuple[str, ...]:
    """The parameters at ``node`` whose limit comes from healthy runs."""
    pairs = node.table().pairs() if node else ()
    return tuple(name for name, value in pairs if value.value in _FROM_HEALTHY)


def _value(parameter: Parameter, node: Node, farthest: float | None = None) -> Number:
    if node.value in _FROM_HEALTHY:
        if farthest is None:
            node.fail(f"{node.value!r} belongs below 'parameters' of a rule")
        return from_farthest(farthest, inverse=node.value == _FROM_HEALTHY[1])
    if parameter.kind is bool:
        return node.boolean()
    return node.integer() if parameter.kind is int else node.number()


class Override:
    """Changes of a configuration to one rule or variant.

    ``{share: 0.2}`` holds for both levels, ``{watch: {share: 0.2}}`` for one. A rule's
    change reaches those of its variants whose detector has the parameter.
    """

    def __init__(self, node: Node) -> None:
        """Raises DocumentError when it is no mapping."""
        table = node.table()
        groups = {name: value.table() for name, value in table.pairs() if name in _GROUPS}
        flat = (("parameters", table, name, value) for name, value in table.pairs())
        self._given = [given for given in flat if given[2] not in groups]
        self._given += [
            (name, inner, *pair) for name, inner in groups.items() for pair in inner.pairs()
        ]
        """(group, its mapping, parameter, value)."""
        self._readers: list[Detector] = []

    def parameters(self, level: str, detector: Detector) -> dict[str, Number]:
        """The parameters of ``detector`` that change for ``level``, those for both first."""
        self._readers.append(detector)
        known = detector.parameters
        given = (
            (name, node)
            for group, _, name, node in self._given
            if group in ("parameters", level) and name in known
        )
        return read_each(given, lambda name, node: _value(known[name], node))

    def check(self) -> None:
        """Complain of the parameters that no detector had."""
        known = {name for detector in self._readers for name in detector.parameters}
        detectors = " or ".join(dict.fromkeys(d.name for d in self._readers))
        for _, table, name, _ in self._given:
            if name not in known:
                hint = nearest(name, sorted({*known, *_GROUPS}))
                message = f"detector {detectors} has no parameter {name!r}"
                table.key_node(name).complain(message, hint=hint)
