"""The detectors and their parameters, taken from the signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, get_type_hints

from rltui.core.later import np
from rltui.core.record import record
from rltui.core.text import Names
from rltui.health.detectors.signal import Rows, Signal

#: Whether a detector may find something in rows, by all its parameters.
Condition = Callable[[Rows, Mapping[str, Any]], bool]


class Parameter(NamedTuple):
    """One keyword of a detector; ``default`` None means that a rule must give it."""

    name: str
    kind: type
    """float, int or bool."""
    default: float | int | bool | None


@record
class Detector:
    """A detector and what is known from its signature."""

    name: str
    run: Callable[..., Signal]
    parameters: Mapping[str, Parameter]
    roles: Names = ()
    """Other metrics that it can use."""
    facts: Names = ()
    """Numbers that the templates of a rule may name."""
    reference: bool = False
    """Whether it compares with a reference run: its roles come from there."""
    exact: bool = False
    """Whether it asks if something is exactly zero, and so how many decimals the log has."""
    finite_is_quiet: bool = False
    """Whether it takes non-finite rows, too, and can find nothing where all are finite."""
    anew: bool = False
    """Whether it judges by what was won so far: it begins anew where a restart of the training has
    thrown the values back."""
    rising: bool = False
    """Whether it asks that values rise: of what is better when it is lower, see
    :func:`~rltui.health.columns.lacking`."""
    possible: Condition | None = None
    """A necessary condition that costs far less than the detector; where it does not hold, no row
    is beyond the threshold and the answer is not silent."""

    def may_find(self, rows: Rows, given: Mapping[str, object]) -> bool:
        """Whether anything can be found in ``rows``; False is certain."""
        with np.errstate(all="ignore"):
            return self.possible is None or self.possible(rows, given)


DETECTORS: dict[str, Detector] = {}


def detector(**traits: Any) -> Callable[[Callable[..., Signal]], Callable[..., Signal]]:
    """Register a function as a detector under its own name; ``traits``: fields of
    :class:`Detector`.

    While it runs, numpy does not warn of what is or becomes not finite: it stands for no answer."""

    def register(function: Callable[..., Signal]) -> Callable[..., Signal]:
        @wraps(function)
        def quiet(rows: Rows, **given: Any) -> Signal:
            with np.errstate(all="ignore"):
                found = function(rows, **given)
            return replace(found, low=None, high=None) if rows.made else found

        hints = get_type_hints(function)
        parameters = {
            name: Parameter(name, hints[name], None if p.default is p.empty else p.default)
            for name, p in inspect.signature(function).parameters.items()
            if p.kind is p.KEYWORD_ONLY
        }
        DETECTORS[function.__name__] = Detector(function.__name__, quiet, parameters, **traits)
        return quiet

    return register
