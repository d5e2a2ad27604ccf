"""Floor 2: what a tag means. Metrics, dialects of frameworks, scenarios, recognition.

Start at :func:`load_catalogue`; data live in ``data/*.yaml``. Knows no store and no files of runs.
"""

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
from rltui.catalogue.resolver import Resolver
from rltui.catalogue.table import FrameworkRow, MetricRow, framework_rows, metric_rows, range_words

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
