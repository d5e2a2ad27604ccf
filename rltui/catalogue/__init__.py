"""What a tag means. Metrics, dialects of frameworks, scenarios, recognition.

Start at :func:`load_catalogue`; the data are in ``data/*.yaml``. Knows neither the store nor log
files.
The tables for documents are imported when they are first asked for: no screen needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rltui.catalogue.catalogue import Catalogue, Dialect, load_catalogue
from rltui.catalogue.model import (
    Category,
    Derivation,
    Explanation,
    Metric,
    Question,
    Range,
    Recognition,
    Roles,
    Scenario,
    TagInfo,
    select,
)
from rltui.catalogue.resolve import Resolver

if TYPE_CHECKING:
    from rltui.catalogue.doc_tables import (
        FrameworkRow,
        MetricRow,
        framework_rows,
        metric_rows,
        range_words,
    )

__all__ = [
    "Catalogue",
    "Category",
    "Derivation",
    "Dialect",
    "Explanation",
    "FrameworkRow",
    "Metric",
    "MetricRow",
    "Question",
    "Range",
    "Recognition",
    "Resolver",
    "Roles",
    "Scenario",
    "TagInfo",
    "framework_rows",
    "load_catalogue",
    "metric_rows",
    "range_words",
    "select",
]

_TABLE = ("FrameworkRow", "MetricRow", "framework_rows", "metric_rows", "range_words")


def __getattr__(name: str) -> Any:
    if name not in _TABLE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("rltui.catalogue.doc_tables"), name)
